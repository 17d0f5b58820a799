//! Runs a job from its request to its report. Deploy, undeploy, check and the other workflows differ only in
//! the goal of the request.

use super::failure::{Failure, FailureKind};
use super::frontend::{JobFrontend, JobReport};
use super::job_lock::{self, JobLock};
use super::job_run::{Approval, RenderedJob, ReportedJob};
use super::request::JobRequest;
use crate::job;
use crate::session;

/// Runs a job: locks the ensemble, plans, asks for approval, executes and records.
pub fn deploy(request: &JobRequest, view: &mut dyn JobFrontend) -> Result<JobReport, Failure> {
    let found = session::find(&request.session)?;
    let mut locked = JobLock::acquire(found, request, view)?;
    let job = run(&mut locked, request, view);
    locked.release(view);
    Ok(job?.with_answer(request))
}

/// Runs the job of a locked ensemble. Each step consumes the type of the previous one, so that the order is
/// checked at compile time.
fn run(
    locked: &mut JobLock,
    request: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<ReportedJob, Failure> {
    locked.fast_forward(request, view)?;
    locked.recover(request, view)?;
    let session = locked.load(request, view)?;
    let mut job = RenderedJob::of(session, request, view)?;
    let approval = job.approve()?;
    if approval != Approval::Declined {
        job.save_inputs(&locked.ensemble)?;
    }
    if approval != Approval::Approved {
        return Ok(job.end()?.report(approval));
    }
    let mut journal = job.begin(&locked.ensemble)?;
    let result = job.run(journal.as_mut(), Some(&locked.ensemble));
    let held = locked.ensemble.ensure_held();
    held.map_err(|error| job_lock::lock_broken_failure(&error))?;
    let mut ended = job.end()?;
    ended.record(journal, &locked.ensemble)?;
    result.map_err(|error| stopped_failure(&error))?;
    ended.settle();
    Ok(ended.report(approval))
}

/// Returns the failure of a job that stopped early, after its results were recorded.
fn stopped_failure(error: &job::Error) -> Failure {
    let hint = match error {
        job::Error::Journal(error) => error.hint.clone(),
        _ => None,
    };
    let hint = hint.map_or_else(String::new, |hint| format!("{hint}; "));
    let hint = format!("{hint}the results so far are recorded; run the job again to continue");
    let message = format!("the job had to stop: {error}");
    Failure::new(FailureKind::Internal, message, Some(hint))
}
