//! A job: deploy, undeploy, check and the other workflows differ by their goal only.

use super::committing::JobCommit;
use super::failure::{Failure, FailureKind};
use super::hands::{JobFolders, LocalRunner};
use super::lock;
use super::log::JobLog;
use super::prepared::prepare;
use super::recover;
use super::remote_lock;
use super::request::JobRequest;
use super::session::{self, Found};
use super::upstream;
use super::view::{Decision, JobReport, View};
use super::watch::Watch;
use crate::diagnostic::Diagnostic;
use crate::ensemble::{Folders, JobJournal};
use crate::job::{self, Engine, Event, Hands, Report, Sink as _};
use crate::lock::{Lock, RemoteLock};

/// Runs a job from the text of an ensemble to its record.
pub fn deploy(request: &JobRequest, view: &mut dyn View) -> Result<JobReport, Failure> {
    let found = session::find(&request.session)?;
    let lock = lock::take(found.path(), request, view)?;
    // What others have pushed is looked at once they cannot push any more.
    let remote = remote_lock::take(&found, request, view)?;
    let report = run(request, found, (&lock, &remote), view);
    remote_lock::release(remote, view);
    report
}

/// Runs the job of an ensemble that is locked.
fn run(
    request: &JobRequest,
    found: Found,
    (lock, remote): (&Lock, &RemoteLock),
    view: &mut dyn View,
) -> Result<JobReport, Failure> {
    request.go_on()?;
    let found = upstream::check(found, request, view)?;
    if recover::recover(&found, view)? {
        recover::refresh(request, session::find(&request.session)?)?;
    }
    let mut session = session::load(found, &request.session)?;
    remote_lock::refuse_another(remote, &session.environment)?;
    let log = JobLog::open(request.session.logfile.as_deref())?;
    let folders = Folders::new(session.manifest.base_dir());
    let commit = JobCommit::prepare(request, &session, view)?;
    let commit = commit.as_ref();
    let mut job = prepare(request, &mut session, &folders)?;
    view.warnings(&session.warnings, &session.sources);
    folders.set_previous_aside().map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, hint)
    })?;
    let mut folders = JobFolders::new(folders);
    render(&mut job.engine, &mut folders, request)?;
    let settled = job.engine.has_nothing_to_do() || job.engine.gives_up();
    let mut watch = Watch::new(view, log, &session.sources);
    watch.all(&job.engine.take_events());
    if settled {
        let ended = job.end(request, &session)?;
        return Ok(ended.finish(&session, watch, (commit, false)));
    }
    if approve(&mut job.engine, &mut watch, request) == Decision::Decline {
        let ended = job.end(request, &session)?;
        return Ok(ended.finish(&session, watch, (commit, true)));
    }
    refuse_in_doubt(&job.engine, watch.view, request)?;
    let mut journal = job.begin(&session, request, &lock.owner().token)?;
    let local = || Box::new(LocalRunner::new(request, lock)) as Box<dyn job::Runner>;
    let mut runner = watch.view.runner().unwrap_or_else(local);
    let mut hands = Hands {
        runner: &mut *runner,
        folders: &mut folders,
        journal: match &mut journal {
            Some(journal) => journal,
            None => &mut job::NoJournal,
        },
        sinks: vec![&mut watch],
    };
    let result = job::run(&mut job.engine, &mut hands);
    still_ours(lock)?;
    let ended = job.end(request, &session)?;
    if request.save.record {
        // What a job did is on record, also when it could not be brought to its end.
        ended.publish(&session)?;
        drop_journal(journal, &mut watch);
    }
    result.map_err(|error| stopped(&error))?;
    tell_unsaved(&ended.report, &mut watch);
    ended.settle_interrupted(&session);
    Ok(ended.finish(&session, watch, (commit, false)))
}

/// Evaluates what tasks need, and writes their files.
fn render(
    engine: &mut Engine,
    folders: &mut JobFolders,
    request: &JobRequest,
) -> Result<(), Failure> {
    engine.render(folders);
    request.go_on()
}

/// Asks whether the plan is to be run. Who asks for an end instead declines.
fn approve(engine: &mut Engine, watch: &mut Watch<'_>, request: &JobRequest) -> Decision {
    let decision = watch.approve(engine);
    engine.interrupt(request.interrupts.first());
    match engine.interrupted() {
        Some(_) => Decision::Decline,
        None => decision,
    }
}

/// Removes a journal, all of which is in the record. The next job removes one that cannot be.
fn drop_journal(journal: Option<JobJournal>, watch: &mut Watch<'_>) {
    if let Some(Err(error)) = journal.map(JobJournal::remove) {
        let help = "the record is saved; the next job removes the journal";
        let warning = Diagnostic::warning(error).help(help);
        watch.event(&Event::Problem(Box::new(warning)));
    }
}

/// A job that had to stop, all of which is on record.
fn stopped(error: &job::Error) -> Failure {
    let hint = match error {
        job::Error::Journal(error) => error.hint.clone(),
        _ => None,
    };
    let hint = hint.map_or_else(String::new, |hint| format!("{hint}; "));
    let hint = format!("{hint}what the job did is on record: run it again to go on");
    let message = format!("the job had to stop: {error}");
    Failure::new(FailureKind::Internal, message, Some(hint))
}

/// Warns of what a run changed that is not saved.
fn tell_unsaved(report: &Report, watch: &mut Watch<'_>) {
    let changed = &report.unrecorded;
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

/// What may have been done already is done again only if somebody says so. From here on the job
/// must be brought to an end.
fn refuse_in_doubt(
    engine: &Engine,
    view: &mut dyn View,
    request: &JobRequest,
) -> Result<(), Failure> {
    let doubts = engine.in_doubt();
    let goal = &engine.options.goal;
    if doubts.is_empty() || goal.dry_run || goal.redo_in_doubt || view.redo(&doubts) {
        request.go_on()?;
        request.interrupts.starts();
        return Ok(());
    }
    request.go_on()?;
    let message = format!(
        "a job was cut off, and nobody knows whether {} was done, so that it is not run again",
        doubts.join(", ")
    );
    let hint = "look whether it was; `--redo-in-doubt` runs it again, and an operation `check` of \
                the instance would find out by itself";
    Err(Failure::new(
        FailureKind::Refused,
        message,
        Some(hint.to_owned()),
    ))
}
