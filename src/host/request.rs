//! An action with the place where it is performed.

use super::{Action, Place};

/// What a runner is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Where.
    pub place: Place,
    /// What.
    pub action: Action,
}

impl Request {
    /// An action on this machine.
    pub fn here(action: Action) -> Self {
        Self {
            place: Place::Here,
            action,
        }
    }

    /// Whether output is shown while it is written.
    pub fn is_echoed(&self) -> bool {
        matches!(&self.action, Action::Run(command) if command.echo)
    }
}

/// Whether an action is to end early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stop {
    /// It may go on.
    #[default]
    No,
    /// It is asked to end, and has some time for it.
    Gently,
    /// It is killed.
    AtOnce,
}
