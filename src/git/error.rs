//! What went wrong with a repository.

use std::path::{Path, PathBuf};

use crate::system::{fs, process};

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
    /// The repository has a format that cannot be read.
    #[error("the git repository of `{}` has a format that is not supported: {reason}", path.display())]
    Format {
        /// What was looked for.
        path: PathBuf,
        /// What libgit2 said.
        reason: String,
    },
    /// The user is in the middle of something.
    #[error("{what} is not finished in the git repository `{}`", path.display())]
    Unfinished {
        /// The repository.
        path: PathBuf,
        /// What is not finished.
        what: &'static str,
        /// The commands that end it, but for the outer quotes.
        go_on: &'static str,
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
    Moved {
        /// The repository.
        path: PathBuf,
    },
    /// A lock of git's own is in the way.
    #[error("git's lock on `{what}` is in the way in the git repository `{}`", path.display())]
    Locked {
        /// The repository.
        path: PathBuf,
        /// What is locked.
        what: String,
    },
    /// A hook refused the commit.
    #[error("the hook `{name}` of the git repository `{}` refused the commit: {said}", path.display())]
    Hook {
        /// The repository.
        path: PathBuf,
        /// The hook.
        name: &'static str,
        /// What it said.
        said: String,
    },
    /// The commit could not be signed.
    #[error("git could not sign the commit in `{}`: {said}", path.display())]
    Unsigned {
        /// The repository.
        path: PathBuf,
        /// What git said.
        said: String,
    },
    /// The git program refused.
    #[error("git could not {action} in `{}`: {said}", path.display())]
    Refused {
        /// What was tried.
        action: &'static str,
        /// The repository.
        path: PathBuf,
        /// What it said.
        said: String,
    },
    /// The git program could not be run.
    #[error("{source} (in `{}`)", path.display())]
    Program {
        /// The repository.
        path: PathBuf,
        /// Why.
        source: process::Error,
    },
    /// A remote does not answer.
    #[error("the remote `{remote}` of `{}` cannot be reached: {said}", path.display())]
    Unreachable {
        /// The repository.
        path: PathBuf,
        /// The remote.
        remote: String,
        /// What git said.
        said: String,
    },
    /// A remote does not take what is pushed.
    #[error("the remote `{remote}` of `{}` did not take the push: {said}", path.display())]
    Rejected {
        /// The repository.
        path: PathBuf,
        /// The remote.
        remote: String,
        /// What git said.
        said: String,
    },
    /// Files that are changed here would be overwritten.
    #[error("newer commits change files that are changed in `{}` and not committed{}", path.display(), named(files))]
    InTheWay {
        /// The repository.
        path: PathBuf,
        /// The files.
        files: Vec<PathBuf>,
    },
    /// A commit that is no record cannot be moved without asking.
    #[error("`{}` and `{upstream}` have diverged, and here is a commit that is no record of a job: {commit}", path.display())]
    NotARecord {
        /// The repository.
        path: PathBuf,
        /// What it follows.
        upstream: String,
        /// The commit.
        commit: String,
    },
    /// Both sides changed the same.
    #[error("`{}` and `{upstream}` have changed the same{}", path.display(), named(files))]
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

    /// What a repository that is there and cannot be opened says.
    pub(super) fn unopened(path: &Path, error: &git2::Error) -> Self {
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
            return Self::Format {
                path: path.to_owned(),
                reason: reason.to_owned(),
            };
        }
        Self::failed("look", path, error)
    }

    /// What the git program said when it refused.
    pub(super) fn refused(action: &'static str, path: &Path, said: &str) -> Self {
        Self::Refused {
            action,
            path: path.to_owned(),
            said: said.to_owned(),
        }
    }

    /// Says what people can do about it, where something helps.
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            Self::Owner { path } => {
                let path = path.display();
                return Some(format!(
                    "if you trust it, run `git config --global --add safe.directory {path}`"
                ));
            }
            Self::File(error) => return error.hint(),
            Self::Unfinished { go_on, .. } => return Some(format!("end it first: `{go_on}`")),
            Self::Locked { what, .. } => {
                return Some(format!(
                    "if no git is running there, delete `{what}.lock` in its `.git`"
                ));
            }
            Self::Format { .. } => {
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
            Self::Moved { .. } => "try again",
            Self::Hook { .. } => {
                "do what it asks for; hooks run because git's setting `unfurl.hooks` is true"
            }
            Self::Unsigned { .. } => {
                "it signs because git's setting `commit.gpgsign` is true; see \
                 to the key, or set it to false"
            }
            Self::Program {
                source: process::Error::NotFound { .. },
                ..
            } => "install git",
            Self::Unreachable { .. } => {
                "`git fetch` there tells more; credentials must come from a \
                 helper or an agent, since nothing can be asked"
            }
            Self::InTheWay { .. } => "commit them, or put them aside with `git stash`",
            Self::NotARecord { .. } => "bring them together: `git pull --rebase`",
            Self::Conflict { .. } => {
                "nothing is lost: this side is in your branch, the other in \
                 the remote's; `git pull --rebase` shows both, and `unfurl check` finds out what \
                 exists"
            }
            Self::Failed { .. }
            | Self::Outside { .. }
            | Self::Refused { .. }
            | Self::Program { .. }
            | Self::Rejected { .. } => return None,
        };
        Some(fixed.to_owned())
    }
}

/// Names of files for the end of a message.
fn named(files: &[PathBuf]) -> String {
    /// How many files a message names.
    const MOST: usize = 10;
    if files.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> = files
        .iter()
        .take(MOST)
        .map(|file| format!("`{}`", file.display()))
        .collect();
    if files.len() > MOST {
        names.push(format!("{} more", files.len() - MOST));
    }
    format!(": {}", names.join(", "))
}
