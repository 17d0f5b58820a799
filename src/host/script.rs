//! How a command gets to another machine: a short text that any login shell understands, and what
//! that text reads. All else goes through its standard input, where no list of processes shows it
//! and no shell takes it apart.

use std::fmt::Write as _;

use super::{Command, Exit, quoted};

/// What the login shell of a host is told, whichever shell it is: it has neither an `!` nor a `\`
/// nor an end of line, which differ most between shells.
pub(super) const START: &str = "exec /bin/sh -c 'IFS= read -r _ul; eval \"$_ul\"'";

/// The same without a login shell.
pub(super) const START_WORDS: [&str; 3] = ["/bin/sh", "-c", "IFS= read -r _ul; eval \"$_ul\""];

/// Reads lines up to one that begins with neither `-` nor `+`, and runs them. Behind `-` stands the
/// end of a line, behind `+` a piece of one: a terminal takes no long lines.
const LOAD: &str = "_un=$(printf '\\nx'); _un=${_un%x}; _us=; while IFS= read -r _ul; do \
    case $_ul in -*) _us=$_us${_ul#-}$_un;; +*) _us=$_us${_ul#+};; *) break;; esac; done; \
    unset _ul _un; eval \"unset _us; $_us\"";

/// The longest piece of a line, in bytes.
const PIECE: usize = 1000;

/// The variable by which what a command starts is found.
const VARIABLE: &str = "_UNFURL_ACTION";

/// What a command's input begins with.
#[derive(Debug, Clone)]
pub(super) struct Script {
    /// Tells this command from all others: a line that begins with it says which process it is.
    pub(super) mark: String,
    /// What is sent first.
    pub(super) input: Vec<u8>,
}

/// What the line that begins with the mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The command begins, as the process with this id, which leads its group.
    Process(u32),
    /// There is no such folder to run it in.
    NoFolder,
    /// There is no such program.
    NoProgram,
}

impl Script {
    /// The script that runs a command, or why there is none.
    pub(super) fn of(command: &Command) -> Result<Self, Exit> {
        let mark = format!("unfurl-{}", ulid::Ulid::generate());
        let mut text = String::new();
        if let Some(folder) = folder(command) {
            let fails = format!("{{ printf '%s d\\n' {mark} >&2; exit 127; }}");
            writeln!(text, "CDPATH= cd -- {folder} >/dev/null 2>&1 || {fails}").ok();
        }
        let argv = command.program.argv();
        let Some(program) = argv.first() else {
            return Err(Exit::NotFound("no program was given".to_owned()));
        };
        let own = [(VARIABLE, mark.as_str())];
        let given = command
            .env
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        for (name, value) in given.chain(command.program.variable()).chain(own) {
            if !is_name(name) {
                let why = format!("`{name}` is not the name of a variable");
                return Err(Exit::Failed(why));
            }
            writeln!(text, "export {name}={}", quoted(value)).ok();
        }
        let name = quoted(program);
        let fails = format!("{{ printf '%s n\\n' {mark} >&2; exit 127; }}");
        writeln!(text, "command -v {name} >/dev/null 2>&1 || {fails}").ok();
        writeln!(text, "printf '%s %s\\n' {mark} \"$$\" >&2").ok();
        let words: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
        writeln!(text, "exec {}", words.join(" ")).ok();
        let has_zero = text.contains('\0');
        if has_zero {
            let why = "a command cannot contain a zero byte".to_owned();
            return Err(Exit::Failed(why));
        }
        Ok(Self {
            mark,
            input: loaded(&text),
        })
    }
}

/// A text as the input that runs it.
pub(super) fn loaded(text: &str) -> Vec<u8> {
    let mut input = format!("{LOAD}\n").into_bytes();
    for line in text.lines() {
        let mut rest = line.as_bytes();
        while rest.len() > PIECE {
            let (piece, next) = rest.split_at(PIECE);
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
pub(super) fn killing(signal: &str, commands: &[(String, Option<u32>)]) -> String {
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
                "for _u1 in 1 2; do for _u in $(grep -l {VARIABLE}={mark} /proc/[0-9]*/environ \
                 2>/dev/null); do _u=${{_u#/proc/}}; kill -{signal} \"${{_u%/environ}}\" \
                 2>/dev/null; done; done"
            )
            .ok();
        }
    }
    text.push_str("exit 0\n");
    text
}

/// The folder to run in, as a shell reads it; none for the home.
fn folder(command: &Command) -> Option<String> {
    let folder = command.cwd.to_str()?;
    match folder {
        "" | "~" => None,
        _ => Some(match folder.strip_prefix("~/") {
            Some(rest) => format!("\"$HOME\"/{}", quoted(rest)),
            None => quoted(folder),
        }),
    }
}

fn is_name(name: &str) -> bool {
    let is_first = |sign: u8| sign.is_ascii_alphabetic() || sign == b'_';
    name.bytes().next().is_some_and(is_first)
        && name
            .bytes()
            .all(|sign| is_first(sign) || sign.is_ascii_digit())
}

/// Takes the line with the mark out of an output, whatever it is cut into.
#[derive(Debug)]
pub(super) struct Filter {
    mark: Vec<u8>,
    held: Vec<u8>,
    told: Option<Told>,
}

impl Filter {
    pub(super) fn new(mark: &str) -> Self {
        Self {
            mark: format!("{mark} ").into_bytes(),
            held: Vec::new(),
            told: None,
        }
    }

    /// What the line said, once it came.
    pub(super) fn told(&self) -> Option<Told> {
        self.told
    }

    /// What of the output may be taken after these bytes came.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.told.is_some() {
            return bytes.to_vec();
        }
        self.held.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.held);
        let mark = self.mark.as_slice();
        let Some(start) = all.windows(mark.len()).position(|part| part == mark) else {
            let begins = |length: &usize| all.ends_with(&mark[..*length]);
            let kept = (1..mark.len().min(all.len() + 1)).rev().find(begins);
            let (taken, held) = all.split_at(all.len() - kept.unwrap_or(0));
            self.held = held.to_vec();
            return taken.to_vec();
        };
        let after = start + mark.len();
        let Some(length) = all[after..].iter().position(|byte| *byte == b'\n') else {
            self.held = all[start..].to_vec();
            return all[..start].to_vec();
        };
        let word = String::from_utf8_lossy(&all[after..after + length]);
        self.told = Some(match word.trim() {
            "d" => Told::NoFolder,
            "n" => Told::NoProgram,
            id => Told::Process(id.parse().unwrap_or_default()),
        });
        [&all[..start], &all[after + length + 1..]].concat()
    }

    /// What was kept back, once nothing more comes.
    pub(super) fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use std::io::Write as _;
    use std::process::Stdio;

    use super::*;
    use crate::host::Program;

    fn shell(text: &str) -> Command {
        Command::new(Program::shell(text), "/tmp")
    }

    /// What a command gives when a login shell of this machine starts it.
    fn run(command: &Command, more: &[u8]) -> (String, String, Option<Told>) {
        let script = Script::of(command).unwrap();
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", START])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&[&script.input, more].concat()).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        let mut filter = Filter::new(&script.mark);
        let mut stderr = Vec::new();
        for piece in output.stderr.chunks(7) {
            stderr.extend(filter.push(piece));
        }
        stderr.extend(filter.end());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(stderr), filter.told())
    }

    #[test]
    fn a_command_keeps_its_words_its_lines_and_its_input() {
        let odd = "it's\n a \"b\" $HOME `x` \\ ! \n\n-end\n+end ";
        let mut command = Command::new(
            Program::Argv(vec![
                "printf".into(),
                "%s|".into(),
                odd.into(),
                String::new(),
            ]),
            "",
        );
        assert_eq!(run(&command, b"").0, format!("{odd}||"));
        command = shell("cat; echo \"$A\"; pwd; echo oops >&2");
        let long = "x'\n".repeat(5000);
        command.env.push(("A".into(), long.clone()));
        let (out, err, told) = run(&command, b"more\ninput");
        assert_eq!(out, format!("more\ninput{long}\n/tmp\n"));
        assert_eq!(err, "oops\n");
        assert!(matches!(told, Some(Told::Process(1..))), "{told:?}");
    }

    #[test]
    fn what_is_missing_is_told_apart_from_a_failure() {
        let mut command = shell("exit 3");
        command.cwd = "/no/such/folder".into();
        assert_eq!(run(&command, b"").2, Some(Told::NoFolder));
        let program = Program::Argv(vec!["no-such-program".into()]);
        let (out, err, told) = run(&Command::new(program, ""), b"");
        assert_eq!((out.as_str(), err.as_str()), ("", ""));
        assert_eq!(told, Some(Told::NoProgram));
    }

    #[test]
    fn a_variable_with_no_name_is_refused() {
        let mut command = shell("true");
        command.env.push(("a b".into(), "x".into()));
        let exit = Script::of(&command).unwrap_err();
        insta::assert_snapshot!(exit, @"`a b` is not the name of a variable");
    }

    #[test]
    fn an_output_without_the_line_is_kept_whole() {
        let mut filter = Filter::new("mark");
        let mut all = filter.push(b"before ma");
        all.extend(filter.push(b"rk"));
        all.extend(filter.push(b"et mark"));
        all.extend(filter.end());
        assert_eq!(all, b"before market mark");
    }

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
        let text = killing("TERM", &[("mark".to_owned(), Some(shell.id()))]);
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
