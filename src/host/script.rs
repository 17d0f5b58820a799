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
    push_lines(&mut input, script);
    input
}

/// Adds a script as lines that a loader joins again, and the line after them.
pub(super) fn push_lines(input: &mut Vec<u8>, script: &str) {
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
}

/// The processes of a command on another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandProcesses {
    /// The group that this process leads.
    Group(u32),
    /// This process and all that descend from it. The group has other commands, too.
    Tree(u32),
}

/// Returns a script that sends a signal to the processes of commands.
///
/// With `KILL`, or if the group is unknown, it also reaches every process that carries the mark in its environment.
pub(super) fn kill_script(signal: &str, commands: &[(String, Option<CommandProcesses>)]) -> String {
    let mut text = String::new();
    for (mark, processes) in commands {
        // Each process gets one signal: many programs end at once when a second SIGINT comes.
        match processes {
            Some(CommandProcesses::Group(id)) => writeln!(
                text,
                "kill -s {signal} -- -{id} 2>/dev/null || kill -s {signal} {id} 2>/dev/null"
            ),
            Some(CommandProcesses::Tree(id)) => writeln!(
                text,
                "_k=' {id} '\nfor _u in {}; do {PROCESS_ID}; _k=\"$_k$_u \"; done\n\
                 {DESCENDANTS}kill -s {signal} $_k 2>/dev/null",
                with_mark(mark)
            ),
            None => Ok(()),
        }
        .ok();
        if signal == "KILL" || processes.is_none() {
            // A second pass finds processes that were started during the first.
            writeln!(
                text,
                "for _u1 in 1 2; do for _u in {}; do {PROCESS_ID}; kill -{signal} \"$_u\" \
                 2>/dev/null; done; done",
                with_mark(mark)
            )
            .ok();
        }
    }
    text.push_str("exit 0\n");
    text
}

/// Returns the words of a shell for the environments that have a mark, as paths in `/proc`.
fn with_mark(mark: &str) -> String {
    format!("$(grep -l {MARK_VARIABLE}={mark} /proc/[0-9]*/environ 2>/dev/null)")
}

/// Makes a path of `/proc` in `_u` the number of its process.
const PROCESS_ID: &str = "_u=${_u#/proc/}; _u=${_u%%/*}";

/// Adds the processes that descend from those in `_k`, until there are no more.
const DESCENDANTS: &str = r#"_n=
while [ "$_k" != "$_n" ]; do
_n=$_k
for _u in /proc/[0-9]*/stat; do
{ read -r _l <"$_u"; } 2>/dev/null || continue
set -- ${_l##*) }
case $_k in *" ${_l%% *} "*) ;; *" $2 "*) _k="$_k${_l%% *} ";; esac
done
done
"#;

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
        let text = kill_script(
            "TERM",
            &[("mark".to_owned(), Some(CommandProcesses::Group(shell.id())))],
        );
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
