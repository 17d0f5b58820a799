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
