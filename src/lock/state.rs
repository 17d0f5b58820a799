//! The state of a local lock.

use std::fmt::{Display, Formatter};
use std::path::Path;

use super::owner::{LockOwner, describe_holder};
use crate::system::fs::IrregularFile;
use crate::system::machine;
use crate::system::process_identity::ProcessState;

/// The state of a local lock, as far as it can be determined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockState {
    Free,
    /// A process holds the lock, or may hold it because its end cannot be proved.
    Held {
        /// The process id in the lock file, if there is one.
        pid: Option<u32>,
        /// The holder, if the owner file describes it.
        owner: Option<LockOwner>,
    },
    /// The holder has provably ended, so the lock may be taken over.
    Stale(StaleHolder),
    Ours,
    /// The lock file contains no process id, and no other fact identifies the holder.
    Unreadable,
    /// The lock file or the owner file is a folder, link, named pipe, socket or device.
    Irregular(IrregularFile),
}

impl LockState {
    /// Describes the state for the user.
    pub fn describe(&self) -> String {
        match self {
            Self::Free => "free".to_owned(),
            Self::Ours => "held by this process".to_owned(),
            Self::Unreadable => {
                "held by an unknown process: the lock file contains no process id".to_owned()
            }
            Self::Irregular(found) => format!("held by an unknown process: {found}"),
            Self::Stale(stale) => {
                format!("held by {}, which no longer runs", stale.describe())
            }
            Self::Held { pid, owner } => {
                let holder = describe_holder(*pid, owner.as_ref(), "another process");
                format!("held by {holder}")
            }
        }
    }

    /// Returns the present or former holder: the process id in the lock file and the owner.
    pub fn holder(&self) -> (Option<u32>, Option<&LockOwner>) {
        match self {
            Self::Held { pid, owner } | Self::Stale(StaleHolder { pid, owner }) => {
                (*pid, owner.as_ref())
            }
            Self::Free | Self::Ours | Self::Unreadable | Self::Irregular(_) => (None, None),
        }
    }

    /// Whether the holder of this lock file has ended, although the kernel may still report a holder.
    pub(super) fn has_dead_holder(&self, lock: &Path) -> bool {
        match self {
            Self::Stale(_) => true,
            Self::Held {
                owner: Some(owner), ..
            } => owner.process.state(lock) == ProcessState::Ended,
            Self::Held { pid, owner: None } => pid.is_some_and(|pid| !machine::is_running(pid)),
            Self::Free | Self::Ours | Self::Unreadable | Self::Irregular(_) => false,
        }
    }
}

/// The former holder of a stale lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleHolder {
    /// The process id in the lock file, if there is one.
    pub pid: Option<u32>,
    /// The former holder, if the owner file describes it.
    pub owner: Option<LockOwner>,
}

impl Display for StaleHolder {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let holder = self.describe();
        write!(f, "took over the lock of {holder}, which no longer runs")
    }
}

impl StaleHolder {
    /// Describes the former holder for the user.
    pub fn describe(&self) -> String {
        describe_holder(self.pid, self.owner.as_ref(), "a process")
    }
}
