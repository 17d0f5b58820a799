//! Runs commands on an SSH host or in a container.
//!
//! A command is started through a small script and accompanied to its end: its output is read, its
//! prompts are answered, and it is ended when it exceeds its time limit or is cancelled.

use std::fmt::Write as _;
use std::time::Instant;

use tokio::sync::{mpsc, watch};

use super::channel_io::{ChannelIo, CommandInput};
use super::input_writer::forward_input;
use super::output_reader::{OutputReader, ReadEnd, StartReport};
use super::program_input::InputTooLong;
use super::request::{wait_for_end, wait_for_stop};
use super::script::{MARK_VARIABLE, loader_input};
use super::signals::{CommandState, Signaller};
use super::ssh::{Lease, OpenShell};
use super::transport::Transport;
use super::{Background, CallControl, CapturedOutput, Command, Exit, RunOutput, StopLevel, batch};
use crate::text::{quote_word, quote_words};

/// Runs a command. The result reports success and failure alike.
pub(super) async fn run(
    transport: &Transport,
    command: &Command,
    mut call: CallControl,
) -> RunOutput {
    let script = match RemoteScript::for_command(command) {
        Ok(script) => script,
        Err(exit) => return RunOutput::not_run(exit),
    };
    let started = tokio::select! {
        biased;
        () = wait_for_stop(&mut call.stop, StopLevel::Gently) => Err(Exit::Cancelled),
        started = transport.start(command.pty) => started,
    };
    let OpenShell {
        channel_io,
        input,
        lease,
    } = match started {
        Ok(started) => started,
        Err(exit) => return RunOutput::not_run(exit),
    };
    let mark = script.mark.clone();
    let connection = lease.as_ref().map(|lease| &lease.connection);
    let tracked_connection = connection.filter(|_| !transport.is_container());
    if let Some(connection) = tracked_connection {
        connection.add_running(&mark, None);
    }
    let exec = RunningCommand {
        command,
        script,
        transport,
        lease: lease.as_ref(),
    };
    let output = exec.run(channel_io, input, call).await;
    if let Some(connection) = tracked_connection {
        connection.remove_running(&mark);
    }
    output
}

/// The script that starts a command; it is sent as the first input.
#[derive(Debug, Clone)]
pub(super) struct RemoteScript {
    /// A unique text that identifies this command. A line that begins with it reports the process
    /// id.
    pub(super) mark: String,
    pub(super) input: Vec<u8>,
}

impl RemoteScript {
    /// Returns the script for a command.
    ///
    /// Fails if there is no program, or if a variable name or a byte is invalid in a shell.
    pub(super) fn for_command(command: &Command) -> Result<Self, Exit> {
        let mark = format!("unfurl-{}", ulid::Ulid::generate());
        let mut text = String::new();
        if let Some(folder) = command.cwd.to_str().and_then(batch::folder) {
            let fails = format!("{{ printf '%s d\\n' {mark} >&2; exit 127; }}");
            writeln!(text, "CDPATH= cd -- {folder} >/dev/null 2>&1 || {fails}").ok();
        }
        let argv = command.program.argv();
        let Some(program) = argv.first() else {
            return Err(Exit::NotFound("no program was given".to_owned()));
        };
        let own = [(MARK_VARIABLE, mark.as_str())];
        let given = command.env.iter();
        for (name, value) in given.chain(command.program.variable()).chain(own) {
            if !batch::is_name(name) {
                let why = format!("`{name}` is not the name of a variable");
                return Err(Exit::Failed(why));
            }
            writeln!(text, "export {name}={}", quote_word(value)).ok();
        }
        let name = quote_word(program);
        let fails = format!("{{ printf '%s n\\n' {mark} >&2; exit 127; }}");
        writeln!(text, "command -v {name} >/dev/null 2>&1 || {fails}").ok();
        writeln!(text, "printf '%s %s\\n' {mark} \"$$\" >&2").ok();
        writeln!(text, "exec {}", quote_words(&argv)).ok();
        let has_zero = text.contains('\0');
        if has_zero {
            let why = "a command cannot contain a zero byte".to_owned();
            return Err(Exit::Failed(why));
        }
        Ok(Self {
            mark,
            input: loader_input(&text),
        })
    }
}

/// A running command with its transport.
struct RunningCommand<'a> {
    command: &'a Command,
    script: RemoteScript,
    transport: &'a Transport,
    lease: Option<&'a Lease>,
}

/// The event that ended the command.
enum CommandEnd {
    OutputEnded(ReadEnd),
    /// The command was sent all signals.
    Terminated(Exit),
    InputFailed(InputTooLong),
}

impl RunningCommand<'_> {
    /// Runs the command to its end. The result reports success and failure alike.
    async fn run(
        mut self,
        mut channel_io: ChannelIo,
        input: CommandInput,
        call: CallControl,
    ) -> RunOutput {
        let start = Instant::now();
        let shared = CommandState::default();
        let (input_sender, input_receiver) = mpsc::unbounded_channel();
        let mut reader = OutputReader::new(
            self.command,
            Some(&self.script.mark),
            call.output_sender,
            input_sender,
        );
        reader.send_script(std::mem::take(&mut self.script.input));
        let outcome = {
            let reading = reader.read(&mut channel_io, &shared);
            let spool = call.program_input.as_ref();
            let feeding = forward_input(input, self.command, spool, input_receiver);
            let ending = self.terminate(&shared, call.stop);
            tokio::pin!(reading, feeding, ending);
            let mut is_fed = false;
            loop {
                tokio::select! {
                    read = &mut reading => break CommandEnd::OutputEnded(read),
                    why = &mut ending => break CommandEnd::Terminated(why),
                    fed = &mut feeding, if !is_fed => match fed {
                        Ok(()) => is_fed = true,
                        Err(error) => break CommandEnd::InputFailed(error),
                    },
                }
            }
        };
        let exit = self.clean_up(outcome, &shared).await;
        channel_io.close().await;
        let (start_report, stdout, stderr) = reader.finish().await;
        RunOutput {
            exit: start_failure(self.transport, self.command, exit, start_report, &stderr),
            stdout,
            stderr,
            elapsed: start.elapsed(),
        }
    }

    /// Waits for the time limit or a cancellation, then sends SIGINT, SIGTERM and SIGKILL in turn.
    async fn terminate(&self, shared: &CommandState, mut stop: watch::Receiver<StopLevel>) -> Exit {
        let why = wait_for_end(self.command.time_limit, &mut stop).await;
        self.signaller(shared).end(why.clone(), &mut stop).await;
        why
    }

    fn signaller<'s>(&'s self, state: &'s CommandState) -> Signaller<'s> {
        Signaller {
            transport: self.transport,
            lease: self.lease,
            mark: &self.script.mark,
            state,
        }
    }

    /// Kills the remaining processes, unless they may live on, and returns the exit of the command.
    async fn clean_up(&self, outcome: CommandEnd, shared: &CommandState) -> Exit {
        let why = shared.end_reason.get().cloned();
        let may_leave = self.command.background == Background::Keep;
        let (exit, is_cleanup_done) = match outcome {
            CommandEnd::Terminated(why) => (why, true),
            CommandEnd::InputFailed(error) => (Exit::Failed(error.to_string()), false),
            CommandEnd::OutputEnded(ReadEnd::Complete(exit)) => (exit, true),
            CommandEnd::OutputEnded(ReadEnd::OutputsHeldOpen(exit)) => (exit, may_leave),
            CommandEnd::OutputEnded(ReadEnd::NeedsAnswer(exit)) => (exit, false),
            CommandEnd::OutputEnded(ReadEnd::Refused) => {
                return self.transport.refusal();
            }
            CommandEnd::OutputEnded(ReadEnd::Lost | ReadEnd::LoggedIn) => {
                return why.unwrap_or_else(|| self.transport.loss(self.command.program.name()));
            }
        };
        if !is_cleanup_done || why.is_some() {
            self.signaller(shared).kill("KILL").await;
        }
        why.unwrap_or(exit)
    }
}

/// Returns a more precise exit, if the script reported that the command could not start.
pub(super) fn start_failure(
    transport: &Transport,
    command: &Command,
    exit: Exit,
    start_report: Option<StartReport>,
    stderr: &CapturedOutput,
) -> Exit {
    let host = &transport.name;
    match start_report {
        Some(StartReport::NoFolder) if exit == Exit::Code(127) => {
            let folder = command.cwd.display();
            Exit::Failed(format!("the folder `{folder}` cannot be entered on {host}"))
        }
        Some(StartReport::NoProgram) if exit == Exit::Code(127) => {
            let name = command.program.name();
            Exit::NotFound(format!("`{name}` was not found on {host}"))
        }
        None if transport.is_program() && matches!(exit, Exit::Code(1..)) => {
            // Without a report, the program itself has failed.
            transport.unentered(stderr)
        }
        _ => exit,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use std::io::Write as _;
    use std::process::Stdio;

    use super::*;
    use crate::host::Program;
    use crate::host::mark_filter::MarkFilter;
    use crate::host::script::START_COMMAND;

    fn shell(text: &str) -> Command {
        Command::new(Program::shell(text), "/tmp")
    }

    /// Runs a command's start script in a local login shell. Returns stdout, the filtered stderr
    /// and the report.
    fn run(command: &Command, more: &[u8]) -> (String, String, Option<StartReport>) {
        let script = RemoteScript::for_command(command).unwrap();
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", START_COMMAND])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&[&script.input, more].concat()).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        let mut filter = MarkFilter::new(&script.mark);
        let mut stderr = Vec::new();
        for piece in output.stderr.chunks(7) {
            stderr.extend(filter.push(piece));
        }
        stderr.extend(filter.end());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let report = filter.report().map(StartReport::of);
        (text(output.stdout), text(stderr), report)
    }

    #[test]
    fn a_command_keeps_its_words_its_lines_and_its_input() {
        let unusual = "it's\n a \"b\" $HOME `x` \\ ! \n\n-end\n+end ";
        let mut command = Command::new(
            Program::Argv(vec![
                "printf".into(),
                "%s|".into(),
                unusual.into(),
                String::new(),
            ]),
            "",
        );
        assert_eq!(run(&command, b"").0, format!("{unusual}||"));
        command = shell("cat; echo \"$A\"; pwd; echo oops >&2");
        let long = "x'\n".repeat(5000);
        command.env.add("A", long.as_str());
        let (out, err, start_report) = run(&command, b"more\ninput");
        assert_eq!(out, format!("more\ninput{long}\n/tmp\n"));
        assert_eq!(err, "oops\n");
        assert!(
            matches!(start_report, Some(StartReport::Process(1..))),
            "{start_report:?}"
        );
    }

    #[test]
    fn a_missing_program_is_distinguished_from_a_failure() {
        let mut command = shell("exit 3");
        command.cwd = "/no/such/folder".into();
        assert_eq!(run(&command, b"").2, Some(StartReport::NoFolder));
        let program = Program::Argv(vec!["no-such-program".into()]);
        let (out, err, start_report) = run(&Command::new(program, ""), b"");
        assert_eq!((out.as_str(), err.as_str()), ("", ""));
        assert_eq!(start_report, Some(StartReport::NoProgram));
    }

    #[test]
    fn a_variable_with_no_name_is_refused() {
        let mut command = shell("true");
        command.env.add("a b", "x");
        let exit = RemoteScript::for_command(&command).unwrap_err();
        insta::assert_snapshot!(exit, @"`a b` is not the name of a variable");
    }
}
