//! The bounds of what is performed at a time, and of how long.

use std::time::Duration;

use super::guard::Guarding;
use crate::host::PoolLimits;

/// Bounds of what the runner does at a time.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most commands that run at a time; further ones wait their turn.
    pub running: usize,
    /// How long a command that is to end has between one signal and the next, harder one.
    pub grace: Duration,
    /// How long outputs are still read after a command ended, when what it left behind holds them.
    pub drain: Duration,
    /// How long commands may go on after somebody asked for an end.
    pub patience: Duration,
    /// Bounds of the connections to other machines.
    pub connections: PoolLimits,
    /// Who ends commands if this process is killed.
    pub guarding: Option<Guarding>,
}

impl Limits {
    /// The usual bounds, for commands that end with this process.
    pub fn guarded() -> Self {
        let token = ulid::Ulid::generate().to_string();
        Self {
            guarding: Some(Guarding::by_this_program(&token)),
            ..Self::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            running: 256,
            grace: Duration::from_secs(5),
            drain: Duration::from_millis(500),
            patience: Duration::from_secs(30),
            connections: PoolLimits::default(),
            guarding: None,
        }
    }
}
