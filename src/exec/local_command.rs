//! Runs one command on this machine, from its start to its end.
//!
//! [`LocalCommand::run`] starts the process in a group of its own, feeds its input, captures its
//! outputs and ends the group.
#![expect(clippy::disallowed_methods, reason = "only the runner starts commands")]

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::sync::{oneshot, watch};

use super::executable::find_executable;
use super::guard::Guard;
use super::limits::RunLimits;
use super::line_splitter::LineSplitter;
use super::output_budget::OutputSender;
use super::output_file::OutputFile;
use super::prompt_responder::{PromptListener, PromptResponder};
use crate::host::{
    Background, CaptureBuffer, CapturedOutput, Command, Exit, InputReader, RunOutput, Stream,
};
use crate::system::fault::{self, SystemCall};
use crate::system::limit_hints::start_problem;
use crate::system::survivors;
use crate::value::{Redactor, Secrets};

/// The largest read buffer of an output pipe, in bytes.
const MAX_READ_BYTES: usize = 64 << 10;

/// The channels that cancel an action from outside.
pub(super) struct CancelSignals {
    pub(super) cancelled: oneshot::Receiver<()>,
    /// Whether a cancelled action is killed without grace.
    pub(super) kill_now: watch::Receiver<bool>,
}

impl CancelSignals {
    /// Waits until the action is cancelled.
    pub(super) async fn until_cancelled(&mut self) {
        if !self.cancelled.is_terminated() {
            // The sender is dropped only when the result is no longer needed.
            (&mut self.cancelled).await.ok();
        }
    }

    /// Runs a part of the action, at most until the given time.
    ///
    /// Cancelling the action also cancels the part.
    pub(super) async fn run_part<T>(
        &mut self,
        until: Option<Instant>,
        work: impl AsyncFnOnce(Self) -> T,
    ) -> T {
        let (cancel, cancelled) = oneshot::channel();
        let work = work(Self {
            cancelled,
            kill_now: self.kill_now.clone(),
        });
        tokio::pin!(work);
        if !self.cancelled.is_terminated() {
            tokio::select! {
                biased;
                result = &mut work => return result,
                _ = &mut self.cancelled => {}
                () = sleep_until(until) => {}
            }
        }
        cancel.send(()).ok();
        work.await
    }
}

/// Sleeps until a time, or forever without one.
pub(super) async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

/// Passes input on until it ends, or until the command has ended, if that is watched.
///
/// The input of this program may stay open for longer than a command.
async fn until_end(feeding: impl Future<Output = ()>, has_ended: Option<watch::Receiver<bool>>) {
    match has_ended {
        None => feeding.await,
        Some(mut has_ended) => tokio::select! {
            () = feeding => {}
            _ = has_ended.wait_for(|ended| *ended) => {}
        },
    }
}

/// The process group of one command.
///
/// Dropping it kills the group unless the processes may live on.
struct ProcessGroup {
    id: Pid,
    kill_on_drop: bool,
}

fn signal_group(group: Pid, signal: Signal) {
    // The last process may have ended already.
    killpg(group, signal).ok();
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.kill_on_drop {
            signal_group(self.id, Signal::SIGKILL);
        }
    }
}

/// A command that is about to run.
pub(super) struct LocalCommand {
    pub(super) id: u64,
    pub(super) command: Command,
    pub(super) limits: Arc<RunLimits>,
    pub(super) echo: Option<OutputSender>,
    /// The receiver of lines of stdout, if the command reports them.
    pub(super) lines: Option<OutputSender>,
    pub(super) guard: Option<Arc<Guard>>,
    /// The input of this program, if the command reads it.
    pub(super) input: Option<InputReader>,
}

impl LocalCommand {
    pub(super) async fn run(mut self, cancel: CancelSignals) -> RunOutput {
        let start = Instant::now();
        let (ended, has_ended) = watch::channel(false);
        let spawned = self.open_stdout(has_ended).and_then(|(stdout, file)| {
            let child = self.spawn(stdout)?;
            Ok((child, file))
        });
        let (mut child, file) = match spawned {
            Ok(spawned) => spawned,
            Err(exit) => return RunOutput::not_run(exit),
        };
        let id = child.id();
        self.report_start(id);
        let mut group = ProcessGroup {
            id: Pid::from_raw(id.and_then(|id| i32::try_from(id).ok()).unwrap_or(i32::MAX)),
            kill_on_drop: true,
        };
        let (mut stdout, mut stderr) = self.output_readers(&mut child, file);
        let (conversation, prompt_listener, unanswered) =
            PromptResponder::for_command(&mut self.command, self.input.take());
        (stdout.prompt_listener, stderr.prompt_listener) =
            (prompt_listener.clone(), prompt_listener);
        let watched = self.command.program_input.map(|_| ended.subscribe());
        let feeding = until_end(conversation.respond(child.stdin.take()), watched);
        let exit = {
            let reading = async {
                tokio::join!(
                    feeding,
                    stdout.read_all(self.id, Stream::Stdout, self.echo.as_ref()),
                    stderr.read_all(self.id, Stream::Stderr, self.echo.as_ref()),
                );
            };
            tokio::pin!(reading);
            let ending = self.wait_for_exit(&mut child, group.id, cancel, unanswered);
            tokio::pin!(ending);
            let mut all_read = false;
            let exit = loop {
                tokio::select! {
                    exit = &mut ending => break exit,
                    () = &mut reading, if !all_read => all_read = true,
                }
            };
            self.kill_leftovers(&exit, &mut group).await;
            ended.send_replace(true);
            if !all_read {
                // A process that left the group may hold the pipes open forever.
                tokio::time::timeout(self.limits.drain_timeout, &mut reading)
                    .await
                    .ok();
            }
            exit
        };
        RunOutput {
            exit,
            stdout: stdout.finish(),
            stderr: stderr.finish(),
            elapsed: start.elapsed(),
        }
    }

    /// Returns the readers of stdout, which may be a file, and of stderr.
    /// Tells the guard which process has started.
    fn report_start(&self, process: Option<u32>) {
        if let (Some(guard), Some(process)) = (&self.guard, process) {
            guard.command_started(self.id, process, self.command.interrupt_grace);
        }
    }

    fn output_readers(
        &mut self,
        child: &mut Child,
        file: Option<OutputFile>,
    ) -> (OutputReader<ChildStdout>, OutputReader<ChildStderr>) {
        let (stdout, stderr) = self.command.capture_buffers();
        let (of_stdout, of_stderr) = self.command.redactors();
        let pipe = child.stdout.take().map(OutputSource::Pipe);
        let source = file.map(OutputSource::File).or(pipe);
        let mut stdout = OutputReader::new(source, stdout, of_stdout);
        stdout.lines = self.lines.take().map(|to| LineReporter {
            splitter: LineSplitter::default(),
            secrets: self.command.hidden(),
            to,
        });
        let source = child.stderr.take().map(OutputSource::Pipe);
        (stdout, OutputReader::new(source, stderr, of_stderr))
    }

    /// Kills the processes that the command left behind, unless they may live on.
    async fn kill_leftovers(&self, exit: &Exit, group: &mut ProcessGroup) {
        let by_itself = matches!(exit, Exit::Code(_) | Exit::Signal(_));
        let may_live = by_itself && self.command.background == Background::Keep;
        group.kill_on_drop = !may_live;
        if !may_live {
            signal_group(group.id, Signal::SIGKILL);
        }
        let Some(guard) = &self.guard else {
            return;
        };
        if !by_itself {
            // Also kills processes that left the group. The search takes some milliseconds.
            let (guard, id) = (Arc::clone(guard), self.id);
            let end =
                move || survivors::terminate(guard.token(), &|task| task != id, Duration::ZERO);
            tokio::task::spawn_blocking(end).await.ok();
        }
        guard.command_ended(self.id, may_live);
    }

    /// Returns the stdout of the new process, and the reader of its file if it has one.
    fn open_stdout(
        &self,
        has_ended: watch::Receiver<bool>,
    ) -> Result<(Stdio, Option<OutputFile>), Exit> {
        let Some(path) = &self.command.stdout_file else {
            return Ok((Stdio::piped(), None));
        };
        match OutputFile::create(path, has_ended) {
            Ok((writer, reader)) => Ok((writer.into(), Some(reader))),
            Err(error) => Err(Exit::Failed(format!(
                "could not create the file `{}` for the output of the command: {error}",
                path.display()
            ))),
        }
    }

    fn spawn(&self, stdout: Stdio) -> Result<Child, Exit> {
        if self.command.pty {
            let why = "`pty` is only supported for commands on hosts, not on this machine";
            return Err(Exit::Failed(why.to_owned()));
        }
        if self.command.raw {
            let why = "`raw` is only supported for commands on hosts that are reached over SSH";
            return Err(Exit::Failed(why.to_owned()));
        }
        let file = find_executable(&self.command)?;
        let argv = self.command.program.argv();
        let has_input = self.command.has_input() || !self.command.answers.is_empty();
        let mut command = std::process::Command::new(file);
        command
            .arg0(&argv[0])
            .args(&argv[1..])
            .current_dir(&self.command.cwd)
            .env_clear()
            .envs(self.command.env.iter())
            .envs(self.command.program.variable())
            .process_group(0)
            .stdin(if has_input {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(stdout)
            .stderr(Stdio::piped());
        if let Some(guard) = &self.guard {
            let grace = self.command.interrupt_grace;
            let value = survivors::token_value(guard.token(), self.id, grace);
            command.env(survivors::TOKEN_VARIABLE, value);
        }
        fault::hide_from(&mut command);
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(true);
        let name = self.command.program.name();
        fault::call(SystemCall::Spawn(name), || command.spawn())
            .map_err(|error| Exit::Failed(start_problem(&format!("`{name}`"), &error)))
    }

    /// Waits for the command to end, or ends it on cancellation, timeout or an unanswered prompt.
    async fn wait_for_exit(
        &self,
        child: &mut Child,
        group: Pid,
        ends: CancelSignals,
        unanswered: oneshot::Receiver<Exit>,
    ) -> Exit {
        let CancelSignals {
            cancelled,
            mut kill_now,
        } = ends;
        let too_long = async {
            match self.command.time_limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let cancelled = async {
            if cancelled.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let unanswered = async {
            match unanswered.await {
                Ok(exit) => exit,
                Err(_) => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            biased;
            exit = unanswered => exit,
            status = child.wait() => return exit_from_status(status),
            () = cancelled => Exit::Cancelled,
            () = too_long => Exit::TimedOut,
        };
        let signals = match self.command.interrupt_grace {
            Some(grace) => vec![(Signal::SIGINT, grace)],
            None => [Signal::SIGINT, Signal::SIGTERM]
                .map(|signal| (signal, self.limits.grace))
                .into(),
        };
        for (signal, grace) in signals {
            signal_group(group, signal);
            let ended = tokio::time::timeout(grace, child.wait());
            tokio::select! {
                ended = ended => if ended.is_ok() {
                    return why;
                },
                _ = kill_now.wait_for(|hurried| *hurried) => break,
            }
        }
        signal_group(group, Signal::SIGKILL);
        // A process that is stuck in the kernel must not block the job forever.
        tokio::time::timeout(self.limits.grace.max(Duration::from_secs(1)), child.wait())
            .await
            .ok();
        why
    }
}

fn exit_from_status(status: std::io::Result<ExitStatus>) -> Exit {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Failed(
                "the command ended, but the system reports neither an exit code nor a signal"
                    .to_owned(),
            ),
        },
        Err(error) => Exit::Failed(format!(
            "could not wait for the end of the command: {error}"
        )),
    }
}

/// The source of an output.
enum OutputSource<P> {
    Pipe(P),
    File(OutputFile),
}

/// Reports complete lines, in which each secret is replaced.
struct LineReporter {
    splitter: LineSplitter,
    secrets: Secrets,
    to: OutputSender,
}

impl LineReporter {
    async fn report(&self, id: u64, lines: Vec<String>) {
        for line in lines {
            let line = self.secrets.redact(&line);
            self.to.send_line(id, line).await;
        }
    }
}

/// The reader of an output.
struct OutputReader<P> {
    source: Option<OutputSource<P>>,
    capture: CaptureBuffer,
    redactor: Redactor,
    prompt_listener: Option<PromptListener>,
    lines: Option<LineReporter>,
}

impl<P: AsyncRead + Unpin> OutputReader<P> {
    fn new(source: Option<OutputSource<P>>, capture: CaptureBuffer, redactor: Redactor) -> Self {
        Self {
            source,
            capture,
            redactor,
            prompt_listener: None,
            lines: None,
        }
    }

    async fn read_all(&mut self, id: u64, stream: Stream, echo: Option<&OutputSender>) {
        match self.source.take() {
            Some(OutputSource::Pipe(pipe)) => self.read_pipe(pipe, id, stream, echo).await,
            Some(OutputSource::File(mut file)) => {
                while let Ok(bytes) = file.read().await
                    && !bytes.is_empty()
                {
                    self.receive(&bytes, id, stream, echo).await;
                }
            }
            None => return,
        }
        // After both outputs have ended, no more prompts can come.
        self.prompt_listener = None;
        if let Some(lines) = &mut self.lines {
            let rest = lines.splitter.finish();
            lines.report(id, rest.into_iter().collect()).await;
        }
        if let Some(echo) = echo {
            echo.send(id, stream, self.redactor.finish()).await;
        }
    }

    async fn read_pipe(
        &mut self,
        mut pipe: P,
        id: u64,
        stream: Stream,
        echo: Option<&OutputSender>,
    ) {
        let mut buffer = Vec::with_capacity(4 << 10);
        while let Ok(count @ 1..) = pipe.read_buf(&mut buffer).await {
            self.receive(&buffer, id, stream, echo).await;
            // A busy pipe gets a larger buffer; a thousand quiet pipes stay small.
            let full = count == buffer.capacity() && count < MAX_READ_BYTES;
            buffer.clear();
            if full {
                buffer.reserve(2 * count);
            }
        }
    }

    /// Passes on the next bytes of the output.
    async fn receive(
        &mut self,
        bytes: &[u8],
        id: u64,
        stream: Stream,
        echo: Option<&OutputSender>,
    ) {
        self.capture.push(bytes);
        if let Some(prompt_listener) = &self.prompt_listener {
            prompt_listener.receive(stream, bytes);
        }
        if let Some(lines) = &mut self.lines {
            let complete = lines.splitter.push(bytes);
            lines.report(id, complete).await;
        }
        if let Some(echo) = echo {
            echo.send(id, stream, self.redactor.push(bytes)).await;
        }
    }

    fn finish(self) -> CapturedOutput {
        self.capture.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for the cancellation of a part that never ends by itself and reports how it came.
    async fn endless(cancel: CancelSignals) -> &'static str {
        match cancel.cancelled.await {
            Ok(()) => "cancelled",
            Err(_) => "forgotten",
        }
    }

    fn ends() -> (oneshot::Sender<()>, watch::Sender<bool>, CancelSignals) {
        let (cancel, cancelled) = oneshot::channel();
        let (hurry, hurried) = watch::channel(false);
        (
            cancel,
            hurry,
            CancelSignals {
                cancelled,
                kill_now: hurried,
            },
        )
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().unwrap().block_on(work)
    }

    #[test]
    fn a_part_ends_by_itself() {
        let (_cancel, _hurry, mut ends) = ends();
        assert_eq!(run(ends.run_part(None, async |_| 7)), 7);
        assert!(!ends.cancelled.is_terminated());
    }

    #[test]
    fn a_part_ends_with_its_action_and_so_does_each_later_one() {
        let (cancel, _hurry, mut ends) = ends();
        cancel.send(()).unwrap();
        assert_eq!(run(ends.run_part(None, endless)), "cancelled");
        run(ends.until_cancelled());
        assert_eq!(run(ends.run_part(None, endless)), "cancelled");
    }

    #[test]
    fn a_part_ends_when_its_time_is_over_and_the_action_goes_on() {
        let (_cancel, _hurry, mut ends) = ends();
        let end = Instant::now() + Duration::from_millis(5);
        assert_eq!(run(ends.run_part(Some(end), endless)), "cancelled");
        assert!(Instant::now() >= end && !ends.cancelled.is_terminated());
    }

    #[test]
    fn a_part_hears_that_its_action_is_in_a_hurry() {
        let (_cancel, hurry, mut ends) = ends();
        let part = async |mut cancel: CancelSignals| {
            hurry.send_replace(true);
            cancel.kill_now.wait_for(|hurried| *hurried).await.is_ok()
        };
        assert!(run(ends.run_part(None, part)));
    }
}
