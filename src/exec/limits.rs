//! The bounds of what is performed at a time, and of how long.

use std::time::Duration;

use super::guard::GuardOptions;
use crate::host::PoolLimits;

/// Bounds of what the runner does at a time.
#[derive(Debug, Clone)]
pub struct RunLimits {
    /// The most commands that run at a time; further ones wait their turn.
    pub max_running: usize,
    /// How long a command that is to end has between one signal and the next, harder one.
    pub grace: Duration,
    /// How long outputs are still read after a command ended, when what it left behind holds them.
    pub drain_timeout: Duration,
    /// How long commands may go on after somebody asked for an end.
    pub interrupt_grace: Duration,
    /// Bounds of the connections to other machines.
    pub connections: PoolLimits,
    /// Who ends commands if this process is killed.
    pub guard: Option<GuardOptions>,
}

impl RunLimits {
    /// The usual bounds, for commands that end with this process.
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
