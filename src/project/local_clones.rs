//! Finds repositories that have no address but their first commit. Clones nothing.

use std::path::{Path, PathBuf};

use crate::git::Repository;
use crate::system::fs;

/// How a URL starts that names a repository by its first commit.
const SCHEME: &str = "git-local://";
/// How deep below a project repositories are looked for.
const MAX_DEPTH: usize = 2;

/// The folder of `git-local://COMMIT:NAME/PATH`, if a repository that begins with that commit is
/// around `here`, or around the project or within it.
///
/// Unfurl gives such URLs to the repositories that it makes, so that ensembles find their project
/// wherever both are moved to.
pub fn find_clone(url: &str, here: &Path, project: Option<&Path>) -> Option<PathBuf> {
    let (repository, path) = url.strip_prefix(SCHEME)?.split_once('/')?;
    let commit = repository.split_once(':').map_or(repository, |(id, _)| id);
    let path = path.split_once('#').map_or(path, |(path, _revision)| path);
    let root = find_enclosing(commit, here)
        .or_else(|| find_enclosing(commit, project?))
        .or_else(|| find_below(commit, project?, MAX_DEPTH))?;
    Some(fs::absolute(Path::new(path), &root))
}

/// The repository that a folder is in, or one that this repository is in, and so on.
fn find_enclosing(commit: &str, folder: &Path) -> Option<PathBuf> {
    let mut repository = Repository::discover(folder).ok()?;
    while let Some(found) = repository {
        if found.has_root_commit(commit) {
            return Some(found.root().to_owned());
        }
        repository = Repository::discover(found.root().parent()?).ok()?;
    }
    None
}

/// The repository in a folder or the folders in it.
fn find_below(commit: &str, folder: &Path, depth: usize) -> Option<PathBuf> {
    if fs::exists(&folder.join(".git")) {
        let repository = Repository::discover(folder).ok()??;
        if repository.has_root_commit(commit) {
            return Some(repository.root().to_owned());
        }
    }
    let entries = fs::list(folder).ok()?.into_iter();
    let is_hidden = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b".")
    };
    entries
        .filter(|entry| depth > 0 && entry.kind == fs::EntryKind::Folder && !is_hidden(&entry.path))
        .find_map(|entry| find_below(commit, &entry.path, depth - 1))
}
