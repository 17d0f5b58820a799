//! Finds the clones of repositories that have no address, by their first commit. Clones nothing.
//!
//! Unfurl gives `git-local://` URLs to the repositories that it creates, so that an ensemble finds its
//! project even after both were moved.

use std::path::{Path, PathBuf};

use super::PROJECT_FILE;
use super::registry::local_repositories;
use crate::git::{Repository, find_repository_below};
use crate::system::fs;

/// The prefix of URLs that identify a repository by its first commit.
const SCHEME: &str = "git-local://";
/// The maximum depth below a project at which repositories are searched.
const MAX_DEPTH: usize = 2;

/// Returns the folder that `git-local://COMMIT:NAME/PATH` refers to.
///
/// The repository must start with that commit, and contain `here`, contain or be inside the project, or be among its
/// `localRepositories`.
pub fn find_clone(url: &str, here: &Path, project: Option<&Path>) -> Option<PathBuf> {
    let (repository, path) = url.strip_prefix(SCHEME)?.split_once('/')?;
    let commit = repository.split_once(':').map_or(repository, |(id, _)| id);
    let path = path.split_once('#').map_or(path, |(path, _revision)| path);
    let root = find_enclosing(commit, here)
        .or_else(|| find_enclosing(commit, project?))
        .or_else(|| find_below(commit, project?))
        .or_else(|| find_registered(commit, project?))?;
    let folder = fs::absolute(Path::new(path), &root);
    folder.starts_with(&root).then_some(folder)
}

/// Returns the innermost repository around a folder that starts with the commit.
///
/// A repository that merely surrounds the folder, such as that of a home folder, is another project: its last
/// commit must have the folder.
fn find_enclosing(commit: &str, folder: &Path) -> Option<PathBuf> {
    let mut repository = Repository::discover(folder).ok()?;
    while let Some(found) = repository {
        if found.has_root_commit(commit) {
            return found.has_folder(folder).then(|| found.root().to_owned());
        }
        repository = Repository::discover(found.root().parent()?).ok()?;
    }
    None
}

/// Returns the repository that starts with the commit, among the clones that a project lists.
fn find_registered(commit: &str, project: &Path) -> Option<PathBuf> {
    let listed = local_repositories(&project.join(PROJECT_FILE)).ok()?;
    listed.iter().find_map(|path| {
        let repository = Repository::discover(&fs::absolute(path, project)).ok()??;
        repository
            .has_root_commit(commit)
            .then(|| repository.root().to_owned())
    })
}

/// Returns the repository that starts with the commit, in a folder or in its subfolders.
fn find_below(commit: &str, folder: &Path) -> Option<PathBuf> {
    find_repository_below(folder, MAX_DEPTH, &mut |repository| {
        repository
            .has_root_commit(commit)
            .then(|| repository.root().to_owned())
    })
}
