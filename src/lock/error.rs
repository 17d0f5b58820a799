//! The errors of the local lock.

use std::path::PathBuf;

use super::owner::{LockOwner, describe_holder};
use crate::system::fs;

/// An error while acquiring or releasing a local lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("`{}` is locked by {}", lock.display(), describe_holder(*pid, owner.as_deref(), "another process"))]
    Held {
        lock: PathBuf,
        /// The process id in the lock file.
        pid: Option<u32>,
        /// The holder, if the owner file describes it.
        owner: Option<Box<LockOwner>>,
    },
    /// This process already holds the lock.
    #[error("`{}` is already locked by this process", lock.display())]
    Ours { lock: PathBuf },
    /// The lock file contains no process id.
    #[error("the lock file `{}` contains no process id, so it is unknown whether its holder is still running", lock.display())]
    Unreadable { lock: PathBuf },
    /// The lock's holder changed repeatedly while its state was read.
    #[error("the holder of the lock `{}` changed repeatedly while the lock was read", lock.display())]
    Busy { lock: PathBuf },
    #[error(transparent)]
    File(#[from] fs::Error),
}

impl LockError {
    pub(super) fn held(lock: PathBuf, pid: Option<u32>, owner: Option<LockOwner>) -> Self {
        let owner = owner.map(Box::new);
        Self::Held { lock, pid, owner }
    }

    /// Whether a later attempt may succeed.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Held { .. } | Self::Unreadable { .. } | Self::Busy { .. } => true,
            Self::Ours { .. } | Self::File(_) => false,
        }
    }

    /// Returns a hint on how to fix the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Held { .. } | Self::Unreadable { .. } => Some(
                "wait until that job has ended, or use `--lock-timeout`; if you are sure that its \
                 process has ended, run `unfurl lock break`"
                    .to_owned(),
            ),
            Self::Ours { .. } => Some(
                "check whether the external ensembles refer to each other in a cycle".to_owned(),
            ),
            Self::Busy { .. } => Some("try again".to_owned()),
            Self::File(error) => error.hint(),
        }
    }
}
