//! The transfer of a script to another machine.
//!
//! A short command, which any login shell understands, starts a loader that reads the script from
//! stdin. So the script does not appear in the process list, and the login shell does not parse it.

use std::fmt::Write as _;

/// The command for the login shell of a host.
///
/// The command works in every shell, as it contains no `!`, no `\` and no line end, which shells
/// treat differently.
pub(super) const START_COMMAND: &str = "exec /bin/sh -c 'IFS= read -r _ul; eval \"$_ul\"'";

/// The same command for a container, without a login shell.
pub(super) const START_ARGV: [&str; 3] = ["/bin/sh", "-c", "IFS= read -r _ul; eval \"$_ul\""];

/// A loader that reads lines up to one that begins with neither `-` nor `+`, then evaluates them.
///
/// A `-` is followed by the end of a line, a `+` by a part of one, as a terminal limits the length
/// of lines.
const LOADER: &str = "_un=$(printf '\\nx'); _un=${_un%x}; _us=; while IFS= read -r _ul; do \
    case $_ul in -*) _us=$_us${_ul#-}$_un;; +*) _us=$_us${_ul#+};; *) break;; esac; done; \
    unset _ul _un; eval \"unset _us; $_us\"";

/// The maximum length of a part of a line, in bytes.
const MAX_PIECE_BYTES: usize = 1000;

/// The environment variable that marks all processes which a command starts.
pub(super) const MARK_VARIABLE: &str = "_UNFURL_ACTION";

/// Encodes a script as input for [`START_COMMAND`].
pub(super) fn loader_input(script: &str) -> Vec<u8> {
    let mut input = format!("{LOADER}\n").into_bytes();
    for line in script.lines() {
        let mut rest = line.as_bytes();
        while rest.len() > MAX_PIECE_BYTES {
            let (piece, next) = rest.split_at(MAX_PIECE_BYTES);
            input.push(b'+');
            input.extend_from_slice(piece);
            input.push(b'\n');
            rest = next;
        }
        input.push(b'-');
        input.extend_from_slice(rest);
        input.push(b'\n');
    }
    input.extend_from_slice(b".\n");
    input
}

/// Returns a script that sends a signal to the process groups of commands.
///
/// With `KILL`, or if the group is unknown, it reaches every process that carries the mark in its
/// environment.
pub(super) fn kill_script(signal: &str, commands: &[(String, Option<u32>)]) -> String {
    let mut text = String::new();
    for (mark, process) in commands {
        if let Some(id) = process {
            writeln!(
                text,
                "kill -s {signal} -- -{id} 2>/dev/null || kill -s {signal} {id} 2>/dev/null"
            )
            .ok();
        }
        if signal == "KILL" || process.is_none() {
            // A second pass finds processes that were started during the first.
            writeln!(
                text,
                "for _u1 in 1 2; do for _u in $(grep -l {MARK_VARIABLE}={mark} /proc/[0-9]*/environ \
                 2>/dev/null); do _u=${{_u#/proc/}}; kill -{signal} \"${{_u%/environ}}\" \
                 2>/dev/null; done; done"
            )
            .ok();
        }
    }
    text.push_str("exit 0\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not all shells accept the number of a process group in `kill -TERM -- -7`.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
    fn a_signal_reaches_all_that_a_command_has_started() {
        use std::os::unix::process::CommandExt as _;
        use std::process::Command as Process;

        use nix::sys::signal::killpg;
        use nix::unistd::Pid;

        let mut shell = Process::new("/bin/sh");
        shell
            .args(["-c", "sleep 60 & wait; sleep 60"])
            .process_group(0);
        let mut shell = shell.spawn().unwrap();
        let group = Pid::from_raw(shell.id().try_into().unwrap());
        let text = kill_script("TERM", &[("mark".to_owned(), Some(shell.id()))]);
        let killer = Process::new("/bin/sh").args(["-c", &text]).status();
        assert!(killer.unwrap().success());
        shell.wait().unwrap();
        let start = std::time::Instant::now();
        while killpg(group, None).is_ok() {
            assert!(start.elapsed().as_secs() < 30, "some of the group is left");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
