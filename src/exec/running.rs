//! One command on this machine, from its start to its end.
#![expect(
    clippy::disallowed_methods,
    reason = "the runner is the one that starts commands"
)]

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};

use super::answer::{Conversation, Ear};
use super::ends::{Echo, Ends, Piece};
use super::guard::Guard;
use super::limits::Limits;
use super::program::file_of;
use super::redact::Redactor;
use crate::host::{Background, Capture, Captured, Command, Exit, RunOutput, Stream};
use crate::system::fault::{self, Call};
use crate::system::survivors;

/// The largest piece of output.
const PIECE: usize = 64 << 10;

/// The processes of one command; they die with this value unless they may live.
struct Group {
    id: Pid,
    kill_on_drop: bool,
}

fn signal_group(group: Pid, signal: Signal) {
    // The last of them may have ended meanwhile.
    killpg(group, signal).ok();
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.kill_on_drop {
            signal_group(self.id, Signal::SIGKILL);
        }
    }
}

/// One command on its way.
pub(super) struct Running {
    pub(super) id: u64,
    pub(super) command: Command,
    pub(super) limits: Arc<Limits>,
    pub(super) echo: Echo,
    pub(super) guard: Option<Arc<Guard>>,
}

impl Running {
    pub(super) async fn run(mut self, ends: Ends) -> RunOutput {
        let start = Instant::now();
        let mut child = match self.spawn() {
            Ok(child) => child,
            Err(exit) => return RunOutput::not_run(exit),
        };
        let id = child.id();
        if let (Some(guard), Some(id)) = (&self.guard, id) {
            guard.begun(self.id, id);
        }
        let mut group = Group {
            id: Pid::from_raw(id.and_then(|id| i32::try_from(id).ok()).unwrap_or(i32::MAX)),
            kill_on_drop: true,
        };
        let mut stdout = Reading::of(child.stdout.take(), &self.command);
        let mut stderr = Reading::of(child.stderr.take(), &self.command);
        let (conversation, ear, asked) = Conversation::with(&mut self.command);
        (stdout.ear, stderr.ear) = (ear.clone(), ear);
        let feeding = conversation.hold(child.stdin.take());
        let exit = {
            let reading = async {
                tokio::join!(
                    feeding,
                    stdout.read_all((self.id, Stream::Stdout), &self.echo),
                    stderr.read_all((self.id, Stream::Stderr), &self.echo),
                );
            };
            tokio::pin!(reading);
            let ending = self.until_end(&mut child, group.id, (ends, asked));
            tokio::pin!(ending);
            let mut all_read = false;
            let exit = loop {
                tokio::select! {
                    exit = &mut ending => break exit,
                    () = &mut reading, if !all_read => all_read = true,
                }
            };
            self.end_what_is_left(&exit, &mut group).await;
            if !all_read {
                // What left the group may hold the pipes open for ever.
                tokio::time::timeout(self.limits.drain, &mut reading)
                    .await
                    .ok();
            }
            exit
        };
        self.wait_until_heard().await;
        RunOutput {
            exit,
            stdout: stdout.finish(),
            stderr: stderr.finish(),
            elapsed: start.elapsed(),
        }
    }

    /// Ends what the command left behind, unless that may live.
    async fn end_what_is_left(&self, exit: &Exit, group: &mut Group) {
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
            // What left its group, too. To look for it takes some milliseconds.
            let (guard, id) = (Arc::clone(guard), self.id);
            let end = move || survivors::end(guard.token(), &|task| task != id, Duration::ZERO);
            tokio::task::spawn_blocking(end).await.ok();
        }
        guard.ended(self.id, may_live);
    }

    fn spawn(&self) -> Result<Child, Exit> {
        if self.command.pty {
            let why = "a command on this machine itself gets no terminal";
            return Err(Exit::Failed(why.to_owned()));
        }
        let file = file_of(&self.command)?;
        let argv = self.command.program.argv();
        let has_input = self.command.stdin.is_some() || !self.command.answers.is_empty();
        let mut command = std::process::Command::new(file);
        command
            .arg0(&argv[0])
            .args(&argv[1..])
            .current_dir(&self.command.cwd)
            .env_clear()
            .envs(self.command.env.iter().map(|(name, value)| (name, value)))
            .envs(self.command.program.variable())
            .process_group(0)
            .stdin(if has_input {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(guard) = &self.guard {
            let value = survivors::value(guard.token(), self.id);
            command.env(survivors::VARIABLE, value);
        }
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(true).env_remove(fault::VARIABLE);
        let name = self.command.program.name();
        fault::call(Call::Spawn(name), || command.spawn())
            .map_err(|error| Exit::Failed(format!("could not run `{name}`: {error}")))
    }

    /// Waits for the command to end by itself, or ends it in time.
    async fn until_end(
        &self,
        child: &mut Child,
        group: Pid,
        (ends, asked): (Ends, oneshot::Receiver<Exit>),
    ) -> Exit {
        let Ends {
            cancelled,
            mut hurried,
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
        let asked = async {
            match asked.await {
                Ok(exit) => exit,
                Err(_) => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            biased;
            exit = asked => exit,
            status = child.wait() => return exit_of(status),
            () = cancelled => Exit::Cancelled,
            () = too_long => Exit::TimedOut,
        };
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            signal_group(group, signal);
            let ended = tokio::time::timeout(self.limits.grace, child.wait());
            tokio::select! {
                ended = ended => if ended.is_ok() {
                    return why;
                },
                _ = hurried.wait_for(|hurried| *hurried) => break,
            }
        }
        signal_group(group, Signal::SIGKILL);
        // Even a process stuck in the kernel must not hold the job for ever.
        tokio::time::timeout(self.limits.grace.max(Duration::from_secs(1)), child.wait())
            .await
            .ok();
        why
    }

    async fn wait_until_heard(&self) {
        if let Some(echo) = &self.echo {
            let (tell, told) = oneshot::channel();
            if echo.send(Piece::Heard(tell)).await.is_ok() {
                told.await.ok();
            }
        }
    }
}

fn exit_of(status: std::io::Result<ExitStatus>) -> Exit {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Failed("it ended in a way the system does not tell".to_owned()),
        },
        Err(error) => Exit::Failed(format!("could not wait for it: {error}")),
    }
}

pub(super) async fn show((id, stream): (u64, Stream), bytes: Vec<u8>, echo: &mpsc::Sender<Piece>) {
    if !bytes.is_empty() {
        echo.send(Piece::Output(id, stream, bytes)).await.ok();
    }
}

/// An output that is being read.
struct Reading<P> {
    pipe: Option<P>,
    capture: Capture,
    redactor: Redactor,
    ear: Option<Ear>,
}

impl<P: AsyncRead + Unpin> Reading<P> {
    fn of(pipe: Option<P>, command: &Command) -> Self {
        Self {
            pipe,
            capture: Capture::new(command.kept_bytes),
            redactor: Redactor::of(command),
            ear: None,
        }
    }

    async fn read_all(&mut self, from: (u64, Stream), echo: &Echo) {
        let Some(mut pipe) = self.pipe.take() else {
            return;
        };
        let mut buffer = Vec::with_capacity(4 << 10);
        while let Ok(count @ 1..) = pipe.read_buf(&mut buffer).await {
            self.capture.push(&buffer);
            if let Some(ear) = &self.ear {
                ear.hear(from.1, &buffer);
            }
            if let Some(echo) = echo {
                show(from, self.redactor.push(&buffer), echo).await;
            }
            // A busy pipe gets a larger buffer; a thousand quiet ones stay small.
            let full = count == buffer.capacity() && count < PIECE;
            buffer.clear();
            if full {
                buffer.reserve(2 * count);
            }
        }
        // Once both outputs have ended nothing more is asked.
        self.ear = None;
        if let Some(echo) = echo {
            show(from, self.redactor.end(), echo).await;
        }
    }

    fn finish(self) -> Captured {
        self.capture.finish()
    }
}
