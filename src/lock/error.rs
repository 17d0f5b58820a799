//! Why a lock was not got, or not let go.

use std::path::PathBuf;

use super::owner::{LockOwner, describe_holder};
use crate::system::fs;

/// Why a lock was not got, or not let go.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("`{}` is locked by {}", lock.display(), describe_holder(*pid, owner.as_deref(), "another process"))]
    Held {
        /// The lock file.
        lock: PathBuf,
        /// The process id in it.
        pid: Option<u32>,
        /// Who it is, if the owner file tells.
        owner: Option<Box<LockOwner>>,
    },
    /// This process holds it already.
    #[error("`{}` is already locked by this process", lock.display())]
    Ours {
        /// The lock file.
        lock: PathBuf,
    },
    /// The lock file does not say whose it is.
    #[error("`{}` holds no process id, so nobody can tell whether its holder runs", lock.display())]
    Unreadable {
        /// The lock file.
        lock: PathBuf,
    },
    /// The lock changed hands again and again while it was looked at.
    #[error("`{}` changes hands too often", lock.display())]
    Busy {
        /// The lock file.
        lock: PathBuf,
    },
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] fs::Error),
}

impl LockError {
    pub(super) fn held(lock: PathBuf, pid: Option<u32>, owner: Option<LockOwner>) -> Self {
        let owner = owner.map(Box::new);
        Self::Held { lock, pid, owner }
    }

    /// Whether another try later may succeed.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Held { .. } | Self::Unreadable { .. } | Self::Busy { .. } => true,
            Self::Ours { .. } | Self::File(_) => false,
        }
    }

    /// Says what people can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Held { .. } | Self::Unreadable { .. } => Some(
                "wait until it is done, or let `--lock-timeout` wait; if its process is gone for sure, \
                 run `unfurl lock break`"
                    .to_owned(),
            ),
            Self::Ours { .. } => Some("look for a circle among the external ensembles".to_owned()),
            Self::Busy { .. } => Some("try again".to_owned()),
            Self::File(error) => error.hint(),
        }
    }
}
