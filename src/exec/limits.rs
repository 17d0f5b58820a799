//! Limits of a runner.
//!
//! They bound how many actions run at a time, and how long commands may take to end.

use std::time::Duration;

use super::guard::GuardOptions;
use crate::host::PoolLimits;

/// The limits of a runner, with defaults for real runs.
#[derive(Debug, Clone)]
pub struct RunLimits {
    /// The maximum number of commands that run at the same time. Further ones wait.
    pub max_running: usize,
    /// The time that a cancelled command has between one signal and the next, harder one.
    pub grace: Duration,
    /// The time that outputs are still read after a command ended, if left-over processes hold them
    /// open.
    pub drain_timeout: Duration,
    /// The time that commands may go on after the first signal that requests termination.
    pub interrupt_grace: Duration,
    /// The limits of connections to other machines.
    pub connections: PoolLimits,
    /// The guard that ends commands if this process is killed.
    pub guard: Option<GuardOptions>,
}

impl RunLimits {
    /// Returns the default limits, with a guard that ends commands together with this process.
    pub fn guarded() -> Self {
        let token = ulid::Ulid::generate().to_string();
        Self {
            guard: Some(GuardOptions::by_this_program(&token)),
            ..Self::default()
        }
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_running: 256,
            grace: Duration::from_secs(5),
            drain_timeout: Duration::from_millis(500),
            interrupt_grace: Duration::from_secs(30),
            connections: PoolLimits::default(),
            guard: None,
        }
    }
}
