//! Finds the commits that added files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::repository::Repository;

/// The number of digits of an abbreviated commit id.
const SHORT_ID: usize = 12;

/// The commit that added a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The abbreviated id of the commit.
    pub commit: String,
    /// The author's name, or the address if there is no name.
    pub author: String,
}

impl Repository {
    /// Returns the commits of the checked-out history that added files, by the paths given. A file that the last commit
    /// lacks is left out.
    ///
    /// The log is read once for all files, and only as far as the oldest of these commits.
    pub fn introductions(&self, files: &[PathBuf]) -> HashMap<PathBuf, Introduction> {
        let mut found = HashMap::new();
        let last = self.history().and_then(|mut log| log.next());
        let Some(head) = last.map(|commit| commit.tree_id()) else {
            return found;
        };
        let mut wanted: Vec<(&PathBuf, PathBuf)> = files
            .iter()
            .filter_map(|file| Some((file, self.relative(file)?)))
            .filter(|(_, path)| self.has_file(head, path))
            .collect();
        for commit in self.history().into_iter().flatten() {
            if wanted.is_empty() {
                break;
            }
            let tree = commit.tree_id();
            let parents: Vec<git2::Oid> = commit.parents().map(|it| it.tree_id()).collect();
            if parents.contains(&tree) {
                continue;
            }
            wanted.retain(|(file, path)| {
                let is_new = self.has_file(tree, path)
                    && !parents.iter().any(|parent| self.has_file(*parent, path));
                if is_new {
                    found.insert((*file).clone(), introduction(&commit));
                }
                !is_new
            });
        }
        found
    }

    fn has_file(&self, tree: git2::Oid, path: &Path) -> bool {
        let tree = self.inner.find_tree(tree);
        tree.is_ok_and(|tree| tree.get_path(path).is_ok())
    }
}

fn introduction(commit: &git2::Commit<'_>) -> Introduction {
    let author = commit.author();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let name = Some(text(author.name_bytes())).filter(|name| !name.is_empty());
    let id = commit.id().to_string();
    Introduction {
        commit: id.chars().take(SHORT_ID).collect(),
        author: name.unwrap_or_else(|| text(author.email_bytes())),
    }
}
