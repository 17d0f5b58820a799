//! Looks at the lock of an ensemble, or breaks it.

use super::failure::{Failure, FailureKind};
use super::session::{self, SessionOptions};
use crate::ensemble::{Lock, LockError, LockState};

/// Says who holds the lock.
pub fn show(options: &SessionOptions) -> Result<String, Failure> {
    let found = session::find(options)?;
    let state = Lock::look(&found.located.manifest).map_err(refused)?;
    Ok(format!("{}\n", words(&state)))
}

/// Removes the lock; one whose process runs only with `force`.
pub fn break_it(options: &SessionOptions, force: bool) -> Result<String, Failure> {
    let found = session::find(options)?;
    let state = Lock::break_it(&found.located.manifest, force).map_err(refused)?;
    Ok(match state {
        LockState::Free => "there was no lock\n".to_owned(),
        other => format!("the lock is broken; {}\n", words(&other)),
    })
}

fn words(state: &LockState) -> String {
    match state {
        LockState::Free => "the ensemble is not locked".to_owned(),
        LockState::Ours => "it was held by this process".to_owned(),
        LockState::Unreadable => "the lock file does not say whose it is".to_owned(),
        LockState::Stale(stale) => {
            format!("it was held by {}, which no longer runs", stale.holder())
        }
        LockState::Held {
            owner: Some(owner), ..
        } => format!("it is held by {owner}"),
        LockState::Held { pid: Some(pid), .. } => format!("it is held by process {pid}"),
        LockState::Held { .. } => "it is held by another process".to_owned(),
    }
}

fn refused(error: LockError) -> Failure {
    let hint = error.hint();
    Failure::new(FailureKind::Locked, error, hint)
}
