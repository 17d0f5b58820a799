//! Interactive sessions on a host over SSH: a login shell, or forwarded ports.
//!
//! [`InteractiveSession`] runs its own single-threaded runtime. `fleet::hosts` asks for passwords
//! and calls it.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::stdin_reader::stdin_pieces;
use crate::host::{ConnectionPool, Destination, Exit, Forward, Forwarding, PoolLimits, Terminal};
use crate::system::console::{SessionOutput, StandardStream};
use crate::system::signals::{Interrupts, ListenerGuard};
use crate::system::terminal::{self, InputMode};

/// The size of the buffers between this process and a host, in bytes.
const PIECE_BYTES: usize = 32 << 10;

/// A session on one host.
///
/// Its connections close when it is dropped.
#[derive(Debug)]
pub struct InteractiveSession {
    runtime: Option<Runtime>,
    pool: ConnectionPool,
    listening: Option<ListenerGuard>,
    interrupted: watch::Receiver<bool>,
}

impl InteractiveSession {
    /// Creates a session.
    ///
    /// From now on signals end the work of the session, not this process.
    ///
    /// # Errors
    ///
    /// The system provided no event queue.
    pub fn new(interrupts: &Interrupts) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (sender, interrupted) = watch::channel(false);
        interrupts.mark_started();
        let listening = interrupts.listen(move |_, _| {
            sender.send_replace(true);
        });
        Ok(Self {
            runtime: Some(runtime),
            pool: ConnectionPool::new(PoolLimits::default()),
            listening: Some(listening),
            interrupted,
        })
    }

    /// Connects to the host.
    ///
    /// # Errors
    ///
    /// The host cannot be reached or asks a question ([`Exit::NeedsAnswer`]), or a signal requested
    /// termination ([`Exit::Cancelled`]).
    pub fn reach(&self, host: &Arc<Destination>) -> Result<(), Exit> {
        self.until_interrupted(self.pool.connect(host))
            .unwrap_or(Err(Exit::Cancelled))
    }

    /// Opens the login shell of the user on the host and waits for its end.
    ///
    /// The shell gets a terminal of the given `kind`, for which the standard input must be a terminal. Without a `kind`, the
    /// shell reads the standard input of this process. The login shell runs `command` instead, if there is one.
    pub fn shell(
        &self,
        host: &Arc<Destination>,
        kind: Option<&str>,
        command: Option<String>,
    ) -> Exit {
        let shell = async {
            let (output, output_done) = open_output(StandardStream::Stdout);
            let (errors, errors_done) = open_output(StandardStream::Stderr);
            let terminal = Terminal {
                kind: kind.map(str::to_owned),
                size: watch_terminal_size(),
                input: Box::new(read_keyboard()),
                output: Box::new(output),
                errors: Some(Box::new(errors)),
                command,
            };
            // The terminal leaves raw mode when this guard is dropped, even after a panic.
            let raw = kind.and_then(|_| InputMode::raw());
            let exit = self.pool.shell(host, terminal).await;
            // The last output of the shell is shown before anything else.
            output_done.await.ok();
            errors_done.await.ok();
            drop(raw);
            exit
        };
        self.until_interrupted(shell).unwrap_or(Exit::Cancelled)
    }

    /// Forwards ports until a signal requests termination or the connection is lost.
    ///
    /// Calls `on_open` with the port number of each opened forwarding.
    pub fn forward(
        &self,
        host: &Arc<Destination>,
        forwards: &[Forward],
        on_open: &mut dyn FnMut(&Forward, u16),
    ) -> Exit {
        let forwarding = async {
            let mut all: Vec<Forwarding> = Vec::with_capacity(forwards.len());
            for forward in forwards {
                match self.pool.forward(host, forward).await {
                    Ok(forwarding) => {
                        on_open(forward, forwarding.port);
                        all.push(forwarding);
                    }
                    Err(exit) => return exit,
                }
            }
            if let Some(first) = all.first() {
                first.wait_until_lost().await;
            }
            Exit::Failed(format!("the connection to {} was lost", host.name))
        };
        self.until_interrupted(forwarding)
            .unwrap_or(Exit::Cancelled)
    }

    /// Runs work to its end. None if a signal requested termination before.
    fn until_interrupted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut interrupted = self.interrupted.clone();
        let runtime = self.runtime.as_ref()?;
        runtime.block_on(async {
            tokio::select! {
                biased;
                // The sender lives as long as this session, so the channel is never closed here.
                Ok(_) = interrupted.wait_for(|interrupted| *interrupted) => None,
                done = work => Some(done),
            }
        })
    }
}

impl Drop for InteractiveSession {
    fn drop(&mut self) {
        self.listening = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(self.pool.close());
            // The thread that reads the keyboard blocks until the process ends.
            runtime.shutdown_background();
        }
    }
}

/// Returns a channel with the size of the terminal, updated when it changes.
fn watch_terminal_size() -> watch::Receiver<(u32, u32)> {
    let now = || {
        let (width, height) = terminal::size().unwrap_or((80, 24));
        (u32::from(width), u32::from(height))
    };
    let (sender, size) = watch::channel(now());
    if let Ok(mut changed) = signal(SignalKind::window_change()) {
        tokio::spawn(async move {
            while changed.recv().await.is_some() {
                sender.send_replace(now());
            }
        });
    }
    size
}

/// Returns a stream of the standard input.
fn read_keyboard() -> DuplexStream {
    let (mut ours, theirs) = duplex(PIECE_BYTES);
    let mut pieces = stdin_pieces();
    tokio::spawn(async move {
        while let Some(piece) = pieces.recv().await {
            if ours.write_all(&piece).await.is_err() {
                break;
            }
        }
    });
    theirs
}

/// Shows output of a host in order. A slow terminal slows the host down.
///
/// Returns the stream to write to, and a task that ends once all output is shown.
fn open_output(stream: StandardStream) -> (DuplexStream, JoinHandle<()>) {
    let (mut ours, theirs) = duplex(PIECE_BYTES);
    let showing = tokio::spawn(async move {
        let mut piece = vec![0; PIECE_BYTES];
        let mut output = SessionOutput::new(stream);
        while let Ok(count @ 1..) = ours.read(&mut piece).await {
            let bytes = piece[..count].to_vec();
            // Writing to a terminal may block, for example after Ctrl-S.
            let written = tokio::task::spawn_blocking(move || {
                let written = output.write(&bytes);
                written.map(|()| output)
            });
            output = match written.await {
                Ok(Ok(output)) => output,
                _ => return,
            };
        }
        output.finish().ok();
    });
    (theirs, showing)
}
