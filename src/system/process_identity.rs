//! Identifies a process across hosts and reboots, so that another process can later prove that it has ended.

use std::fmt::{Display, Formatter};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{fs, machine};

/// Identifies a process: its host, boot, process id namespace, process id and start time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The name of the host where the process runs.
    pub host: String,
    /// The id of that host's installation (`/etc/machine-id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// The boot id of that host, which changes at each start.
    pub boot_id: Option<String>,
    pub pid: u32,
    /// The namespace in which the process id is valid.
    pub pid_namespace: Option<String>,
    /// The start time of the process, in clock ticks since boot.
    pub start_time: Option<u64>,
}

/// Whether a process has ended, as far as it can be examined from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// The process runs.
    Running,
    /// The process has provably ended.
    Ended,
    /// The process belongs to another host or another process id namespace, so nothing is proven.
    Unknown,
}

/// The reason why nothing proves here whether a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncertainty {
    OtherHost,
    /// The process or this host has no boot id.
    NoBootId,
    /// The process or this host has no machine id.
    NoMachineId,
    /// Another machine has the same host name.
    OtherMachine,
    /// Several hosts may share the file system.
    SharedFileSystem,
    OtherNamespace,
}

impl Display for Uncertainty {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OtherHost => "the process began on another host",
            Self::NoBootId => "the boot id of the process or of this host is unknown",
            Self::NoMachineId => {
                "the process began in another boot, and the machine id (`/etc/machine-id`) of that \
                 boot or of this host is unknown"
            }
            Self::OtherMachine => "the process began on another machine with the same host name",
            Self::SharedFileSystem => {
                "the process began in another boot, and other machines may share this file system"
            }
            Self::OtherNamespace => "the process began in another container",
        })
    }
}

impl ProcessIdentity {
    pub fn of_this_process() -> Self {
        let pid = machine::pid();
        Self {
            host: machine::hostname(),
            machine_id: machine::machine_id(),
            boot_id: machine::boot_id(),
            pid,
            pid_namespace: machine::pid_namespace(),
            start_time: machine::start_time(pid),
        }
    }

    /// Examines the process. `file` is the file or folder that identified the process: only a file system of this
    /// host proves that an earlier boot of this host wrote it.
    pub fn state(&self, file: &Path) -> ProcessState {
        self.examine(file).unwrap_or(ProcessState::Unknown)
    }

    /// Returns the reason why the state of the process is unknown; `None` if it is known.
    pub fn uncertainty(&self, file: &Path) -> Option<Uncertainty> {
        self.examine(file).err()
    }

    fn examine(&self, file: &Path) -> Result<ProcessState, Uncertainty> {
        self.examine_from(&Self::of_this_process(), || {
            fs::is_on_local_file_system(file)
        })
    }

    fn examine_from(
        &self,
        observer: &Self,
        is_local: impl FnOnce() -> bool,
    ) -> Result<ProcessState, Uncertainty> {
        if self.host != observer.host {
            return Err(Uncertainty::OtherHost);
        }
        if self.boot_id.is_none() || observer.boot_id.is_none() {
            return Err(Uncertainty::NoBootId);
        }
        if self.boot_id != observer.boot_id {
            return match (&self.machine_id, &observer.machine_id) {
                (Some(own), Some(here)) if own != here => Err(Uncertainty::OtherMachine),
                (Some(_), Some(_)) if is_local() => Ok(ProcessState::Ended),
                (Some(_), Some(_)) => Err(Uncertainty::SharedFileSystem),
                _ => Err(Uncertainty::NoMachineId),
            };
        }
        if self.pid_namespace != observer.pid_namespace {
            return Err(Uncertainty::OtherNamespace);
        }
        let is_other =
            self.start_time.is_some() && self.start_time != machine::start_time(self.pid);
        Ok(if is_other || !machine::is_running(self.pid) {
            ProcessState::Ended
        } else {
            ProcessState::Running
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state of a process that differs from this one, seen from this process on a local file system.
    fn state(change: impl FnOnce(&mut ProcessIdentity), is_local: bool) -> ProcessState {
        let observer = ProcessIdentity {
            machine_id: Some("0123".to_owned()),
            boot_id: Some("boot".to_owned()),
            ..ProcessIdentity::of_this_process()
        };
        let mut process = observer.clone();
        change(&mut process);
        let examined = process.examine_from(&observer, || is_local);
        examined.unwrap_or(ProcessState::Unknown)
    }

    #[test]
    fn a_process_of_this_boot_is_examined_by_its_id_and_start_time() {
        assert_eq!(state(|_| {}, true), ProcessState::Running);
        let other_start = |process: &mut ProcessIdentity| process.start_time = Some(1);
        assert_eq!(state(other_start, true), ProcessState::Ended);
        assert_eq!(
            state(|process| process.pid = u32::MAX, true),
            ProcessState::Ended
        );
        let other_namespace =
            |process: &mut ProcessIdentity| process.pid_namespace = Some("pid:[1]".to_owned());
        assert_eq!(state(other_namespace, true), ProcessState::Unknown);
    }

    #[test]
    fn another_boot_of_the_same_machine_proves_the_end() {
        let rebooted = |process: &mut ProcessIdentity| process.boot_id = Some("earlier".to_owned());
        assert_eq!(state(rebooted, true), ProcessState::Ended);
        assert_eq!(state(rebooted, false), ProcessState::Unknown);
        for change in [
            |process: &mut ProcessIdentity| process.host = "other".to_owned(),
            |process: &mut ProcessIdentity| process.machine_id = None,
            |process: &mut ProcessIdentity| process.machine_id = Some("4567".to_owned()),
            |process: &mut ProcessIdentity| process.boot_id = None,
        ] {
            let both = |process: &mut ProcessIdentity| {
                rebooted(process);
                change(process);
            };
            assert_eq!(state(both, true), ProcessState::Unknown);
        }
    }
}
