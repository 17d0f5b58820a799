//! The job that records imported instances: a deploy of them whose operations do not run.

use std::time::Duration;

use super::nodes::PartNode;
use super::request::ImportRequest;
use crate::diagnostic::Severity;
use crate::job::Adopted;
use crate::name::{InstanceName, Status};
use crate::ops::deploy::deploy;
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::frontend::Decision;
use crate::ops::quiet_frontend::QuietFrontend;
use crate::ops::request::{JobRequest, RunSettings, SaveSettings};
use crate::plan::JobGoal;

/// The time for running tasks after an interrupt.
const GRACE: Duration = Duration::from_secs(30);

/// Records the instances as deployed, and returns the id of the job.
///
/// # Errors
///
/// The job was refused or failed. The first problem is in the failure.
pub(super) fn record_adopted(
    request: &ImportRequest,
    adopted: Adopted,
    parts: &[PartNode],
    notes: &mut Vec<String>,
) -> Result<String, Failure> {
    let own = std::iter::once(adopted.instance.as_str());
    let instances = own.chain(parts.iter().map(|part| &*part.name));
    let request = JobRequest {
        session: request.session.clone(),
        goal: JobGoal {
            instances: instances.map(InstanceName::from).collect(),
            ..JobGoal::default()
        },
        adopted: vec![adopted],
        run: RunSettings {
            parallel: 1,
            grace: GRACE,
            ..RunSettings::default()
        },
        save: SaveSettings {
            record: true,
            ..SaveSettings::default()
        },
        command: request.command.clone(),
        lock_timeout: request.lock_timeout,
        interrupts: request.interrupts.clone(),
        ..JobRequest::default()
    };
    let mut frontend = QuietFrontend::new(Decision::Proceed);
    let report = deploy(&request, &mut frontend)?;
    notes.append(&mut frontend.warnings);
    notes.append(&mut frontend.notices);
    if report.job.status == Status::Ok {
        return Ok(report.job.head.id.to_string());
    }
    let mut problems = frontend.problems;
    problems.append(report.problems);
    let mut errors = problems.iter().filter(|it| it.severity == Severity::Error);
    let first = errors.next().map(|it| it.message.clone());
    let reason = report.job.aborted.or(first);
    let reason = reason.unwrap_or_else(|| "the job that records them did not succeed".to_owned());
    let message = format!("the instances cannot be recorded: {reason}");
    Err(Failure::new(FailureKind::JobFailed, message, None))
}
