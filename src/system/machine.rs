//! Facts that identify hosts and processes: host name, boot id, process ids and their namespaces.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// Returns the name of this host.
pub fn hostname() -> String {
    nix::unistd::gethostname()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

pub fn pid() -> u32 {
    std::process::id()
}

/// Returns the id of the current boot; `None` if the system has none.
pub fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// Returns the id of this installation of the operating system; `None` if it has none yet.
pub fn machine_id() -> Option<String> {
    let text = std::fs::read_to_string("/etc/machine-id").ok()?;
    let id = text.trim();
    (!id.is_empty() && id != "uninitialized").then(|| id.to_owned())
}

/// Returns the process id namespace of this process.
pub fn pid_namespace() -> Option<String> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// Returns the start time of a process in clock ticks since boot. It distinguishes processes that use the
/// same id one after the other.
pub fn start_time(pid: u32) -> Option<u64> {
    // Field 22 of `/proc/<pid>/stat`. The program name before the last `)` may contain spaces.
    fields_after_name(pid)?
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

/// Whether a process with this id is running. A zombie does not count as running.
pub fn is_running(pid: u32) -> bool {
    let Ok(id) = i32::try_from(pid) else {
        return false;
    };
    if id <= 0 || kill(Pid::from_raw(id), None) == Err(Errno::ESRCH) {
        return false;
    }
    fields_after_name(pid).is_none_or(|fields| !fields.trim_start().starts_with(['Z', 'X']))
}

/// A running process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningProcess {
    pid: u32,
    start_time: Option<u64>,
}

impl RunningProcess {
    /// Whether this very process still runs.
    pub fn is_running(&self) -> bool {
        start_time(self.pid) == self.start_time && is_running(self.pid)
    }
}

/// The age from which on a process is not among the recent ones.
const MAX_RECENT_SECONDS: u64 = 60;

/// The clock ticks of a second in `/proc` (`USER_HZ`): 100 on the architectures that Linux distributions support.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the processes of the last minute that run a program of this name with their working folder in `folder`.
/// The processes that have started this one are left out.
pub fn recent_programs_in(name: &str, folder: &std::path::Path) -> Vec<RunningProcess> {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let uptime = uptime
        .split('.')
        .next()
        .and_then(|seconds| seconds.parse::<u64>().ok());
    let earliest = uptime
        .unwrap_or_default()
        .saturating_sub(MAX_RECENT_SECONDS)
        * TICKS_PER_SECOND;
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let runs_program = |pid: &u32| {
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        comm.is_ok_and(|comm| comm.trim_end() == name)
            && std::fs::read_link(format!("/proc/{pid}/cwd"))
                .is_ok_and(|cwd| cwd.starts_with(folder))
    };
    let found: Vec<u32> = pids.filter(runs_program).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let ancestors = ancestors();
    let found = found.into_iter().filter(|pid| !ancestors.contains(pid));
    let processes = found.map(|pid| RunningProcess {
        pid,
        start_time: start_time(pid),
    });
    processes
        .filter(|process| process.start_time.is_some_and(|time| time >= earliest))
        .collect()
}

/// Returns the ids of the processes that have started this one, up to the first.
fn ancestors() -> Vec<u32> {
    let parent = |pid: &u32| {
        let fields = fields_after_name(*pid)?;
        let parent = fields.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        (parent > 0).then_some(parent)
    };
    std::iter::successors(parent(&pid()), parent).collect()
}

/// Returns the fields after the program name in `/proc/<pid>/stat`.
pub(super) fn fields_after_name(pid: u32) -> Option<String> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_has_a_start_time() {
        assert!(is_running(pid()));
        assert!(start_time(pid()).is_some());
        assert_eq!(start_time(pid()), start_time(pid()));
    }

    #[test]
    fn a_process_that_ended_does_not_run_even_before_it_is_waited_for() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        for _ in 0..500 {
            if !is_running(child.id()) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(!is_running(child.id()));
        child.wait().unwrap();
        assert!(!is_running(child.id()));
    }

    #[test]
    fn recent_programs_are_found_by_name_and_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        assert_eq!(recent_programs_in("sleep", &folder), []);
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .current_dir(&folder)
            .spawn()
            .unwrap();
        let found = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            recent_programs_in("sleep", &folder).pop()
        });
        assert!(found.unwrap().is_running());
        assert_eq!(recent_programs_in("sleep", &folder.join("other")), []);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!found.unwrap().is_running());
    }

    #[test]
    fn ids_no_process_can_have_do_not_run() {
        assert!(!is_running(0));
        assert!(!is_running(u32::MAX));
    }

    #[test]
    fn the_boot_and_the_namespace_are_known_on_linux() {
        assert_eq!(boot_id(), boot_id());
        assert!(pid_namespace().unwrap().starts_with("pid:"));
        assert!(!hostname().is_empty());
    }
}
