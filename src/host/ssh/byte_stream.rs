//! The byte streams that carry an SSH connection: a socket, a channel of another connection, or a
//! proxy command.

use std::convert::Infallible;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, BufReader, ReadBuf};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use super::admission::Gate;

/// The number of bytes kept of a proxy command's stderr.
const MAX_STDERR_BYTES: usize = 4 << 10;
/// The number of bytes that are read ahead. Longer packets are read at once.
const READ_BYTES: usize = 4 << 10;

/// A bidirectional stream of bytes, of any type.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for S {}

/// A guard that keeps a [`GuardedStream`] open. Dropping it closes the stream.
#[derive(Debug)]
pub(super) struct StreamGuard {
    _open: oneshot::Sender<Infallible>,
}

/// A byte stream that ends when its [`StreamGuard`] is dropped. Its first bytes pass a [`Gate`].
///
/// The task that reads from it runs on its own, and would otherwise wait forever for a host that
/// sends nothing.
pub(super) struct GuardedStream {
    /// The stream, whose bytes are read in pieces, not a packet at a time.
    stream: BufReader<Box<dyn ByteStream>>,
    gate: Gate,
    guard: oneshot::Receiver<Infallible>,
    is_closed: bool,
}

impl GuardedStream {
    pub(super) fn new(stream: impl ByteStream + 'static, gate: Gate) -> (Self, StreamGuard) {
        let (open, held) = oneshot::channel();
        let line = Self {
            stream: BufReader::with_capacity(READ_BYTES, Box::new(stream) as Box<dyn ByteStream>),
            gate,
            guard: held,
            is_closed: false,
        };
        (line, StreamGuard { _open: open })
    }

    fn is_closed(&mut self, context: &mut Context<'_>) -> bool {
        self.is_closed = self.is_closed || Pin::new(&mut self.guard).poll(context).is_ready();
        self.is_closed
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let Self { stream, gate, .. } = &mut *self;
        match gate.poll_read(stream, context, buffer) {
            Poll::Pending if self.is_closed(context) => Poll::Ready(Ok(())),
            other => other,
        }
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending if self.is_closed(context) => {
                Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into()))
            }
            other => other,
        }
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(context) {
            Poll::Pending if self.is_closed(context) => Poll::Ready(Ok(())),
            other => other,
        }
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        match Pin::new(&mut self.stream).poll_shutdown(context) {
            Poll::Pending if self.is_closed(context) => Poll::Ready(Ok(())),
            other => other,
        }
    }
}

/// A proxy command, whose stdin and stdout lead to a host.
///
/// Dropping it kills the command and its process group.
#[derive(Debug)]
pub(super) struct ProxyCommand {
    child: Child,
    stderr: Arc<Mutex<Vec<u8>>>,
}

impl ProxyCommand {
    /// Starts a command in a local shell.
    ///
    /// `exec` is put before it, as in OpenSSH, so that no shell process stays around.
    pub(super) fn start(text: &str) -> std::io::Result<(Self, impl ByteStream + 'static)> {
        let has_exec = text.split_whitespace().next() == Some("exec");
        let exec = if has_exec { "" } else { "exec " };
        let mut child = Command::new("/bin/sh")
            .args(["-c", &format!("{exec}{text}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let broken_pipe = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let reader = child.stdout.take().ok_or_else(broken_pipe)?;
        let writer = child.stdin.take().ok_or_else(broken_pipe)?;
        let stderr = Arc::default();
        if let Some(complaints) = child.stderr.take() {
            tokio::spawn(collect_stderr(complaints, Arc::clone(&stderr)));
        }
        Ok((Self { child, stderr }, tokio::io::join(reader, writer)))
    }

    /// Returns the last line that the command wrote to stderr.
    pub(super) fn last_stderr_line(&self) -> Option<String> {
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&stderr);
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map(str::to_owned)
    }
}

async fn collect_stderr(mut complaints: impl AsyncRead + Unpin, stderr: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = complaints.read(&mut piece).await {
        let mut stderr = stderr.lock().unwrap_or_else(PoisonError::into_inner);
        stderr.extend_from_slice(&piece[..count]);
        let too_many = stderr.len().saturating_sub(MAX_STDERR_BYTES);
        stderr.drain(..too_many);
    }
}

impl Drop for ProxyCommand {
    fn drop(&mut self) {
        if let Some(group) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            // Errors are ignored, as the command may already have ended.
            killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
        }
    }
}
