//! What this side of an SSH connection answers to the other: whether its key is trusted, and what
//! may be opened from there.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use russh::client::{ChannelOpenHandle, DisconnectReason, Handler, Msg, Session};
use russh::keys::{HashAlg, PublicKeyOrCertificate};
use russh::{Channel, ChannelOpenFailure};
use tokio::net::{TcpStream, UnixStream};

use super::failure::ConnectFailure;
use super::known_hosts::{self, HostKeyVerdict, KnownHostEntries, KnownHostName};
use crate::host::HostKeys;

/// Where connections that come in through a host lead to: a port there, `host:port` here.
pub(super) type Forwards = HashMap<u32, (String, u16)>;

/// What a connection tells beside its answers.
#[derive(Debug, Default)]
pub(super) struct ClientState {
    /// Why the host's key was refused.
    pub(super) key_refusal: Option<ConnectFailure>,
    /// What the host said when it ended the connection.
    pub(super) disconnect_message: Option<String>,
    /// What may come in through the host.
    pub(super) forwards: Forwards,
}

/// The same, seen from both ends.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedClientState(Arc<Mutex<ClientState>>);

impl SharedClientState {
    pub(super) fn lock(&self) -> MutexGuard<'_, ClientState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a host's key is judged by.
#[derive(Debug)]
pub(super) struct KeyCheck {
    /// The host and port, as messages name it.
    pub(super) host: String,
    pub(super) name: KnownHostName,
    pub(super) known: KnownHostEntries,
    pub(super) unknown: HostKeys,
    /// Where a new key is added.
    pub(super) file: Option<PathBuf>,
}

impl KeyCheck {
    fn refusal(&self, shown: &PublicKeyOrCertificate) -> Option<ConnectFailure> {
        let key = shown.public_key();
        let host = self.host.clone();
        let kind = key.algorithm().to_string();
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        match self.known.verify(shown, &self.name) {
            HostKeyVerdict::Trusted => None,
            HostKeyVerdict::Changed(known) => Some(ConnectFailure::ChangedKey {
                host,
                kind,
                fingerprint,
                file: known.file,
                line: known.line,
            }),
            HostKeyVerdict::Revoked(known) => Some(ConnectFailure::RevokedKey {
                host,
                file: known.file,
                line: known.line,
            }),
            HostKeyVerdict::Unknown => match (self.unknown, &self.file) {
                (HostKeys::Strict, _) => Some(ConnectFailure::UnknownKey {
                    host,
                    kind,
                    fingerprint,
                }),
                (HostKeys::AcceptNew, None) => None,
                (HostKeys::AcceptNew, Some(file)) => {
                    let learned = known_hosts::add_key(file, &self.name, &key);
                    learned.err().map(|error| ConnectFailure::KeyNotSaved {
                        host,
                        file: file.clone(),
                        why: error.to_string(),
                    })
                }
            },
        }
    }
}

/// This side of a connection.
#[derive(Debug)]
pub(super) struct SshClient {
    pub(super) check: KeyCheck,
    /// The agent that the host may use.
    pub(super) agent: Option<PathBuf>,
    pub(super) state: SharedClientState,
}

/// Goes on with a channel that a server opens, once there is what it leads to. A channel that
/// nobody asked for is turned down as its handle is dropped.
fn accept_channel<S>(
    channel: Channel<Msg>,
    reply: ChannelOpenHandle,
    connecting: impl Future<Output = std::io::Result<S>> + Send + 'static,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        match connecting.await {
            Ok(socket) => {
                reply.accept().await;
                pipe_channel(channel, socket).await;
            }
            Err(_) => reply.reject(ChannelOpenFailure::ConnectFailed).await,
        }
    });
}

impl Handler for SshClient {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let refusal = self.check.refusal(shown);
        let is_trusted = refusal.is_none();
        self.state.lock().key_refusal = refusal;
        Ok(is_trusted)
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        let Some(agent) = self.agent.clone() else {
            return Ok(());
        };
        accept_channel(channel, reply, UnixStream::connect(agent));
        Ok(())
    }

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        channel: Channel<Msg>,
        _connected_address: &str,
        connected_port: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        let target = self.state.lock().forwards.get(&connected_port).cloned();
        let Some(target) = target else {
            return Ok(());
        };
        accept_channel(channel, reply, TcpStream::connect(target));
        Ok(())
    }

    async fn server_channel_open_x11(
        &mut self,
        _channel: Channel<Msg>,
        _originator_address: &str,
        _originator_port: u32,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _channel: Channel<Msg>,
        _socket_path: &str,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn server_channel_open_session(
        &mut self,
        _channel: Channel<Msg>,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _channel: Channel<Msg>,
        _host_to_connect: &str,
        _port_to_connect: u32,
        _originator_address: &str,
        _originator_port: u32,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _channel: Channel<Msg>,
        _socket_path: &str,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn disconnected(
        &mut self,
        reason: DisconnectReason<Self::Error>,
    ) -> Result<(), Self::Error> {
        match reason {
            DisconnectReason::ReceivedDisconnect(disconnect) => {
                self.state.lock().disconnect_message = Some(disconnect.message);
                Ok(())
            }
            DisconnectReason::Error(error) => {
                self.state
                    .lock()
                    .disconnect_message
                    .get_or_insert(error.to_string());
                Err(error)
            }
        }
    }
}

/// Carries bytes both ways until one side is done with both.
pub(in crate::host) async fn pipe_channel<S>(channel: Channel<Msg>, mut socket: S)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut stream = channel.into_stream();
    // Either side may go at any time.
    tokio::io::copy_bidirectional(&mut stream, &mut socket)
        .await
        .ok();
}
