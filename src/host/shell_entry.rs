//! Logs in as another user in a shell that has just started.

use tokio::sync::{mpsc, watch};

use super::input_writer::InputWriter;
use super::output_reader::{OutputReader, ReadEnd, StartReport};
use super::remote_command::{RemoteScript, start_failure};
use super::request::wait_for_stop;
use super::signals::{CommandState, Signaller};
use super::ssh::OpenShell;
use super::transport::Transport;
use super::{CapturedOutput, Exit, RunOutput, ShellLogin, StopLevel};

/// Starts the program of a login, and answers its prompts. Then the shell of the other user reads its input.
///
/// Fails with the output of the program if it does not start that shell.
pub(super) async fn enter_shell(
    login: &ShellLogin,
    transport: &Transport,
    shell: &mut OpenShell,
    stop: &mut watch::Receiver<StopLevel>,
) -> Result<(), RunOutput> {
    let script = RemoteScript::for_command(&login.command).map_err(RunOutput::not_run)?;
    let (sender, mut chunks) = mpsc::unbounded_channel();
    let mut reader = OutputReader::new(&login.command, Some(&script.mark), None, sender);
    reader.send_script(script.input);
    let state = CommandState::default();
    let end = {
        let reading = reader.read_login(&mut shell.channel_io, &state);
        let mut writer = InputWriter::new(&mut shell.input, &login.command, None);
        let feeding = writer.write(&mut chunks);
        let stopping = wait_for_stop(stop, StopLevel::Gently);
        tokio::pin!(reading, feeding, stopping);
        let mut is_fed = false;
        let end = loop {
            tokio::select! {
                end = &mut reading => break Some(end),
                () = &mut stopping => break None,
                _ = &mut feeding, if !is_fed => is_fed = true,
            }
        };
        if matches!(end, Some(ReadEnd::LoggedIn)) && !is_fed {
            feeding.await.ok();
        }
        end
    };
    let exit = match end {
        Some(ReadEnd::LoggedIn) => return Ok(()),
        None => Exit::Cancelled,
        Some(ReadEnd::Lost) => transport.loss(login.command.program.name()),
        Some(ReadEnd::Refused) => transport.refusal(),
        Some(
            ReadEnd::Complete(exit) | ReadEnd::OutputsHeldOpen(exit) | ReadEnd::NeedsAnswer(exit),
        ) => exit,
    };
    if matches!(exit, Exit::Cancelled | Exit::NeedsAnswer { .. }) {
        let signaller = Signaller {
            transport,
            lease: shell.lease.as_ref(),
            mark: &script.mark,
            state: &state,
        };
        signaller.kill("KILL").await;
    }
    let (report, stdout, stderr) = reader.finish().await;
    Err(failure(login, transport, exit, report, (stdout, stderr)))
}

fn failure(
    login: &ShellLogin,
    transport: &Transport,
    exit: Exit,
    report: Option<StartReport>,
    (stdout, stderr): (CapturedOutput, CapturedOutput),
) -> RunOutput {
    let exit = start_failure(transport, &login.command, exit, report, &stderr);
    // The prompts are of this program, and no part of the message.
    let mut message = stderr.text();
    for answer in &login.command.answers {
        message = message.replace(&answer.prompt, "");
    }
    RunOutput {
        stdout,
        stderr: CapturedOutput::from_bytes(message),
        ..RunOutput::not_run(exit)
    }
}
