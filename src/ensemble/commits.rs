//! The commits that were made, and what became of them.

use std::path::PathBuf;

use super::merge_rules;
use super::push::push;
use super::record_files::RecordFiles;
use crate::git::{CommitOutcome, Error, Repository};

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedCommit {
    /// The top of the repository's working tree.
    pub repository: PathBuf,
    /// The commit; none if there was nothing to commit and only something to push.
    pub id: Option<String>,
    /// The files that it changes, from the top.
    pub files: Vec<PathBuf>,
    /// Where it was pushed to.
    pub pushed: Option<String>,
}

/// What was committed, and what went wrong with that.
#[derive(Debug, Default)]
pub struct CommitReport {
    /// The commits.
    pub created: Vec<CreatedCommit>,
    /// What people should know.
    pub warnings: Vec<String>,
    /// Why something that was to be committed or pushed is not.
    pub failure: Option<NotInGit>,
}

/// A reason why a record is saved but not in git, or not pushed.
#[derive(Debug, thiserror::Error)]
pub enum NotInGit {
    /// The record is in no commit.
    #[error("the record is saved, but could not be committed: {0}")]
    NotCommitted(Error),
    /// The record is in a commit that the remote does not have.
    #[error("the record is saved, but could not be pushed: {0}")]
    NotPushed(Error),
}

impl NotInGit {
    /// A way out.
    pub fn hint(&self) -> String {
        let (error, again) = match self {
            Self::NotCommitted(error) => (error, "unfurl commit"),
            Self::NotPushed(error) => (error, "unfurl commit --push"),
        };
        let hint = error.hint().map(|hint| format!("{hint}; then "));
        format!("{}`{again}` tries again", hint.unwrap_or_default())
    }
}

impl CommitReport {
    /// Adds a commit, if one was made.
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

    /// Pushes, and tells of it with the commit just made.
    pub(crate) fn push(&mut self, repository: &Repository, record: &RecordFiles) {
        match push(repository, record) {
            Ok(None) => {}
            Ok(Some(pushed)) => {
                let root = repository.root();
                let id = Some(pushed.head);
                if let Some(commit) = self.created.iter_mut().find(|made| made.repository == root) {
                    // The commit may have been put on top of what others pushed meanwhile.
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
            Err(error) => self.failure = Some(NotInGit::NotPushed(error)),
        }
    }

    /// Tells git how records are merged, once there are commits; that this fails is no reason to
    /// stop.
    pub(crate) fn install_merge_rules(&mut self, repository: &Repository, record: &RecordFiles) {
        if self.created.is_empty() {
            return;
        }
        if let Err(error) = merge_rules::install(repository, record) {
            let warning = format!("git was not told how records are merged: {error}");
            self.warnings.push(warning);
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
        assert!(hint.ends_with("`unfurl commit` tries again"), "{hint}");
        let pushed = NotInGit::NotPushed(error());
        let hint = pushed.hint();
        assert!(
            hint.ends_with("`unfurl commit --push` tries again"),
            "{hint}"
        );
        assert!(pushed.to_string().contains("could not be pushed"));
    }
}
