//! The commits that a use case made.

use std::path::PathBuf;

use super::failure::Failure;

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMade {
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
pub struct Commits {
    /// The commits.
    pub made: Vec<CommitMade>,
    /// What people should know.
    pub warnings: Vec<String>,
    /// Why something that was to be committed or pushed is not.
    pub failure: Option<Failure>,
}
