//! Restores the files of `secrets` from their encrypted copies before a job, and encrypts changed ones for commits.

use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use crate::diagnostic::Diagnostic;
use crate::git::Repository;
use crate::project::LocatedEnsemble;
use crate::secret::{self, Keys, SecretFileError};
use crate::session::{EnsembleLocation, InvolvedRepository};
use crate::system::fs;

/// The name of folders with files in clear text, and that of folders with their encrypted copies.
const CLEAR: &str = "secrets";
const SEALED: &str = ".secrets";
/// The folder with the files of tasks, among them the states of tools.
const ACTIVE: &str = "active";
/// Folders without secrets of their own, which can be large.
const SKIPPED: [&str; 4] = [".git", ".terraform", "node_modules", "tosca_repositories"];
/// The maximum depth of a folder `secrets` in a repository.
const MAX_DEPTH: usize = 16;

/// Decrypts the copies of the ensemble and of its project whose files are missing or older.
///
/// A copy that cannot be decrypted is a warning: if something needs the file, its use is an error.
pub(super) fn restore(found: &EnsembleLocation, view: &mut dyn JobFrontend) {
    for root in folders_of(&found.located) {
        let mut problems = Vec::new();
        let restored = secret::restore(&root, &found.keys, &mut |error| problems.push(error));
        for file in restored {
            view.notice(&format!(
                "`{}` is restored from its encrypted copy",
                file.display()
            ));
        }
        for problem in problems {
            let hint = problem
                .hint()
                .map_or_else(String::new, |hint| format!("; {hint}"));
            view.notice(&format!("{problem}{hint}"));
        }
    }
}

/// Returns the folders that may have the folders `secrets` and `.secrets`.
fn folders_of(located: &LocatedEnsemble) -> Vec<PathBuf> {
    let ensemble = located.folder();
    let mut folders = vec![ensemble.join(ACTIVE), ensemble.to_owned()];
    folders.extend(located.root().map(Path::to_owned));
    folders.dedup();
    folders
}

/// Encrypts the changed files in `secrets` of the ensemble, so that the commit of a job contains them.
pub(super) fn save_of_ensemble(base: &Path, keys: &Keys) -> Result<(), Diagnostic> {
    let repository = Repository::discover(base).ok().flatten();
    for folder in [base.join(ACTIVE), base.to_owned()] {
        save_in(&folder, repository.as_ref(), keys).map_err(|error| {
            let help = error.hint();
            Diagnostic::warning(format!("{error}, so it is not committed")).help_if(help)
        })?;
    }
    Ok(())
}

/// The result of encrypting the files of repositories.
#[derive(Debug, Default)]
pub struct SavedSecrets {
    /// The written copies.
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

/// Encrypts the changed files in all folders `secrets` of the targets.
///
/// # Errors
///
/// A file cannot be encrypted although the project has encrypted files.
pub(super) fn save(targets: &[InvolvedRepository], keys: &Keys) -> Result<SavedSecrets, Failure> {
    let mut saved = SavedSecrets::default();
    for target in targets {
        let start = target.repository.root().join(&target.folder);
        for folder in folders_with_secrets(&start) {
            match save_in(&folder, Some(&target.repository), keys) {
                Ok(files) => saved.files.extend(files),
                Err(error @ SecretFileError::NoPassword { .. })
                    if !fs::is_dir(&folder.join(SEALED)) =>
                {
                    let warning = format!("{error}, so it is not committed");
                    saved.warnings.push(warning);
                }
                Err(error) => {
                    let hint = error.hint();
                    return Err(Failure::new(FailureKind::Refused, error, hint));
                }
            }
        }
    }
    saved.files.sort();
    saved.files.dedup();
    Ok(saved)
}

fn save_in(
    folder: &Path,
    repository: Option<&Repository>,
    keys: &Keys,
) -> Result<Vec<PathBuf>, SecretFileError> {
    let is_ignored = |path: &Path| {
        repository.is_some_and(|repository| repository.is_ignored(path).unwrap_or(false))
    };
    secret::save(folder, keys, &is_ignored)
}

/// Returns the folders in a folder, and itself, that have a folder `secrets`. Nested repositories are left out.
fn folders_with_secrets(start: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(start.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let entries = fs::list(&folder).unwrap_or_default();
        let is_nested = depth > 0 && entries.iter().any(|entry| entry.name == ".git");
        if is_nested {
            continue;
        }
        for entry in entries {
            let is_folder = entry.kind == fs::EntryKind::Folder;
            match entry.name.as_str() {
                _ if !is_folder => {}
                CLEAR => found.push(folder.clone()),
                SEALED => {}
                name if SKIPPED.contains(&name) || depth >= MAX_DEPTH => {}
                _ => waiting.push((entry.path, depth + 1)),
            }
        }
    }
    found.sort();
    found
}
