//! Entries at the path of a file that this program keeps, but which are no regular files.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

use super::error::error_context;
use super::regular::NotRegular;
use super::{Error, FileAction, remove_file};
use crate::system::fault::{self, SystemCall};

/// A folder, symbolic link, named pipe, socket or device in place of a regular file. It is never opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IrregularFile {
    pub path: PathBuf,
    /// The kind of the entry, with the target of a symbolic link.
    kind: String,
    is_folder: bool,
}

impl IrregularFile {
    /// Returns the entry at a path; `None` if it is a regular file or does not exist. A symbolic link counts
    /// itself.
    pub fn at(path: &Path) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?.file_type();
        let kind = if found.is_symlink() {
            let target = std::fs::read_link(path).unwrap_or_default();
            format!("symbolic link to `{}`", target.display())
        } else {
            NotRegular::of(found)?.kind.to_owned()
        };
        Some(Self {
            path: path.to_owned(),
            kind,
            is_folder: found.is_dir(),
        })
    }

    /// Whether the entry is a folder that contains something, which [`Self::remove`] refuses to remove.
    pub fn is_filled_folder(&self) -> bool {
        let mut entries = std::fs::read_dir(&self.path).into_iter().flatten();
        self.is_folder && entries.next().is_some()
    }

    /// Removes the entry: a link itself and never its target, a folder only if it is empty.
    pub fn remove(&self) -> Result<(), Error> {
        if !self.is_folder {
            return remove_file(&self.path);
        }
        let remove = || std::fs::remove_dir(&self.path);
        fault::call(SystemCall::RemoveTree(&self.path), remove)
            .map_err(error_context(FileAction::Remove, &self.path))
    }
}

impl Display for IrregularFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (path, kind) = (self.path.display(), &self.kind);
        write!(f, "`{path}` is a {kind} instead of a regular file")
    }
}
