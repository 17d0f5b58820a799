//! Why a job cannot go on.

use super::event::JournalError;
use crate::name::ChangeIdError;

/// Why a job cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan names an instance that neither exists nor is drafted.
    #[error("the plan names the instance `{0}`, which does not exist")]
    UnknownInstance(String),
    /// Change ids cannot be made.
    #[error(transparent)]
    ChangeId(#[from] ChangeIdError),
    /// Events cannot be made durable.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The runner is gone.
    #[error("the runner of effects has stopped: {0}")]
    Runner(String),
}
