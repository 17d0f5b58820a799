//! Implements `unfurl git` and `unfurl git-status`: runs git in every repository that belongs to an ensemble
//! or project.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::failure::{Failure, FailureKind};
use crate::diagnostic::Diagnostics;
use crate::ensemble::RecordFiles;
use crate::project::PROJECT_FILE;
use crate::secret::Keys;
use crate::session::{
    self, InvolvedRepository, SecretValue, SessionOptions, current_dir, distinct_repositories,
    ignored_settings, involved_repositories, repositories_of, repository_at, secret_values,
};
use crate::system::{fs, process};

/// The time limit of a git call that the user requested.
const GIT_TIMEOUT: Duration = Duration::from_hours(1);

/// The result of git in one repository.
#[derive(Debug, Clone)]
pub struct GitRun {
    /// The path of the repository, relative to the given folder.
    pub folder: PathBuf,
    pub output: process::Output,
}

/// The git status of a repository or of a folder in it.
#[derive(Debug, Clone)]
pub struct GitStatus {
    /// The role of the repository: `self`, `spec` or its declared name.
    pub name: String,
    /// The path of the folder, for display.
    pub folder: String,
    /// The changed files, relative to the root of the repository.
    pub changes: Vec<PathBuf>,
    /// The output of `git status` for the folder.
    pub text: String,
}

/// The repositories to which a git-related command applies.
pub(super) enum GitScope {
    /// An ensemble with the repositories it uses.
    Ensemble {
        record: RecordFiles,
        last_job: Option<String>,
        /// Whether the argument denotes the project's folder.
        whole_project: bool,
        all: Vec<InvolvedRepository>,
        /// The places of secret values in the files of the model.
        secrets: Vec<SecretValue>,
        keys: Keys,
    },
    /// A project without a readable ensemble, or any other folder.
    Folder(Option<InvolvedRepository>),
}

/// Determines the scope: the ensemble that the options select, or else the folder they name.
pub(super) fn find_scope(options: &SessionOptions) -> Result<GitScope, Failure> {
    let cwd = current_dir()?;
    let folder = fs::absolute(Path::new(&options.ensemble), &cwd);
    let found = match session::find(options) {
        Ok(found) => found,
        Err(failure) => {
            let is_project = fs::is_dir(&folder) && has_project(&folder);
            let trust = session::trust_of_folder(options, &folder);
            let found =
                repository_at("", &folder, &trust)?.filter(|_| is_project || fs::is_dir(&folder));
            return match found {
                Some(found) => Ok(GitScope::Folder(Some(found))),
                None => Err(failure.into()),
            };
        }
    };
    let record = RecordFiles::of(&found.located.manifest);
    let project = found.located.project.as_ref();
    let whole_project = project.is_some_and(|project| is_same_folder(&project.root, &folder));
    let nearest = repositories_of(&found.located)?;
    let keys = found.keys.clone();
    // Git commands must work even if the ensemble cannot be loaded, because git may be needed to repair it.
    let (last_job, all, secrets) = match session::load(found, options) {
        Ok(session) => (
            session.last_job(),
            involved_repositories(&session)?,
            secret_values(&session),
        ),
        Err(_) => (None, nearest, Vec::new()),
    };
    Ok(GitScope::Ensemble {
        record,
        last_job,
        whole_project,
        all,
        secrets,
        keys,
    })
}

fn is_same_folder(left: &Path, right: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(left).is_some_and(|left| Some(left) == real(right))
}

fn has_project(folder: &Path) -> bool {
    fs::is_file(&folder.join(PROJECT_FILE))
}

/// Runs git in each repository of the ensemble or project.
pub fn run(
    options: &SessionOptions,
    words: &[String],
    warn: &mut dyn FnMut(&Diagnostics),
) -> Result<Vec<GitRun>, Failure> {
    if words.is_empty() {
        let help = "for example `unfurl git status -s`".to_owned();
        return Err(Failure::new(
            FailureKind::Usage,
            "git needs a command",
            Some(help),
        ));
    }
    let base = fs::absolute(Path::new(&options.ensemble), &current_dir()?);
    let base = fs::canonicalize(&base).unwrap_or(base);
    let all = match find_scope(options)? {
        GitScope::Ensemble { all, .. } => all,
        GitScope::Folder(one) => one.into_iter().collect(),
    };
    warn(&ignored_settings(&all));
    let mut repositories = distinct_repositories(all);
    repositories.sort_by(|left, right| left.root().cmp(right.root()));
    let mut runs = Vec::new();
    for repository in repositories {
        let output = repository.run_git(words, GIT_TIMEOUT)?;
        runs.push(GitRun {
            folder: fs::relative_path(repository.root(), &base),
            output,
        });
    }
    Ok(runs)
}

/// Returns the status of each repository. With `dirty`, only repositories with changes are included.
pub fn status(
    options: &SessionOptions,
    dirty: bool,
    warn: &mut dyn FnMut(&Diagnostics),
) -> Result<Vec<GitStatus>, Failure> {
    let all = match find_scope(options)? {
        GitScope::Ensemble { all, .. } => all,
        GitScope::Folder(one) => one.into_iter().collect(),
    };
    warn(&ignored_settings(&all));
    let mut statuses = Vec::new();
    for involved in all {
        let status = status_of(&involved)?;
        if !dirty || !status.changes.is_empty() {
            statuses.push(status);
        }
    }
    Ok(statuses)
}

/// Returns the status of one repository.
pub(super) fn status_of(involved: &InvolvedRepository) -> Result<GitStatus, Failure> {
    let repository = &involved.repository;
    let folder = involved.folder.to_string_lossy().into_owned();
    let folder = if folder.is_empty() {
        ".".to_owned()
    } else {
        folder
    };
    let words = ["status".to_owned(), "--".to_owned(), folder];
    let changes = repository.changes(&[&involved.folder]);
    let changes = changes?;
    let output = repository.run_git(&words, GIT_TIMEOUT)?;
    Ok(GitStatus {
        name: involved.name.clone(),
        folder: involved.display_path(),
        changes,
        text: output.text(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_a_folder_to_another() {
        let relative_path = |to: &str, from: &str| {
            fs::relative_path(Path::new(to), Path::new(from))
                .display()
                .to_string()
        };
        assert_eq!(relative_path("/a/b", "/a/b"), ".");
        assert_eq!(relative_path("/a/b/c", "/a/b"), "c");
        assert_eq!(relative_path("/a", "/a/b/c"), "../..");
        assert_eq!(relative_path("/a/x", "/a/b"), "../x");
    }
}
