//! The error type of runs over hosts, shared by `hosts`, `states` and `tasks`.

use crate::diagnostic;
use crate::exec;

/// The kinds of errors of a run over hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request contradicts itself or names something unknown.
    Usage,
    /// The run was refused before it started, or the host cannot be reached.
    Refused,
    /// A file that was read has errors.
    Invalid,
    Internal,
    /// A signal ended the run before it started.
    Interrupted(i32),
}

/// An error of a run over hosts, with diagnostics.
pub type Error = diagnostic::Failure<ErrorKind>;

impl Error {
    /// Returns the error of a run that a signal ended before it started.
    pub(crate) fn interrupted(signal: i32) -> Self {
        let message = "interrupted before anything was done";
        Self::new(ErrorKind::Interrupted(signal), message, None)
    }
}

impl From<exec::Error> for Error {
    fn from(error: exec::Error) -> Self {
        Self::new(ErrorKind::Internal, error, None)
    }
}
