//! `--dirty abort`: no job where something is not committed.

use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use super::session::{Session, folder_of_repository};
use crate::git::{Error, Repository};
use crate::yaml::Node;

/// How many files a message names.
const MOST_NAMED: usize = 10;

/// Refuses where one of the repositories involved has changes that are not committed: that of the
/// ensemble, that of its project and those that the environment gives a folder. The ensemble's own
/// file does not count, since jobs that changed nothing else may have updated it.
pub(super) fn refuse_uncommitted(session: &Session) -> Result<(), Failure> {
    let manifest = session.manifest.path();
    let mut seen: Vec<PathBuf> = Vec::new();
    for folder in folders(session) {
        let found = Repository::discover(&folder).map_err(|error| unreadable(&error))?;
        let Some(repository) = found else {
            continue;
        };
        if seen.iter().any(|root| root == repository.root()) {
            continue;
        }
        seen.push(repository.root().to_owned());
        let own = repository.relative(manifest);
        let changed = repository
            .uncommitted()
            .map_err(|error| unreadable(&error))?;
        let changed: Vec<_> = changed
            .into_iter()
            .filter(|path| Some(path) != own.as_ref())
            .collect();
        if !changed.is_empty() {
            return Err(uncommitted(repository.root(), &changed));
        }
    }
    Ok(())
}

fn folders(session: &Session) -> Vec<PathBuf> {
    let base = session.manifest.base_dir();
    let mut folders = vec![base.to_path_buf(), session.project.clone()];
    let declared = session.environment.repositories().and_then(Node::as_map);
    for (_, entry) in declared.into_iter().flatten() {
        folders.extend(folder_of_repository(&entry.value, base));
    }
    folders
}

fn uncommitted(root: &Path, changed: &[PathBuf]) -> Failure {
    let mut files: Vec<String> = changed
        .iter()
        .take(MOST_NAMED)
        .map(|path| format!("`{}`", path.display()))
        .collect();
    if changed.len() > MOST_NAMED {
        files.push(format!("{} more", changed.len() - MOST_NAMED));
    }
    let message = format!(
        "the repository `{}` has changes that are not committed: {}",
        root.display(),
        files.join(", ")
    );
    let help = "commit them or put them aside (`git stash`), or let the job run with `--dirty ok`";
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}

fn unreadable(error: &Error) -> Failure {
    Failure::new(FailureKind::Refused, error, error.hint())
}
