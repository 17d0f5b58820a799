//! Handles the remote lock (`lfs_lock`) of jobs and of the `unfurl lock` commands.

use std::path::Path;

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::request::JobRequest;
use crate::diagnostic::{Diagnostics, Sources};
use crate::ensemble::Manifest;
use crate::git::lfs::Error;
use crate::lock::{
    LockLocation, LockMode, LockWait, RemoteLock, RemoteLockError, RemoteLockRequest,
    RemoteLockStatus, break_remote_lock, remote_lock_status,
};
use crate::project::Environment;
use crate::session::{self, EnsembleLocation, SessionOptions};
use crate::system::fs;

/// Takes the remote lock if the environment requires it, waiting up to the job's time limit.
pub(super) fn acquire(
    found: &EnsembleLocation,
    request: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<RemoteLock, Failure> {
    if !may_be_configured(found) {
        return Ok(RemoteLock::default());
    }
    // Errors of the ensemble are reported later, when it is loaded completely.
    let Ok((manifest, environment)) = session::manifest_with_environment(found) else {
        return Ok(RemoteLock::default());
    };
    if environment.remote_lock.mode == LockMode::No {
        return Ok(RemoteLock::default());
    }
    let wait = LockWait {
        timeout: request.lock_timeout,
        interrupts: &request.interrupts,
    };
    let place = location(found, &manifest, &environment).map_err(RemoteLockError::from);
    let taken = place.and_then(|place| place.take(wait, &mut |text| view.notice(text)));
    if taken.is_err() {
        // After an interrupt, report the interrupt and not the lock error it caused.
        request.check_interrupt()?;
    }
    let (lock, warning) = RemoteLock::of(environment.remote_lock, taken).map_err(refused)?;
    if let Some(warning) = warning {
        view.warnings(&warning.into(), &found.sources);
    }
    Ok(lock)
}

fn refused(refusal: RemoteLockError) -> Failure {
    let kind = match refusal {
        RemoteLockError::HeldByOther { .. } => FailureKind::Locked,
        RemoteLockError::Unavailable(_)
        | RemoteLockError::Doubtful { .. }
        | RemoteLockError::Note(_) => FailureKind::Refused,
    };
    let hint = refusal.hint();
    Failure::new(kind, refusal, hint)
}

/// Whether the environment may configure a remote lock. This cheap check avoids reading the ensemble twice.
fn may_be_configured(found: &EnsembleLocation) -> bool {
    let located = &found.located;
    let environment = located.environment(None);
    let text = || fs::read_to_string(&located.manifest).unwrap_or_default();
    let says = |text: String| text.contains("lfs_lock") || text.contains("include");
    environment.section("lfs_lock").is_some() || says(text())
}

/// Returns the location of the ensemble's remote lock.
pub(super) fn location(
    found: &EnsembleLocation,
    manifest: &Manifest,
    environment: &Environment,
) -> Result<LockLocation, Error> {
    let uri = manifest.root().get("metadata").and_then(|it| it.get("uri"));
    LockLocation::of(&RemoteLockRequest {
        settings: &environment.remote_lock,
        environment: environment.name.as_deref(),
        manifest: manifest.path(),
        base_dir: manifest.base_dir(),
        uri: uri.and_then(|uri| uri.as_str()).unwrap_or_default(),
        env: &found.env,
        is_trusted: session::trusts_repository_of(&found.located, manifest.base_dir()),
    })
}

/// Refuses the job if pulled commits have changed the lock settings since the lock was taken.
pub(super) fn refuse_changed_settings(
    lock: &RemoteLock,
    environment: &Environment,
) -> Result<(), Failure> {
    if lock.matches_settings(&environment.remote_lock) {
        return Ok(());
    }
    let message = "pulled commits have changed the settings of `lfs_lock`";
    let hint = "run the job again: it takes the lock of the new settings";
    let hint = Some(hint.to_owned());
    Err(Failure::new(FailureKind::Refused, message, hint))
}

/// Releases the lock; shows a warning if that failed or the lock no longer existed.
pub(super) fn release(lock: RemoteLock, view: &mut dyn JobFrontend) {
    if let Some(warning) = lock.release() {
        view.warnings(&Diagnostics::from(warning), &Sources::default());
    }
}

/// Returns the state of the remote lock; `None` if none is configured or the environment cannot be read.
/// Takes no lock.
pub(super) fn status(options: &SessionOptions, manifest: &Path) -> Option<RemoteLockStatus> {
    let options = SessionOptions {
        ensemble: manifest.display().to_string(),
        ..options.clone()
    };
    Some(remote_lock_status(find_location(&options).ok()??))
}

/// Removes the remote lock of a job in this folder, or any lock with `force`. Returns a message; `None` if no
/// lock is configured or exists.
pub(super) fn break_lock(options: &SessionOptions, force: bool) -> Option<String> {
    match find_location(options) {
        Ok(place) => break_remote_lock(place?, force),
        Err(failure) => Some(format!("the remote lock was not broken: {failure}")),
    }
}

/// Returns the location of the remote lock without loading the service template. `None` means that no lock is
/// configured; the inner error says why no server is available.
fn find_location(options: &SessionOptions) -> Result<Option<Result<LockLocation, Error>>, Failure> {
    let found = session::find(options)?;
    let (manifest, environment) = session::manifest_with_environment(&found)?;
    if environment.remote_lock.mode == LockMode::No {
        return Ok(None);
    }
    Ok(Some(location(&found, &manifest, &environment)))
}
