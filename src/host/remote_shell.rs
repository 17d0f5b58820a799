//! Performs facts and changes with a shell that stays open at its location.
//!
//! To start a shell takes time: a login shell with the start files of its user, then `/bin/sh`. So the shell of the first
//! action is kept for the next one, and actions at the same time have a shell each. A script runs in a process of its
//! own (`batch::server_script`). A shell that was left in an unknown state is closed: after a cancelled or lost action.
//!
//! A host can answer whatever it likes, but only in its own session and about itself. Without the lines that end a
//! script, an action fails.

use std::time::Instant;

use tokio::io::AsyncWriteExt as _;
use tokio::sync::watch;
use tokio::time::sleep;

use super::batch::{self, ShellRequest};
use super::channel_io::{ChannelEvent, ChannelIo, CommandInput, DRAIN_TIMEOUT};
use super::mark_filter::MarkFilter;
use super::request::wait_for_stop;
use super::script::{CommandProcesses, loader_input};
use super::shell_entry::enter_shell;
use super::signals::{CommandState, Signaller};
use super::ssh::{Lease, OpenShell};
use super::transport::Transport;
use super::{
    Action, ActionResult, CallControl, CaptureBudget, CaptureBuffer, CapturedOutput,
    DEFAULT_CAPTURE_LIMIT, DEFAULT_SHELL, Exit, RunOutput, ShellLogin, StopLevel, Stream,
};

/// The exit codes above 128 with which a script ends by itself: its traps of signals.
const TRAP_CODES: [i32; 4] = [129, 130, 141, 143];

/// Reads facts or makes changes. The result reports success and failure alike.
pub(super) async fn perform(
    transport: &Transport,
    login: Option<&ShellLogin>,
    action: &Action,
    call: CallControl,
) -> ActionResult {
    match ShellRequest::of(action) {
        Some(request) => batch::result(action, &run(transport, login, request, call).await),
        None => ActionResult::not_performed(action, Exit::Code(0)),
    }
}

/// Runs a script in an idle shell, or else in a new one.
async fn run(
    transport: &Transport,
    login: Option<&ShellLogin>,
    request: ShellRequest,
    mut call: CallControl,
) -> RunOutput {
    let began = Instant::now();
    let user = login.map(|login| login.user.as_str());
    let mut idle = transport.take_shell(user);
    loop {
        let is_fresh = idle.is_none();
        let started = match idle.take() {
            Some(shell) => Ok(shell),
            None => tokio::select! {
                biased;
                () = wait_for_stop(&mut call.stop, StopLevel::Gently) => Err(Exit::Cancelled),
                started = transport.start(false) => started,
            },
        };
        let mut shell = match started {
            Ok(shell) => shell,
            Err(exit) => return RunOutput::not_run(exit),
        };
        if let (Some(login), true) = (login, is_fresh)
            && let Err(output) = enter_shell(login, transport, &mut shell, &mut call.stop).await
        {
            shell.close().await;
            return output;
        }
        let running = RunningScript {
            transport,
            request: &request,
            state: CommandState::default(),
        };
        let output = match running.run(shell, is_fresh, &mut call.stop).await {
            ScriptOutcome::ShellWasClosed => continue,
            ScriptOutcome::Ran(output, shell) => {
                if let Some(shell) = shell {
                    transport.keep_shell(user, *shell);
                }
                *output
            }
        };
        let elapsed = began.elapsed();
        return RunOutput { elapsed, ..output };
    }
}

/// A script that runs in a shell.
struct RunningScript<'a> {
    transport: &'a Transport,
    request: &'a ShellRequest,
    state: CommandState,
}

/// The outcome of a script that was sent to a shell.
enum ScriptOutcome {
    /// The idle shell had ended before it read the script.
    ShellWasClosed,
    /// The script ran; the shell too if it can run another one.
    Ran(Box<RunOutput>, Option<Box<OpenShell>>),
}

/// The event that ended a script.
enum ScriptEnd {
    /// The script ended with this code, and the shell goes on.
    Complete(i32),
    /// The shell ended.
    ShellEnded(Exit),
    Refused,
    /// The streams ended before the shell did.
    Lost,
    /// The script was sent all signals.
    Terminated,
}

impl RunningScript<'_> {
    /// Runs the script to its end.
    async fn run(
        &self,
        mut shell: OpenShell,
        is_fresh: bool,
        stop: &mut watch::Receiver<StopLevel>,
    ) -> ScriptOutcome {
        let mut reply = ScriptReply::new(self.request);
        let end = self.send(&mut shell, is_fresh, &mut reply, stop).await;
        let why = self.state.end_reason.get().cloned();
        if why.is_some() && !matches!(end, ScriptEnd::Terminated) {
            // The script has ended; processes that it started may be left.
            let signaller = self.signaller(shell.lease.as_ref());
            signaller.kill("KILL").await;
        }
        let is_usable = why.is_none() && matches!(end, ScriptEnd::Complete(_));
        let has_started = self.state.processes.get().is_some();
        let was_closed = !is_fresh && !has_started && why.is_none();
        if was_closed && matches!(end, ScriptEnd::ShellEnded(_)) {
            shell.close().await;
            return ScriptOutcome::ShellWasClosed;
        }
        let output = self.output(end, why, reply);
        if is_usable {
            return ScriptOutcome::Ran(Box::new(output), Some(Box::new(shell)));
        }
        shell.close().await;
        ScriptOutcome::Ran(Box::new(output), None)
    }

    /// Sends the script to the shell, and ends it if it has to stop.
    async fn send(
        &self,
        shell: &mut OpenShell,
        is_fresh: bool,
        reply: &mut ScriptReply,
        stop: &mut watch::Receiver<StopLevel>,
    ) -> ScriptEnd {
        let mark = &self.request.mark;
        let lease = shell.lease.as_ref();
        let connection = lease.map(|lease| &lease.connection);
        let connection = connection.filter(|_| !self.transport.is_container());
        let note = |processes| {
            if let Some(connection) = connection {
                connection.add_running(mark, processes);
            }
        };
        note(None);
        let mut input = Vec::new();
        if is_fresh {
            input = loader_input(&batch::server_script());
        }
        input.extend_from_slice(&self.request.input);
        let end = {
            let on_start = |processes| {
                // Only the first report counts.
                if self.state.processes.set(processes).is_ok() {
                    note(Some(processes));
                }
            };
            let streams = (&mut shell.channel_io, &mut shell.input);
            let exchange = exchange(streams, &input, reply, on_start);
            let signaller = self.signaller(lease);
            let ending = async {
                wait_for_stop(stop, StopLevel::Gently).await;
                signaller.end(Exit::Cancelled, stop).await;
            };
            tokio::pin!(exchange, ending);
            tokio::select! {
                end = &mut exchange => end,
                () = &mut ending => ScriptEnd::Terminated,
            }
        };
        if let Some(connection) = connection {
            connection.remove_running(mark);
        }
        end
    }

    fn signaller<'s>(&'s self, lease: Option<&'s Lease>) -> Signaller<'s> {
        Signaller {
            transport: self.transport,
            lease,
            mark: &self.request.mark,
            state: &self.state,
        }
    }

    fn output(&self, end: ScriptEnd, why: Option<Exit>, reply: ScriptReply) -> RunOutput {
        let has_started = self.state.processes.get().is_some();
        let (stdout, mut stderr) = reply.finish();
        let exit = match end {
            ScriptEnd::Complete(code) if code > 128 && !TRAP_CODES.contains(&code) => {
                // Some shells write a message about the killed process.
                stderr = CapturedOutput::from_bytes("");
                Exit::Signal(code - 128)
            }
            ScriptEnd::Complete(code) => Exit::Code(code),
            ScriptEnd::ShellEnded(exit) => {
                let is_program = self.transport.is_program();
                match exit {
                    Exit::Code(1..) if is_program && !has_started => {
                        self.transport.unentered(&stderr)
                    }
                    exit => exit,
                }
            }
            ScriptEnd::Refused => self.transport.refusal(),
            ScriptEnd::Lost | ScriptEnd::Terminated => self.transport.loss(DEFAULT_SHELL),
        };
        RunOutput {
            stdout,
            stderr,
            ..RunOutput::not_run(why.unwrap_or(exit))
        }
    }
}

/// Sends a script and reads to its end.
async fn exchange(
    (channel_io, input): (&mut ChannelIo, &mut CommandInput),
    bytes: &[u8],
    reply: &mut ScriptReply,
    on_start: impl Fn(CommandProcesses),
) -> ScriptEnd {
    let sending = async {
        // A shell that has ended reads nothing; its end is among the events.
        input.write_all(bytes).await.is_ok() && input.flush().await.is_ok()
    };
    tokio::pin!(sending);
    let mut is_sent = false;
    let mut exit = None;
    loop {
        if let (Some(code), true) = (reply.end_code(), is_sent) {
            return ScriptEnd::Complete(code);
        }
        let event = tokio::select! {
            event = channel_io.next_event() => event,
            _ = &mut sending, if !is_sent => {
                is_sent = true;
                continue;
            }
            () = sleep(DRAIN_TIMEOUT), if exit.is_some() => ChannelEvent::End,
        };
        match event {
            ChannelEvent::Output(stream, bytes) => {
                reply.push(stream, &bytes);
                if let Some(processes) = reply.processes() {
                    on_start(processes);
                }
            }
            ChannelEvent::Code(code) => exit = Some(Exit::Code(code)),
            ChannelEvent::Signal(signal) => exit = Some(Exit::Signal(signal)),
            ChannelEvent::Refused => return ScriptEnd::Refused,
            ChannelEvent::End => return exit.map_or(ScriptEnd::Lost, ScriptEnd::ShellEnded),
        }
    }
}

/// The outputs of a script, without the lines of the shell.
struct ScriptReply {
    stdout: CaptureBuffer,
    stderr: CaptureBuffer,
    /// Finds the line on stderr that reports the process of the script.
    start: MarkFilter,
    stdout_end: MarkFilter,
    stderr_end: MarkFilter,
}

impl ScriptReply {
    fn new(request: &ShellRequest) -> Self {
        let budget = CaptureBudget::new(0);
        Self {
            stdout: CaptureBuffer::new(batch::MAX_OUTPUT_BYTES, &budget),
            stderr: CaptureBuffer::new(DEFAULT_CAPTURE_LIMIT, &budget),
            start: MarkFilter::new(&request.mark),
            stdout_end: MarkFilter::new(&request.end),
            stderr_end: MarkFilter::new(&request.end),
        }
    }

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.push(&self.stdout_end.push(bytes)),
            Stream::Stderr => {
                let rest = self.start.push(bytes);
                self.stderr.push(&self.stderr_end.push(&rest));
            }
        }
    }

    /// Returns the processes of the script, once it has started.
    fn processes(&self) -> Option<CommandProcesses> {
        let id: i32 = self.start.report()?.parse().ok()?;
        let process = id.unsigned_abs();
        Some(match id {
            ..0 => CommandProcesses::Group(process),
            0.. => CommandProcesses::Tree(process),
        })
    }

    /// Returns the exit code of the script, once both outputs have ended.
    fn end_code(&self) -> Option<i32> {
        self.stderr_end.report()?;
        let code = self.stdout_end.report()?;
        Some(code.parse().unwrap_or(i32::MAX))
    }

    fn finish(mut self) -> (CapturedOutput, CapturedOutput) {
        self.stdout.push(&self.stdout_end.end());
        let rest = self.start.end();
        self.stderr.push(&self.stderr_end.push(&rest));
        self.stderr.push(&self.stderr_end.end());
        (self.stdout.finish(), self.stderr.finish())
    }
}
