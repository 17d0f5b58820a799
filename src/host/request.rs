//! An action with the place where it is performed.

use std::sync::Arc;
use std::time::Duration;

use super::{Action, Chain, Place};

/// What a runner is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Where.
    pub place: Place,
    /// What.
    pub action: Action,
    /// The executors it goes through; none to perform it as it is.
    pub chain: Option<Arc<Chain>>,
    /// The name of the host for the executors, if not that of the place.
    pub host: Option<String>,
    /// Which of so many hosts it is, counted from 0, for executors that spread them.
    pub rank: (u32, u32),
    /// How long it may take until the host has started anew, where the command restarts it.
    pub restart: Option<Duration>,
}

impl Request {
    /// An action on this machine.
    pub fn here(action: Action) -> Self {
        Self::at(Place::Here, action)
    }

    /// An action at a place.
    pub fn at(place: Place, action: Action) -> Self {
        Self {
            place,
            action,
            chain: None,
            host: None,
            rank: (0, 1),
            restart: None,
        }
    }

    /// Whether output is shown while it is written.
    pub fn is_echoed(&self) -> bool {
        matches!(&self.action, Action::Run(command) if command.echo)
    }
}
