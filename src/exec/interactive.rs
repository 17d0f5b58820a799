//! Goes along with a person on a host: a shell, or ports that lead elsewhere.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::host::{
    ConnectionPool, Destination, Exit, Forward, Forwarding, PoolLimits, Stream, Terminal,
};
use crate::system::signals::{Interrupts, ListenerGuard};
use crate::system::terminal::{self, InputMode};

/// How much is on its way between this process and a host, in bytes.
const PIECE_BYTES: usize = 32 << 10;
/// How many pieces of what is typed wait.
const MAX_QUEUED_PIECES: usize = 4;

/// A person on a host. Connections are shared by all that is done there, and end with this.
#[derive(Debug)]
pub struct InteractiveSession {
    runtime: Option<Runtime>,
    pool: ConnectionPool,
    listening: Option<ListenerGuard>,
    interrupted: watch::Receiver<bool>,
}

impl InteractiveSession {
    /// Prepares it. From now on signals end what is done, and not this process.
    ///
    /// # Errors
    ///
    /// The system gave it no event queue.
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

    /// Connects to the host, which may need answers.
    ///
    /// # Errors
    ///
    /// Why it could not be reached; [`Exit::Cancelled`] if somebody asked for an end.
    pub fn reach(&self, host: &Arc<Destination>) -> Result<(), Exit> {
        self.until_interrupted(self.pool.connect(host))
            .unwrap_or(Err(Exit::Cancelled))
    }

    /// Opens the login shell of the user there and goes along with it until it ends, at the
    /// terminal of this process if its input is one. Else the shell reads what this process reads.
    pub fn shell(&self, host: &Arc<Destination>, kind: &str) -> Exit {
        let is_terminal = std::io::stdin().is_terminal();
        let visiting = async {
            let (output, shown) = open_output(Stream::Stdout);
            let (errors, complained) = open_output(Stream::Stderr);
            let terminal = Terminal {
                kind: is_terminal.then(|| kind.to_owned()),
                size: watch_terminal_size(),
                input: Box::new(read_keyboard()),
                output: Box::new(output),
                errors: Some(Box::new(errors)),
                command: None,
            };
            // It is as before once this ends, whatever happens.
            let raw = is_terminal.then(InputMode::raw).flatten();
            let exit = self.pool.shell(host, terminal).await;
            // What it wrote last is shown before anything else is.
            shown.await.ok();
            complained.await.ok();
            drop(raw);
            exit
        };
        self.until_interrupted(visiting).unwrap_or(Exit::Cancelled)
    }

    /// Lets ports lead elsewhere, each told with its number once it does, until somebody asks for
    /// an end or the connection is lost.
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

    /// Does something; none if somebody asked for an end before it was done.
    fn until_interrupted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut interrupted = self.interrupted.clone();
        let runtime = self.runtime.as_ref()?;
        runtime.block_on(async {
            tokio::select! {
                biased;
                // The one that tells is let go only when this is.
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
            // What is typed is read until the process ends.
            runtime.shutdown_background();
        }
    }
}

/// How large the terminal is, and how large it becomes.
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

/// What this process reads. A thread reads it, for reading cannot be given up.
fn read_keyboard() -> DuplexStream {
    let (mut ours, theirs) = duplex(PIECE_BYTES);
    let (typed, mut pieces) = mpsc::channel::<Vec<u8>>(MAX_QUEUED_PIECES);
    let reader = std::thread::Builder::new().name("keyboard".to_owned());
    let reader = reader.spawn(move || {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = std::io::stdin().lock().read(&mut piece);
            match read {
                Ok(count @ 1..) if typed.blocking_send(piece[..count].to_vec()).is_ok() => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
    });
    // Without it nothing is typed: the host reads the end of its input.
    drop(reader);
    tokio::spawn(async move {
        while let Some(piece) = pieces.recv().await {
            if ours.write_all(&piece).await.is_err() {
                break;
            }
        }
    });
    theirs
}

/// Shows what a host writes, in order; a slow terminal slows the host down. Gives where it is
/// written to, and the work that ends once all is shown.
fn open_output(stream: Stream) -> (DuplexStream, JoinHandle<()>) {
    let (mut ours, theirs) = duplex(PIECE_BYTES);
    let showing = tokio::spawn(async move {
        let mut piece = vec![0; PIECE_BYTES];
        while let Ok(count @ 1..) = ours.read(&mut piece).await {
            let bytes = piece[..count].to_vec();
            // Writing to a terminal may wait for a person.
            let written = tokio::task::spawn_blocking(move || write_output(stream, &bytes));
            if !matches!(written.await, Ok(Ok(()))) {
                break;
            }
        }
    });
    (theirs, showing)
}

fn write_output(stream: Stream, bytes: &[u8]) -> std::io::Result<()> {
    match stream {
        Stream::Stdout => {
            let mut out = std::io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()
        }
        Stream::Stderr => std::io::stderr().lock().write_all(bytes),
    }
}
