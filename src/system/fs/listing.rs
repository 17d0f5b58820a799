//! Listing folders, one level or all, within bounds.

use std::path::{Path, PathBuf};

use super::error::error_context;
use super::{Error, FileAction};

/// What an entry of a folder is, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A plain file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A socket, a device, a pipe.
    Other,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its path.
    pub path: PathBuf,
    /// Its name within the folder; bytes that are no text are replaced.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// How far [`walk`] goes before it refuses.
#[derive(Debug, Clone, Copy)]
pub struct WalkLimits {
    /// The most entries in all.
    pub entries: usize,
    /// The deepest folder, the root being 0.
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

/// Lists everything below a folder, parents first; does not follow links.
pub fn walk(root: &Path, limits: WalkLimits) -> Result<Vec<DirEntry>, Error> {
    let mut found = Vec::new();
    let mut waiting = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let entries = list(&folder)?;
        let too_many = found.len() + entries.len() > limits.entries;
        if too_many || depth > limits.depth {
            let message = format!(
                "there are more than {} entries or {} levels of folders in it",
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
            assert!(error.to_string().contains("there are more than"), "{error}");
        }
    }
}
