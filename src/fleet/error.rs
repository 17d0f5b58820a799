//! Errors of runs over hosts.

use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
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
#[derive(Debug, Clone)]
pub struct Error {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The problems, with their places.
    pub problems: Diagnostics,
    /// The texts that the problems point into.
    pub sources: Sources,
}

impl Error {
    /// An error with one message, and a hint if there is one.
    pub(crate) fn new(kind: ErrorKind, message: impl ToString, hint: Option<String>) -> Self {
        let diagnostic = Diagnostic::error(message);
        let diagnostic = match hint {
            Some(hint) => diagnostic.help(hint),
            None => diagnostic,
        };
        Self::with_places(kind, diagnostic, Sources::default())
    }

    /// An error with places in texts.
    pub(crate) fn with_places(
        kind: ErrorKind,
        problems: impl Into<Diagnostics>,
        sources: Sources,
    ) -> Self {
        Self {
            kind,
            problems: problems.into(),
            sources,
        }
    }

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

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, problem) in self.problems.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { "\n" })?;
            f.write_str(&problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_each_problem_on_a_line() {
        let problems = ["no host is left", "no role is known"].map(Diagnostic::error);
        let problems: Diagnostics = problems.into_iter().collect();
        let error = Error::with_places(ErrorKind::Usage, problems, Sources::default());
        assert_eq!(error.to_string(), "no host is left\nno role is known");
    }
}
