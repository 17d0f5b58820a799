//! State trees in folders of this machine.
//!
//! [`FolderRoots`] implements the port `FileRoots` through which the compiler and states read
//! `salt://` files.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::states::{FileRoots, FileRootsError};
use crate::system::fs;
use crate::system::fs::WalkLimits;

/// The largest file of a state tree that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// State trees in folders. The first folder that contains a file wins.
#[derive(Debug, Clone)]
pub struct FolderRoots {
    folders: Vec<PathBuf>,
}

impl FolderRoots {
    /// Creates the file roots of these folders.
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// Returns the path of a file.
    ///
    /// None if no folder has the file, or if the path would leave the folders.
    fn find(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path.trim_start_matches('/'));
        let stays = path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let mut candidates = self.folders.iter().map(|folder| folder.join(path));
        candidates.find(|place| stays && fs::is_file(place))
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
        let Some(file) = self.find(path) else {
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
            if !fs::is_dir(&start) {
                continue;
            }
            let found = fs::walk(&start, WalkLimits::default());
            let found = found.map_err(|error| read_error(&error, &start))?;
            for entry in found {
                let below = entry.path.strip_prefix(root).unwrap_or(&entry.path);
                if fs::is_file(&entry.path) {
                    all.push(below.to_string_lossy().into_owned());
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError> {
        let Some(file) = self.find(path) else {
            return Ok(None);
        };
        let mode = fs::mode_of(&file).map_err(|error| read_error(&error, &file))?;
        Ok(Some(mode & 0o7777))
    }
}
