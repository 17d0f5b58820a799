//! The files that expressions read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::ReadError;

/// For whom an expression is evaluated: decides where `get_dir` leads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The name of the instance whose directories are meant.
    pub instance: Option<Arc<str>>,
    /// The operation of the task that evaluates, if there is one.
    pub operation: Option<Arc<str>>,
}

/// Reads files and folders of this machine, within bounds. Changes nothing.
pub trait ReadFiles {
    /// The contents of a file, or why there are none.
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError>;

    /// Whether there is something at a path.
    fn exists(&self, path: &Path) -> bool;

    /// Whether there is a directory at a path.
    fn is_dir(&self, path: &Path) -> bool;

    /// Whether a path is a link, whatever it leads to.
    fn is_link(&self, path: &Path) -> bool;

    /// Whether another file system begins at a path.
    fn is_mount(&self, path: &Path) -> bool;

    /// The entries of a directory, sorted.
    fn list(&self, path: &Path) -> Result<Vec<PathBuf>, ReadError>;

    /// The path with all links followed; the path itself if it leads nowhere.
    fn real_path(&self, path: &Path) -> PathBuf;

    /// The path of a program.
    fn which(&self, name: &str) -> Option<PathBuf>;

    /// The path of a named directory (`get_dir`) for a place; the directory need not exist.
    fn directory(&self, place: &Place, location: &str) -> Result<PathBuf, ReadError>;

    /// The text that stands for a path in upstream's digests: the id of its tree in git, or the
    /// contents of its files.
    fn tree_digest(&self, path: &Path) -> Option<String>;

    /// The text that stands for a path in our digests: the contents of its files, whether they are
    /// committed or not, those apart that git ignores.
    fn content_digest(&self, path: &Path) -> Option<String>;
}
