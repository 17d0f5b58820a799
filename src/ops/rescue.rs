//! Rescues records that cannot be saved, and implements `unfurl recover`, which saves them later and records
//! crashed jobs.

use std::path::Path;

use super::failure::{Failure, FailureKind};
use super::frontend::Decision;
use super::quiet_frontend::QuietFrontend;
use super::recover;
use super::request::JobRequest;
use super::upstream;
use crate::ensemble::{
    CrashedJob, JournalFile, LockedEnsemble, PublishError, Record, RescueFile, end_survivors,
};
use crate::lock::Lock;
use crate::name::ChangeId;
use crate::session::{self, EnsembleLocation, Session, SessionOptions};
use crate::system::fs;

/// Writes a record that could not be saved to a rescue file. Returns the failure that tells the user where it
/// is and what to do.
pub(super) fn save_rescue_file(
    record: &Record,
    session: &Session,
    previous: Option<String>,
    error: &PublishError,
) -> Failure {
    let why = match error {
        PublishError::File(error) => error.hint(),
        PublishError::Patch { .. }
        | PublishError::Changed { .. }
        | PublishError::Overtaken { .. } => None,
    };
    let message = format!("the job has run, but its record cannot be saved: {error}");
    let saved_to = match RescueFile::of(record, &session.manifest, previous).write() {
        Ok(path) => format!(
            "the record is saved in `{}`: when the ensemble is writable again, run `unfurl \
             recover`",
            path.display()
        ),
        Err(other) => format!(
            "no other folder was writable either ({other}), so only the job's journal in `jobs/` \
             contains the results: when the ensemble is writable again, run the command again"
        ),
    };
    let hint = why.map_or(saved_to.clone(), |why| format!("{why}; {saved_to}"));
    Failure::new(FailureKind::Internal, message, Some(hint))
}

/// Saves rescued records, from the given file or all that are found, and records crashed jobs. Returns
/// messages about the result, none if there was nothing to recover.
pub fn recover(
    options: &SessionOptions,
    file: Option<&Path>,
    command: &str,
) -> Result<Vec<String>, Failure> {
    let found = session::find(options)?;
    let manifest = found.located.manifest.clone();
    let acquired = Lock::acquire(&manifest, command).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Locked, error, hint)
    })?;
    let owner = acquired
        .taken_over
        .as_ref()
        .and_then(|it| it.owner.as_ref());
    let ended = end_survivors(owner, &manifest);
    let locked = LockedEnsemble::of(acquired.lock, &manifest);
    upstream::complete_checkouts(&found)?;
    let rescues = match file {
        Some(path) => {
            let rescue = RescueFile::read(path).map_err(|error| refused(&error, None))?;
            vec![(path.to_owned(), rescue)]
        }
        None => RescueFile::list_for(&manifest),
    };
    let mut notices: Vec<String> = ended.into_iter().collect();
    for (path, rescue) in rescues {
        let session = session::load(found.clone(), options)?;
        notices.push(restore(&locked, &session, &path, &rescue)?);
    }
    if file.is_none() {
        notices.extend(recover_crashed_jobs(&locked, &found, options, command)?);
    }
    Ok(notices)
}

/// Records crashed jobs, as the next job would.
fn recover_crashed_jobs(
    locked: &LockedEnsemble,
    found: &EnsembleLocation,
    options: &SessionOptions,
    command: &str,
) -> Result<Vec<String>, Failure> {
    let mut frontend = QuietFrontend::new(Decision::Decline);
    let request = JobRequest {
        session: options.clone(),
        command: command.to_owned(),
        ..JobRequest::default()
    };
    recover::recover(locked, found, &request, &mut frontend)?;
    Ok(frontend.notices)
}

/// Removes the journal of a job whose record is saved.
fn drop_journal(session: &Session, job: &str) {
    for path in JournalFile::list_for(session.manifest.path()).unwrap_or_default() {
        let read = CrashedJob::read(&path).ok().flatten();
        if read.is_some_and(|cut_off| cut_off.id() == job) {
            // The next job recognizes a remaining journal as already recorded.
            JournalFile::remove_of(session.manifest.path(), &path).ok();
        }
    }
}

/// Saves one rescued record, then removes its journal and its rescue file.
fn restore(
    locked: &LockedEnsemble,
    session: &Session,
    path: &Path,
    rescue: &RescueFile,
) -> Result<String, Failure> {
    let manifest = &session.manifest;
    let job = &rescue.job;
    if !rescue.is_of(manifest) {
        let message = format!(
            "`{}` belongs to another ensemble, `{}`",
            path.display(),
            rescue.manifest.display()
        );
        let hint = "name that ensemble: `unfurl recover ENSEMBLE FILE`";
        return Err(refused(&message, Some(hint)));
    }
    let record = rescue.record(path).map_err(|error| refused(&error, None))?;
    let saved = record.is_saved(manifest);
    if !saved {
        ensure_in_order(session, path, rescue)?;
        locked.record(&record, manifest).map_err(|error| {
            let hint = format!("`{}` still contains the record", path.display());
            let message = format!("the record of job {job} cannot be saved: {error}");
            Failure::new(FailureKind::Internal, message, Some(hint))
        })?;
    }
    drop_journal(session, job);
    fs::remove_file_if_exists(path).map_err(|error| {
        let hint = "the record is saved, so this file is no longer needed: remove it";
        Failure::new(FailureKind::Internal, error, Some(hint.to_owned()))
    })?;
    Ok(if saved {
        format!("The record of job {job} was already saved.")
    } else {
        format!("The record of job {job} is saved.")
    })
}

/// Checks that no other job was recorded since the rescued job started.
fn ensure_in_order(session: &Session, path: &Path, rescue: &RescueFile) -> Result<(), Failure> {
    let history = session.history()?;
    let last = history
        .last_job()
        .map(|id: ChangeId| id.to_string())
        .max(session.last_job());
    let Err(error) = rescue.follows(last.as_deref()) else {
        return Ok(());
    };
    let hint = format!(
        "run `unfurl check` to determine what exists, then remove `{}`, which contains the results \
         of that job",
        path.display()
    );
    Err(refused(&error, Some(&hint)))
}

fn refused(message: &impl ToString, hint: Option<&str>) -> Failure {
    let hint = hint.map(str::to_owned);
    Failure::new(FailureKind::Refused, message.to_string(), hint)
}
