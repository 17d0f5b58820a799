//! The streams of a command that runs elsewhere: an SSH session, or a local program such as `docker
//! exec`.
//!
//! [`ChannelIo`] gives both the same interface to `remote_command`.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use nix::sys::signal::Signal;
use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Sig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::timeout;

use super::Stream;

/// The maximum size of one piece of output, in bytes.
const CHUNK_BYTES: usize = 32 << 10;
/// The SSH code of the extended data stream that carries stderr.
const STDERR: u32 = 1;
/// The time for which output is still read after a command ended, as background processes may keep
/// the streams open.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// An event from a running command.
#[derive(Debug)]
pub(super) enum ChannelEvent {
    Output(Stream, Vec<u8>),
    /// The command ended with this exit code.
    Code(i32),
    /// The command was ended by this signal.
    Signal(i32),
    /// The host refused to start the command.
    Refused,
    /// The stream ended; no event follows.
    End,
}

/// The standard input of a command.
pub(super) type CommandInput = Box<dyn AsyncWrite + Send + Unpin>;

/// The output streams of a command.
pub(super) enum ChannelIo {
    /// A session channel of an SSH connection.
    Session {
        read: ChannelReadHalf,
        write: ChannelWriteHalf<Msg>,
    },
    Process {
        child: Box<Child>,
        stdout: Option<ChildStdout>,
        stderr: Option<ChildStderr>,
        has_ended: bool,
    },
}

impl ChannelIo {
    /// Splits a session into its output streams and its input.
    pub(super) fn from_session(channel: Channel<Msg>) -> (Self, CommandInput) {
        let (read, write) = channel.split();
        let input = Box::new(Box::pin(write.make_writer()));
        (Self::Session { read, write }, input)
    }

    /// Takes the streams of a local program.
    pub(super) fn from_process(mut child: Child) -> (Self, CommandInput) {
        let input: CommandInput = match child.stdin.take() {
            Some(pipe) => Box::new(pipe),
            None => Box::new(tokio::io::sink()),
        };
        let channel_io = Self::Process {
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child: Box::new(child),
            has_ended: false,
        };
        (channel_io, input)
    }

    /// Returns the next event.
    ///
    /// Cancel safe: the future may be dropped and called again.
    pub(super) async fn next_event(&mut self) -> ChannelEvent {
        match self {
            Self::Session { read, .. } => loop {
                let Some(message) = read.wait().await else {
                    return ChannelEvent::End;
                };
                if let Some(event) = channel_event(message) {
                    return event;
                }
            },
            Self::Process {
                child,
                stdout,
                stderr,
                has_ended,
            } => loop {
                let (stream, bytes) = tokio::select! {
                    bytes = read_chunk(stdout.as_mut()), if stdout.is_some() => (Stream::Stdout, bytes),
                    bytes = read_chunk(stderr.as_mut()), if stderr.is_some() => (Stream::Stderr, bytes),
                    status = child.wait(), if !*has_ended => {
                        *has_ended = true;
                        let status = status.ok();
                        let signal = status.and_then(|status| status.signal());
                        let code = status.and_then(|status| status.code());
                        return match signal {
                            Some(signal) => ChannelEvent::Signal(signal),
                            None => ChannelEvent::Code(code.unwrap_or(1)),
                        };
                    }
                    else => return ChannelEvent::End,
                };
                match (bytes, stream) {
                    (Some(bytes), _) => return ChannelEvent::Output(stream, bytes),
                    (None, Stream::Stdout) => *stdout = None,
                    (None, Stream::Stderr) => *stderr = None,
                }
            },
        }
    }

    /// Asks the SSH server to send a signal to the command. Does nothing for a local program.
    pub(super) async fn send_signal(&self, signal: Sig) {
        if let Self::Session { write, .. } = self {
            // A connection that is lost has no command to end.
            write.signal(signal).await.ok();
        }
    }

    /// Closes the streams. Waits for the other side to confirm, but not for long; ends a local
    /// program.
    pub(super) async fn close(mut self) {
        match &mut self {
            Self::Session { read, write } => {
                let all = async {
                    write.close().await.ok();
                    while read.wait().await.is_some() {}
                };
                // A host that is unreachable never confirms.
                timeout(DRAIN_TIMEOUT, all).await.ok();
            }
            Self::Process { child, .. } => {
                child.start_kill().ok();
                child.wait().await.ok();
            }
        }
    }
}

fn channel_event(message: ChannelMsg) -> Option<ChannelEvent> {
    Some(match message {
        ChannelMsg::Data { data } => ChannelEvent::Output(Stream::Stdout, data.to_vec()),
        ChannelMsg::ExtendedData { data, ext: STDERR } => {
            ChannelEvent::Output(Stream::Stderr, data.to_vec())
        }
        ChannelMsg::ExitStatus { exit_status } => {
            ChannelEvent::Code(i32::try_from(exit_status).unwrap_or(i32::MAX))
        }
        ChannelMsg::ExitSignal { signal_name, .. } => {
            ChannelEvent::Signal(signal_number(&signal_name))
        }
        ChannelMsg::Failure => ChannelEvent::Refused,
        ChannelMsg::Close => ChannelEvent::End,
        _ => return None,
    })
}

pub(super) fn signal_number(signal: &Sig) -> i32 {
    let named = match signal {
        Sig::ABRT => Signal::SIGABRT,
        Sig::ALRM => Signal::SIGALRM,
        Sig::FPE => Signal::SIGFPE,
        Sig::HUP => Signal::SIGHUP,
        Sig::ILL => Signal::SIGILL,
        Sig::INT => Signal::SIGINT,
        Sig::PIPE => Signal::SIGPIPE,
        Sig::QUIT => Signal::SIGQUIT,
        Sig::SEGV => Signal::SIGSEGV,
        Sig::TERM => Signal::SIGTERM,
        Sig::USR1 => Signal::SIGUSR1,
        Sig::Custom(name) => {
            let name = name.split('@').next().unwrap_or(name);
            let found = format!("SIG{name}").parse();
            found.unwrap_or(Signal::SIGKILL)
        }
        Sig::KILL => Signal::SIGKILL,
    };
    named as i32
}

async fn read_chunk(pipe: Option<&mut (impl AsyncRead + Unpin)>) -> Option<Vec<u8>> {
    let pipe = pipe?;
    let mut buffer = Vec::with_capacity(CHUNK_BYTES);
    match pipe.read_buf(&mut buffer).await {
        Ok(1..) => Some(buffer),
        Ok(0) | Err(_) => None,
    }
}
