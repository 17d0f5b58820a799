//! An open SSH connection, shared by many sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::client::{Handle, Msg};
use russh::{Channel, ChannelOpenFailure, Disconnect};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{sleep, timeout};

use super::byte_stream::{ProxyCommand, StreamGuard};
use super::client::{SharedClientState, SshClient};
use super::failure::display_name;
use crate::host::Destination;
use crate::host::script::{CommandProcesses, START_COMMAND, kill_script, loader_input};

/// The time limit for sending the disconnect message.
const DISCONNECT_TIMEOUT: Duration = Duration::from_millis(200);
/// The interval at which the end of the connection is checked while closing it.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// An open connection. Dropping it ends the connection.
pub(in crate::host) struct Connection {
    handle: Handle<SshClient>,
    _stream_guard: StreamGuard,
    pub(super) client_state: SharedClientState,
    /// The host and port, for messages.
    pub(super) host: String,
    forwards_agent: bool,
    /// The variables that each session gets.
    environment: Vec<(String, String)>,
    /// The connection to the jump host that carries this one.
    pub(super) jump_host: Option<Arc<Self>>,
    pub(super) proxy: Option<ProxyCommand>,
    /// The marks of the running commands, with their processes if they are known.
    running: Mutex<HashMap<String, Option<CommandProcesses>>>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// The reasons why a session cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionError {
    /// The host allows no further sessions on this connection.
    Refused,
    Lost,
}

impl Connection {
    pub(super) fn new(
        handle: Handle<SshClient>,
        stream_guard: StreamGuard,
        client_state: SharedClientState,
        destination: &Destination,
    ) -> Self {
        Self {
            handle,
            _stream_guard: stream_guard,
            client_state,
            host: display_name(destination),
            forwards_agent: destination.forward_agent && destination.identities.agent.is_some(),
            environment: destination.environment.clone(),
            jump_host: None,
            proxy: None,
            running: Mutex::default(),
        }
    }

    /// Whether the connection is known to have ended.
    pub(in crate::host) fn is_lost(&self) -> bool {
        self.handle.is_closed()
    }

    /// Whether programs on the host may use the SSH agent.
    pub(in crate::host) fn forwards_agent(&self) -> bool {
        self.forwards_agent
    }

    /// Opens a session with the variables of `SendEnv` and `SetEnv`. The caller must close it.
    ///
    /// A host that does not accept a variable ignores it.
    pub(super) async fn open_session(&self) -> Result<Channel<Msg>, SessionError> {
        match self.handle.channel_open_session().await {
            Ok(channel) => {
                for (name, value) in &self.environment {
                    let sent = channel.set_env(false, name.as_str(), value.as_str()).await;
                    sent.map_err(|_| SessionError::Lost)?;
                }
                Ok(channel)
            }
            Err(russh::Error::ChannelOpenFailure(_)) => Err(SessionError::Refused),
            Err(_) => Err(SessionError::Lost),
        }
    }

    /// Opens a TCP channel from the host to another address.
    ///
    /// Fails with a message that names the host.
    pub(in crate::host) async fn open_tcp_channel(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Channel<Msg>, String> {
        let opened = self
            .handle
            .channel_open_direct_tcpip(host, u32::from(port), "127.0.0.1", 0)
            .await;
        opened.map_err(|error| {
            let why = match error {
                russh::Error::ChannelOpenFailure(ChannelOpenFailure::ConnectFailed) => {
                    "the connection failed"
                }
                russh::Error::ChannelOpenFailure(
                    ChannelOpenFailure::AdministrativelyProhibited,
                ) => "forwarded connections are not allowed",
                russh::Error::ChannelOpenFailure(_) => "the request was refused",
                _ => "the connection was lost",
            };
            format!("through {}: {why}", self.host)
        })
    }

    /// Asks the host to listen on a port and to forward connections to a local target.
    ///
    /// Returns the port that the host chose.
    pub(in crate::host) async fn listen_remotely(
        &self,
        address: &str,
        port: u16,
        target: (String, u16),
    ) -> Result<u32, String> {
        let requested_port = u32::from(port);
        // The first connection may arrive before the answer.
        self.client_state
            .lock()
            .forwards
            .insert(requested_port, target.clone());
        let response = self.handle.tcpip_forward(address, requested_port).await;
        let assigned_port = response.map(|assigned_port| {
            if assigned_port == 0 {
                requested_port
            } else {
                assigned_port
            }
        });
        if assigned_port.as_ref().ok() != Some(&requested_port) {
            self.client_state.lock().forwards.remove(&requested_port);
        }
        let refused = |_| format!("{} refused to forward the port", self.host);
        let assigned_port = assigned_port.map_err(refused)?;
        self.client_state
            .lock()
            .forwards
            .insert(assigned_port, target);
        Ok(assigned_port)
    }

    /// Asks the host to stop listening on a port.
    pub(in crate::host) async fn stop_listening(&self, address: &str, port: u32) {
        self.client_state.lock().forwards.remove(&port);
        // Errors are ignored, as the connection may be lost.
        self.handle.cancel_tcpip_forward(address, port).await.ok();
    }

    /// Records the mark of a command that starts, or its processes once they are known.
    pub(in crate::host) fn add_running(&self, mark: &str, processes: Option<CommandProcesses>) {
        self.running().insert(mark.to_owned(), processes);
    }

    /// Removes the mark of a command that has ended.
    pub(in crate::host) fn remove_running(&self, mark: &str) {
        self.running().remove(mark);
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<String, Option<CommandProcesses>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the commands that still run on the host, then disconnects.
    pub(in crate::host) async fn close(&self) {
        let commands: Vec<_> = self.running().drain().collect();
        if !commands.is_empty() {
            // If the host allows no further session, closing the connection is all that can be done.
            let script = kill_script("KILL", &commands);
            Box::pin(run_script(self, START_COMMAND, &script))
                .await
                .ok();
        }
        let goodbye = self.handle.disconnect(Disconnect::ByApplication, "", "");
        let flush = async {
            if goodbye.await.is_ok() {
                while !self.is_lost() {
                    sleep(POLL_INTERVAL).await;
                }
            }
        };
        timeout(DISCONNECT_TIMEOUT, flush).await.ok();
    }
}

/// The time limit of a script that sends signals.
pub(in crate::host) const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a script in a shell that `line` starts, and waits for its end, at most [`KILL_TIMEOUT`].
///
/// The output is discarded.
pub(super) async fn run_script(
    connection: &Connection,
    line: &str,
    text: &str,
) -> Result<(), SessionError> {
    let running = async {
        let mut channel = connection.open_session().await?;
        if channel.exec(false, line).await.is_ok() {
            let mut input = Box::pin(channel.make_writer());
            // Errors are ignored: a script that the host does not read cannot run.
            input.write_all(&loader_input(text)).await.ok();
            input.shutdown().await.ok();
            drop(input);
            while channel.wait().await.is_some() {}
        }
        channel.close().await.ok();
        Ok(())
    };
    timeout(KILL_TIMEOUT, running).await.unwrap_or(Ok(()))
}
