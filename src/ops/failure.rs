//! The failure of an operation: its kind determines the exit code, its message and hint are shown to the
//! user.

use crate::diagnostic;
use crate::exec;
use crate::fleet;
use crate::git;
use crate::project::RegistryError;
use crate::session::{LoadError, LoadErrorKind};
use crate::skeleton;
use crate::system::fs;

/// The kinds of failures. The exit codes are documented in `docs/compatibility.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Refused before anything ran: for example a file is missing, or `validate` found errors.
    Refused,
    /// No ensemble was named, and none was found.
    NoEnsemble,
    Locked,
    Usage,
    /// The ensemble cannot be loaded, or no plan can be made.
    Load,
    JobFailed,
    /// The record could not be saved, or this program has a bug.
    Internal,
    /// A signal interrupted the program before anything ran.
    Interrupted(i32),
}

impl FailureKind {
    /// Returns the exit code of the program.
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

/// The failure of an operation, with diagnostics.
pub type Failure = diagnostic::Failure<FailureKind>;

impl Failure {
    /// Creates a failure for an invalid command line.
    pub fn usage(message: impl ToString) -> Self {
        Self::new(FailureKind::Usage, message, None)
    }

    /// Creates a failure for an invalid command line, with a hint.
    pub fn usage_with(message: impl ToString, help: &str) -> Self {
        Self::new(FailureKind::Usage, message, Some(help.to_owned()))
    }

    /// Creates a failure for an interrupt before anything ran.
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

/// A git error at this level occurs before anything has run, so nothing has changed.
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

/// A file error at this level occurs before anything has run.
impl From<fs::Error> for Failure {
    fn from(error: fs::Error) -> Self {
        let hint = error.hint();
        Self::new(FailureKind::Refused, error, hint)
    }
}

impl From<skeleton::Error> for Failure {
    fn from(error: skeleton::Error) -> Self {
        let hint = error.hint();
        Self::new(FailureKind::Refused, error, hint)
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Invalid { problems, .. } => {
                Self::with_sources(FailureKind::Refused, problems.0, problems.1)
            }
            other => {
                let hint = other.hint();
                Self::new(FailureKind::Refused, other, hint)
            }
        }
    }
}
