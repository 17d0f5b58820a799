//! Changes that pass the point where faults happen.

use std::path::Path;

/// A change that is about to be made.
#[cfg_attr(
    not(feature = "fault-injection"),
    expect(
        dead_code,
        reason = "calls are told to faults, and released programs have none"
    )
)]
#[derive(Debug, Clone, Copy)]
pub enum SystemCall<'a> {
    /// A file is opened for writing, and created or emptied where it must.
    Open(&'a Path),
    /// Bytes go to a file.
    Write(&'a Path),
    /// A file is made shorter.
    Truncate(&'a Path),
    /// The bytes of a file are made durable.
    Sync(&'a Path),
    /// The names in a folder are made durable.
    SyncFolder(&'a Path),
    /// A name is given to what has another, which goes.
    Rename(&'a Path, &'a Path),
    /// Two folders change places.
    Exchange(&'a Path, &'a Path),
    /// A second name, or a symbolic link, is created; its own path is given.
    Link(&'a Path),
    /// A name of a file is removed.
    Unlink(&'a Path),
    /// A folder is removed with all that is in it.
    RemoveTree(&'a Path),
    /// A folder is created.
    MakeFolder(&'a Path),
    /// A program is started.
    Spawn(&'a str),
}

#[cfg(feature = "fault-injection")]
impl SystemCall<'_> {
    /// Its kind, and the path that it is for.
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
