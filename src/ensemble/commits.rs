//! The result of committing and pushing an ensemble's record to git: the commits created, warnings and
//! failures.

use std::path::PathBuf;

use super::merge_rules;
use super::push::{PushReport, PushedRecord, push};
use super::record_files::RecordFiles;
use crate::git::{CommitOutcome, Error, Repository};

/// A commit that this job created, or a push without a new commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedCommit {
    /// The root of the repository's working tree.
    pub repository: PathBuf,
    /// The id of the commit; `None` if nothing had to be committed and there was only something to push.
    pub id: Option<String>,
    /// The changed files, relative to the repository's root.
    pub files: Vec<PathBuf>,
    /// The remote branch that the commit was pushed to, if it was pushed.
    pub pushed: Option<String>,
}

/// The commits of one run and the problems that occurred.
#[derive(Debug, Default)]
pub struct CommitReport {
    pub created: Vec<CreatedCommit>,
    /// Messages for the user that do not make the run fail.
    pub warnings: Vec<String>,
    /// The reason why the record could not be committed or pushed.
    pub failure: Option<NotInGit>,
}

/// A reason why a record is saved on disk but not committed, or not pushed.
#[derive(Debug, thiserror::Error)]
pub enum NotInGit {
    /// The record is not part of any commit.
    #[error("the record is saved, but could not be committed: {0}")]
    NotCommitted(Error),
    /// The record is committed, but the remote does not have the commit.
    #[error("the record is saved, but could not be pushed: {0}")]
    NotPushed(Error),
}

impl NotInGit {
    /// Returns a hint that names the command to try again.
    pub fn hint(&self) -> String {
        let (error, again) = match self {
            Self::NotCommitted(error) => (error, "unfurl commit"),
            Self::NotPushed(error) => (error, "unfurl commit --push"),
        };
        let hint = error.hint().map(|hint| format!("{hint}; then "));
        format!("{}run `{again}` to try again", hint.unwrap_or_default())
    }
}

impl CommitReport {
    /// Adds the outcome of a commit; does nothing for `None`.
    pub(crate) fn add(&mut self, repository: &Repository, commit: Option<CommitOutcome>) {
        let Some(commit) = commit else {
            return;
        };
        self.warnings.extend(commit.warnings);
        self.created.push(CreatedCommit {
            repository: repository.root().to_owned(),
            id: Some(commit.id),
            files: commit.files,
            pushed: None,
        });
    }

    /// Pushes the repository and notes the result at the commit created before, if there is one.
    pub(crate) fn push(&mut self, repository: &Repository, record: &RecordFiles) {
        let mut report = PushReport::default();
        let result = push(repository, record, &mut report);
        for (old, new) in &report.renamed_jobs {
            self.warnings.push(format!(
                "another clone has used the id {old} at the same time, so the job of this clone has the id {new} now"
            ));
        }
        if let Some(pushed) = report.pushed {
            self.add_push(repository, pushed);
        }
        if let Err(error) = result {
            self.failure = Some(NotInGit::NotPushed(error));
        }
    }

    fn add_push(&mut self, repository: &Repository, pushed: PushedRecord) {
        let root = repository.root();
        let id = Some(pushed.head);
        if let Some(commit) = self.created.iter_mut().find(|made| made.repository == root) {
            // The push may have rebased the commit onto commits of others, so its id may have changed.
            commit.id = id;
            commit.pushed = Some(pushed.to);
        } else {
            self.created.push(CreatedCommit {
                repository: root.to_owned(),
                id: None,
                files: Vec::new(),
                pushed: Some(pushed.to),
            });
        }
    }

    /// Tells the user once for each clone if git lacks the merge driver for records. A job writes no settings.
    pub(crate) fn note_missing_merge_driver(&mut self, repository: &Repository) {
        if !self.created.is_empty() {
            self.warnings
                .extend(merge_rules::missing_driver_notice(repository));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_git_says_how_to_try_again() {
        let error = || Error::ConcurrentCommit { path: "/e".into() };
        let hint = NotInGit::NotCommitted(error()).hint();
        assert!(hint.ends_with("run `unfurl commit` to try again"), "{hint}");
        let pushed = NotInGit::NotPushed(error());
        let hint = pushed.hint();
        assert!(
            hint.ends_with("run `unfurl commit --push` to try again"),
            "{hint}"
        );
        assert!(pushed.to_string().contains("could not be pushed"));
    }
}
