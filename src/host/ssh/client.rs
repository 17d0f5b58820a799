//! The client side of an SSH connection: it checks the host key and accepts the channels that the
//! host opens.
//!
//! Only agent forwarding and remote port forwarding may open channels from the host.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use russh::client::{ChannelOpenHandle, DisconnectReason, Handler, Msg, Session};
use russh::keys::{HashAlg, PublicKeyOrCertificate};
use russh::{Channel, ChannelOpenFailure};
use tokio::net::{TcpStream, UnixStream};

use super::failure::ConnectFailure;
use super::known_hosts::{self, HostKeyVerdict, KnownHostEntries, KnownHostName};
use super::known_hosts_command;
use super::known_hosts_file::KnownHostsFile;
use super::login_files::LoginFiles;
use crate::host::HostKeyPolicy;

/// The file of known hosts that stores nothing.
const NO_FILE: &str = "/dev/null";

/// The targets of remote forwardings: a port of the host, and the local `host` and `port`.
pub(super) type Forwards = HashMap<u32, (String, u16)>;

/// The events of a connection that are not answers to a call.
#[derive(Debug, Default)]
pub(super) struct ClientState {
    /// The reason why the host key was refused.
    pub(super) key_refusal: Option<ConnectFailure>,
    /// The message with which the host ended the connection.
    pub(super) disconnect_message: Option<String>,
    pub(super) forwards: Forwards,
}

/// The state shared between the connection and its handler.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedClientState(Arc<Mutex<ClientState>>);

impl SharedClientState {
    pub(super) fn lock(&self) -> MutexGuard<'_, ClientState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rules for checking a host key.
#[derive(Debug)]
pub(super) struct KeyCheck {
    /// The host and port, for messages.
    pub(super) host: String,
    pub(super) name: KnownHostName,
    pub(super) known: KnownHostEntries,
    pub(super) policy: HostKeyPolicy,
    pub(super) files: LoginFiles,
    /// The known hosts files. A new key is added to the first one.
    pub(super) paths: Vec<PathBuf>,
    /// The words of the command that prints trusted keys; empty for none.
    pub(super) command: Vec<String>,
}

impl KeyCheck {
    /// Reads the files again, unless the key is trusted: a user may just have added it.
    ///
    /// The addition of an unknown key reads its file anyway.
    async fn refresh(&mut self, shown: &PublicKeyOrCertificate) {
        match self.known.verify(shown, &self.name) {
            HostKeyVerdict::Trusted => return,
            HostKeyVerdict::Unknown if self.policy == HostKeyPolicy::AcceptNew => return,
            _ => {}
        }
        self.files.forget_known_hosts();
        let files = self.files.known_hosts(&self.paths).await;
        self.known = KnownHostEntries::of(&files, &self.name);
    }

    /// Asks the command for trusted keys if no file knows the key.
    async fn ask_command(&mut self, shown: &PublicKeyOrCertificate) {
        let is_known = self.known.verify(shown, &self.name) != HostKeyVerdict::Unknown;
        if self.command.is_empty() || is_known {
            return;
        }
        // A command that fails adds no key, and the key stays unknown.
        let printed =
            known_hosts_command::run(&self.command, self.name.full(), &shown.public_key()).await;
        if let Ok(text) = printed {
            let source = Path::new("KnownHostsCommand");
            let printed = KnownHostsFile::new(source, text);
            self.known.add(&printed, &self.name);
        }
    }

    /// Returns the file to which a new key is added; none to forget it.
    fn file_of_new_keys(&self) -> Option<&Path> {
        let first = self.paths.first().map(PathBuf::as_path);
        first.filter(|file| *file != Path::new(NO_FILE))
    }

    /// Returns the reason to refuse a key; none if it is trusted from now on.
    fn refusal(
        &self,
        verdict: HostKeyVerdict,
        shown: &PublicKeyOrCertificate,
    ) -> Option<ConnectFailure> {
        let key = shown.public_key();
        let host = self.host.clone();
        let kind = key.algorithm().to_string();
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        match verdict {
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
            HostKeyVerdict::Unknown => match (self.policy, self.file_of_new_keys()) {
                (HostKeyPolicy::Strict, _) => Some(ConnectFailure::UnknownKey {
                    host,
                    kind,
                    fingerprint,
                }),
                (HostKeyPolicy::AcceptNew, None) => None,
                (HostKeyPolicy::AcceptNew, Some(file)) => {
                    match known_hosts::add_key(file, &self.name, &key) {
                        Ok(verdict) => self.refusal(verdict, shown),
                        Err(error) => Some(ConnectFailure::KeyNotSaved {
                            host,
                            file: file.to_owned(),
                            why: error.to_string(),
                        }),
                    }
                }
            },
        }
    }
}

/// The handler of events from the host.
#[derive(Debug)]
pub(super) struct SshClient {
    pub(super) check: KeyCheck,
    /// The socket of the agent that the host may use.
    pub(super) agent: Option<PathBuf>,
    pub(super) state: SharedClientState,
}

/// Connects a channel opened by the host to its local target.
///
/// A channel that was not requested is rejected when its handle is dropped.
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
        self.check.refresh(shown).await;
        self.check.ask_command(shown).await;
        let verdict = self.check.known.verify(shown, &self.check.name);
        let refusal = self.check.refusal(verdict, shown);
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

/// Copies bytes in both directions until both are finished.
pub(in crate::host) async fn pipe_channel<S>(channel: Channel<Msg>, mut socket: S)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut stream = channel.into_stream();
    // An error only means that one side closed early.
    tokio::io::copy_bidirectional(&mut stream, &mut socket)
        .await
        .ok();
}
