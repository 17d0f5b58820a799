//! The state of a lock, as far as it is known.

use std::fmt::{Display, Formatter};

use super::owner::{LockOwner, describe_holder};
use crate::system::machine;

/// Who holds a lock, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockState {
    /// Nobody.
    Free,
    /// Somebody who runs, or of whom nothing proves that they do not.
    Held {
        /// The process id in the lock file, if there is one.
        pid: Option<u32>,
        /// Who it is, if the owner file tells.
        owner: Option<LockOwner>,
    },
    /// Somebody who is proven to be gone.
    Stale(StaleHolder),
    /// This process.
    Ours,
    /// The lock file holds no process id, and nothing else tells whose it is.
    Unreadable,
}

impl LockState {
    /// How a lock is, in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Free => "free".to_owned(),
            Self::Ours => "held by this process".to_owned(),
            Self::Unreadable => {
                "held by nobody knows whom: there is no process id in it".to_owned()
            }
            Self::Stale(stale) => {
                format!("held by {}, which no longer runs", stale.describe())
            }
            Self::Held { pid, owner } => {
                let holder = describe_holder(*pid, owner.as_ref(), "another process");
                format!("held by {holder}")
            }
        }
    }

    /// Who holds or held a lock: the process id in the lock file, and its owner file.
    pub fn holder(&self) -> (Option<u32>, Option<&LockOwner>) {
        match self {
            Self::Held { pid, owner } | Self::Stale(StaleHolder { pid, owner }) => {
                (*pid, owner.as_ref())
            }
            Self::Free | Self::Ours | Self::Unreadable => (None, None),
        }
    }

    /// Whether its holder is gone, as far as the process id tells.
    pub(super) fn has_dead_holder(&self) -> bool {
        match self {
            Self::Stale(_) => true,
            Self::Held { pid, .. } => pid.is_some_and(|pid| !machine::is_running(pid)),
            Self::Free | Self::Ours | Self::Unreadable => false,
        }
    }
}

/// The holder of a stale lock, and what proves that it is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleHolder {
    /// The process id in the lock file, if there is one.
    pub pid: Option<u32>,
    /// Who it was, if the owner file tells.
    pub owner: Option<LockOwner>,
}

impl Display for StaleHolder {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let holder = self.describe();
        write!(f, "took over the lock of {holder}, which no longer runs")
    }
}

impl StaleHolder {
    /// Who held it, in words.
    pub fn describe(&self) -> String {
        describe_holder(self.pid, self.owner.as_ref(), "a process")
    }
}
