//! The effects that a project may have: run programs, use the network, write files while planning.
//!
//! [`Trust`] alone decides this. Code that is about to have such an effect asks it by the name of the effect.
//! The names are not defined here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::git::Repository;
use crate::system::fs;

/// The effects that the user permits to a project: by name, or all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    allowed: BTreeSet<String>,
    trusted: bool,
}

impl Trust {
    /// Creates permissions from the names of `--allow`, and whether the project is trusted altogether.
    pub fn new(allowed: impl IntoIterator<Item = String>, trusted: bool) -> Self {
        let allowed = allowed.into_iter();
        let allowed = allowed.map(|name| name.trim().to_owned());
        Self {
            allowed: allowed.filter(|name| !name.is_empty()).collect(),
            trusted,
        }
    }

    /// Whether the project may use the effect with the name.
    pub fn permits(&self, name: &str) -> bool {
        self.trusted || self.allowed.contains(name)
    }

    /// Whether the user permitted the effect by its name. A trusted project alone does not.
    pub fn permits_by_name(&self, name: &str) -> bool {
        self.allowed.contains(name)
    }

    /// Returns the hint for a user whose project lacks a permission.
    pub fn help(name: &str) -> String {
        format!(
            "allow it with `--allow {name}`, or list the project under `trusted` in `unfurl.yaml` of your home project"
        )
    }
}

/// A project that the home project trusts: a folder, or the URL of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustEntry {
    /// A folder. The entry covers every project inside it.
    Folder(PathBuf),
    /// Repositories whose remote `origin` has the URL.
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

    /// Whether the entry covers projects in `folder`, whose repository has the URL `origin`.
    fn covers(&self, folder: &Path, origin: Option<&str>) -> bool {
        match self {
            Self::Folder(trusted) => {
                fs::canonicalize(trusted).is_ok_and(|trusted| folder.starts_with(trusted))
            }
            Self::Url(url) => origin.is_some_and(|origin| normalize_url(origin) == *url),
        }
    }
}

/// Whether the list covers every one of the folders.
pub(super) fn is_trusted(list: &[TrustEntry], folders: &[&Path]) -> bool {
    !list.is_empty()
        && folders.iter().all(|folder| {
            let Ok(folder) = fs::canonicalize(folder) else {
                return false;
            };
            let repository = Repository::discover(&folder).ok().flatten();
            let origin = repository.and_then(|repository| repository.origin());
            list.iter()
                .any(|trusted| trusted.covers(&folder, origin.as_deref()))
        })
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
    fn what_is_named_is_permitted_and_nothing_else() {
        let trust = Trust::new(
            ["pipe".to_owned(), " url ".to_owned(), String::new()],
            false,
        );
        assert!(trust.permits("pipe") && trust.permits("url"));
        assert!(!trust.permits("python") && !trust.permits(""));
        assert!(!Trust::default().permits("pipe"));
        assert!(Trust::new([], true).permits("pipe"));
    }

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

    #[test]
    fn a_folder_is_trusted_if_it_lies_in_a_trusted_one() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        for name in ["a/b", "ab"] {
            fs::create_dir_all(&root.join(name)).unwrap();
        }
        let list = [TrustEntry::Folder(root.join("a"))];
        assert!(is_trusted(&list, &[&root.join("a")]));
        assert!(is_trusted(&list, &[&root.join("a"), &root.join("a/b")]));
        assert!(!is_trusted(&list, &[&root.join("a"), &root.join("ab")]));
        assert!(!is_trusted(&list, &[&root.join("a/none")]));
        assert!(!is_trusted(&[], &[&root.join("a")]));
    }

    #[test]
    fn a_clone_is_trusted_by_the_url_of_its_origin() {
        let place = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init(place.path()).unwrap();
        repository.remote("origin", "https://x/y.git").unwrap();
        let trusts = |url: &str| is_trusted(&[TrustEntry::Url(url.to_owned())], &[place.path()]);
        assert!(trusts("https://x/y"));
        assert!(!trusts("https://x/z"));
    }
}
