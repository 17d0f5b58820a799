//! The errors of finding and loading an ensemble.

use crate::diagnostic::{Failure, Sources};
use crate::project;

/// The kinds of errors of finding and loading an ensemble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadErrorKind {
    /// No ensemble was named, and none was found.
    NoEnsemble,
    /// The files do not exist or cannot be read.
    Refused,
    /// The files were read but contain errors.
    Invalid,
}

/// An error of finding or loading an ensemble, with diagnostics.
pub type LoadError = Failure<LoadErrorKind>;

impl LoadError {
    /// Converts the error of an unsuccessful search.
    pub(crate) fn of_search(error: project::Error, sources: Sources) -> Self {
        let kind = match error {
            project::Error::NotFound { .. } | project::Error::NoDefault { .. } => {
                LoadErrorKind::NoEnsemble
            }
            _ => LoadErrorKind::Refused,
        };
        Self::with_sources(kind, error, sources)
    }
}
