//! What went wrong with a repository.

use std::path::{Path, PathBuf};

use crate::system::fs;

/// A git operation that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository belongs to another user, and git refuses such.
    #[error("the git repository of `{}` belongs to another user", path.display())]
    Owner {
        /// What was looked for.
        path: PathBuf,
    },
    /// The repository could not be read.
    #[error("could not {action} in the git repository `{}`: {reason}", path.display())]
    Failed {
        /// What was tried.
        action: &'static str,
        /// The repository.
        path: PathBuf,
        /// What libgit2 said.
        reason: String,
    },
    /// The path is not in the repository.
    #[error("`{}` is not in the git repository `{}`", path.display(), root.display())]
    Outside {
        /// The path.
        path: PathBuf,
        /// The repository.
        root: PathBuf,
    },
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] fs::Error),
}

impl Error {
    pub(super) fn failed(action: &'static str, path: &Path, error: &git2::Error) -> Self {
        if error.code() == git2::ErrorCode::Owner {
            return Self::Owner {
                path: path.to_owned(),
            };
        }
        Self::Failed {
            action,
            path: path.to_owned(),
            reason: error.message().to_owned(),
        }
    }

    /// Says what people can do about it, where something helps.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Owner { path } => Some(format!(
                "if you trust it, run `git config --global --add safe.directory {}`",
                path.display()
            )),
            Self::File(error) => error.hint(),
            Self::Failed { .. } | Self::Outside { .. } => None,
        }
    }
}
