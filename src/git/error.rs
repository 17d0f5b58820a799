//! What went wrong with a repository.

use std::path::{Path, PathBuf};

use crate::system::{fs, process};

/// A git operation that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository belongs to another user, and git refuses such.
    #[error("the git repository of `{}` belongs to another user", path.display())]
    ForeignOwner {
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
    OutsideRepository {
        /// The path.
        path: PathBuf,
        /// The repository.
        root: PathBuf,
    },
    /// The repository has a format that cannot be read.
    #[error("the git repository of `{}` has a format that is not supported: {reason}", path.display())]
    UnsupportedFormat {
        /// What was looked for.
        path: PathBuf,
        /// What libgit2 said.
        reason: String,
    },
    /// The user is in the middle of something.
    #[error("{subject} is not finished in the git repository `{}`", path.display())]
    Unfinished {
        /// The repository.
        path: PathBuf,
        /// What is not finished.
        subject: &'static str,
        /// The commands that end it, but for the outer quotes.
        resume_commands: &'static str,
    },
    /// Nobody can be the author of a commit.
    #[error("git does not know who you are, so nothing can be committed to `{}`", path.display())]
    NoIdentity {
        /// The repository.
        path: PathBuf,
    },
    /// No branch is checked out.
    #[error("no branch is checked out in the git repository `{}`", path.display())]
    Detached {
        /// The repository.
        path: PathBuf,
    },
    /// Somebody else committed at the same time.
    #[error("somebody else commits to the git repository `{}` at the same time", path.display())]
    ConcurrentCommit {
        /// The repository.
        path: PathBuf,
    },
    /// A lock of git's own is in the way.
    #[error("git's lock on `{subject}` is in the way in the git repository `{}`", path.display())]
    Locked {
        /// The repository.
        path: PathBuf,
        /// What is locked.
        subject: String,
    },
    /// A hook refused the commit.
    #[error("the hook `{name}` of the git repository `{}` refused the commit: {message}", path.display())]
    Hook {
        /// The repository.
        path: PathBuf,
        /// The hook.
        name: &'static str,
        /// What it said.
        message: String,
    },
    /// The commit could not be signed.
    #[error("git could not sign the commit in `{}`: {message}", path.display())]
    SigningFailed {
        /// The repository.
        path: PathBuf,
        /// What git said.
        message: String,
    },
    /// The git program refused.
    #[error("git could not {action} in `{}`: {message}", path.display())]
    Refused {
        /// What was tried.
        action: &'static str,
        /// The repository.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// The git program could not be run.
    #[error("{source} (in `{}`)", path.display())]
    NotRun {
        /// The repository.
        path: PathBuf,
        /// Why.
        source: process::Error,
    },
    /// A remote does not answer.
    #[error("the remote `{remote}` of `{}` cannot be reached: {message}", path.display())]
    Unreachable {
        /// The repository.
        path: PathBuf,
        /// The remote.
        remote: String,
        /// What git said.
        message: String,
    },
    /// A remote does not take what is pushed.
    #[error("the remote `{remote}` of `{}` did not take the push: {message}", path.display())]
    Rejected {
        /// The repository.
        path: PathBuf,
        /// The remote.
        remote: String,
        /// What git said.
        message: String,
    },
    /// Files that are changed here would be overwritten.
    #[error("newer commits change files that are changed in `{}` and not committed{}", path.display(), list_files(files))]
    WouldOverwrite {
        /// The repository.
        path: PathBuf,
        /// The files.
        files: Vec<PathBuf>,
    },
    /// A commit that is no record cannot be moved without asking.
    #[error("`{}` and `{upstream}` have diverged, and here is a commit that is no record of a job: {commit}", path.display())]
    ForeignCommit {
        /// The repository.
        path: PathBuf,
        /// What it follows.
        upstream: String,
        /// The commit.
        commit: String,
    },
    /// Both sides changed the same.
    #[error("`{}` and `{upstream}` have changed the same{}", path.display(), list_files(files))]
    Conflict {
        /// The repository.
        path: PathBuf,
        /// What it follows.
        upstream: String,
        /// The files.
        files: Vec<PathBuf>,
    },
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] fs::Error),
}

impl Error {
    pub(super) fn failed(action: &'static str, path: &Path, error: &git2::Error) -> Self {
        if error.code() == git2::ErrorCode::Owner {
            return Self::ForeignOwner {
                path: path.to_owned(),
            };
        }
        Self::Failed {
            action,
            path: path.to_owned(),
            reason: error.message().to_owned(),
        }
    }

    /// What a repository that is there and cannot be opened says.
    pub(super) fn open_failed(path: &Path, error: &git2::Error) -> Self {
        let reason = error.message();
        if [
            "objectformat",
            "extension",
            "repositoryformatversion",
            "object format",
        ]
        .iter()
        .any(|word| reason.to_ascii_lowercase().contains(word))
        {
            return Self::UnsupportedFormat {
                path: path.to_owned(),
                reason: reason.to_owned(),
            };
        }
        Self::failed("look", path, error)
    }

    /// What the git program said when it refused.
    pub(super) fn refused(action: &'static str, path: &Path, message: &str) -> Self {
        Self::Refused {
            action,
            path: path.to_owned(),
            message: message.to_owned(),
        }
    }

    /// Says what people can do about it, where something helps.
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            Self::ForeignOwner { path } => {
                let path = path.display();
                return Some(format!(
                    "if you trust it, run `git config --global --add safe.directory {path}`"
                ));
            }
            Self::File(error) => return error.hint(),
            Self::Unfinished {
                resume_commands,
                ..
            } => return Some(format!("end it first: `{resume_commands}`")),
            Self::Locked {
                subject, ..
            } => {
                return Some(format!(
                    "if no git is running there, delete `{subject}.lock` in its `.git`"
                ));
            }
            Self::UnsupportedFormat { .. } => {
                "repositories with SHA-1 objects and plain references can be \
                 committed to: `git init --object-format=sha1 --ref-format=files`"
            }
            Self::NoIdentity { .. } => {
                "tell it: `git config --global user.name \"Your Name\"` and \
                 `git config --global user.email you@example.com`"
            }
            Self::Detached { .. } => {
                "check out a branch: `git switch NAME`, or `git switch -c NAME` for a new one"
            }
            Self::ConcurrentCommit { .. } => "try again",
            Self::Hook { .. } => {
                "do what it asks for; hooks run because git's setting `unfurl.hooks` is true"
            }
            Self::SigningFailed { .. } => {
                "it signs because git's setting `commit.gpgsign` is true; see \
                 to the key, or set it to false"
            }
            Self::NotRun {
                source: process::Error::NotFound { .. },
                ..
            } => "install git",
            Self::Unreachable { .. } => {
                "`git fetch` there tells more; credentials must come from a \
                 helper or an agent, since nothing can be asked"
            }
            Self::WouldOverwrite { .. } => "commit them, or put them aside with `git stash`",
            Self::ForeignCommit { .. } => "bring them together: `git pull --rebase`",
            Self::Conflict { .. } => {
                "nothing is lost: this side is in your branch, the other in \
                 the remote's; `git pull --rebase` shows both, and `unfurl check` finds out what \
                 exists"
            }
            Self::Failed { .. }
            | Self::OutsideRepository { .. }
            | Self::Refused { .. }
            | Self::NotRun { .. }
            | Self::Rejected { .. } => return None,
        };
        Some(fixed.to_owned())
    }
}

/// Names of files for the end of a message.
fn list_files(files: &[PathBuf]) -> String {
    /// How many files a message names.
    const MAX_NAMED: usize = 10;
    if files.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> = files
        .iter()
        .take(MAX_NAMED)
        .map(|file| format!("`{}`", file.display()))
        .collect();
    if files.len() > MAX_NAMED {
        names.push(format!("{} more", files.len() - MAX_NAMED));
    }
    format!(": {}", names.join(", "))
}
