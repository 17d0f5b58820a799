//! The owner of a local lock, as stored in the owner file.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::system::clock;
use crate::system::process_identity::ProcessIdentity;

/// The holder of a lock. A separate file stores it, because Unfurl accepts only a process id in the lock
/// file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    #[serde(flatten)]
    pub process: ProcessIdentity,
    /// The command line of the process.
    pub command: String,
    /// The time when the lock was acquired, in RFC 3339 format.
    pub since: String,
    /// A unique id of this lock.
    pub token: String,
}

impl LockOwner {
    pub(super) fn this_process(command: &str) -> Self {
        Self {
            process: ProcessIdentity::of_this_process(),
            command: command.to_owned(),
            since: clock::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            token: ulid::Ulid::generate().to_string(),
        }
    }
}

impl Display for LockOwner {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { since, command, .. } = self;
        let ProcessIdentity { pid, host, .. } = &self.process;
        write!(f, "process {pid} on host {host} since {since}")?;
        if command.is_empty() {
            return Ok(());
        }
        write!(f, " (`{command}`)")
    }
}

/// Describes the holder of a lock. `nobody` is the text for an unknown holder.
pub(super) fn describe_holder(pid: Option<u32>, owner: Option<&LockOwner>, nobody: &str) -> String {
    match (owner, pid) {
        (Some(owner), _) => owner.to_string(),
        (None, Some(pid)) => format!("process {pid}"),
        (None, None) => nobody.to_owned(),
    }
}
