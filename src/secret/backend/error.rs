//! The errors of backends.

/// The reason why a backend did not give a secret, and the way to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub(super) reason: String,
    pub(super) help: String,
}

impl Problem {
    pub(super) fn new(reason: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            help: help.into(),
        }
    }
}

/// The reason why an expression got no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The user has not permitted that the project runs programs or uses the network for secrets.
    #[error("the user has not permitted it")]
    NotPermitted,
    /// The environment has no such backend.
    #[error("{0}")]
    Unknown(String),
    /// The backend did not give the secret.
    #[error("the secret backend `{backend}` did not give `{name}`: {reason}; {help}")]
    Failed {
        /// The name of the backend.
        backend: String,
        /// The name of the secret.
        name: String,
        reason: String,
        /// The way to fix it.
        help: String,
    },
}
