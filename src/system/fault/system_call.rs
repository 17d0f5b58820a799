//! The kinds of system calls to which faults can be applied.

use std::path::Path;

/// A system call that is about to be made.
#[cfg_attr(
    not(feature = "fault-injection"),
    expect(dead_code, reason = "only fault injection reads the fields")
)]
#[derive(Debug, Clone, Copy)]
pub enum SystemCall<'a> {
    /// Opens a file for writing; may create or empty it.
    Open(&'a Path),
    Write(&'a Path),
    /// Shortens a file to a given length.
    Truncate(&'a Path),
    /// Makes a file's bytes durable (`fsync` of the file).
    Sync(&'a Path),
    /// Makes the names in a folder durable (`fsync` of the folder).
    SyncFolder(&'a Path),
    /// Renames the first path to the second, replacing what is there.
    Rename(&'a Path, &'a Path),
    /// Swaps two files or folders atomically (`renameat2` with `RENAME_EXCHANGE`).
    Exchange(&'a Path, &'a Path),
    /// Creates a hard or symbolic link at this path.
    Link(&'a Path),
    Unlink(&'a Path),
    /// Removes a folder with its contents.
    RemoveTree(&'a Path),
    MakeFolder(&'a Path),
    /// Starts a program of this name.
    Spawn(&'a str),
}

#[cfg(feature = "fault-injection")]
impl SystemCall<'_> {
    /// Returns the kind, as in the fault variable, and the affected path.
    pub(super) fn kind_and_path(&self) -> (&'static str, &Path) {
        match *self {
            Self::Open(path) => ("open", path),
            Self::Write(path) => ("write", path),
            Self::Truncate(path) => ("truncate", path),
            Self::Sync(path) => ("sync", path),
            Self::SyncFolder(path) => ("sync-folder", path),
            Self::Rename(_, to) => ("rename", to),
            Self::Exchange(_, other) => ("exchange", other),
            Self::Link(path) => ("link", path),
            Self::Unlink(path) => ("unlink", path),
            Self::RemoveTree(path) => ("remove-tree", path),
            Self::MakeFolder(path) => ("mkdir", path),
            Self::Spawn(program) => ("spawn", Path::new(program)),
        }
    }
}
