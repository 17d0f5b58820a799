//! Errors of runs over hosts.

use crate::diagnostic;
use crate::exec;

/// The kinds of errors in runs over hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request contradicts itself, or names something unknown.
    Usage,
    /// The run was refused before anything ran, or the host is out of reach.
    Refused,
    /// The files have errors.
    Invalid,
    /// The program is at fault.
    Internal,
    /// A signal asked for an end.
    Interrupted(i32),
}

/// An error in a run over hosts.
pub type Error = diagnostic::Failure<ErrorKind>;

impl Error {
    /// The error of a run that a signal ended before anything was done.
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
