//! A job that was planned, on its way to its record.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::committing::{Commits, JobCommit};
use super::departed;
use super::executors;
use super::failure::{Failure, FailureKind};
use super::hands::DigestKeys;
use super::identity;
use super::kept_out::keep_out_of_git;
use super::log::JobLog;
use super::machines::Machines;
use super::rescue;
use super::resume;
use super::session::{JobRequest, Session};
use super::start_time::start_time;
use super::unknown;
use super::view::JobReport;
use super::watch::Watch;
use crate::configurator;
use crate::diagnostic::Diagnostics;
use crate::ensemble::{self, Began, Folders, JobFacts, KeptIndex, Manifest, Record};
use crate::git::Repository;
use crate::job::{self, Engine, JobOptions, Parts};
use crate::plan::Goal;
use crate::system::clock;
use crate::value::{Value, canonical_sha256};

/// A job that was planned.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) engine: Engine,
    history_last: Option<String>,
    /// What the user named and nothing has.
    without_effect: Diagnostics,
    kept_templates: Arc<KeptIndex>,
    began: std::time::Instant,
    /// What was planned before anything ran: operations by the keys of their targets.
    planned: BTreeMap<String, Vec<String>>,
    pub(super) ran: bool,
    /// How its record is committed, if it is.
    pub(super) commit: Option<JobCommit>,
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
    let mut topology = departed::topology(session, goal.prune, &history)?;
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
        ensemble: identity::of(session),
        start,
        parallel: request.parallel,
        base_dir: session.manifest.base_dir().to_path_buf(),
        echo: request.echo,
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
        history_last,
        without_effect,
        kept_templates,
        began,
        planned: BTreeMap::new(),
        ran: false,
        commit: None,
    })
}

impl Prepared {
    /// What the record says of the job besides its tasks, as far as it is known now.
    fn facts(&self, session: &Session, request: &JobRequest) -> JobFacts {
        JobFacts {
            previous: self.history_last.clone(),
            options: request.recorded_options.clone(),
            start_commit: head_of(session.manifest.base_dir()),
            spec_digest: spec_digest(&session.manifest),
            kept_templates: Arc::clone(&self.kept_templates),
            // The id of a job that follows another at once is of a moment later.
            ended: clock::now().max(self.engine.options.start),
        }
    }

    /// What is planned, of the job that is gone on with where it is one.
    fn planned(&self) -> BTreeMap<String, Vec<String>> {
        let before = &self.engine.options.goal.planned;
        if before.is_empty() {
            return self.engine.planned();
        }
        before.clone()
    }

    /// What the journal says of the job. What was changed so far is the plan's, which is made
    /// again.
    pub(super) fn begun(
        &mut self,
        session: &Session,
        request: &JobRequest,
        token: &str,
    ) -> Result<Began, Failure> {
        let id = self.engine.id().map_err(|error| internal(&error))?;
        // From here on there are files that must never be committed.
        keep_out_of_git(session.manifest.base_dir());
        self.engine.take_touched();
        self.planned = self.planned();
        let facts = self.facts(session, request);
        let record = ensemble::begun_record(&self.engine, id.as_str(), &facts);
        let goal = &self.engine.options.goal;
        Ok(Began {
            id: id.to_string(),
            start: self.engine.options.start.as_microsecond(),
            record: crate::yaml::emit(&Value::from(record).redacted(), 0),
            token: Some(token.to_owned()),
            goal: Some(goal.to_kept()),
            done: goal.done.iter().cloned().collect(),
            planned: self.planned.clone(),
        })
    }

    /// Saves what the job did.
    pub(super) fn publish(
        &mut self,
        session: &Session,
        request: &JobRequest,
    ) -> Result<(), Failure> {
        let facts = self.facts(session, request);
        keep_out_of_git(session.manifest.base_dir());
        let record = Record::of(&session.manifest, &mut self.engine, &facts);
        let Some(record) = record.map_err(|error| internal(&error))? else {
            return Ok(());
        };
        let published = record.publish(&session.manifest);
        published.map_err(|error| rescue::keep(&record, session, facts.previous, &error))
    }

    /// Keeps what an interrupted job was to reach; one that came to its end leaves nothing.
    pub(super) fn settle_interrupted(&self, session: &Session) {
        resume::settle(&self.engine, session, &self.planned);
    }

    /// Puts the log of a plan where plans are.
    pub(super) fn settle_log(&self, log: JobLog, base: &Path) {
        if let Ok(id) = self.engine.id() {
            let name = ensemble::job_file_name(self.engine.options.start, id.as_str());
            log.settle(&base.join("planned"), &name);
        }
    }

    /// Ends the job: its log goes where it belongs.
    pub(super) fn finish(
        mut self,
        session: &Session,
        mut watch: Watch<'_>,
        declined: bool,
    ) -> Result<JobReport, Failure> {
        let (outputs, outputs_failed) = self.engine.checked_outputs();
        watch.all(&self.engine.take_events());
        let id = self.engine.id().map_err(|error| internal(&error))?;
        let name = ensemble::job_file_name(self.engine.options.start, id.as_str());
        let failed = self.engine.status() == crate::name::Status::Error;
        let folder = if declined || self.engine.options.goal.dry_run {
            "planned"
        } else if failed {
            "failed"
        } else {
            "jobs"
        };
        watch
            .log
            .settle(&session.manifest.base_dir().join(folder), &name);
        let last = self.history_last.as_deref();
        let commits = match &self.commit {
            Some(commit) if self.ran => commit.after(id.as_str()),
            Some(commit) if !declined => commit.without_job(last),
            Some(_) | None => Commits::default(),
        };
        let mut problems = self.without_effect;
        problems.append(watch.problems);
        Ok(JobReport {
            engine: self.engine,
            outputs,
            outputs_failed,
            problems,
            sources: watch.sources,
            elapsed: self.began.elapsed(),
            declined,
            ran: self.ran,
            commits,
        })
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
