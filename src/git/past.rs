//! Reads files as earlier commits have them.

use std::path::Path;

use super::repository::Repository;

/// The largest file of a commit that is read.
const LARGEST: usize = 256 << 20;

impl Repository {
    /// The ids of the commits of the history that is checked out, the newest first.
    pub fn commits(&self, most: usize) -> Vec<String> {
        let commits = self.history().into_iter().flatten().take(most);
        commits.map(|commit| commit.id().to_string()).collect()
    }

    /// The id of the file that a commit has at a path of the working tree.
    pub fn id_at(&self, commit: &str, path: &Path) -> Option<String> {
        self.entry_at(commit, path).map(|id| id.to_string())
    }

    /// The text of the file that a commit has at a path of the working tree.
    pub fn text_at(&self, commit: &str, path: &Path) -> Option<String> {
        let blob = self.inner.find_blob(self.entry_at(commit, path)?).ok()?;
        let bytes = blob.content();
        (bytes.len() <= LARGEST).then(|| String::from_utf8_lossy(bytes).into_owned())
    }

    fn entry_at(&self, commit: &str, path: &Path) -> Option<git2::Oid> {
        let id = git2::Oid::from_str(commit).ok()?;
        let tree = self.inner.find_commit(id).ok()?.tree().ok()?;
        let entry = tree.get_path(&self.relative(path)?).ok()?;
        (entry.kind() == Some(git2::ObjectType::Blob)).then(|| entry.id())
    }
}
