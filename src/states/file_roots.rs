//! The files of state trees.

use std::sync::Arc;

/// Where state files and the files that states name are, `salt://` paths. Paths have no slash in
/// front.
pub trait FileRoots: Send + Sync {
    /// A file's bytes; none if no root has it. The first root that has it counts.
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError>;

    /// The files below a folder at any depth (all, for an empty path), as paths from the root, in
    /// order, without repeats.
    fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError>;

    /// The permission bits of a file; none if no root has it.
    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError>;
}

/// A file of a state tree that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{path}`: {reason}")]
pub struct FileRootsError {
    /// The path on this machine.
    pub path: String,
    /// Why.
    pub reason: String,
}
