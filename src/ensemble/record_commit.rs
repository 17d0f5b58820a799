//! Commits a job's record: one commit with exactly the files that the job wrote (`--commit`, `--push`).
//!
//! [`RecordCommit::prepare`] checks before the job that a commit is possible; [`RecordCommit::commit_job`]
//! makes it afterwards.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::commits::{CommitReport, NotInGit};
use super::record_files::RecordFiles;
use crate::drift::DRIFT_FILE;
use crate::git::{Error, Repository};

/// The user's request to commit the job's record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitRequest {
    /// The commit message; `None` uses a message that names the job.
    pub message: Option<String>,
    /// Whether to push the commit as well.
    pub push: bool,
}

impl CommitRequest {
    /// Returns the command-line option that requested the commit.
    fn option(&self) -> &'static str {
        if self.push { "--push" } else { "--commit" }
    }
}

/// An error that prevents a job's record from being committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Git(#[from] Error),
    /// The ensemble is not in a git repository.
    #[error("`{}` is not in a git repository, so `{option}` is not possible", folder.display())]
    NoRepository {
        folder: PathBuf,
        /// The option that requested the commit.
        option: &'static str,
    },
    /// Git ignores the manifest, so there is nothing to commit.
    #[error("git ignores `{}`, so `{option}` has nothing to commit", manifest.display())]
    Ignored {
        manifest: PathBuf,
        /// The option that requested the commit.
        option: &'static str,
    },
    #[error("`{}` has no remote to push to", root.display())]
    NoRemote {
        /// The root of the working tree.
        root: PathBuf,
    },
}

impl CommitError {
    /// Returns a hint on how to fix the problem.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Git(error) => return error.hint(),
            Self::NoRepository { .. } => "create a repository with `git init`, or omit the option",
            Self::Ignored { .. } => "`git check-ignore -v FILE` shows the pattern that matches",
            Self::NoRemote { .. } => {
                "add one with `git remote add origin URL`; if there are several, select one with \
                 `git push -u REMOTE BRANCH`"
            }
        };
        Some(hint.to_owned())
    }
}

/// A commit that was prepared before the job runs.
#[derive(Debug)]
pub(crate) struct RecordCommit {
    request: CommitRequest,
    repository: Repository,
    record: RecordFiles,
    /// The files with uncommitted changes before the job.
    changed_before: HashSet<PathBuf>,
    /// True if commits include the drift record.
    has_drift_record: bool,
}

impl RecordCommit {
    /// Checks, before the job runs, that its record can be committed. Warnings go to `notify`.
    ///
    /// # Errors
    ///
    /// The commit, or the requested push, would fail.
    pub(crate) fn prepare(
        request: CommitRequest,
        manifest: &Path,
        trusts: &dyn Fn(&Path) -> bool,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Self, CommitError> {
        let record = RecordFiles::of(manifest);
        let repository = find_repository(&record, &request, trusts, notify)?;
        let mut prepared = Self {
            request,
            repository,
            record,
            changed_before: HashSet::new(),
            has_drift_record: false,
        };
        let before = prepared.changed()?;
        prepared.changed_before = before.into_iter().collect();
        prepared.check_filters()?;
        Ok(prepared)
    }

    /// Sets whether commits include the drift record.
    #[must_use]
    pub(crate) fn with_drift_record(mut self, is_included: bool) -> Self {
        self.has_drift_record = is_included;
        self
    }

    /// Returns true if commits include a file of the record.
    fn is_committed(&self, path: &Path) -> bool {
        self.record.is_record(path) && (self.has_drift_record || !self.record.is_drift_record(path))
    }

    /// Refuses files that the job will commit or may write, if their filter may not run. Files that exist come
    /// first, so that an error names them.
    fn check_filters(&self) -> Result<(), Error> {
        let base = self.record.base();
        let root = self.repository.root();
        let tracked = self.repository.files_with_filters(base)?;
        let tracked = tracked.into_iter().map(|path| root.join(path));
        let committed =
            tracked.filter(|file| self.record.is_record(file) || self.record.is_task_output(file));
        let existing: BTreeSet<PathBuf> = std::iter::once(self.record.manifest().to_owned())
            .chain(committed)
            .collect();
        self.check_filters_of(existing)?;
        let new = [
            "jobs.tsv",
            "changes/job2026-11-23-08-54-17-A6BN8sHF.yaml",
            "artifacts/x",
            "active/x",
            "spec/x",
        ];
        self.check_filters_of(new.map(|name| base.join(name)))
    }

    fn check_filters_of(&self, files: impl IntoIterator<Item = PathBuf>) -> Result<(), Error> {
        let files = files.into_iter();
        let files = files.filter_map(|file| self.repository.relative(&file));
        self.repository.check_filters(&files.collect::<Vec<_>>())
    }

    /// Returns the files with uncommitted changes in the ensemble's folder.
    fn changed(&self) -> Result<Vec<PathBuf>, Error> {
        let files = self.repository.file_changes(&[self.record.base()])?;
        let root = self.repository.root();
        Ok(files.into_iter().map(|path| root.join(path)).collect())
    }

    /// Commits the files of the job with this id, and pushes them if requested.
    ///
    /// Output files that were already changed before the job are the user's and are not committed. `message` is
    /// the message unless the user gave one; without it, the message is that of Unfurl.
    pub(crate) fn commit_job(&self, job: &str, message: Option<&str>) -> CommitReport {
        let of_job = |path: &PathBuf| {
            self.is_committed(path)
                || (self.record.is_task_output(path) && !self.changed_before.contains(path))
        };
        match message {
            Some(message) => self.commit_with(message, of_job),
            None => self.commit(job, of_job),
        }
    }

    /// Commits the record of an earlier job that was not committed yet. Called if the new job has nothing to
    /// do.
    pub(crate) fn commit_pending(&self, last: Option<&str>) -> CommitReport {
        let pending = self
            .changed_before
            .iter()
            .any(|path| self.record.is_job_log(path));
        match last.filter(|_| pending) {
            Some(job) => self.commit(job, |path| self.is_committed(path)),
            None => self.commit("", |_| false),
        }
    }

    /// Commits the record after a job without tasks that saved the values of inputs.
    pub(crate) fn commit_inputs(&self, names: &[Arc<str>]) -> CommitReport {
        let message = format!("Save inputs: {}", names.join(", "));
        self.commit_with(&message, |path| self.is_committed(path))
    }

    fn commit(&self, job: &str, is_selected: impl Fn(&PathBuf) -> bool) -> CommitReport {
        self.commit_with(&default_message(Some(job)), is_selected)
    }

    /// Commits the selected files. `default` is the message unless the user gave one.
    fn commit_with(&self, default: &str, is_selected: impl Fn(&PathBuf) -> bool) -> CommitReport {
        let mut commits = CommitReport::default();
        let message = self.request.message.as_deref().unwrap_or(default);
        let created = self.changed().and_then(|mut files| {
            files.retain(|path| is_selected(path));
            if files.is_empty() {
                return Ok(None);
            }
            self.repository.commit(&files, message)
        });
        match created {
            Ok(created) => commits.add(&self.repository, created),
            Err(error) => {
                commits.failure = Some(NotInGit::NotCommitted(error));
                return commits;
            }
        }
        commits.note_missing_merge_driver(&self.repository);
        if self.request.push {
            commits.push(&self.repository, &self.record);
        }
        commits
    }
}

/// Returns the commit message to use if the user gave none.
pub(crate) fn default_message(job: Option<&str>) -> String {
    job.map_or_else(
        || "Commit by Unfurl".to_owned(),
        |job| format!("Updating status for job {job}"),
    )
}

/// Finds the repository of an ensemble and checks that the record can be committed there.
fn find_repository(
    record: &RecordFiles,
    request: &CommitRequest,
    trusts: &dyn Fn(&Path) -> bool,
    notify: &mut dyn FnMut(&str),
) -> Result<Repository, CommitError> {
    let option = request.option();
    let Some(repository) = Repository::discover(record.base())? else {
        let folder = record.base().to_owned();
        return Err(CommitError::NoRepository { folder, option });
    };
    let repository = repository.trusted_if(trusts);
    repository.check_ready_to_commit()?;
    let manifest = record.manifest();
    let ignored = repository.is_ignored(manifest).unwrap_or(false);
    let is_new = repository.head().ok().flatten();
    let is_new = is_new.is_none_or(|head| repository.blob_id_at(&head, manifest).is_none());
    if ignored && is_new {
        let manifest = manifest.to_owned();
        return Err(CommitError::Ignored { manifest, option });
    }
    if repository.is_detached() {
        let detached = Error::Detached {
            path: repository.root().to_owned(),
        };
        if request.push {
            return Err(detached.into());
        }
        notify(&format!(
            "{detached}: the commit will not belong to any branch"
        ));
    } else if request.push && repository.push_target().is_none() {
        let root = repository.root().to_owned();
        return Err(CommitError::NoRemote { root });
    }
    if let Some(target) = repository.push_target().filter(|_| request.push) {
        repository.check_push(&target.remote)?;
    }
    Ok(repository)
}

/// Patterns of files that must not be committed, each with a path to test it. Projects of older versions do
/// not ignore all of them.
const EXCLUDED_PATTERNS: [(&str, &str); 14] = [
    ("**/planned/", "planned/x/y"),
    ("**/jobs/", "jobs/x"),
    ("**/failed/", "failed/x/y"),
    ("**/active/tasks/", "active/tasks/x"),
    ("**/active/secrets/", "active/secrets/x"),
    ("**/active/local/", "active/local/x"),
    ("*.tmp.*", "ensemble.yaml.tmp.0"),
    ("*.yaml.lock", "ensemble.yaml.lock"),
    ("*.lfs.lock", "ensemble.yaml.lfs.lock"),
    ("*.rescue", "ensemble.yaml.A.rescue"),
    ("*.owner.lock", "ensemble.yaml.owner.lock"),
    ("**/local/digest.key", "local/digest.key"),
    ("**/local/trust.yaml", "local/trust.yaml"),
    ("**/local/state-identity.txt", "local/state-identity.txt"),
];

/// Excludes a job's private files from git, in this clone only (`.git/info/exclude`), and repairs what a killed job
/// left in the repository. `with_drift_record` excludes the drift record as well.
pub(crate) fn exclude_from_git(base: &Path, with_drift_record: bool) {
    if let Ok(Some(repository)) = Repository::discover(base) {
        let drift_record = with_drift_record.then_some(("**/drift.tsv", DRIFT_FILE));
        let patterns = EXCLUDED_PATTERNS.into_iter().chain(drift_record);
        let probes: Vec<_> = patterns
            .map(|(pattern, probe)| (pattern, base.join(probe)))
            .collect();
        let patterns: Vec<_> = probes
            .iter()
            .map(|(pattern, probe)| (*pattern, probe.as_path()))
            .collect();
        // A repository that is not writable must not fail a job that has already run.
        repository.ensure_excluded(&patterns).ok();
        repository.repair().ok();
    }
}
