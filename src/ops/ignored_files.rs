//! Finds files that tasks use and git ignores, so that no commit has them: the tasks of roles, in projects whose
//! `.gitignore` excludes every folder `tasks`.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::git::Repository;
use crate::job::Engine;
use crate::session::{Session, distinct_repositories, involved_repositories};
use crate::system::fs;

/// The maximum number of files named in a message.
const MAX_NAMED_FILES: usize = 5;

/// The line of a `.gitignore` that keeps the tasks of roles, where a line before it excludes all folders `tasks`.
pub(super) const ROLES_LINE: &str = "!**/roles/*/tasks";

/// Returns a warning about the files of the tasks that git ignores. Files outside of repositories do not count.
pub(super) fn ignored_files(engine: &Engine, session: &Session) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    let files = engine.files_of_configurators();
    if files.is_empty() {
        return warnings;
    }
    let Ok(repositories) = involved_repositories(session).map(distinct_repositories) else {
        return warnings;
    };
    let files = files.iter().filter_map(|file| fs::canonicalize(file).ok());
    let ignored: Vec<PathBuf> = files
        .filter(|file| is_left_out(file, &repositories))
        .collect();
    if ignored.is_empty() {
        return warnings;
    }
    let base = session.manifest.base_dir();
    let base = fs::canonicalize(base).unwrap_or_else(|_| base.to_owned());
    let named = ignored.iter().take(MAX_NAMED_FILES);
    let mut names: Vec<String> = named
        .map(|file| format!("`{}`", file.strip_prefix(&base).unwrap_or(file).display()))
        .collect();
    if ignored.len() > names.len() {
        names.push(format!("{} more", ignored.len() - names.len()));
    }
    let message = format!(
        "git ignores files that playbooks use, so no commit has them: {}",
        names.join(", ")
    );
    let help = format!(
        "add a line for them to the end of `.gitignore`, such as `{ROLES_LINE}`, or add them with `git add --force`"
    );
    warnings.push(Diagnostic::warning(message).help(help));
    warnings
}

/// Returns true if a file is in one of the repositories, which ignores it and does not track it.
fn is_left_out(file: &Path, repositories: &[Repository]) -> bool {
    let around = repositories
        .iter()
        .filter(|it| file.starts_with(it.root()))
        .max_by_key(|it| it.root().components().count());
    around.is_some_and(|it| matches!(it.is_ignored(file), Ok(true)) && !it.is_tracked(file))
}
