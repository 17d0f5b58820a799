//! Errors of finding and loading an ensemble.

use crate::diagnostic::{Failure, Sources};
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
pub type LoadError = Failure<LoadErrorKind>;

impl LoadError {
    /// The error of a search that found no ensemble.
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
