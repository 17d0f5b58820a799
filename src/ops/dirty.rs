//! `--dirty abort`: no job where something is not committed.

use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use crate::ensemble::RecordFiles;
use crate::session::{Session, involved, once_each};

/// How many files a message names.
const MOST_NAMED: usize = 10;

/// Refuses where one of the repositories involved has changes that are not committed: that of the
/// ensemble, that of its project and those that the environment or the service template names. The
/// ensemble's own record does not count: jobs write it, and a commit takes it in.
pub(super) fn refuse_uncommitted(session: &Session) -> Result<(), Failure> {
    let record = RecordFiles::of(session.manifest.path());
    for repository in once_each(involved(session)?) {
        let changed = repository.uncommitted()?;
        let changed: Vec<_> = changed
            .into_iter()
            .filter(|path| !record.has(&repository.root().join(path)))
            .collect();
        if !changed.is_empty() {
            return Err(uncommitted(repository.root(), &changed));
        }
    }
    Ok(())
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
