//! Opens a connection: resolves the name, connects, checks the host key and logs in, with repeated
//! attempts (F44).
//!
//! [`Connector`] does this for the connection pool.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, Config, Handle};
use russh::keys::Algorithm;
use russh::{Preferred, SshId};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::admission::{Admission, Gate, Handshake};
use super::algorithms::{self, HostKeyAlgorithms, SHA1_NAME};
use super::auth::Authenticator;
use super::byte_stream::{ByteStream, GuardedStream, ProxyCommand};
use super::client::{KeyCheck, SharedClientState, SshClient};
use super::connection::Connection;
use super::failure::{ConnectFailure, display_name};
use super::known_hosts::{KnownHostEntries, KnownHostName};
use super::login_files::LoginFiles;
use crate::host::Destination;
use crate::host::Route;
use crate::host::ssh_config::AddressFamily;
use crate::system::{fs, random};

/// The maximum pause between two attempts.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(10);
/// The pause after the first connection that a host has dropped before its banner. Each further pause is twice as
/// long, up to the maximum. A random part is added.
const DROPPED_PAUSE: Duration = Duration::from_millis(100);
const MAX_DROPPED_PAUSE: Duration = Duration::from_secs(2);
/// The flow control of a channel: the bytes in flight, and the messages queued on this side.
const WINDOW_BYTES: u32 = 2 << 20;
const CHANNEL_MESSAGES: usize = 32;

/// A boxed future, which a trait object's method can return.
pub(super) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A provider of connections to jump hosts.
pub(super) trait JumpConnector: Send + Sync {
    /// Returns the open connection to a jump host, or opens one.
    fn connect_to(
        &self,
        jump_host: Arc<Destination>,
    ) -> BoxFuture<'_, Result<Arc<Connection>, ConnectFailure>>;
}

/// The resources that all connections share.
pub(super) struct Connector<'a> {
    pub(super) files: &'a LoginFiles,
    /// The limit on handshakes at the same time.
    pub(super) handshakes: &'a Arc<Semaphore>,
    pub(super) jumps: &'a dyn JumpConnector,
}

impl Connector<'_> {
    /// Opens a connection, with as many attempts as the destination allows.
    ///
    /// The time limit of an attempt starts when its jump hosts are connected. The time in which it waits for a handshake of
    /// other hosts does not count.
    pub(super) async fn open(
        &self,
        destination: &Arc<Destination>,
    ) -> Result<Connection, ConnectFailure> {
        let attempts = destination.attempts.max(1);
        let mut count = 1;
        loop {
            let failure = match self.attempt(destination).await {
                Ok(connection) => return Ok(connection),
                Err(failure) => failure,
            };
            if count >= attempts || !failure.is_transient() {
                return Err(failure.with_attempts(count));
            }
            if !matches!(failure, ConnectFailure::TimedOut { .. }) {
                let pause = destination.connect_timeout.min(MAX_RETRY_PAUSE);
                sleep(pause).await;
            }
            count += 1;
        }
    }

    /// Makes one attempt, which lasts at most as long as the destination allows.
    ///
    /// A host that drops a connection before it names its version has too many connections without a login
    /// (`MaxStartups`). Such a connection is opened again within the time of the attempt.
    async fn attempt(&self, destination: &Arc<Destination>) -> Result<Connection, ConnectFailure> {
        let jump_host = self.jump_host(destination).await?;
        let mut left = destination.connect_timeout;
        let mut pause = DROPPED_PAUSE;
        loop {
            let admission = Arc::new(Admission::new(self.handshakes));
            let start = Instant::now();
            let result = {
                let _handshake = Handshake(Arc::clone(&admission));
                tokio::select! {
                    result = self.connect(destination, jump_host.clone(), &admission) => result,
                    () = admission.time_limit(left) => Err(ConnectFailure::TimedOut {
                        host: display_name(destination),
                        time: destination.connect_timeout,
                        count: 1,
                    }),
                }
            };
            let Err(ConnectFailure::Closed { host, count, .. }) = result else {
                return result;
            };
            let has_dropped = admission.lacks_banner();
            let is_dropped = has_dropped && !matches!(destination.route, Route::Command(_));
            let pause_now = jittered(pause);
            left = left.saturating_sub(start.elapsed());
            if !is_dropped || left <= pause_now {
                return Err(ConnectFailure::Closed {
                    host,
                    is_dropped,
                    count,
                });
            }
            sleep(pause_now).await;
            left -= pause_now;
            pause = (pause * 2).min(MAX_DROPPED_PAUSE);
        }
    }

    /// Returns the open connection to the last jump host of a destination, or opens one.
    async fn jump_host(
        &self,
        destination: &Arc<Destination>,
    ) -> Result<Option<Arc<Connection>>, ConnectFailure> {
        let Some(jump_host) = jump_host(destination) else {
            return Ok(None);
        };
        match self.jumps.connect_to(jump_host).await {
            Ok(connection) => Ok(Some(connection)),
            Err(failure) => Err(ConnectFailure::Jump {
                host: display_name(destination),
                failure: Box::new(failure),
            }),
        }
    }

    async fn connect(
        &self,
        destination: &Arc<Destination>,
        jump_host: Option<Arc<Connection>>,
        admission: &Arc<Admission>,
    ) -> Result<Connection, ConnectFailure> {
        let address = &destination.address;
        if let Some(jump_host) = jump_host {
            let channel = jump_host
                .open_tcp_channel(&address.host, address.port)
                .await;
            let channel = channel.map_err(|why| broken_connection(destination, why))?;
            let mut connection = self
                .handshake(destination, channel.into_stream(), admission)
                .await?;
            connection.jump_host = Some(jump_host);
            return Ok(connection);
        }
        let Route::Command(text) = &destination.route else {
            let socket = dial(destination).await?;
            return self.handshake(destination, socket, admission).await;
        };
        let started = ProxyCommand::start(text).map_err(|error| {
            broken_connection(
                destination,
                format!("the proxy command cannot run: {error}"),
            )
        });
        let (proxy, stream) = started?;
        match self.handshake(destination, stream, admission).await {
            Ok(mut connection) => {
                connection.proxy = Some(proxy);
                Ok(connection)
            }
            Err(failure) => Err(with_proxy_stderr(failure, &proxy).await),
        }
    }

    /// Performs the SSH handshake and logs in.
    async fn handshake(
        &self,
        destination: &Arc<Destination>,
        stream: impl ByteStream + 'static,
        admission: &Arc<Admission>,
    ) -> Result<Connection, ConnectFailure> {
        let client_state = SharedClientState::default();
        let client = self.client(destination, &client_state).await;
        let config = config(destination, &client.check.known).map_err(|why| {
            ConnectFailure::Unsupported {
                host: display_name(destination),
                why,
            }
        })?;
        let config = Arc::new(config);
        let (line, hold) = GuardedStream::new(stream, Gate::new(admission));
        let mut handle = match client::connect_stream(config, line, client).await {
            Ok(handle) => handle,
            Err(error) => {
                let refusal = client_state.lock().key_refusal.take();
                return Err(refusal.unwrap_or_else(|| handshake_failure(destination, &error)));
            }
        };
        self.log_in(&mut handle, destination, &client_state).await?;
        Ok(Connection::new(handle, hold, client_state, destination))
    }

    async fn log_in(
        &self,
        handle: &mut Handle<SshClient>,
        destination: &Destination,
        client_state: &SharedClientState,
    ) -> Result<(), ConnectFailure> {
        let login = Authenticator::new(handle, destination, self.files);
        let result = login.run().await;
        result.map_err(
            |failure| match (failure, client_state.lock().disconnect_message.take()) {
                (ConnectFailure::LoginRefused { host, user, why }, Some(said)) => {
                    let why = format!("{why}; the host ended the connection: {said}");
                    ConnectFailure::LoginRefused { host, user, why }
                }
                (failure, _) => failure,
            },
        )
    }

    async fn client(
        &self,
        destination: &Arc<Destination>,
        client_state: &SharedClientState,
    ) -> SshClient {
        let address = &destination.address;
        let alias = destination.host_key_alias.as_deref();
        let name = KnownHostName::new(&address.host, address.port, alias);
        let files = self.files.known_hosts(&destination.known_hosts).await;
        let check = KeyCheck {
            host: display_name(destination),
            known: KnownHostEntries::of(&files, &name),
            name,
            files: self.files.clone(),
            paths: destination.known_hosts.clone(),
            policy: destination.host_key_policy,
            command: destination.known_hosts_command.clone(),
        };
        let agent = destination.identities.agent.clone();
        SshClient {
            check,
            agent: agent.filter(|_| destination.forward_agent),
            state: client_state.clone(),
        }
    }
}

/// Returns a pause with a random part, so that many connections do not come back at the same time.
fn jittered(pause: Duration) -> Duration {
    let mut bytes = [0; 1];
    // Without random bytes, the pause has its least length.
    random::fill(&mut bytes).ok();
    pause + pause * u32::from(bytes[0]) / 256
}

/// Returns the last jump host of a destination, whose route is the jump hosts before it.
fn jump_host(destination: &Destination) -> Option<Arc<Destination>> {
    let Route::Jumps(jumps) = &destination.route else {
        return None;
    };
    let (last, before) = jumps.split_last()?;
    if before.is_empty() {
        return Some(Arc::clone(last));
    }
    let mut jump_host = Destination::clone(last);
    jump_host.route = Route::Jumps(before.to_vec());
    Some(Arc::new(jump_host))
}

/// Connects to a host directly.
///
/// The addresses of its name are tried in order, each with an equal share of the time limit.
async fn dial(destination: &Destination) -> Result<TcpStream, ConnectFailure> {
    let address = &destination.address;
    let looked_up = tokio::net::lookup_host((address.host.as_str(), address.port)).await;
    let no_address = |why: &str| ConnectFailure::Lookup {
        name: address.host.clone(),
        why: why.to_owned(),
    };
    let found: Vec<SocketAddr> = match looked_up {
        Ok(found) => found
            .filter(|it| is_of_family(*it, destination.dial.family))
            .collect(),
        Err(error) => {
            let text = error.to_string();
            let why = text.rsplit_once(": ").map_or(text.as_str(), |(_, why)| why);
            return Err(no_address(&why.to_lowercase()));
        }
    };
    let count = u32::try_from(found.len()).unwrap_or(u32::MAX).max(1);
    let share = destination.connect_timeout / count;
    let mut last = no_address(match destination.dial.family {
        AddressFamily::Any => "the name has no address",
        AddressFamily::Inet => {
            "the name has no IPv4 address, and `AddressFamily inet` allows no other"
        }
        AddressFamily::Inet6 => {
            "the name has no IPv6 address, and `AddressFamily inet6` allows no other"
        }
    });
    let local = local_ends(destination).await?;
    for place in found {
        last = match timeout(share, connect_from(destination, &local, place)).await {
            Ok(Ok(socket)) => {
                // Interactive input and small commands must not wait for more bytes.
                socket.set_nodelay(true).ok();
                return Ok(socket);
            }
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                ConnectFailure::Refused {
                    host: display_name(destination),
                    count: 1,
                }
            }
            Ok(Err(error)) if is_end(error.kind()) => closed(destination),
            Ok(Err(error)) => broken_connection(destination, fs::os_message(&error).to_lowercase()),
            Err(_) => ConnectFailure::TimedOut {
                host: display_name(destination),
                time: destination.connect_timeout,
                count: 1,
            },
        };
    }
    Err(last)
}

fn is_of_family(address: SocketAddr, family: AddressFamily) -> bool {
    match family {
        AddressFamily::Any => true,
        AddressFamily::Inet => address.is_ipv4(),
        AddressFamily::Inet6 => address.is_ipv6(),
    }
}

/// Returns the addresses of `BindAddress`; none if the system chooses.
async fn local_ends(destination: &Destination) -> Result<Vec<SocketAddr>, ConnectFailure> {
    let Some(name) = &destination.dial.bind_address else {
        return Ok(Vec::new());
    };
    let wrong = |why: String| {
        let why = format!("`BindAddress {name}` of ssh_config is not usable: {why}");
        broken_connection(destination, why)
    };
    let found = tokio::net::lookup_host((name.as_str(), 0)).await;
    let found = found.map_err(|error| wrong(fs::os_message(&error).to_lowercase()))?;
    Ok(found.collect())
}

/// Connects to an address from the local end that the configuration states.
async fn connect_from(
    destination: &Destination,
    local: &[SocketAddr],
    place: SocketAddr,
) -> std::io::Result<TcpStream> {
    let dial = &destination.dial;
    if dial.bind_address.is_none() && dial.bind_interface.is_none() {
        return TcpStream::connect(place).await;
    }
    let socket = if place.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    if dial.bind_address.is_some() {
        let own = local.iter().find(|own| own.is_ipv4() == place.is_ipv4());
        let missing = || std::io::Error::other("`BindAddress` has no address of this kind");
        socket.bind(*own.ok_or_else(missing)?)?;
    }
    if let Some(interface) = &dial.bind_interface {
        bind_to_interface(&socket, interface)?;
    }
    socket.connect(place).await
}

#[cfg(target_os = "linux")]
fn bind_to_interface(socket: &TcpSocket, interface: &str) -> std::io::Result<()> {
    socket.bind_device(Some(interface.as_bytes()))
}

#[cfg(not(target_os = "linux"))]
fn bind_to_interface(_socket: &TcpSocket, _interface: &str) -> std::io::Result<()> {
    Err(std::io::Error::other(
        "`BindInterface` is only supported on Linux; use `BindAddress`",
    ))
}

fn config(destination: &Destination, known: &KnownHostEntries) -> Result<Config, String> {
    let mut preferred = preferred_algorithms(destination, known);
    algorithms::apply(&destination.algorithms, &mut preferred)?;
    Ok(Config {
        client_id: SshId::Standard("SSH-2.0-unfurl".into()),
        window_size: WINDOW_BYTES,
        channel_buffer_size: CHANNEL_MESSAGES,
        preferred,
        keepalive_interval: destination.keepalive.filter(|it| !it.is_zero()),
        keepalive_max: destination.keepalive_max,
        nodelay: true,
        ..Config::default()
    })
}

/// Returns the preferred algorithms.
///
/// Key types under which the host is known come first. Otherwise the host might present a valid key
/// of another type, which is unknown.
fn preferred_algorithms(destination: &Destination, known: &KnownHostEntries) -> Preferred {
    let mut preferred = Preferred::DEFAULT;
    let accepted = HostKeyAlgorithms::choose(destination.host_key_algorithms.as_deref());
    let kind = |algorithm: &Algorithm| match algorithm {
        Algorithm::Rsa { .. } => Algorithm::Rsa { hash: None },
        other => other.clone(),
    };
    let is_known = |algorithm: &Algorithm| {
        let mut keys = known.keys.iter();
        keys.any(|it| kind(&it.key.algorithm()) == kind(algorithm))
    };
    let in_order = |all: Vec<Algorithm>| {
        if accepted.is_ordered {
            return all.into();
        }
        let (first, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_known);
        first.into_iter().chain(rest).collect()
    };
    preferred.key = in_order(accepted.keys.clone());
    if !known.authorities.is_empty() {
        preferred.host_key_certificates = in_order(accepted.certificates.clone());
    }
    // Compression costs more time than it saves on most networks.
    preferred.compression = vec![russh::compression::NONE].into();
    preferred
}

fn handshake_failure(destination: &Destination, error: &russh::Error) -> ConnectFailure {
    let why = match error {
        russh::Error::NoCommonAlgo { theirs, .. } if offers_only_sha1_keys(theirs) => {
            return ConnectFailure::OnlySha1 {
                host: display_name(destination),
            };
        }
        russh::Error::NoCommonAlgo { kind, theirs, .. } => {
            let host = display_name(destination);
            let offer = format!(
                "the host offers no safe {kind:?} algorithm, only {}",
                theirs.join(", ")
            );
            return match algorithms::setting_for(kind, theirs) {
                Some(setting) => ConnectFailure::Incompatible {
                    host,
                    why: format!(
                        "{offer}; update its SSH server, or accept an old algorithm with the line `{setting}` in the \
                         section of this host in `~/.ssh/config`"
                    ),
                },
                None => ConnectFailure::Unsupported {
                    host,
                    why: format!("{offer}; none of them is available here"),
                },
            };
        }
        russh::Error::Disconnect | russh::Error::HUP => return closed(destination),
        russh::Error::IO(error) if is_end(error.kind()) => return closed(destination),
        russh::Error::IO(error) => fs::os_message(error).to_lowercase(),
        russh::Error::Version => "the server on this port does not speak SSH".to_owned(),
        other => other.to_string().to_lowercase(),
    };
    broken_connection(destination, why)
}

fn is_end(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(kind, UnexpectedEof | ConnectionReset | BrokenPipe)
}

fn closed(destination: &Destination) -> ConnectFailure {
    ConnectFailure::Closed {
        host: display_name(destination),
        is_dropped: false,
        count: 1,
    }
}

/// Whether a host offers host keys, but only those that sign with SHA-1.
fn offers_only_sha1_keys(theirs: &[String]) -> bool {
    theirs.iter().any(|name| name == SHA1_NAME)
        && theirs.iter().all(|name| name.starts_with(SHA1_NAME))
}

fn broken_connection(destination: &Destination, why: String) -> ConnectFailure {
    ConnectFailure::Broken {
        host: display_name(destination),
        why,
        count: 1,
    }
}

async fn with_proxy_stderr(failure: ConnectFailure, proxy: &ProxyCommand) -> ConnectFailure {
    // The last lines on stderr may still be on their way.
    sleep(Duration::from_millis(50)).await;
    let failure = match failure {
        ConnectFailure::Closed { host, count, .. } => ConnectFailure::Broken {
            host,
            why: "the host closed the connection before the login".to_owned(),
            count,
        },
        other => other,
    };
    match (failure, proxy.last_stderr_line()) {
        (ConnectFailure::Broken { host, why, count }, Some(said)) => ConnectFailure::Broken {
            host,
            why: format!("{why}; the proxy command said: {said}"),
            count,
        },
        (failure, _) => failure,
    }
}
