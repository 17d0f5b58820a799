//! Errors of a model that concern one part of it, and the jobs that they stop.

use super::failure::{Failure, FailureKind};
use crate::diagnostic::{Check, Severity};
use crate::plan::WorkflowKind;
use crate::session::Session;

/// The checks of loading whose errors stop jobs that build something. Unfurl (Python) loads no such model.
const STOPPING: [Check; 7] = [
    Check::Constraint,
    Check::MissingCapability,
    Check::MissingInput,
    Check::MissingProperty,
    Check::MissingRequirement,
    Check::UnknownTarget,
    Check::WrongType,
];

/// Refuses a job if errors of the model stop it.
///
/// Removing, stopping and checking instances needs no complete model: operations that need what is missing fail by
/// themselves.
pub(super) fn refuse_if_stopped(workflow: &WorkflowKind, session: &Session) -> Result<(), Failure> {
    if matches!(
        workflow,
        WorkflowKind::Undeploy | WorkflowKind::Stop | WorkflowKind::Check
    ) {
        return Ok(());
    }
    let mut problems = session.warnings.iter();
    if problems.any(|it| it.severity == Severity::Error && STOPPING.contains(&it.check)) {
        let problems = session.warnings.clone();
        let sources = session.sources.clone();
        return Err(Failure::with_sources(FailureKind::Load, problems, sources));
    }
    Ok(())
}
