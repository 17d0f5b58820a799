//! A package that a loaded ensemble uses, with the state of its clone.

use std::path::PathBuf;

use crate::git::{Repository, Revision};
use crate::package::PackageRequest;

/// A package that a loaded ensemble uses.
#[derive(Debug, Clone)]
pub(crate) struct UsedPackage {
    pub(crate) request: PackageRequest,
    /// The root of its clone.
    pub(crate) clone: PathBuf,
    /// The commit that is checked out.
    pub(crate) revision: Revision,
    /// The revision that the model asks for.
    pub(crate) wanted: Option<String>,
    /// The version that is checked out although the model asks for none.
    pub(crate) discovered: Option<String>,
}

impl UsedPackage {
    /// Whether the clone has other files than its commit, also new ones that git does not ignore.
    pub(crate) fn is_dirty(&self) -> bool {
        let repository = Repository::discover(&self.clone).ok().flatten();
        let is_same = repository.and_then(|repository| repository.has_files_of_head().ok());
        is_same != Some(true)
    }

    /// Whether files of the commit are changed.
    pub(super) fn has_changed_files(&self) -> bool {
        let repository = Repository::discover(&self.clone).ok().flatten();
        let files = repository.and_then(|repository| repository.uncommitted().ok());
        files.is_none_or(|files| !files.is_empty())
    }
}
