//! Handles the locks of ensembles: takes them for jobs, and implements `unfurl lock list` and `unfurl lock
//! break`.

use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::remote_lock;
use super::request::JobRequest;
use crate::ensemble::{JournalFile, LockedEnsemble, end_survivors};
use crate::lock::{
    self, AcquiredLock, Lock, LockError, LockState, LockWait, RemoteLockStatus, WaitError,
};
use crate::session::{self, SessionOptions};
use crate::system::fs;

/// The state of an ensemble's locks.
#[derive(Debug)]
pub struct EnsembleLockStatus {
    pub manifest: PathBuf,
    /// The state of the local lock, or the reason why it is unknown.
    pub state: Result<LockState, String>,
    /// The state of the remote lock, if the environment configures one.
    pub remote: Option<RemoteLockStatus>,
}

/// Takes the local lock of an ensemble for a job, waiting up to the time limit.
///
/// If a crashed job held the lock or left a journal, its surviving processes are ended first.
pub(super) fn acquire(
    manifest: &Path,
    request: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<LockedEnsemble, Failure> {
    let acquired = take(manifest, request, view).map_err(wait_failure)?;
    if let Some(taken) = &acquired.taken_over {
        view.notice(&taken.to_string());
    }
    let owner = acquired
        .taken_over
        .as_ref()
        .and_then(|it| it.owner.as_ref());
    if let Some(text) = end_survivors(owner, manifest) {
        view.notice(&text);
    }
    request.check_interrupt()?;
    Ok(LockedEnsemble::of(acquired.lock, manifest))
}

/// Takes the local lock of an ensemble to look at it, waiting up to the time limit.
///
/// Returns None if the folder is not writable, and if a crashed job left the lock: cleaning up after that job is the
/// task of the next job.
pub(super) fn acquire_to_look(
    manifest: &Path,
    request: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<Option<LockedEnsemble>, Failure> {
    if let Ok(LockState::Stale(_)) = Lock::state(manifest) {
        return Ok(None);
    }
    match take(manifest, request, view) {
        Ok(acquired) => Ok(Some(LockedEnsemble::of(acquired.lock, manifest))),
        Err(WaitError::Lock(LockError::File(error))) if error.is_permission_problem() => Ok(None),
        Err(error) => Err(wait_failure(error)),
    }
}

fn take(
    manifest: &Path,
    request: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<AcquiredLock, WaitError> {
    let wait = LockWait {
        timeout: request.lock_timeout,
        interrupts: &request.interrupts,
    };
    let notify = &mut |text: &str| view.notice(text);
    lock::acquire(manifest, &request.command, wait, notify)
}

fn wait_failure(error: WaitError) -> Failure {
    match error {
        WaitError::Interrupted(signal) => Failure::interrupted(signal),
        WaitError::Lock(error) => {
            let hint = error.hint_with_timeout();
            Failure::new(FailureKind::Locked, error, hint)
        }
    }
}

/// Returns the lock states of the named ensemble, or of all ensembles of the project if none is named.
pub fn list(options: &SessionOptions) -> Result<Vec<EnsembleLockStatus>, Failure> {
    let manifests = if options.ensemble.is_empty() {
        project_manifests(options)?
    } else {
        vec![session::find(options)?.located.manifest]
    };
    let listed = manifests.into_iter().map(|manifest| EnsembleLockStatus {
        state: Lock::state(&manifest).map_err(|error| error.to_string()),
        remote: remote_lock::status(options, &manifest),
        manifest,
    });
    Ok(listed.collect())
}

fn project_manifests(options: &SessionOptions) -> Result<Vec<PathBuf>, Failure> {
    let located = session::find(options)?.located;
    let mut manifests = vec![located.manifest];
    if let Some(project) = &located.project {
        let here = project.ensembles.iter();
        let here = here.filter(|entry| entry.project.is_none());
        manifests.extend(here.map(|entry| project.path_of(entry)));
    }
    manifests.sort();
    manifests.dedup();
    manifests.retain(|path| fs::is_file(path));
    Ok(manifests)
}

/// The result of breaking the locks of an ensemble.
#[derive(Debug)]
pub struct BrokenLock {
    pub manifest: PathBuf,
    /// The state of the local lock before.
    pub state: LockState,
    /// The actions taken, one sentence each.
    pub messages: Vec<String>,
}

/// Removes the locks of an ensemble and reports what was done. The lock of a running process is removed only with
/// `force`. Surviving processes of a crashed job are ended.
pub fn break_lock(options: &SessionOptions, force: bool) -> Result<BrokenLock, Failure> {
    let manifest = session::find(options)?.located.manifest;
    let state = Lock::break_lock(&manifest, force).map_err(lock_failure)?;
    let mut messages = vec![match &state {
        LockState::Free => "there was no lock".to_owned(),
        LockState::Irregular(found) => format!("the lock is broken: {found}"),
        other => format!("the lock is broken; it was {}", other.describe()),
    }];
    if let LockState::Stale(taken) = &state {
        messages.extend(end_survivors(taken.owner.as_ref(), &manifest));
    }
    if force {
        let removed = JournalFile::remove_irregular(&manifest).map_err(|error| {
            let hint = error.hint();
            Failure::new(FailureKind::Refused, error, hint)
        })?;
        for journal in removed {
            messages.push(format!("a journal is removed, because {journal}"));
        }
    }
    messages.extend(remote_lock::break_lock(options, force));
    Ok(BrokenLock {
        manifest,
        state,
        messages,
    })
}

fn lock_failure(error: LockError) -> Failure {
    let hint = error.hint();
    Failure::new(FailureKind::Locked, error, hint)
}
