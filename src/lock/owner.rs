//! The owner of a lock, as the file beside the lock file says it.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::system::{clock, machine};

/// Whose lock it is. Kept beside the lock file, for Unfurl accepts nothing but a process id in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    /// The host the holder runs on.
    pub host: String,
    /// The boot of that host.
    pub boot_id: Option<String>,
    /// The holder's process id.
    pub pid: u32,
    /// The namespace in which that id means something.
    pub pid_namespace: Option<String>,
    /// When that process started, in ticks since the boot.
    pub start_time: Option<u64>,
    /// What it was called with.
    pub command: String,
    /// Since when it holds the lock.
    pub since: String,
    /// Tells this lock from all others.
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

    /// Whether its process id can be looked up from here.
    pub(super) fn can_be_checked(&self) -> bool {
        self.host == machine::hostname()
            && self.boot_id.is_some()
            && self.boot_id == machine::boot_id()
            && self.pid_namespace == machine::pid_namespace()
    }

    /// Whether its process is gone, given that it can be looked up from here.
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

/// Who holds a lock, in words; `nobody` is said of whom nothing is known.
pub(super) fn describe_holder(pid: Option<u32>, owner: Option<&LockOwner>, nobody: &str) -> String {
    match (owner, pid) {
        (Some(owner), _) => owner.to_string(),
        (None, Some(pid)) => format!("process {pid}"),
        (None, None) => nobody.to_owned(),
    }
}
