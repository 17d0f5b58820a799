//! Errors of finding and loading an ensemble.

use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::project;

/// The kinds of errors in finding and loading an ensemble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadErrorKind {
    /// No ensemble is here, and none was named.
    NoEnsemble,
    /// The files cannot be found or read.
    Refused,
    /// The files have errors.
    Invalid,
}

/// An error in finding or loading an ensemble.
#[derive(Debug, Clone)]
pub struct LoadError {
    /// The kind of the error.
    pub kind: LoadErrorKind,
    /// The problems, with their places.
    pub problems: Diagnostics,
    /// The texts that the problems point into.
    pub sources: Sources,
}

impl LoadError {
    /// An error with one message, and a hint if there is one.
    pub(crate) fn new(kind: LoadErrorKind, message: impl ToString, hint: Option<String>) -> Self {
        let diagnostic = Diagnostic::error(message);
        let diagnostic = match hint {
            Some(hint) => diagnostic.help(hint),
            None => diagnostic,
        };
        Self::with_places(kind, diagnostic, Sources::default())
    }

    /// An error with places in texts.
    pub(crate) fn with_places(
        kind: LoadErrorKind,
        problems: impl Into<Diagnostics>,
        sources: Sources,
    ) -> Self {
        Self {
            kind,
            problems: problems.into(),
            sources,
        }
    }

    /// The error of a search that found no ensemble.
    pub(crate) fn of_search(error: project::Error, sources: Sources) -> Self {
        let kind = match error {
            project::Error::Nothing { .. } | project::Error::NoDefault { .. } => {
                LoadErrorKind::NoEnsemble
            }
            _ => LoadErrorKind::Refused,
        };
        Self::with_places(kind, error, sources)
    }
}
