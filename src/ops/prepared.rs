//! A job that was planned, on its way to its record.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::commits::Commits;
use super::committing::JobCommit;
use super::executors;
use super::failure::{Failure, FailureKind};
use super::hands::DigestKeys;
use super::kept_out::keep_out_of_git;
use super::log::JobLog;
use super::machines::Machines;
use super::query::Answer;
use super::request::JobRequest;
use super::rescue;
use super::resume;
use super::start_time::start_time;
use super::unknown;
use super::view::JobReport;
use super::watch::Watch;
use crate::configurator;
use crate::diagnostic::Diagnostics;
use crate::ensemble::{self, Folders, JobJournal, KeptIndex, Manifest, Record, RecordFacts};
use crate::git::Repository;
use crate::job::{self, Engine, Event, JobFacts, JobOptions, Parts, Proposal, Recording, Report};
use crate::name::Status;
use crate::plan::Goal;
use crate::session::Session;
use crate::session::{identity, topology_with_orphans};
use crate::system::clock;
use crate::value::canonical_sha256;

/// A job that was planned.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) engine: Engine,
    around: Around,
}

/// The things around a job that its record and its report need.
#[derive(Debug)]
struct Around {
    history_last: Option<String>,
    /// What the user named and nothing has.
    without_effect: Diagnostics,
    kept_templates: Arc<KeptIndex>,
    began: std::time::Instant,
    /// What was planned before anything ran: operations by the keys of their targets.
    planned: BTreeMap<String, Vec<String>>,
    ran: bool,
}

/// A job that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) report: Report,
    /// The plan, where nothing of it was run.
    plan: Option<Proposal>,
    query: Option<Result<Answer, Failure>>,
    /// What happened last.
    events: Vec<Event>,
    around: Around,
}

/// An engine that has nothing to do yet, with what it takes to put a job on record.
#[derive(Debug)]
pub(super) struct Idle {
    pub(super) engine: Engine,
    goal: Goal,
    history_last: Option<String>,
    kept_templates: Arc<KeptIndex>,
}

/// Makes the engine of a job: it knows what exists and what was recorded.
pub(super) fn engine(
    request: &JobRequest,
    session: &mut Session,
    folders: &Folders,
) -> Result<Idle, Failure> {
    let history = session.history()?;
    let kept_templates = history.kept_templates();
    let goal = if request.resume {
        resume::goal(request, session, &history)?
    } else {
        request.goal.clone()
    };
    let mut topology = topology_with_orphans(session, goal.prune, &history)?;
    job::mark_left(&mut topology, &history);
    let previous = history
        .last_job()
        .map(|id| id.to_string())
        .max(session.last_job());
    let base = session.manifest.base_dir();
    let start = start_time(request, &history, previous.as_deref(), base)?;
    let world = Arc::new(session.world(folders.planned_root().to_path_buf()));
    let topology = Arc::new(topology);
    let environment = session.variables(&topology, &world)?;
    let chain = executors::chain_of(request, session, (&topology, &world), &environment)?;
    let mut world = Arc::into_inner(world)
        .unwrap_or_else(|| session.world(folders.planned_root().to_path_buf()));
    world.variables.clone_from(&environment);
    let topology = Arc::into_inner(topology)
        .ok_or_else(|| Failure::new(FailureKind::Internal, "the topology is still in use", None))?;
    let options = JobOptions {
        goal: goal.clone(),
        ensemble: identity(session),
        start,
        parallel: request.run.parallel,
        base_dir: session.manifest.base_dir().to_path_buf(),
        echo: request.run.echo,
        environment: environment.into_iter().collect(),
        chain,
        vars: request.session.vars.clone(),
    };
    let parts = Parts {
        topology,
        world: Arc::new(world),
        choose: configurator::choose,
        history: Box::new(history),
        keys: Box::new(DigestKeys::of(session)),
        places: Box::new(Machines::of(session)),
    };
    Ok(Idle {
        engine: Engine::new(parts, options),
        goal,
        history_last: previous,
        kept_templates,
    })
}

/// Plans a job.
pub(super) fn prepare(
    request: &JobRequest,
    session: &mut Session,
    folders: &Folders,
) -> Result<Prepared, Failure> {
    let began = std::time::Instant::now();
    request.go_on()?;
    let Idle {
        mut engine,
        goal,
        history_last,
        kept_templates,
    } = engine(request, session, folders)?;
    request.go_on()?;
    let plan = engine.plan();
    let topology = &engine.topology;
    let plan = plan.map_err(|error| unknown::refusal(error, topology, &session.sources))?;
    let without_effect = unknown::without_effect(&goal, &plan, topology);
    session.warnings.append(without_effect.clone());
    engine.adopt(plan).map_err(|error| {
        Failure::new(
            FailureKind::Load,
            format!("could not create job: {error}"),
            None,
        )
    })?;
    Ok(Prepared {
        engine,
        around: Around {
            history_last,
            without_effect,
            kept_templates,
            began,
            planned: BTreeMap::new(),
            ran: false,
        },
    })
}

impl Prepared {
    /// Begins to run the job. The journal, if there is one, is on disk then.
    pub(super) fn begin(
        &mut self,
        session: &Session,
        request: &JobRequest,
        token: &str,
    ) -> Result<Option<JobJournal>, Failure> {
        let recording = match (request.save.record, request.is_journalled()) {
            (false, _) => Recording::Nothing,
            (true, false) => Recording::AtEnd,
            (true, true) => Recording::Journal,
        };
        let facts = JobFacts {
            previous: self.around.history_last.clone(),
            options: request.recorded_options.clone(),
            start_commit: head_of(session.manifest.base_dir()),
            spec_digest: spec_digest(&session.manifest),
        };
        let begun = self.engine.begin_run(recording, facts);
        begun.map_err(|error| internal(&error))?;
        self.around.ran = true;
        if recording != Recording::Journal {
            return Ok(None);
        }
        // From here on there are files that must never be committed.
        keep_out_of_git(session.manifest.base_dir());
        let start = self.engine.started().map_err(|error| internal(&error))?;
        self.around.planned.clone_from(&start.planned);
        let start = Event::JobStarted(Box::new(start));
        let journal = JobJournal::begin(session.manifest.path(), token, &start);
        journal.map(Some).map_err(|error| {
            let message =
                format!("nothing was done, for the job's journal cannot be written: {error}");
            Failure::new(FailureKind::Refused, message, error.hint())
        })
    }

    /// Puts the log of a plan where plans are.
    pub(super) fn settle_log(&self, log: JobLog, base: &Path) {
        if let Ok(id) = self.engine.id() {
            let name = ensemble::job_file_name(self.engine.options.start, id.as_str());
            log.settle(&base.join("planned"), &name);
        }
    }

    /// Ends the job.
    pub(super) fn end(self, request: &JobRequest, session: &Session) -> Result<Ended, Failure> {
        let Self { engine, around } = self;
        let query = request.query.as_ref();
        let query = query.map(|query| query.answer(&engine, &session.sources));
        let plan = (!around.ran).then(|| engine.proposal());
        let ended = engine.into_report();
        let (report, events) = ended.map_err(|error| internal(&error))?;
        Ok(Ended {
            report,
            plan,
            query,
            events,
            around,
        })
    }
}

impl Ended {
    /// Saves what the job did.
    pub(super) fn publish(&self, session: &Session) -> Result<(), Failure> {
        let facts = RecordFacts {
            kept_templates: Arc::clone(&self.around.kept_templates),
            // The id of a job that follows another at once is of a moment later.
            ended: clock::now().max(self.report.head.start),
        };
        keep_out_of_git(session.manifest.base_dir());
        let Some(record) = Record::of(&session.manifest, &self.report, &facts) else {
            return Ok(());
        };
        let published = record.publish(&session.manifest);
        let previous = self.report.head.facts.previous.clone();
        published.map_err(|error| rescue::keep(&record, session, previous, &error))
    }

    /// Keeps what an interrupted job was to reach; one that came to its end leaves nothing.
    pub(super) fn settle_interrupted(&self, session: &Session) {
        resume::settle(&self.report, session, &self.around.planned);
    }

    /// Makes the report for people and programs: the log goes where it belongs, and the record is
    /// committed if that is asked for.
    pub(super) fn finish(
        self,
        session: &Session,
        mut watch: Watch<'_>,
        (commit, declined): (Option<&JobCommit>, bool),
    ) -> JobReport {
        watch.all(&self.events);
        let Around {
            ran, history_last, ..
        } = self.around;
        let job = self.report;
        let name = ensemble::job_file_name(job.head.start, job.head.id.as_str());
        let folder = if declined || job.is_dry_run() {
            "planned"
        } else if job.status == Status::Error {
            "failed"
        } else {
            "jobs"
        };
        let folder = session.manifest.base_dir().join(folder);
        watch.log.settle(&folder, &name);
        let commits = match commit {
            Some(commit) if ran => commit.after(job.head.id.as_str()),
            Some(commit) if !declined => commit.without_job(history_last.as_deref()),
            Some(_) | None => Commits::default(),
        };
        let mut problems = self.around.without_effect;
        problems.append(watch.problems);
        JobReport {
            job,
            plan: self.plan,
            query: self.query,
            problems,
            sources: watch.sources,
            elapsed: self.around.began.elapsed(),
            declined,
            commits,
        }
    }
}

fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Internal, error, None)
}

/// The digest of the specification in an ensemble.
pub(super) fn spec_digest(manifest: &Manifest) -> String {
    let spec = manifest.root().get("spec");
    let spec = spec.map(crate::yaml::Node::to_value).unwrap_or_default();
    canonical_sha256(&spec)[..40].to_owned()
}

fn head_of(base: &Path) -> Option<String> {
    Repository::discover(base)
        .ok()
        .flatten()?
        .head()
        .ok()
        .flatten()
}
