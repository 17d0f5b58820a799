//! Finds the files below `group_vars/` and `host_vars/` beside an inventory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::system::fs;

/// The folder with variables of groups.
pub(super) const GROUP_FOLDER: &str = "group_vars";
/// The folder with variables of hosts.
pub(super) const HOST_FOLDER: &str = "host_vars";
/// The endings of files with variables, in order: the first file that exists counts.
const ENDINGS: [&str; 4] = ["", ".yml", ".yaml", ".json"];
/// The maximum depth of folders below a folder of variables.
const MAX_DEPTH: usize = 16;

/// The entries of a folder of variables, by name.
#[derive(Debug, Default)]
pub(super) struct VarsFolder {
    entries: HashMap<String, PathBuf>,
}

impl VarsFolder {
    /// Lists a folder. A folder that does not exist has no entries.
    pub(super) fn list(folder: &Path) -> Result<Self, fs::Error> {
        if !fs::is_dir(folder) {
            return Ok(Self::default());
        }
        let entries = fs::list(folder)?.into_iter();
        let entries = entries.map(|entry| (entry.name, entry.path));
        Ok(Self {
            entries: entries.collect(),
        })
    }

    /// Returns the files of a group or a host, in the order in which they are read: later ones win.
    pub(super) fn files_of(&self, name: &str) -> Result<Vec<PathBuf>, fs::Error> {
        let mut candidates = ENDINGS.iter();
        let found = candidates.find_map(|ending| self.entries.get(&format!("{name}{ending}")));
        match found {
            None => Ok(Vec::new()),
            Some(path) if fs::is_dir(path) => files_below(path),
            Some(path) => Ok(vec![path.clone()]),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Returns the files of a folder, sorted by name, and those of the folders in it.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, fs::Error> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((path, depth)) = open.pop() {
        if !fs::is_dir(&path) {
            found.push(path);
            continue;
        }
        if depth > MAX_DEPTH {
            continue;
        }
        let entries = fs::list(&path)?.into_iter().rev();
        let entries =
            entries.filter(|entry| !entry.name.starts_with('.') && !entry.name.ends_with('~'));
        for entry in entries {
            let ending = entry.path.extension().and_then(|ending| ending.to_str());
            let is_folder = fs::is_dir(&entry.path);
            let is_read = match ending {
                None => true,
                Some(ending) => !is_folder && matches!(ending, "yml" | "yaml" | "json"),
            };
            if is_read {
                open.push((entry.path, depth + 1));
            }
        }
    }
    Ok(found)
}
