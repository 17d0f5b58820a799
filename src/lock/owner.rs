//! The owner of a local lock, as stored in the owner file.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::system::{clock, machine};

/// The holder of a lock. A separate file stores it, because Unfurl accepts only a process id in the lock
/// file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    /// The name of the host where the holder runs.
    pub host: String,
    /// The boot id of that host, which changes at each start.
    pub boot_id: Option<String>,
    pub pid: u32,
    /// The namespace in which the process id is valid.
    pub pid_namespace: Option<String>,
    /// The start time of the process, in clock ticks since boot.
    pub start_time: Option<u64>,
    /// The command line of the process.
    pub command: String,
    /// The time when the lock was acquired, in RFC 3339 format.
    pub since: String,
    /// A unique id of this lock.
    pub token: String,
}

impl LockOwner {
    pub(super) fn this_process(command: &str) -> Self {
        let pid = machine::pid();
        Self {
            host: machine::hostname(),
            boot_id: machine::boot_id(),
            pid,
            pid_namespace: machine::pid_namespace(),
            start_time: machine::start_time(pid),
            command: command.to_owned(),
            since: clock::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            token: ulid::Ulid::generate().to_string(),
        }
    }

    /// Whether the process can be examined from here: same host, boot and process id namespace.
    pub(super) fn can_be_checked(&self) -> bool {
        self.host == machine::hostname()
            && self.boot_id.is_some()
            && self.boot_id == machine::boot_id()
            && self.pid_namespace == machine::pid_namespace()
    }

    /// Whether the process has ended. Valid only if it can be examined from here.
    pub(super) fn is_dead(&self) -> bool {
        !machine::is_running(self.pid)
            || (self.start_time.is_some() && self.start_time != machine::start_time(self.pid))
    }
}

impl Display for LockOwner {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self {
            pid,
            host,
            since,
            command,
            ..
        } = self;
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
