//! The entries of `trusted` in the home project.

use std::path::{Path, PathBuf};

use crate::system::{fs, user};

/// An entry of `trusted` in the home project: a folder, or the URL of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustEntry {
    /// A folder. The entry covers every project inside it that has the same owner.
    Folder(PathBuf),
    /// Folders that this program has cloned from the URL.
    Url(String),
}

impl TrustEntry {
    /// Reads an entry. Relative folders start at `root`, and `~/` stands for the folder `user`.
    pub(super) fn read(text: &str, root: &Path, user: Option<&Path>) -> Self {
        let is_url = text.contains("://") && !text.starts_with("file:");
        let is_host_and_path = !text.starts_with(['/', '.', '~'])
            && text
                .split_once(':')
                .is_some_and(|(host, _)| host.contains('@'));
        if is_url || is_host_and_path {
            return Self::Url(normalize_url(text));
        }
        let path = text.strip_prefix("file:").unwrap_or(text);
        let path = path.strip_prefix("//").unwrap_or(path);
        let folder = match (path.strip_prefix("~/"), user) {
            (Some(rest), Some(user)) => user.join(rest),
            _ => fs::absolute(Path::new(path), root),
        };
        Self::Folder(folder)
    }

    /// Whether the entry covers a folder.
    pub(super) fn covers(&self, folder: &Path) -> bool {
        let Self::Folder(trusted) = self else {
            return false;
        };
        let Ok(trusted) = fs::canonicalize(trusted) else {
            return false;
        };
        let owner = |path: &Path| fs::identity_of(path).ok().map(|found| found.owner);
        let owners = [owner(&trusted), Some(user::effective_id())];
        folder.starts_with(&trusted) && owners.contains(&owner(folder))
    }
}

/// Returns a URL without optional parts: a trailing slash and the ending `.git`.
pub(super) fn normalize_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    url.strip_suffix(".git").unwrap_or(url).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_folders_or_urls() {
        let read =
            |text: &str| TrustEntry::read(text, Path::new("/home"), Some(Path::new("/user")));
        let folder = |path: &str| TrustEntry::Folder(path.into());
        let url = |url: &str| TrustEntry::Url(url.to_owned());
        assert_eq!(read("https://x/y.git"), url("https://x/y"));
        assert_eq!(read("git@x.org:y.git"), url("git@x.org:y"));
        assert_eq!(read("../a"), folder("/a"));
        assert_eq!(read("~/b"), folder("/user/b"));
        assert_eq!(read("file:///c"), folder("/c"));
        assert_eq!(read("d"), folder("/home/d"));
    }
}
