//! Runs raw commands on an SSH host: the SSH server gets the text as it is.
//!
//! Nothing is assumed about the host. It may have no POSIX shell, or run another command than the one it gets
//! (`ForceCommand`). So the command has no working folder and no variables here, and it is ended with the signals of the
//! SSH protocol, which not all servers obey.

use std::time::{Duration, Instant};

use russh::Sig;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::channel_io::{ChannelIo, CommandInput};
use super::input_writer::forward_input;
use super::output_reader::{OutputReader, ReadEnd};
use super::request::{wait_for_end, wait_for_stop};
use super::signals::{CommandState, SIGNAL_GRACE};
use super::ssh::OpenShell;
use super::transport::Transport;
use super::{CallControl, Command, Exit, Program, RunOutput, StopLevel};
use crate::text::quote_words;

/// The time in which a command ends after the last signal.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// Runs a raw command. The result reports success and failure alike.
pub(super) async fn run(
    transport: &Transport,
    command: &Command,
    mut call: CallControl,
) -> RunOutput {
    let text = match command_line(command) {
        Ok(text) => text,
        Err(why) => return RunOutput::not_run(Exit::Failed(why)),
    };
    let started = tokio::select! {
        biased;
        () = wait_for_stop(&mut call.stop, StopLevel::Gently) => Err(Exit::Cancelled),
        started = transport.start_raw(&text, command.pty) => started,
    };
    match started {
        Ok(OpenShell {
            channel_io,
            input,
            lease,
        }) => {
            let running = RawCommand { transport, command };
            let output = running.run(channel_io, input, call).await;
            drop(lease);
            output
        }
        Err(exit) => RunOutput::not_run(exit),
    }
}

/// Returns the text that the SSH server gets.
///
/// Fails for options that need a POSIX shell, and for a text with a secret: it appears in logs and process lists of the
/// host.
fn command_line(command: &Command) -> Result<String, String> {
    let needs_shell = |option: &str| {
        Err(format!(
            "a raw command has no {option}: a POSIX shell on the host would be needed for that"
        ))
    };
    if !command.cwd.as_os_str().is_empty() {
        return needs_shell("working folder (`cd`)");
    }
    if command.env.iter().next().is_some() {
        return needs_shell("environment variables (`env`)");
    }
    let text = match &command.program {
        Program::Argv(words) => quote_words(words),
        Program::Shell { text, .. } => text.clone(),
    };
    let is_secret = matches!(command.program, Program::Shell { secret: true, .. });
    if is_secret || command.hidden().may_occur_in(&text) {
        return Err(
            "a raw command cannot contain a secret: its text is in the process list and the logs of the host"
                .to_owned(),
        );
    }
    if text.contains('\0') {
        return Err("a command cannot contain a zero byte".to_owned());
    }
    Ok(text)
}

/// A raw command with its transport.
struct RawCommand<'a> {
    transport: &'a Transport,
    command: &'a Command,
}

impl RawCommand<'_> {
    async fn run(
        &self,
        mut channel_io: ChannelIo,
        input: CommandInput,
        call: CallControl,
    ) -> RunOutput {
        let start = Instant::now();
        let (sender, chunks) = mpsc::unbounded_channel();
        let mut reader = OutputReader::new(self.command, None, call.output_sender, sender);
        reader.send_input_at_once();
        let mut stop = call.stop;
        let end = {
            let state = CommandState::default();
            let reading = reader.read(&mut channel_io, &state);
            let feeding = forward_input(input, self.command, call.program_input.as_ref(), chunks);
            let stopping = wait_for_end(self.command.time_limit, &mut stop);
            tokio::pin!(reading, feeding, stopping);
            let mut is_fed = false;
            loop {
                tokio::select! {
                    read = &mut reading => break Ok(read),
                    why = &mut stopping => break Err(why),
                    fed = &mut feeding, if !is_fed => match fed {
                        Ok(()) => is_fed = true,
                        Err(error) => break Err(Exit::Failed(error.to_string())),
                    },
                }
            }
        };
        let exit = match end {
            Ok(ReadEnd::Complete(exit) | ReadEnd::OutputsHeldOpen(exit)) => exit,
            Ok(ReadEnd::Refused) => self.transport.refusal(),
            Ok(ReadEnd::Lost | ReadEnd::LoggedIn) => {
                self.transport.loss(self.command.program.name())
            }
            Ok(ReadEnd::NeedsAnswer(why)) | Err(why) => {
                end_command(&mut channel_io, &mut reader, &mut stop).await;
                why
            }
        };
        channel_io.close().await;
        let (_, stdout, stderr) = reader.finish().await;
        RunOutput {
            exit,
            stdout,
            stderr,
            elapsed: start.elapsed(),
        }
    }
}

/// Sends SIGINT, SIGTERM and SIGKILL in turn, and reads the output meanwhile; SIGKILL at once if the stop is urgent.
async fn end_command(
    channel_io: &mut ChannelIo,
    reader: &mut OutputReader<'_>,
    stop: &mut watch::Receiver<StopLevel>,
) {
    let state = CommandState::default();
    for signal in [Sig::INT, Sig::TERM] {
        channel_io.send_signal(signal).await;
        let ended = timeout(SIGNAL_GRACE, reader.read(channel_io, &state));
        tokio::select! {
            biased;
            () = wait_for_stop(stop, StopLevel::AtOnce) => break,
            ended = ended => if ended.is_ok() {
                return;
            },
        }
    }
    channel_io.send_signal(Sig::KILL).await;
    timeout(KILL_GRACE, reader.read(channel_io, &state))
        .await
        .ok();
}
