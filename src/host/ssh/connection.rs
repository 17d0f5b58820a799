//! One open connection to a host, which many share.

use std::collections::HashSet;
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
use crate::host::script::{START_COMMAND, kill_script, loader_input};

/// How long a host that is told goodbye may take to read it.
const DISCONNECT_TIMEOUT: Duration = Duration::from_millis(200);
/// How often it is looked whether that was sent.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// An open connection. When it is dropped, the host sees it end.
pub(in crate::host) struct Connection {
    handle: Handle<SshClient>,
    _stream_guard: StreamGuard,
    pub(super) client_state: SharedClientState,
    /// The host as messages name it.
    pub(super) host: String,
    forwards_agent: bool,
    /// The connection that this one goes through.
    pub(super) jump_host: Option<Arc<Self>>,
    pub(super) proxy: Option<ProxyCommand>,
    /// The marks of the commands that run.
    running: Mutex<HashSet<String>>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// Why there is no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionError {
    /// The host allows no more of them on this connection.
    Refused,
    /// The connection has ended.
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
            jump_host: None,
            proxy: None,
            running: Mutex::default(),
        }
    }

    /// Whether it has ended, as far as is known.
    pub(in crate::host) fn is_lost(&self) -> bool {
        self.handle.is_closed()
    }

    /// Whether what runs there may use the agent.
    pub(in crate::host) fn forwards_agent(&self) -> bool {
        self.forwards_agent
    }

    /// Opens a session. It must be told to close.
    pub(super) async fn open_session(&self) -> Result<Channel<Msg>, SessionError> {
        match self.handle.channel_open_session().await {
            Ok(channel) => Ok(channel),
            Err(russh::Error::ChannelOpenFailure(_)) => Err(SessionError::Refused),
            Err(_) => Err(SessionError::Lost),
        }
    }

    /// Opens a way on from the host. Says why not.
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
                    "it could not connect there"
                }
                russh::Error::ChannelOpenFailure(
                    ChannelOpenFailure::AdministrativelyProhibited,
                ) => "it does not allow to go on from there",
                russh::Error::ChannelOpenFailure(_) => "it refused",
                _ => "the connection to it was lost",
            };
            format!("by way of {}: {why}", self.host)
        })
    }

    /// Asks the host to take connections that lead to a target seen from here; gives the port
    /// there, or says why not.
    pub(in crate::host) async fn listen_remotely(
        &self,
        address: &str,
        port: u16,
        target: (String, u16),
    ) -> Result<u32, String> {
        let requested_port = u32::from(port);
        // The first connection may come before the answer.
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
        let refused = |_| format!("{} does not take connections for us", self.host);
        let assigned_port = assigned_port.map_err(refused)?;
        self.client_state
            .lock()
            .forwards
            .insert(assigned_port, target);
        Ok(assigned_port)
    }

    /// Tells the host not to take connections any more.
    pub(in crate::host) async fn stop_listening(&self, address: &str, port: u32) {
        self.client_state.lock().forwards.remove(&port);
        // It may have gone meanwhile.
        self.handle.cancel_tcpip_forward(address, port).await.ok();
    }

    /// A command runs from now on.
    pub(in crate::host) fn add_running(&self, mark: &str) {
        self.running().insert(mark.to_owned());
    }

    /// A command does not run any more.
    pub(in crate::host) fn remove_running(&self, mark: &str) {
        self.running().remove(mark);
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills what still runs there, and says goodbye.
    pub(in crate::host) async fn close(&self) {
        let marks: Vec<String> = self.running().drain().collect();
        if !marks.is_empty() {
            kill_all(self, &marks).await;
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

/// How long such a text may run.
pub(in crate::host) const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts a shell with a line, gives it a text to run, and waits for its end, within some seconds. What it writes is lost.
pub(super) async fn run_script(
    connection: &Connection,
    line: &str,
    text: &str,
) -> Result<(), SessionError> {
    let running = async {
        let mut channel = connection.open_session().await?;
        if channel.exec(false, line).await.is_ok() {
            let mut input = Box::pin(channel.make_writer());
            // A host that does not read the text does not run it, and nobody can change that.
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

/// Kills all that runs with these marks.
async fn kill_all(connection: &Connection, marks: &[String]) {
    let commands: Vec<_> = marks.iter().map(|mark| (mark.clone(), None)).collect();
    // A host that allows no further session sees the connection end, which is all there is left.
    run_script(connection, START_COMMAND, &kill_script("KILL", &commands))
        .await
        .ok();
}
