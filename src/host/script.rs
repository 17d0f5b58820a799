//! How a script gets to another machine: a short text that any login shell understands, and what
//! that text reads. All else goes through its standard input, where no list of processes shows it
//! and no shell takes it apart.

use std::fmt::Write as _;

/// What the login shell of a host is told, whichever shell it is: it has neither an `!` nor a `\`
/// nor an end of line, which differ most between shells.
pub(super) const START_COMMAND: &str = "exec /bin/sh -c 'IFS= read -r _ul; eval \"$_ul\"'";

/// The same without a login shell.
pub(super) const START_ARGV: [&str; 3] = ["/bin/sh", "-c", "IFS= read -r _ul; eval \"$_ul\""];

/// Reads lines up to one that begins with neither `-` nor `+`, and runs them. Behind `-` stands the
/// end of a line, behind `+` a piece of one: a terminal takes no long lines.
const LOADER: &str = "_un=$(printf '\\nx'); _un=${_un%x}; _us=; while IFS= read -r _ul; do \
    case $_ul in -*) _us=$_us${_ul#-}$_un;; +*) _us=$_us${_ul#+};; *) break;; esac; done; \
    unset _ul _un; eval \"unset _us; $_us\"";

/// The longest piece of a line, in bytes.
const MAX_PIECE_BYTES: usize = 1000;

/// The variable by which what a command starts is found.
pub(super) const MARK_VARIABLE: &str = "_UNFURL_ACTION";

/// A text as the input that runs it.
pub(super) fn loader_input(text: &str) -> Vec<u8> {
    let mut input = format!("{LOADER}\n").into_bytes();
    for line in text.lines() {
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

/// A text that sends a signal to what commands have started: to their groups of processes, and
/// with `KILL` to all that carries their marks, wherever it went.
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
            // What is started meanwhile is found the second time.
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

    /// Of `kill -TERM -- -7`, not all shells take the number for a group.
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
