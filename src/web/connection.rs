//! Connections with limits, so that clients that say nothing or too much use up neither the descriptors nor the memory of
//! the process.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

/// The longest time of a connection.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The largest number of connections. A further one ends the oldest.
const MAX_CONNECTIONS: usize = 32;

/// The largest number of bytes that a client sends.
const MAX_REQUEST_BYTES: usize = 64 << 10;

/// The pause after the system refused a connection, for example because no descriptor is left.
const PAUSE: Duration = Duration::from_millis(200);

/// A listener with limits for its connections.
#[derive(Debug)]
pub(super) struct LimitedListener {
    listener: TcpListener,
    /// The open connections, the oldest first. Dropping a value ends its connection.
    open: VecDeque<oneshot::Sender<()>>,
}

impl LimitedListener {
    pub(super) fn new(listener: TcpListener) -> Self {
        let open = VecDeque::new();
        Self { listener, open }
    }

    fn limited(&mut self, stream: TcpStream) -> LimitedStream {
        self.open.retain(|connection| !connection.is_closed());
        if self.open.len() >= MAX_CONNECTIONS {
            self.open.pop_front();
        }
        let (sender, ended) = oneshot::channel();
        self.open.push_back(sender);
        LimitedStream {
            stream,
            limit: Box::pin(sleep(TIME_LIMIT)),
            ended,
            received: 0,
        }
    }
}

/// A connection with its limits.
#[derive(Debug)]
pub(super) struct LimitedStream {
    stream: TcpStream,
    limit: Pin<Box<Sleep>>,
    /// Ready once a newer connection needs the place.
    ended: oneshot::Receiver<()>,
    /// The number of bytes that the client has sent.
    received: usize,
}

impl Listener for LimitedListener {
    type Io = LimitedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => return (self.limited(stream), address),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl LimitedStream {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let is_over = self.limit.as_mut().poll(cx).is_ready();
        if is_over || Pin::new(&mut self.ended).poll(cx).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl AsyncRead for LimitedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.received += buffer.filled().len() - before;
        if self.received > MAX_REQUEST_BYTES {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        read
    }
}

impl AsyncWrite for LimitedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
