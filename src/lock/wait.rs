//! How long a lock is waited for that somebody else has.

use std::path::Path;
use std::time::{Duration, Instant};

use super::error::LockError;
use super::lock::{AcquiredLock, Lock};
use crate::system::signals::Interrupts;

/// How long to wait for a lock that somebody else has.
#[derive(Debug, Clone, Copy)]
pub struct LockWait<'a> {
    /// The longest time.
    pub timeout: Duration,
    /// An interruption of the user ends the wait.
    pub interrupts: &'a Interrupts,
}

/// How often a lock that another holds is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Why a lock was not got.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// It cannot be got, or not in time.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The user asked for an end, by this signal.
    #[error("interrupted by signal {0}")]
    Interrupted(i32),
}

/// Locks a manifest for this process, which was called with `command`, and waits as long as it may
/// while another holds the lock. Who holds it is told to `tell` before the wait begins, and again
/// when that changes.
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
