//! State trees in folders of this machine.
//!
//! [`FolderRoots`] implements the port `FileRoots` through which the compiler and states read
//! `salt://` files.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::project::ReadScope;
use crate::states::{DYNAMIC_ENV, FileRoots, FileRootsError};
use crate::system::fs;
use crate::system::fs::WalkLimits;

/// The largest file of a state tree that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The reason why a file is not read although a link in a root leads to it.
const OUTSIDE: &str =
    "a symbolic link leads out of the state roots; make its target a root as well";

/// State trees in folders. The first folder that contains a file wins.
#[derive(Debug, Clone)]
pub struct FolderRoots {
    folders: Vec<PathBuf>,
    /// These folders and those of other environments: no link leads elsewhere.
    scope: ReadScope,
}

impl FolderRoots {
    /// Creates the file roots of these folders. Links may also lead to files in the folders `others`.
    pub fn new<'a>(folders: Vec<PathBuf>, others: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let mut scope = ReadScope::default();
        for folder in &folders {
            scope.add_folder(folder);
        }
        for folder in others {
            scope.add_folder(folder);
        }
        Self { folders, scope }
    }

    /// Returns the path of a file.
    ///
    /// None if no folder has the file, or if the path would leave the folders.
    ///
    /// # Errors
    ///
    /// A link leads out of the folders.
    fn find(&self, path: &str) -> Result<Option<PathBuf>, FileRootsError> {
        let path = Path::new(path.trim_start_matches('/'));
        let stays = path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let mut candidates = self.folders.iter().map(|folder| folder.join(path));
        let is_there =
            |place: &PathBuf| stays && (!self.scope.contains(place) || fs::is_file(place));
        let Some(found) = candidates.find(is_there) else {
            return Ok(None);
        };
        let real = self.scope.resolve(&found).map_err(|_| FileRootsError {
            path: found.display().to_string(),
            reason: OUTSIDE.to_owned(),
        })?;
        Ok(Some(real))
    }
}

fn read_error(error: &fs::Error, path: &Path) -> FileRootsError {
    FileRootsError {
        path: path.display().to_string(),
        reason: error.to_string(),
    }
}

impl FileRoots for FolderRoots {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
        let Some(file) = self.find(path)? else {
            return Ok(None);
        };
        let bytes =
            fs::read_within(&file, MAX_FILE_BYTES).map_err(|error| read_error(&error, &file))?;
        Ok(Some(bytes.into()))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError> {
        let mut all = Vec::new();
        for root in &self.folders {
            let start = root.join(folder.trim_matches('/'));
            if self.scope.contains(&start) && !fs::is_dir(&start) {
                continue;
            }
            let real = self.scope.resolve(&start).map_err(|_| FileRootsError {
                path: start.display().to_string(),
                reason: OUTSIDE.to_owned(),
            })?;
            let found = fs::walk(&real, WalkLimits::default());
            let found = found.map_err(|error| read_error(&error, &start))?;
            for entry in found {
                let below = start.join(entry.path.strip_prefix(&real).unwrap_or(&entry.path));
                let below = below.strip_prefix(root).unwrap_or(&below);
                // Reading a link that leads out of the folders reports it.
                if !self.scope.contains(&entry.path) || fs::is_file(&entry.path) {
                    all.push(below.to_string_lossy().into_owned());
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn first_link(&self, folder: &str) -> Result<Option<String>, FileRootsError> {
        for root in &self.folders {
            let start = root.join(folder.trim_matches('/'));
            if self.scope.contains(&start) && !fs::is_dir(&start) {
                continue;
            }
            let found = fs::walk(&start, WalkLimits::default());
            let found = found.map_err(|error| read_error(&error, &start))?;
            let link = found.iter().find(|entry| entry.kind == fs::EntryKind::Link);
            if let Some(link) = link {
                return Ok(Some(link.path.display().to_string()));
            }
        }
        Ok(None)
    }

    fn for_environment(&self, env: &str) -> Option<Arc<dyn FileRoots>> {
        let named = |folder: &PathBuf| {
            let text = folder.to_string_lossy().replace(DYNAMIC_ENV, env);
            PathBuf::from(text)
        };
        let folders: Vec<PathBuf> = self.folders.iter().map(named).collect();
        let mut scope = self.scope.clone();
        for folder in &folders {
            scope.add_folder(folder);
        }
        Some(Arc::new(Self { folders, scope }))
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError> {
        let Some(file) = self.find(path)? else {
            return Ok(None);
        };
        let mode = fs::mode_of(&file).map_err(|error| read_error(&error, &file))?;
        Ok(Some(mode & 0o7777))
    }
}
