//! Lists one folder, or a whole tree within limits.

use std::path::{Path, PathBuf};

use super::error::error_context;
use super::{Error, FileAction};

/// The kind of a folder entry; symbolic links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    Link,
    /// A socket, a device or a named pipe.
    Other,
}

/// An entry of a folder, as [`list`] and [`walk`] return it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    pub path: PathBuf,
    /// The name within the folder; invalid UTF-8 is replaced.
    pub name: String,
    pub kind: EntryKind,
}

/// The limits of [`walk`], beyond which it fails.
#[derive(Debug, Clone, Copy)]
pub struct WalkLimits {
    /// The maximum number of entries in the tree.
    pub entries: usize,
    /// The maximum depth; the root has depth 0.
    pub depth: usize,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self {
            entries: 1_000_000,
            depth: 128,
        }
    }
}

/// Lists a folder, sorted by name.
pub fn list(folder: &Path) -> Result<Vec<DirEntry>, Error> {
    let failed = || error_context(FileAction::List, folder);
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let kind = match entry.file_type().map_err(failed())? {
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_dir() => EntryKind::Folder,
            kind if kind.is_symlink() => EntryKind::Link,
            _ => EntryKind::Other,
        };
        entries.push(DirEntry {
            path: entry.path(),
            name: entry.file_name().to_string_lossy().into_owned(),
            kind,
        });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Lists all entries below a folder, parents before children. Symbolic links are not followed.
///
/// # Errors
///
/// A folder cannot be read, or the tree exceeds the limits.
pub fn walk(root: &Path, limits: WalkLimits) -> Result<Vec<DirEntry>, Error> {
    let mut found = Vec::new();
    let mut waiting = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let entries = list(&folder)?;
        let too_many = found.len() + entries.len() > limits.entries;
        if too_many || depth > limits.depth {
            let message = format!(
                "the folder contains more than {} entries or {} levels of folders",
                limits.entries, limits.depth
            );
            return Err(Error::new(
                FileAction::List,
                root,
                std::io::Error::other(message),
            ));
        }
        for entry in entries.iter().rev() {
            if entry.kind == EntryKind::Folder {
                waiting.push((entry.path.clone(), depth + 1));
            }
        }
        found.extend(entries);
    }
    Ok(found)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use super::*;

    #[test]
    fn a_walk_finds_everything_and_follows_no_link() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("b/c")).unwrap();
        std::fs::write(root.path().join("b/c/f"), "").unwrap();
        std::os::unix::fs::symlink(root.path(), root.path().join("a")).unwrap();
        let found = walk(root.path(), WalkLimits::default()).unwrap();
        let names: Vec<_> = found.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "f"]);
    }

    #[test]
    fn a_walk_refuses_what_is_too_large_or_too_deep() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("b/c/d")).unwrap();
        for (entries, depth) in [(2, 9), (9, 1)] {
            let error = walk(root.path(), WalkLimits { entries, depth }).unwrap_err();
            assert!(
                error.to_string().contains("the folder contains more than"),
                "{error}"
            );
        }
    }
}
