//! Implements `unfurl plan`: plans and renders a job without running it.

use std::path::Path;

use super::drift::RecordedDrift;
use super::event_watcher::{EventWatcher, open_log_of_plan};
use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::ignored_files::ignored_files;
use super::job_plan::complete_proposal;
use super::packages::{self, FetchPermission};
use super::planned_job::{PlannedJob, circular_requirements, plan_job, unreported};
use super::query::QueryResult;
use super::recover;
use super::request::JobRequest;
use crate::diagnostic::{Severity, Sources};
use crate::ensemble::{JobFolders, LogFile, WorkingFolders};
use crate::job::{JobEvent, LogLevel, Proposal};
use crate::lock::{Lock, LockError, LockState};
use crate::session::{self, PlannedInput};

/// The preview of a job: its plan and the result of a query.
#[derive(Debug)]
pub struct PlanPreview {
    pub plan: Proposal,
    /// Whether the model has errors that concern a part of it only.
    pub has_errors: bool,
    /// The inputs with their values and sources.
    pub inputs: Vec<PlannedInput>,
    /// The drift that the last looks found.
    pub drift: RecordedDrift,
    /// The result of the expression that the user requested.
    pub answer: Option<QueryResult>,
    /// The texts from which the job was planned.
    pub sources: Sources,
}

/// Plans a job and renders it. If another job holds the lock, no rendered files are written, so that
/// the two do not interfere.
pub fn plan(request: &JobRequest, view: &mut dyn JobFrontend) -> Result<PlanPreview, Failure> {
    let mut found = session::find(&request.session)?;
    if let Some(text) = recover::recover_unsaved(&mut found, request)? {
        view.notice(&text);
    }
    let manifest = found.located.manifest.clone();
    // Cleaning up after a crashed job is the task of the next job, not of a plan.
    let lock = match Lock::state(&manifest) {
        Ok(LockState::Stale(_)) => None,
        _ => lock_if_free(&manifest, request)?,
    };
    request.check_interrupt()?;
    let notice = &mut |text: &str| view.notice(text);
    let mut session = packages::load(&found, &request.session, FetchPermission::Name, notice)?;
    let base = session.manifest.base_dir();
    let folders = match &lock {
        Some(_) => WorkingFolders::new(base),
        None => WorkingFolders::without_writes(base),
    };
    let log = open_log_of_plan(request)?;
    let mut job = plan_job(request, &mut session, &folders)?;
    let has_errors = session.warnings.has_errors();
    if let Some(mut circle) = circular_requirements(&job.engine) {
        circle.severity = Severity::Warning;
        session.warnings.push(circle);
    }
    folders
        .archive_previous()
        .map_err(|error| refused(&error))?;
    job.engine.render(&mut JobFolders::new(folders));
    request.check_interrupt()?;
    session
        .warnings
        .append(ignored_files(&job.engine, &session));
    let events = job.engine.take_events();
    view.warnings(&unreported(&session.warnings, &events), &session.sources);
    let mut watch = EventWatcher::new(view, log, &session.sources);
    watch.handle_all(&events);
    keep_log(&job, watch.log, session.manifest.base_dir());
    let drift = RecordedDrift::of(&session);
    for problem in &drift.problems {
        view.notice(problem);
    }
    let query = request.query.as_ref();
    let answer = query.map(|query| query.answer(&job.engine, &session.sources));
    Ok(PlanPreview {
        answer: answer.transpose()?,
        drift,
        has_errors,
        inputs: session.planned_inputs(&job.engine.inputs(), &job.report_context.changed_secrets),
        plan: complete_proposal(
            &job.engine,
            &session,
            &job.report_context.changed_secrets,
            request.extent,
        ),
        sources: session.sources,
    })
}

/// Keeps the log of a plan, as Unfurl does, also if there is nothing to do.
fn keep_log(job: &PlannedJob, mut log: LogFile, base: &Path) {
    let workflow = &job.engine.options.goal.workflow;
    let nothing = if job.engine.has_no_work() {
        ": nothing to do"
    } else {
        ""
    };
    log.event(&JobEvent::Message {
        level: LogLevel::Info,
        text: format!("planned {workflow}{nothing}"),
    });
    job.move_log(log, base);
}

/// Takes the lock; returns `None` if another job holds it or the folder is not writable.
fn lock_if_free(manifest: &Path, request: &JobRequest) -> Result<Option<Lock>, Failure> {
    match Lock::acquire(manifest, &request.command) {
        Ok(acquired) => Ok(Some(acquired.lock)),
        Err(error) if error.is_temporary() => Ok(None),
        // A plan is possible without write permission.
        Err(LockError::File(error)) if error.is_permission_problem() => Ok(None),
        Err(error) => {
            let hint = error.hint();
            Err(Failure::new(FailureKind::Locked, error, hint))
        }
    }
}

fn refused(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Refused, error, None)
}
