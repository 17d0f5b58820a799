//! Why a use case failed: the kind decides the exit code, the rest is for people.

use crate::diagnostic;
use crate::exec;
use crate::fleet;
use crate::git;
use crate::session::{LoadError, LoadErrorKind};

/// What kind of failure it is; the exit codes are those of the product (docs/compatibility.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Refused before anything ran: no such file, or `validate` found errors.
    Refused,
    /// Refused, for no ensemble is here and none was named.
    NoEnsemble,
    /// Another job holds the lock.
    Locked,
    /// The command line makes no sense.
    Usage,
    /// The ensemble cannot be loaded, or no plan can be made.
    Load,
    /// The job ended in error.
    JobFailed,
    /// The record could not be saved, or this program is at fault.
    Internal,
    /// A signal asked for an end before anything ran.
    Interrupted(i32),
}

impl FailureKind {
    /// The exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Refused | Self::NoEnsemble | Self::Locked => 1,
            Self::Usage => 2,
            Self::Load | Self::JobFailed => 64,
            Self::Internal => 70,
            Self::Interrupted(signal) => u8::try_from(128 + signal).unwrap_or(130),
        }
    }
}

/// Why a use case failed.
pub type Failure = diagnostic::Failure<FailureKind>;

impl Failure {
    /// The command line makes no sense.
    pub fn usage(message: impl ToString) -> Self {
        Self::new(FailureKind::Usage, message, None)
    }

    /// The command line makes no sense; says what to do.
    pub fn usage_with(message: impl ToString, help: &str) -> Self {
        Self::new(FailureKind::Usage, message, Some(help.to_owned()))
    }

    /// Somebody asked for an end before anything ran.
    pub fn interrupted(signal: i32) -> Self {
        let message = "interrupted before anything was done";
        Self::new(FailureKind::Interrupted(signal), message, None)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        error.map_kind(|kind| match kind {
            LoadErrorKind::NoEnsemble => FailureKind::NoEnsemble,
            LoadErrorKind::Refused => FailureKind::Refused,
            LoadErrorKind::Invalid => FailureKind::Load,
        })
    }
}

impl From<fleet::Error> for Failure {
    fn from(error: fleet::Error) -> Self {
        error.map_kind(|kind| match kind {
            fleet::ErrorKind::Usage => FailureKind::Usage,
            fleet::ErrorKind::Refused => FailureKind::Refused,
            fleet::ErrorKind::Invalid => FailureKind::Load,
            fleet::ErrorKind::Internal => FailureKind::Internal,
            fleet::ErrorKind::Interrupted(signal) => FailureKind::Interrupted(signal),
        })
    }
}

/// Git refuses something before anything has run.
impl From<git::Error> for Failure {
    fn from(error: git::Error) -> Self {
        let hint = error.hint();
        Self::new(FailureKind::Refused, error, hint)
    }
}

impl From<exec::Error> for Failure {
    fn from(error: exec::Error) -> Self {
        Self::new(FailureKind::Internal, error, None)
    }
}
