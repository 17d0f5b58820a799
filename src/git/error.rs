//! The errors of git operations, with hints for the user.

use std::path::{Path, PathBuf};

use crate::system::{fs, process};

/// An error of a git operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository belongs to another user, and git refuses to use it (`safe.directory`).
    #[error("the git repository of `{}` belongs to {owner}", path.display())]
    ForeignOwner {
        path: PathBuf,
        /// The name of the owner.
        owner: String,
    },
    /// The repository's settings claim another folder as its working tree.
    #[error("the git repository of `{}` is not used, because its setting `core.worktree` names another working tree: `{}`", path.display(), worktree.display())]
    ForeignWorkTree { path: PathBuf, worktree: PathBuf },
    /// Only settings of an untrusted repository define a filter that would convert the files.
    #[error("the filter `{filter}` is not run, because only the settings of the repository `{}` define it, and the project is not trusted; files that need it{}", path.display(), list_files(files))]
    UntrustedFilter {
        path: PathBuf,
        filter: String,
        files: Vec<PathBuf>,
    },
    /// A setting of an untrusted repository names the program that signs commits.
    #[error("commits are signed, but the program for it comes from the setting `{key}` of the repository `{}`, and the project is not trusted", path.display())]
    UntrustedSigner { path: PathBuf, key: &'static str },
    /// A setting of an untrusted repository sends network operations to other URLs.
    #[error("the setting `{key}` of the repository `{}` redirects connections, and the project is not trusted", path.display())]
    UntrustedRedirect { path: PathBuf, key: String },
    /// A link in the git folder of an untrusted project leads elsewhere.
    #[error("`{}` is a symbolic link in the git folder of `{}`; links there are not followed, because the project is not trusted", link.display(), path.display())]
    UntrustedLink { path: PathBuf, link: PathBuf },
    /// The `.git` of an untrusted project leads to the git folder of another working tree.
    #[error("`{}` uses the git folder `{}`, which belongs to another working tree; this is refused, because the project is not trusted", path.display(), folder.display())]
    ForeignGitFolder { path: PathBuf, folder: PathBuf },
    /// A setting of a repository names a file with settings or patterns outside of the repository.
    #[error("a git setting of the repository `{}` names the file `{}`, which lies outside of the repository", path.display(), file.display())]
    ForeignSettingsFile { path: PathBuf, file: PathBuf },
    /// A push would run hooks or settings of a repository on this computer.
    #[error("a push to the repository `{}` on this machine is refused: {subject} of that repository could run programs, and the project is not trusted", path.display())]
    UntrustedRemote {
        path: PathBuf,
        /// The hook or setting.
        subject: String,
    },
    /// A push without the hook would leave out the objects of git-lfs.
    #[error("a push from `{}` needs the hook `pre-push` of git-lfs, and the project is not trusted", path.display())]
    UntrustedHook { path: PathBuf },
    /// The address of a remote could change the meaning of a command line.
    #[error("the remote `{remote}` of `{}` has an address with characters that no host or user name has", path.display())]
    UnsafeAddress { path: PathBuf, remote: String },
    /// libgit2 could not complete an operation.
    #[error("could not {action} in the git repository `{}`: {reason}", path.display())]
    Failed {
        /// The operation in the infinitive, such as `read the commit`.
        action: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("`{}` is not in the git repository `{}`", path.display(), root.display())]
    OutsideRepository { path: PathBuf, root: PathBuf },
    /// libgit2 does not support the repository's format, such as SHA-256 objects.
    #[error("the git repository of `{}` has a format that is not supported: {reason}", path.display())]
    UnsupportedFormat { path: PathBuf, reason: String },
    /// The user has started an operation, such as a merge, and not finished it.
    #[error("{subject} is not finished in the git repository `{}`", path.display())]
    Unfinished {
        path: PathBuf,
        /// The operation, such as `a merge`.
        subject: &'static str,
        /// The commands that end it, without the outer backquotes.
        resume_commands: &'static str,
    },
    /// Git knows no name and e-mail address of the user.
    #[error("git has no user name and e-mail address configured, so nothing can be committed to `{}`", path.display())]
    NoIdentity { path: PathBuf },
    #[error("no branch is checked out in the git repository `{}`", path.display())]
    Detached { path: PathBuf },
    /// Another process committed at the same time, too often.
    #[error("other processes keep committing to the git repository `{}` at the same time", path.display())]
    ConcurrentCommit { path: PathBuf },
    /// A lock file of git prevents the operation.
    #[error("git's lock file `{}` exists: another process changes the git repository `{}`, or was killed", lock.display(), path.display())]
    Locked { path: PathBuf, lock: PathBuf },
    #[error("the hook `{name}` of the git repository `{}` refused the commit: {message}", path.display())]
    Hook {
        path: PathBuf,
        name: &'static str,
        message: String,
    },
    #[error("git could not sign the commit in `{}`: {message}", path.display())]
    SigningFailed { path: PathBuf, message: String },
    /// The git program ran and reported an error.
    #[error("git could not {action} in `{}`: {message}", path.display())]
    Refused {
        /// The operation in the infinitive, such as `add a file`.
        action: &'static str,
        path: PathBuf,
        message: String,
    },
    /// The git program could not be started or did not finish in time.
    #[error("{source} (in `{}`)", path.display())]
    NotRun {
        path: PathBuf,
        source: process::Error,
    },
    #[error("the remote `{remote}` of `{}` cannot be reached: {message}", path.display())]
    Unreachable {
        path: PathBuf,
        remote: String,
        message: String,
    },
    /// The remote rejected a push for a reason other than new commits.
    #[error("the remote `{remote}` of `{}` rejected the push: {message}", path.display())]
    Rejected {
        path: PathBuf,
        remote: String,
        message: String,
    },
    /// A checkout would overwrite uncommitted changes.
    #[error("newer commits would overwrite uncommitted changes in `{}`{}", path.display(), list_files(files))]
    WouldOverwrite { path: PathBuf, files: Vec<PathBuf> },
    /// Local and remote branch have diverged, and a local commit is not a job's record, so it must not be
    /// rebased without the user's consent.
    #[error("`{}` and `{upstream}` have diverged, and a local commit is not a job's record, so it is not rebased automatically: {commit}", path.display())]
    ForeignCommit {
        path: PathBuf,
        upstream: String,
        /// The id and subject of the commit.
        commit: String,
    },
    /// Both sides changed the same files in ways that cannot be merged.
    #[error("`{}` and `{upstream}` contain conflicting changes{}", path.display(), list_files(files))]
    Conflict {
        path: PathBuf,
        upstream: String,
        files: Vec<PathBuf>,
    },
    /// A repository could not be copied from its address.
    #[error("the repository `{url}` cannot be fetched: {message}")]
    NotFetched { url: String, message: String },
    /// The repository has no such branch, tag or commit.
    #[error("the repository `{url}` {}", missing_revision(revision.as_deref()))]
    NoRevision {
        url: String,
        revision: Option<String>,
        /// The tags that it has.
        tags: Vec<String>,
    },
    /// A commit has files that would be written outside of the clone.
    #[error("the commit {commit} of `{url}` is not checked out: `{path}` {reason}")]
    DangerousTree {
        url: String,
        commit: String,
        path: String,
        reason: &'static str,
    },
    /// The cache could have been written by another user.
    #[error("the cached repository `{}` is not used: {reason}", folder.display())]
    PoisonedCache { folder: PathBuf, reason: String },
    /// A clone would overwrite files.
    #[error("`{}` {}", path.display(), if *is_folder { "is not empty" } else { "exists already" })]
    TargetExists { path: PathBuf, is_folder: bool },
    #[error(transparent)]
    File(#[from] fs::Error),
}

fn missing_revision(revision: Option<&str>) -> String {
    match revision {
        Some(revision) => format!("has no branch, tag or commit `{revision}`"),
        None => "has no commits".to_owned(),
    }
}

impl Error {
    pub(super) fn failed(action: &'static str, path: &Path, error: &git2::Error) -> Self {
        if error.code() == git2::ErrorCode::Owner {
            return Self::ForeignOwner {
                path: path.to_owned(),
                owner: "another user".to_owned(),
            };
        }
        Self::Failed {
            action,
            path: path.to_owned(),
            reason: error.message().to_owned(),
        }
    }

    /// Returns the error for a repository that exists but cannot be opened.
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
        Self::failed("access files", path, error)
    }

    /// Returns the error for a failed call of the git program.
    pub(super) fn refused(action: &'static str, path: &Path, message: &str) -> Self {
        Self::Refused {
            action,
            path: path.to_owned(),
            message: message.to_owned(),
        }
    }

    /// Returns a hint on how to fix the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            Self::ForeignOwner { path, .. } => {
                let path = path.display();
                return Some(format!(
                    "if you trust it, run `git config --global --add safe.directory {path}`"
                ));
            }
            Self::File(error) => return error.hint(),
            Self::Unfinished {
                resume_commands, ..
            } => return Some(format!("end it first: `{resume_commands}`")),
            Self::Locked { lock, .. } => {
                return Some(format!(
                    "make sure that no git process runs there, and delete `{}`",
                    lock.display()
                ));
            }
            Self::UnsupportedFormat { .. } => {
                "use a repository with SHA-1 objects and references in files: `git init \
                 --object-format=sha1 --ref-format=files`"
            }
            Self::NoIdentity { .. } => {
                "set them: `git config --global user.name \"Your Name\"` and `git config --global \
                 user.email you@example.com`"
            }
            Self::Detached { .. } => {
                "check out a branch: `git switch NAME`, or `git switch -c NAME` for a new one"
            }
            Self::ConcurrentCommit { .. } => "try again",
            Self::Hook { .. } => {
                "fix what the hook reports; hooks run because your git setting `unfurl.hooks` is \
                 true and the project is trusted"
            }
            Self::SigningFailed { .. } => {
                "commits are signed because the git setting `commit.gpgsign` is true; fix the key, \
                 or set it to false"
            }
            Self::NotRun {
                source: process::Error::NotFound { .. },
                ..
            } => "install git",
            Self::Unreachable { .. } => {
                "run `git fetch` there for details; credentials must come from a credential helper \
                 or an SSH agent, because this program does not prompt for them"
            }
            Self::WouldOverwrite { .. } => "commit them, or stash them with `git stash`",
            Self::ForeignCommit { .. } => "combine them: `git pull --rebase`",
            Self::Conflict { .. } => {
                "nothing is lost: your branch and the remote branch contain both versions; `git \
                 pull --rebase` shows the conflict, and `unfurl check` determines what exists"
            }
            _ => return self.clone_hint().or_else(|| self.trust_hint()),
        };
        Some(fixed.to_owned())
    }
}

impl Error {
    /// Returns the hint for a repository that could not be cloned.
    fn clone_hint(&self) -> Option<String> {
        let fixed = match self {
            Self::NoRevision { tags, .. } if !tags.is_empty() => {
                let tags: Vec<&str> = tags.iter().take(10).map(String::as_str).collect();
                return Some(format!("tags that it has: {}", tags.join(", ")));
            }
            Self::NoRevision { revision: None, .. } => {
                "commit its files first: `git add -A && git commit`"
            }
            Self::NotFetched { .. } => {
                "make sure that the address is right and reachable; credentials must come from a \
                 credential helper or an SSH agent, because this program does not prompt for them"
            }
            Self::TargetExists { .. } => "name another folder, or empty this one",
            Self::PoisonedCache { .. } => "delete it; the next command fetches it again",
            Self::DangerousTree { .. } => {
                "if you trust the repository, clone it yourself with `git clone`"
            }
            _ => return None,
        };
        Some(fixed.to_owned())
    }

    /// Returns the hint for a repository that the user does not trust.
    fn trust_hint(&self) -> Option<String> {
        let path = match self {
            Self::ForeignWorkTree { .. } => {
                let hint = "remove the setting `core.worktree` from its `.git/config`";
                return Some(hint.to_owned());
            }
            Self::ForeignSettingsFile { .. } => {
                let hint = "move the setting to your own git settings (`git config --global`)";
                return Some(hint.to_owned());
            }
            Self::UntrustedFilter { path, .. } | Self::UntrustedSigner { path, .. } => {
                return Some(format!(
                    "set it in your own git settings (`git config --global`), or, if you trust the project, run `unfurl trust {}`",
                    path.display()
                ));
            }
            Self::UntrustedRemote { .. } => {
                let hint = "if you trust that repository and the project, run `unfurl trust` for the project, or push with `git push`";
                return Some(hint.to_owned());
            }
            Self::UnsafeAddress { .. } => {
                return Some("set another address with `git remote set-url`".to_owned());
            }
            Self::UntrustedRedirect { path, .. }
            | Self::UntrustedLink { path, .. }
            | Self::ForeignGitFolder { path, .. }
            | Self::UntrustedHook { path } => path,
            _ => return None,
        };
        let path = path.display();
        Some(format!("if you trust it, run `unfurl trust {path}`"))
    }
}

/// Returns the file names for the end of a message.
fn list_files(files: &[PathBuf]) -> String {
    /// The maximum number of files named in a message.
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
