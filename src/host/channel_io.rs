//! The streams of a command that runs somewhere else: a session of a host, or a program of this
//! machine.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use nix::sys::signal::Signal;
use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Sig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::timeout;

use super::Stream;

/// The largest piece of an output, in bytes.
const CHUNK_BYTES: usize = 32 << 10;
/// The number of an extended stream that is the standard error.
const STDERR: u32 = 1;
/// How long outputs are still read after a command ended, when what it left behind holds them.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// What a command writes to us, or how it ended.
#[derive(Debug)]
pub(super) enum ChannelEvent {
    /// It wrote something.
    Output(Stream, Vec<u8>),
    /// It ended with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was not begun.
    Refused,
    /// Nothing more comes.
    End,
}

/// Where a command reads from.
pub(super) type CommandInput = Box<dyn AsyncWrite + Send + Unpin>;

/// The streams that come from a command.
pub(super) enum ChannelIo {
    /// A session of a connection.
    Session {
        read: ChannelReadHalf,
        write: ChannelWriteHalf<Msg>,
    },
    /// A program of this machine.
    Process {
        child: Box<Child>,
        stdout: Option<ChildStdout>,
        stderr: Option<ChildStderr>,
        has_ended: bool,
    },
}

impl ChannelIo {
    /// The streams of a session.
    pub(super) fn from_session(channel: Channel<Msg>) -> (Self, CommandInput) {
        let (read, write) = channel.split();
        let input = Box::new(Box::pin(write.make_writer()));
        (Self::Session { read, write }, input)
    }

    /// The streams of a program.
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

    /// The next that comes. May be dropped and called again.
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

    /// Closes the streams and waits until the other side knows.
    pub(super) async fn close(mut self) {
        match &mut self {
            Self::Session { read, write } => {
                let all = async {
                    write.close().await.ok();
                    while read.wait().await.is_some() {}
                };
                // A host that is gone does not answer.
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
