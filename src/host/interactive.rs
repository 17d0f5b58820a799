//! Interactive sessions: a shell at the user's terminal, and port forwarding (F66).
//!
//! Both extend [`ConnectionPool`] and need a host that is reached over SSH.

use std::convert::Infallible;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::ssh::{Connection, pipe_channel};
use super::{ConnectionPool, Destination, Exit, socks};

/// The maximum number of typed bytes sent at a time.
const CHUNK_BYTES: usize = 4 << 10;
/// The interval at which a forwarding checks that its connection still exists.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The SSH code of the extended data stream that carries stderr.
const STDERR: u32 = 1;

/// The user's terminal. It must already be in raw mode, as every byte goes to the host unchanged.
pub struct Terminal {
    /// The terminal type, as in `TERM`. Without one, the host allocates no terminal, and bytes pass
    /// unchanged.
    pub kind: Option<String>,
    /// The width and height in characters. Changes are sent to the host.
    pub size: watch::Receiver<(u32, u32)>,
    /// The bytes that the user types.
    pub input: Box<dyn AsyncRead + Send + Unpin>,
    /// The stream that receives the output.
    pub output: Box<dyn AsyncWrite + Send + Unpin>,
    /// The stream that receives stderr, if the host keeps it separate; `output` if none.
    pub errors: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    /// The command line for the login shell of the host; an interactive shell if none.
    pub command: Option<String>,
}

impl Debug for Terminal {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// A host and a port of a forwarding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardEndpoint {
    /// The name or address of the host.
    pub host: String,
    pub port: u16,
}

/// A port forwarding to set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forward {
    /// Forwards a local port to a target that the host reaches, as `ssh -L` does.
    Local {
        /// The local address to listen on. Port 0 means any free port.
        listen: ForwardEndpoint,
        /// The target, as seen from the host.
        target: ForwardEndpoint,
    },
    /// Forwards a port of the host to a target that the local machine reaches, as `ssh -R` does.
    Remote {
        /// The host's address to listen on. Port 0 means any free port.
        listen: ForwardEndpoint,
        /// The target, as seen from the local machine.
        target: ForwardEndpoint,
    },
    /// Forwards connections of SOCKS clients on this machine to the targets that they name, as `ssh -D` does.
    Dynamic {
        /// The local address to listen on. Port 0 means any free port.
        listen: ForwardEndpoint,
    },
}

/// An active port forwarding. Dropping it stops the forwarding.
#[derive(Debug)]
pub struct Forwarding {
    /// The listening port: the one requested, or the free port that was chosen.
    pub port: u16,
    connection: Arc<Connection>,
    /// The listening address on the host, for a remote forwarding.
    remote_address: Option<String>,
    _tasks: JoinSet<()>,
}

impl Forwarding {
    /// Waits until the connection that carries the forwarding is lost.
    pub async fn wait_until_lost(&self) {
        while !self.connection.is_lost() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        let Some(address) = self.remote_address.take() else {
            return;
        };
        let (connection, port) = (Arc::clone(&self.connection), u32::from(self.port));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { connection.stop_listening(&address, port).await });
        }
    }
}

impl ConnectionPool {
    /// Connects to a host, unless a connection exists.
    ///
    /// # Errors
    ///
    /// Returns why the host could not be reached, or the question that needs an answer.
    pub async fn connect(&self, destination: &Arc<Destination>) -> Result<(), Exit> {
        self.lease(destination).await?;
        Ok(())
    }

    /// Opens a shell or runs a command at the user's terminal, until it ends.
    pub async fn shell(&self, destination: &Arc<Destination>, terminal: Terminal) -> Exit {
        let (lease, channel) = match self.session(destination).await {
            Ok(session) => session,
            Err(failure) => return failure.into(),
        };
        let lost = || {
            let host = super::ssh::display_name(destination);
            Exit::Failed(format!("the connection to {host} was lost"))
        };
        let forwards_agent = lease.connection.forwards_agent();
        if start_terminal(&channel, &terminal, forwards_agent)
            .await
            .is_err()
        {
            return lost();
        }
        let (read, write) = channel.split();
        let exit = tokio::select! {
            exit = show_output(read, terminal.output, terminal.errors) => exit,
            never = forward_input(terminal.input, &write) => match never {},
            never = forward_resizes(terminal.size, &write) => match never {},
        };
        // The session may already be closed.
        write.close().await.ok();
        exit.unwrap_or_else(lost)
    }

    /// Starts a port forwarding. It lasts until the returned value is dropped.
    pub async fn forward(
        &self,
        destination: &Arc<Destination>,
        forward: &Forward,
    ) -> Result<Forwarding, Exit> {
        let lease = self.lease(destination).await?;
        // Forwarded connections do not count as sessions of the host, so the lease is returned at
        // once.
        let connection = Arc::clone(&lease.connection);
        drop(lease);
        match forward {
            Forward::Local { listen, target } => {
                listen_locally(connection, listen, Some(target)).await
            }
            Forward::Dynamic { listen } => listen_locally(connection, listen, None).await,
            Forward::Remote { listen, target } => {
                let to = (target.host.clone(), target.port);
                let port = connection
                    .listen_remotely(&listen.host, listen.port, to)
                    .await;
                let port = port.map_err(Exit::Failed)?;
                Ok(Forwarding {
                    port: u16::try_from(port).unwrap_or_default(),
                    connection,
                    remote_address: Some(listen.host.clone()),
                    _tasks: JoinSet::new(),
                })
            }
        }
    }
}

async fn start_terminal(
    channel: &Channel<Msg>,
    terminal: &Terminal,
    forwards_agent: bool,
) -> Result<(), russh::Error> {
    if forwards_agent {
        channel.agent_forward(false).await?;
    }
    if let Some(kind) = &terminal.kind {
        let (width, height) = *terminal.size.borrow();
        channel
            .request_pty(false, kind, width, height, 0, 0, &[])
            .await?;
    }
    match &terminal.command {
        Some(command) => channel.exec(false, command.as_str()).await,
        None => channel.request_shell(false).await,
    }
}

/// Sends typed bytes to the host.
async fn forward_input(
    mut input: Box<dyn AsyncRead + Send + Unpin>,
    write: &ChannelWriteHalf<Msg>,
) -> Infallible {
    let mut writer = Box::pin(write.make_writer());
    let mut buffer = [0; CHUNK_BYTES];
    while let Ok(count @ 1..) = input.read(&mut buffer).await {
        if writer.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
    // The host may already have closed the session.
    write.eof().await.ok();
    std::future::pending().await
}

/// Sends the size of the terminal to the host whenever it changes.
async fn forward_resizes(
    mut size: watch::Receiver<(u32, u32)>,
    write: &ChannelWriteHalf<Msg>,
) -> Infallible {
    while size.changed().await.is_ok() {
        let (width, height) = *size.borrow_and_update();
        write.window_change(width, height, 0, 0).await.ok();
    }
    std::future::pending().await
}

/// Shows the output until the session ends.
///
/// Returns none if the connection was lost before an exit status came.
async fn show_output(
    mut read: ChannelReadHalf,
    mut output: Box<dyn AsyncWrite + Send + Unpin>,
    mut errors: Option<Box<dyn AsyncWrite + Send + Unpin>>,
) -> Option<Exit> {
    let mut exit = None;
    while let Some(message) = read.wait().await {
        match message {
            // Write errors are ignored: the reader of the output may be gone.
            ChannelMsg::Data { data } => {
                output.write_all(&data).await.ok();
                output.flush().await.ok();
            }
            ChannelMsg::ExtendedData { data, ext: STDERR } => {
                let errors = errors.as_mut().unwrap_or(&mut output);
                errors.write_all(&data).await.ok();
                errors.flush().await.ok();
            }
            ChannelMsg::ExitStatus { exit_status } => {
                exit = Some(Exit::Code(i32::try_from(exit_status).unwrap_or(i32::MAX)));
            }
            ChannelMsg::ExitSignal { signal_name, .. } => {
                exit = Some(Exit::Signal(super::channel_io::signal_number(&signal_name)));
            }
            ChannelMsg::Close => break,
            _ => {}
        }
    }
    exit
}

/// Listens on a local address, and forwards each connection to the target, or else to the one that a SOCKS client names.
async fn listen_locally(
    connection: Arc<Connection>,
    listen: &ForwardEndpoint,
    target: Option<&ForwardEndpoint>,
) -> Result<Forwarding, Exit> {
    let failed = |error: std::io::Error| {
        let ForwardEndpoint { host, port } = listen;
        Exit::Failed(format!("could not listen on {host} port {port}: {error}"))
    };
    let listener = TcpListener::bind((listen.host.as_str(), listen.port)).await;
    let listener = listener.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let (shared, target) = (Arc::clone(&connection), target.cloned());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut tunnels = JoinSet::new();
        loop {
            let Ok((socket, _)) = listener.accept().await else {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            };
            let (connection, target) = (Arc::clone(&shared), target.clone());
            tunnels.spawn(async move {
                let Some(target) = target else {
                    return socks::serve(&connection, socket).await;
                };
                // If the host cannot reach the target, the connection is simply closed.
                if let Ok(channel) = connection.open_tcp_channel(&target.host, target.port).await {
                    pipe_channel(channel, socket).await;
                }
            });
            while tunnels.try_join_next().is_some() {}
        }
    });
    Ok(Forwarding {
        port,
        connection,
        remote_address: None,
        _tasks: tasks,
    })
}
