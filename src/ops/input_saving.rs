//! Saves the values of inputs that the user gave with a job in the ensemble (`--save-inputs`).

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::job_lock;
use super::request::JobRequest;
use crate::ensemble::{LockedEnsemble, Record, RecordError};
use crate::name::ChangeId;
use crate::session::{self, SavedInputs, Session};

/// Returns the values to save; `None` if no request was made or the job is a dry run.
///
/// # Errors
///
/// A value must not or cannot be saved. Nothing has run yet.
pub(super) fn prepare(
    request: &JobRequest,
    session: &Session,
    view: &mut dyn JobFrontend,
) -> Result<Option<SavedInputs>, Failure> {
    if !request.save_inputs {
        return Ok(None);
    }
    let inputs = session.inputs_to_save()?;
    if request.goal.dry_run {
        view.notice("a dry run saves no inputs");
        return Ok(None);
    }
    if inputs.names.is_empty() {
        view.notice("`--save-inputs` has nothing to save: `spec.inputs` has all values that this command gives");
    }
    Ok(Some(inputs))
}

/// Writes the values into the ensemble and reads its manifest again.
pub(super) fn save(
    inputs: &SavedInputs,
    job: ChangeId,
    locked: &LockedEnsemble,
    session: &mut Session,
) -> Result<(), Failure> {
    if inputs.names.is_empty() {
        return Ok(());
    }
    let record = Record::of_sections(job, inputs.sections.clone());
    locked
        .record(&record, &session.manifest)
        .map_err(|error| match error {
            RecordError::LockBroken => job_lock::lock_broken_failure(&error),
            RecordError::Publish(error) => {
                let message =
                    format!("the inputs cannot be saved, so the job was not started: {error}");
                let hint = "leave out `--save-inputs` to run the job with these values once";
                Failure::new(FailureKind::Refused, message, Some(hint.to_owned()))
            }
        })?;
    session.manifest = session::manifest(&session.location)?;
    Ok(())
}
