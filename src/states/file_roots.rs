//! File roots: access to the files of state trees.

use std::sync::Arc;

/// The state files and the other files that states refer to as `salt://` paths. Paths have no leading slash.
pub trait FileRoots: Send + Sync {
    /// Reads a file. The first root that contains it wins; `None` if no root does.
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError>;

    /// Lists the files below a directory at any depth, or every file for an empty path. Paths are relative to
    /// the root, sorted and without duplicates.
    fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError>;

    /// The permission bits of a file, or `None` if no root contains it.
    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError>;
}

/// An error of reading a file in a state tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{path}`: {reason}")]
pub struct FileRootsError {
    /// The path on the local machine.
    pub path: String,
    pub reason: String,
}
