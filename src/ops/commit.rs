//! Implements `unfurl commit`: encrypts changed secrets, commits the changes of an ensemble, project or folder,
//! and pushes them on request.

use std::collections::HashSet;
use std::path::PathBuf;

use super::failure::{Failure, FailureKind};
use super::git::{GitScope, find_scope, status_of};
use super::secret::{CLEAR_PERMISSION, refuse_clear_values};
use super::secret_files;
pub use super::secret_files::SavedSecrets;
use crate::ensemble::{CommitReport, RecordFiles, default_message, exclude_from_git};
use crate::git::Repository;
use crate::lock::Lock;
use crate::project::FolderKeys;
use crate::session::{InvolvedRepository, SecretValue, SessionOptions, ignored_settings};

/// The options of the command `unfurl commit`.
#[derive(Debug, Clone, Default)]
pub struct CommitOptions {
    /// The selection of the ensemble, project or folder.
    pub session: SessionOptions,
    /// The commit message; `None` calls the prompt.
    pub message: Option<String>,
    /// Whether to commit only staged changes.
    pub staged_only: bool,
    /// Whether to commit in every repository that the ensemble uses.
    pub all_repositories: bool,
    pub push: bool,
    /// The command line, for the lock's owner file.
    pub command: String,
}

/// A callback that asks the user for a message. Its arguments are a default message and the status of the
/// changes; it returns `None` if the user gives up.
pub type MessagePrompt<'a> = &'a mut dyn FnMut(&str, &str) -> Result<Option<String>, Failure>;

/// Commits and pushes the changes. Returns `None` if the user gave no message.
pub fn commit(
    options: &CommitOptions,
    prompt: MessagePrompt<'_>,
) -> Result<Option<CommitReport>, Failure> {
    let CommitScope {
        record,
        last_job,
        targets,
        keys,
        secrets,
    } = find_targets(options)?;
    // A running job may be halfway through writing the files to commit.
    let _lock = record
        .as_ref()
        .map(|record| acquire_lock(record, options))
        .transpose()?;
    repair(&targets, record.as_ref())?;
    let saved = secret_files::save(&targets, keys.get())?;
    let default = default_message(last_job.as_deref());
    let mut commits = CommitReport::default();
    let ignored = ignored_settings(&targets);
    commits.warnings = ignored.iter().map(|it| it.message.clone()).collect();
    commits.warnings.extend(saved.warnings);
    if !options.staged_only && pending(&targets)? == 0 {
        push_all(options, &targets, record.as_ref(), &mut commits);
        return Ok(Some(commits));
    }
    refuse_clear(options, &targets, &secrets)?;
    let Some(message) = choose_message(options, prompt, &default, &targets)? else {
        return Ok(None);
    };
    for target in &targets {
        commit_one(target, &message, options, &mut commits)?;
    }
    if let Some(own) = targets.iter().find(|target| target.name == "self") {
        commits.note_missing_merge_driver(&own.repository);
    }
    push_all(options, &targets, record.as_ref(), &mut commits);
    Ok(Some(commits))
}

/// Encrypts the changed files of the folders `secrets`, and commits nothing (`--save-secrets-only`).
pub fn save_secrets(options: &CommitOptions) -> Result<SavedSecrets, Failure> {
    let scope = find_targets(options)?;
    let record = scope.record.as_ref();
    let _lock = record
        .map(|record| acquire_lock(record, options))
        .transpose()?;
    secret_files::save(&scope.targets, scope.keys.get())
}

/// The repositories of a commit, and the keys for their secrets.
struct CommitScope {
    /// The record of the ensemble, if one is committed.
    record: Option<RecordFiles>,
    last_job: Option<String>,
    targets: Vec<InvolvedRepository>,
    keys: FolderKeys,
    /// The places of secret values in the files of the model.
    secrets: Vec<SecretValue>,
}

/// Returns what the options select.
fn find_targets(options: &CommitOptions) -> Result<CommitScope, Failure> {
    let scope = match find_scope(&options.session)? {
        GitScope::Ensemble {
            record,
            last_job,
            whole_project,
            all,
            keys,
            secrets,
        } => {
            let own = |it: &InvolvedRepository| match it.name.as_str() {
                "self" => true,
                "spec" => whole_project || options.all_repositories,
                _ => options.all_repositories,
            };
            let mut targets = all;
            targets.retain(own);
            CommitScope {
                record: Some(record),
                last_job,
                targets,
                keys: FolderKeys::from(keys),
                secrets,
            }
        }
        GitScope::Folder(_) if options.all_repositories => {
            let message = "`--all-repositories` needs an ensemble";
            return Err(Failure::usage(message));
        }
        GitScope::Folder(one) => {
            let folder = one.as_ref().map(|it| it.repository.root().join(&it.folder));
            let home = options.session.home.as_deref();
            CommitScope {
                record: None,
                last_job: None,
                targets: one.into_iter().collect(),
                keys: FolderKeys::new(&folder.unwrap_or_default(), home),
                secrets: Vec::new(),
            }
        }
    };
    if scope.targets.is_empty() {
        return Err(no_repository());
    }
    Ok(scope)
}

/// Repairs what killed processes left in the repositories, and excludes private files.
fn repair(targets: &[InvolvedRepository], record: Option<&RecordFiles>) -> Result<(), Failure> {
    for target in targets {
        target.repository.repair_checkouts()?;
    }
    if let Some(record) = record {
        exclude_from_git(record.base(), false);
    }
    Ok(())
}

/// Returns the message of the options, or else asks the user for one.
fn choose_message(
    options: &CommitOptions,
    prompt: MessagePrompt<'_>,
    default: &str,
    targets: &[InvolvedRepository],
) -> Result<Option<String>, Failure> {
    match &options.message {
        Some(message) => Ok(Some(message.clone())),
        None => prompt(default, &statuses(targets)?),
    }
}

/// Returns the failure for a folder outside of any repository.
fn no_repository() -> Failure {
    let message = "there is no git repository to commit to";
    let help = "create one with `git init`".to_owned();
    Failure::new(FailureKind::Refused, message, Some(help))
}

fn acquire_lock(record: &RecordFiles, options: &CommitOptions) -> Result<Lock, Failure> {
    let acquired = Lock::acquire(record.manifest(), &options.command);
    let acquired = acquired.map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Locked, error, hint)
    })?;
    Ok(acquired.lock)
}

fn pending(targets: &[InvolvedRepository]) -> Result<usize, Failure> {
    let mut pending = 0;
    for target in targets {
        pending += changes(target)?.len();
    }
    Ok(pending)
}

/// Returns the changed files in the folder, without nested repositories.
fn changes(target: &InvolvedRepository) -> Result<Vec<PathBuf>, Failure> {
    Ok(target.repository.file_changes(&[&target.folder])?)
}

/// Refuses secrets in clear text among the changes, unless the user permits them.
fn refuse_clear(
    options: &CommitOptions,
    targets: &[InvolvedRepository],
    secrets: &[SecretValue],
) -> Result<(), Failure> {
    let mut allowed = options.session.allowed.iter();
    if secrets.is_empty() || allowed.any(|name| name.trim() == CLEAR_PERMISSION) {
        return Ok(());
    }
    let mut changed = HashSet::new();
    for target in targets {
        let root = target.repository.root();
        changed.extend(changes(target)?.iter().map(|path| root.join(path)));
    }
    let repositories: Vec<&Repository> = targets.iter().map(|it| &it.repository).collect();
    refuse_clear_values(secrets, &repositories, &|path| changed.contains(path))
}

fn statuses(targets: &[InvolvedRepository]) -> Result<String, Failure> {
    let mut text = String::new();
    for target in targets {
        text.push_str(&status_of(target)?.text);
        text.push('\n');
    }
    Ok(text)
}

fn commit_one(
    target: &InvolvedRepository,
    message: &str,
    options: &CommitOptions,
    commits: &mut CommitReport,
) -> Result<(), Failure> {
    let created = if options.staged_only {
        target.repository.commit_staged(message)
    } else {
        let files = changes(target)?;
        if files.is_empty() {
            return Ok(());
        }
        target.repository.commit(&files, message)
    };
    commits.add(&target.repository, created?);
    Ok(())
}

fn push_all(
    options: &CommitOptions,
    targets: &[InvolvedRepository],
    record: Option<&RecordFiles>,
    commits: &mut CommitReport,
) {
    let mut roots: Vec<&std::path::Path> = Vec::new();
    for target in targets.iter().filter(|_| options.push) {
        let root = target.repository.root();
        if roots.contains(&root) || commits.failure.is_some() {
            continue;
        }
        roots.push(root);
        let whole = RecordFiles::of(&root.join("ensemble.yaml"));
        commits.push(&target.repository, record.unwrap_or(&whole));
    }
}
