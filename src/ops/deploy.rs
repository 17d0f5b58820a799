//! A job: deploy, undeploy, check and the other workflows differ by their goal only.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::departed;
use super::dirty;
use super::failure::{Failure, FailureKind};
use super::hands::{DigestKeys, JobFolders, JobJournal, LocalRunner};
use super::log::JobLog;
use super::session::{self, JobRequest, Session};
use super::unknown;
use super::view::{Decision, JobReport, View};
use crate::configurator;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources};
use crate::ensemble::{self, Folders, JobFacts, KeptIndex, Lock, RecordedHistory};
use crate::git::Repository;
use crate::job::{self, Engine, Event, Hands, JobOptions, Parts, Sink};
use crate::name::ChangeId;
use crate::plan;
use crate::system::{clock, fs};
use crate::value::canonical_sha256;

/// Runs a job from the text of an ensemble to its record.
pub fn deploy(request: &JobRequest, view: &mut dyn View) -> Result<JobReport, Failure> {
    let found = session::find(&request.session)?;
    let lock = lock(&found.located.manifest, &request.command, view)?;
    refuse_after_crash(&found.located.folder().join("jobs"))?;
    let mut session = session::load(found, &request.session)?;
    if request.refuse_dirty {
        dirty::refuse_uncommitted(&session)?;
    }
    let log = JobLog::open(request.session.logfile.as_deref())?;
    let folders = Folders::new(session.manifest.base_dir());
    let mut job = prepare(request, &mut session, &folders)?;
    view.warnings(&session.warnings, &session.sources);
    folders
        .set_previous_aside()
        .map_err(|error| internal(&error))?;
    let mut folders = JobFolders::new(folders);
    job.engine.render(&mut folders);
    let settled = job.engine.has_nothing_to_do() || job.engine.gives_up();
    let mut watch = Watch::new(view, log, &session.sources);
    watch.all(&job.engine.take_events());
    if settled {
        return job.finish(&session, watch, false);
    }
    if watch.view.approve(&job.engine, &session.sources) == Decision::Decline {
        return job.finish(&session, watch, true);
    }
    // What is not to be saved leaves nothing to recover either.
    let mut journal = request
        .save
        .then(|| JobJournal::new(session.manifest.base_dir()));
    let mut runner = LocalRunner::new(request.parallel);
    let mut hands = Hands {
        runner: &mut runner,
        folders: &mut folders,
        journal: match &mut journal {
            Some(journal) => journal,
            None => &mut job::NoJournal,
        },
        sinks: vec![&mut watch],
    };
    let ended = job::run(&mut job.engine, &mut hands);
    still_ours(&lock)?;
    if let Some(journal) = journal {
        // What a job did is on record, also when it could not be brought to its end.
        job.publish(&session, request)?;
        ended.map_err(|error| internal(&error))?;
        journal
            .remove()
            .map_err(|error| Failure::new(FailureKind::Internal, error, None))?;
    } else {
        ended.map_err(|error| internal(&error))?;
        tell_unsaved(&job.engine, &mut watch);
    }
    job.ran = true;
    job.finish(&session, watch, false)
}

/// Warns of what a run changed that is not saved.
fn tell_unsaved(engine: &Engine, watch: &mut Watch<'_>) {
    let changed = engine.changed_instances();
    if changed.is_empty() {
        return;
    }
    let message = format!(
        "the run changed {}, and its record is not saved",
        changed.join(", ")
    );
    let help = "`unfurl run --save` saves it; `unfurl check` finds out how they are now";
    let warning = Diagnostic::warning(message).help(help);
    watch.event(&Event::Problem(Box::new(warning)));
}

/// A job that was planned.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) engine: Engine,
    history_last: Option<String>,
    /// What the user named and nothing has.
    without_effect: Diagnostics,
    kept_templates: Arc<KeptIndex>,
    began: std::time::Instant,
    ran: bool,
}

/// Plans a job.
pub(super) fn prepare(
    request: &JobRequest,
    session: &mut Session,
    folders: &Folders,
) -> Result<Prepared, Failure> {
    let began = std::time::Instant::now();
    let history = session.history()?;
    let kept_templates = history.kept_templates();
    let mut topology = departed::topology(session, request.goal.prune, &history)?;
    job::mark_begun(&mut topology, &history);
    let previous = history
        .last_job()
        .map(|id| id.to_string())
        .max(session.last_job());
    let base = session.manifest.base_dir();
    let start = start_time(request, &history, previous.as_deref(), base)?;
    let world = Arc::new(session.world(folders.planned_root().to_path_buf()));
    let topology = Arc::new(topology);
    let environment = session.variables(&topology, &world)?;
    let mut world = Arc::into_inner(world)
        .unwrap_or_else(|| session.world(folders.planned_root().to_path_buf()));
    world.variables.clone_from(&environment);
    let topology = Arc::into_inner(topology)
        .ok_or_else(|| Failure::new(FailureKind::Internal, "the topology is still in use", None))?;
    let options = JobOptions {
        goal: request.goal.clone(),
        start,
        parallel: request.parallel,
        base_dir: session.manifest.base_dir().to_path_buf(),
        echo: request.echo,
        environment: environment.into_iter().collect(),
        vars: request.session.vars.clone(),
    };
    let parts = Parts {
        topology,
        world: Arc::new(world),
        choose: configurator::choose,
        history: Box::new(history),
        keys: Box::new(DigestKeys::of(session)),
    };
    let mut engine = Engine::new(parts, options);
    let topology = Arc::clone(&engine.topology);
    let plan = plan::plan(&topology, &request.goal, &engine)
        .map_err(|error| unknown::refusal(error, &topology, &session.sources))?;
    let without_effect = unknown::without_effect(&request.goal, &plan, &topology);
    session.warnings.append(without_effect.clone());
    drop(topology);
    engine.adopt(plan).map_err(|error| {
        Failure::new(
            FailureKind::Load,
            format!("could not create job: {error}"),
            None,
        )
    })?;
    Ok(Prepared {
        engine,
        history_last: previous,
        without_effect,
        kept_templates,
        began,
        ran: false,
    })
}

impl Prepared {
    fn publish(&mut self, session: &Session, request: &JobRequest) -> Result<(), Failure> {
        let spec = session
            .manifest
            .root()
            .get("spec")
            .map(crate::yaml::Node::to_value);
        let facts = JobFacts {
            previous: self.history_last.clone(),
            options: request.recorded_options.clone(),
            start_commit: head_of(session.manifest.base_dir()),
            spec_digest: canonical_sha256(&spec.unwrap_or_default())[..40].to_owned(),
            kept_templates: Arc::clone(&self.kept_templates),
            // The id of a job that follows another at once is of a moment later.
            ended: clock::now().max(self.engine.options.start),
        };
        keep_out_of_git(session.manifest.base_dir());
        let published = ensemble::publish(&session.manifest, &mut self.engine, &facts);
        published.map(|_| ()).map_err(|error| {
            let hint = "the job's journal in `jobs/` keeps what it did; \
                        make room or give permission, and look there before you run it again";
            let message = format!("the job has run, but its record cannot be saved: {error}");
            Failure::new(FailureKind::Internal, message, Some(hint.to_owned()))
        })
    }

    /// Puts the log of a plan where plans are.
    pub(super) fn settle_log(&self, log: JobLog, base: &Path) {
        if let Ok(id) = self.engine.id() {
            let name = ensemble::job_file_name(self.engine.options.start, id.as_str());
            log.settle(&base.join("planned"), &name);
        }
    }

    fn finish(
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
        })
    }
}

/// Hears the events of a job for its log and its view.
pub(super) struct Watch<'v> {
    view: &'v mut dyn View,
    pub(super) log: JobLog,
    sources: Sources,
    problems: Diagnostics,
    /// What was told already, with its place.
    told: HashSet<(String, Option<(SourceId, u32)>)>,
}

impl<'v> Watch<'v> {
    pub(super) fn new(view: &'v mut dyn View, log: JobLog, sources: &Sources) -> Self {
        Self {
            view,
            log,
            sources: sources.clone(),
            problems: Diagnostics::default(),
            told: HashSet::new(),
        }
    }

    pub(super) fn all(&mut self, events: &[Event]) {
        for event in events {
            self.event(event);
        }
    }
}

impl Sink for Watch<'_> {
    fn event(&mut self, event: &Event) {
        let Event::Problem(problem) = event else {
            self.log.event(event);
            self.view.event(event);
            return;
        };
        let place = problem.span().map(|span| (span.source, span.start));
        if !self.told.insert((problem.message.clone(), place)) {
            return;
        }
        self.log.problem(problem, &self.sources);
        self.view.problem(problem, &self.sources);
        self.problems.push(Diagnostic::clone(problem));
    }
}

fn lock(manifest: &Path, command: &str, view: &mut dyn View) -> Result<Lock, Failure> {
    let acquired = Lock::acquire(manifest, command).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Locked, error, hint)
    })?;
    if let Some(taken) = &acquired.taken_over {
        view.notice(&taken.to_string());
    }
    Ok(acquired.lock)
}

/// A record must not be published over that of somebody who broke the lock.
fn still_ours(lock: &Lock) -> Result<(), Failure> {
    if lock.is_ours() {
        return Ok(());
    }
    let message = "the lock was broken while the job ran, so its record is not saved";
    let hint = "the job's journal in `jobs/` keeps what it did";
    Err(Failure::new(
        FailureKind::Internal,
        message,
        Some(hint.to_owned()),
    ))
}

fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Internal, error, None)
}

/// A job that was cut off may have created what is not on record: creating it again would be wrong.
fn refuse_after_crash(jobs: &Path) -> Result<(), Failure> {
    let left = ensemble::Journal::left_in(jobs).map_err(|error| internal(&error))?;
    let Some(journal) = left.first() else {
        return Ok(());
    };
    let message = format!(
        "a job was cut off before its record was saved; `{}` tells what it did",
        journal.display()
    );
    let hint = "see there which tasks ended, remove by hand what they made or note it in the \
                ensemble's `status`, then delete that file";
    Err(Failure::new(
        FailureKind::Refused,
        message,
        Some(hint.to_owned()),
    ))
}

/// How far the id of the last job may be ahead of the clock where jobs follow each other at once.
const AT_ONCE: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

/// When the job starts: its ids must come after all that are recorded.
fn start_time(
    request: &JobRequest,
    history: &RecordedHistory,
    previous: Option<&str>,
    base: &Path,
) -> Result<jiff::Timestamp, Failure> {
    let asked = request
        .start
        .as_deref()
        .map_or_else(clock::now, parse_start);
    let last = history.last_id().map(|id| id.to_string());
    let last = last.as_deref().max(previous);
    let refuse = |message: String| Failure::new(FailureKind::Load, message, None);
    let is_earlier = |id: ChangeId| {
        previous.is_some_and(|previous| id.prefix() < &previous[..8.min(previous.len())])
    };
    // Jobs that follow each other at once take ids of the moments to come.
    let soon = asked.saturating_add(AT_ONCE).ok();
    let soon = soon.and_then(|soon| ChangeId::job(soon).ok());
    let follows = request.start.is_none() && soon.is_some_and(|soon| !is_earlier(soon));
    let mut start = asked;
    for _ in 0..=u16::MAX {
        let id = ChangeId::job(start).map_err(|error| refuse(error.to_string()))?;
        let before = last.filter(|last| last.len() >= 8 && id.prefix() <= &last[..8]);
        let Some(last) = before else {
            if !has_log(base, start, id) {
                return Ok(start);
            }
            start = crate::name::next_tick(start);
            continue;
        };
        if is_earlier(id) && !follows {
            return Err(refuse(format!(
                "could not create job: New changeId is earlier than the previous changeId: {id} < \
                 {last}. Is time set correctly?"
            )));
        }
        start = crate::name::next_tick(start);
    }
    Err(refuse(
        "could not create job: no free change id was found".to_owned(),
    ))
}

/// Whether a job that left no other trace had this id: its log is there.
fn has_log(base: &Path, start: jiff::Timestamp, id: ChangeId) -> bool {
    let name = ensemble::job_file_name(start, id.as_str());
    let folders = ["jobs", "planned", "failed"];
    folders
        .iter()
        .any(|folder| fs::exists(&base.join(folder).join(format!("{name}.log"))))
}

/// `--starttime`: an hour of 2020-01-01, or a time in the form of records.
fn parse_start(text: &str) -> jiff::Timestamp {
    let epoch = jiff::civil::date(2020, 1, 1);
    let utc = |time: jiff::civil::DateTime| {
        time.to_zoned(jiff::tz::TimeZone::UTC)
            .map(|zoned| zoned.timestamp())
            .unwrap_or_default()
    };
    if let Ok(hour) = text.parse::<i8>() {
        return utc(epoch.at(hour.clamp(0, 23), 0, 0, 0));
    }
    let (seconds, micros) = text.rsplit_once('-').unwrap_or((text, "0"));
    let parsed = jiff::civil::DateTime::strptime("%Y-%m-%d-%H-%M-%S", seconds);
    match (parsed, micros.parse::<i64>()) {
        (Ok(time), Ok(micros)) => {
            let span = jiff::SignedDuration::from_micros(micros);
            utc(time).checked_add(span).unwrap_or_default()
        }
        _ => utc(epoch.at(0, 0, 0, 0)),
    }
}

fn head_of(base: &Path) -> Option<String> {
    Repository::discover(base)
        .ok()
        .flatten()?
        .head()
        .ok()
        .flatten()
}

/// What never belongs to git; the patterns of older projects miss it.
const KEPT_OUT: [(&str, &str); 5] = [
    ("**/planned/", "planned/x/y"),
    ("**/jobs/", "jobs/x"),
    ("**/failed/", "failed/x/y"),
    ("*.lock.owner", "ensemble.yaml.lock.owner"),
    ("**/local/digest.key", "local/digest.key"),
];

fn keep_out_of_git(base: &Path) {
    if let Ok(Some(repository)) = Repository::discover(base) {
        for (pattern, probe) in KEPT_OUT {
            // A repository that cannot be written is no reason to stop a job that has run.
            repository.ensure_excluded(pattern, &base.join(probe)).ok();
        }
    }
}
