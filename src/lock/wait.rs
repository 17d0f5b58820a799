//! Acquires the local lock of an ensemble, waiting while another process holds it.

use std::path::Path;
use std::time::{Duration, Instant};

use super::error::LockError;
use super::lock::{AcquiredLock, Lock};
use crate::system::signals::Interrupts;

/// The limits of waiting for a lock.
#[derive(Debug, Clone, Copy)]
pub struct LockWait<'a> {
    pub timeout: Duration,
    /// The user's interrupts, which end the wait.
    pub interrupts: &'a Interrupts,
}

/// The interval between two attempts to take the lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The reason why waiting for a lock failed.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// The lock cannot be acquired, or not within the time limit.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A signal with this number interrupted the wait.
    #[error("interrupted by signal {0}")]
    Interrupted(i32),
}

/// Locks a manifest for this process, waiting up to the time limit while another process holds the lock.
/// `command` is the command line for the owner file.
///
/// Messages about the holder go to `notify`, before the wait and whenever the holder changes.
pub fn acquire(
    manifest: &Path,
    command: &str,
    wait: LockWait<'_>,
    notify: &mut dyn FnMut(&str),
) -> Result<AcquiredLock, WaitError> {
    let until = Instant::now().checked_add(wait.timeout);
    let mut last_holder = None;
    loop {
        if let Some(signal) = wait.interrupts.acknowledge() {
            return Err(WaitError::Interrupted(signal));
        }
        let error = match Lock::acquire(manifest, command) {
            Ok(acquired) => return Ok(acquired),
            Err(error) if error.is_temporary() => error,
            Err(error) => return Err(error.into()),
        };
        let left = until.map_or(wait.timeout, |until| {
            until.saturating_duration_since(Instant::now())
        });
        if left.is_zero() {
            return Err(error.into());
        }
        let holder = error.to_string();
        if last_holder.as_ref() != Some(&holder) {
            let left = left.as_secs_f32().round();
            notify(&format!("waiting up to {left} s for the lock: {holder}"));
            last_holder = Some(holder);
        }
        wait.interrupts.wait(left.min(RETRY_INTERVAL));
    }
}
