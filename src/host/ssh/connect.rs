//! Opens a connection: finds the host, reaches it, checks its key and logs in, as often as that is
//! to be tried (spec/hosts.md F44).

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, Config, Handle};
use russh::keys::Algorithm;
use russh::{Preferred, SshId};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::auth::Login;
use super::client::{Client, Ear, KeyCheck};
use super::connection::Connection;
use super::failure::{Failure, shown};
use super::keys::Keys;
use super::known_hosts::{Known, KnownName};
use super::line::{Line, Proxy};
use crate::host::Destination;
use crate::host::Route;
use crate::system::fs;

/// The longest time between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How many bytes of a channel may be on their way, and how many messages of it may wait here.
const WINDOW: u32 = 2 << 20;
const MESSAGES: usize = 32;
/// After how many unanswered signs of life a host is given up, as `ServerAliveCountMax` is.
const UNANSWERED: usize = 3;

/// A future of any kind.
pub(super) type AnyFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Gives the connection to the host that leads on.
pub(super) trait Ways: Send + Sync {
    /// Opens it, or gives the one that is open.
    fn to(&self, gate: Arc<Destination>) -> AnyFuture<'_, Result<Arc<Connection>, Failure>>;
}

/// What all connections have in common.
pub(super) struct Opener<'a> {
    pub(super) keys: &'a Keys,
    /// How many may be opened at a time.
    pub(super) opening: &'a Semaphore,
    pub(super) ways: &'a dyn Ways,
}

impl Opener<'_> {
    /// Opens a connection. The time for an attempt begins when it is its turn, and when the hosts
    /// on the way are reached.
    pub(super) async fn open(&self, destination: &Arc<Destination>) -> Result<Connection, Failure> {
        let attempts = destination.attempts.max(1);
        let mut count = 1;
        loop {
            let failure = match self.attempt(destination).await {
                Ok(connection) => return Ok(connection),
                Err(failure) => failure,
            };
            if count >= attempts || !failure.may_pass() {
                return Err(failure.after(count));
            }
            if !matches!(failure, Failure::TimedOut { .. }) {
                let pause = destination.connect_timeout.min(LONGEST_PAUSE);
                tokio::time::sleep(pause).await;
            }
            count += 1;
        }
    }

    async fn attempt(&self, destination: &Arc<Destination>) -> Result<Connection, Failure> {
        let gate = match gate(destination) {
            Some(gate) => {
                let open = self.ways.to(gate).await;
                Some(open.map_err(|failure| Failure::Jump {
                    host: shown(destination),
                    failure: Box::new(failure),
                })?)
            }
            None => None,
        };
        let turn = self.opening.acquire().await;
        let within = destination.connect_timeout;
        let result = timeout(within, self.reach(destination, gate)).await;
        drop(turn);
        result.unwrap_or_else(|_| {
            Err(Failure::TimedOut {
                host: shown(destination),
                time: within,
                count: 1,
            })
        })
    }

    async fn reach(
        &self,
        destination: &Arc<Destination>,
        gate: Option<Arc<Connection>>,
    ) -> Result<Connection, Failure> {
        let address = &destination.address;
        if let Some(gate) = gate {
            let channel = gate.forward(&address.host, address.port).await;
            let channel = channel.map_err(|why| broken(destination, why))?;
            let mut connection = self.talk(destination, channel.into_stream()).await?;
            connection.gate = Some(gate);
            return Ok(connection);
        }
        let Route::Command(text) = &destination.route else {
            let socket = dial(destination).await?;
            return self.talk(destination, socket).await;
        };
        let started = Proxy::start(text).map_err(|error| {
            broken(
                destination,
                format!("the proxy command cannot run: {error}"),
            )
        });
        let (proxy, stream) = started?;
        match self.talk(destination, stream).await {
            Ok(mut connection) => {
                connection.proxy = Some(proxy);
                Ok(connection)
            }
            Err(failure) => Err(with_complaint(failure, &proxy).await),
        }
    }

    /// Agrees on keys with the host and logs in.
    async fn talk(
        &self,
        destination: &Arc<Destination>,
        stream: impl super::line::Stream + 'static,
    ) -> Result<Connection, Failure> {
        let ear = Ear::default();
        let client = self.client(destination, &ear).await;
        let config = Arc::new(config(destination, &client.check.known));
        let (line, hold) = Line::new(stream);
        let mut handle = match client::connect_stream(config, line, client).await {
            Ok(handle) => handle,
            Err(error) => {
                let refusal = ear.lock().key.take();
                return Err(refusal.unwrap_or_else(|| failed(destination, &error)));
            }
        };
        self.log_in(&mut handle, destination, &ear).await?;
        Ok(Connection::new(handle, hold, ear, destination))
    }

    async fn log_in(
        &self,
        handle: &mut Handle<Client>,
        destination: &Destination,
        ear: &Ear,
    ) -> Result<(), Failure> {
        let login = Login::new(handle, destination, self.keys);
        let result = login.run().await;
        result.map_err(|failure| match (failure, ear.lock().farewell.take()) {
            (Failure::LoginRefused { host, user, why }, Some(said)) => {
                let why = format!("{why}; it ended the connection: {said}");
                Failure::LoginRefused { host, user, why }
            }
            (failure, _) => failure,
        })
    }

    async fn client(&self, destination: &Arc<Destination>, ear: &Ear) -> Client {
        let address = &destination.address;
        let alias = destination.host_key_alias.as_deref();
        let name = KnownName::new(&address.host, address.port, alias);
        let (files, sought) = (destination.known_hosts.clone(), name.clone());
        let reading = tokio::task::spawn_blocking(move || Known::read(&files, &sought));
        let check = KeyCheck {
            host: shown(destination),
            name,
            known: reading.await.unwrap_or_default(),
            unknown: destination.host_keys,
            file: destination.known_hosts.first().cloned(),
        };
        let agent = destination.identities.agent.clone();
        Client {
            check,
            agent: agent.filter(|_| destination.forward_agent),
            ear: ear.clone(),
        }
    }
}

/// The host that leads to another one: the last of its jumps, reached through those before it.
fn gate(destination: &Destination) -> Option<Arc<Destination>> {
    let Route::Jumps(jumps) = &destination.route else {
        return None;
    };
    let (last, before) = jumps.split_last()?;
    if before.is_empty() {
        return Some(Arc::clone(last));
    }
    let mut gate = Destination::clone(last);
    gate.route = Route::Jumps(before.to_vec());
    Some(Arc::new(gate))
}

/// Reaches a host straight: each of its addresses in order, with an equal share of the time.
async fn dial(destination: &Destination) -> Result<TcpStream, Failure> {
    let address = &destination.address;
    let looked_up = tokio::net::lookup_host((address.host.as_str(), address.port)).await;
    let no_address = |why: &str| Failure::Lookup {
        name: address.host.clone(),
        why: why.to_owned(),
    };
    let found: Vec<SocketAddr> = match looked_up {
        Ok(found) => found.collect(),
        Err(error) => {
            let text = error.to_string();
            let why = text.rsplit_once(": ").map_or(text.as_str(), |(_, why)| why);
            return Err(no_address(&why.to_lowercase()));
        }
    };
    let count = u32::try_from(found.len()).unwrap_or(u32::MAX).max(1);
    let share = destination.connect_timeout / count;
    let mut last = no_address("it has no address");
    for place in found {
        last = match timeout(share, TcpStream::connect(place)).await {
            Ok(Ok(socket)) => {
                // What is typed and small commands must not wait for more bytes.
                socket.set_nodelay(true).ok();
                return Ok(socket);
            }
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                Failure::Refused {
                    host: shown(destination),
                    count: 1,
                }
            }
            Ok(Err(error)) => broken(destination, fs::said(&error).to_lowercase()),
            Err(_) => Failure::TimedOut {
                host: shown(destination),
                time: destination.connect_timeout,
                count: 1,
            },
        };
    }
    Err(last)
}

fn config(destination: &Destination, known: &Known) -> Config {
    Config {
        client_id: SshId::Standard("SSH-2.0-unfurl".into()),
        window_size: WINDOW,
        channel_buffer_size: MESSAGES,
        preferred: preferred(known),
        keepalive_interval: destination.keepalive.filter(|it| !it.is_zero()),
        keepalive_max: UNANSWERED,
        nodelay: true,
        ..Config::default()
    }
}

/// The kinds of keys that the host is known by come first: it would otherwise show a good key that
/// nobody knows.
fn preferred(known: &Known) -> Preferred {
    let mut preferred = Preferred::DEFAULT;
    let kind = |algorithm: &Algorithm| match algorithm {
        Algorithm::Rsa { .. } => Algorithm::Rsa { hash: None },
        other => other.clone(),
    };
    let is_known = |algorithm: &Algorithm| {
        let mut keys = known.keys.iter();
        keys.any(|it| kind(&it.key.algorithm()) == kind(algorithm))
    };
    let all = preferred.key.iter().cloned();
    let (first, rest): (Vec<_>, Vec<_>) = all.partition(is_known);
    preferred.key = first.into_iter().chain(rest).collect();
    if !known.authorities.is_empty() {
        preferred.host_key_certificates = preferred.key.clone();
    }
    // Bytes are not made smaller: that costs more time than it saves on most networks.
    preferred.compression = vec![russh::compression::NONE].into();
    preferred
}

fn failed(destination: &Destination, error: &russh::Error) -> Failure {
    let why = match error {
        russh::Error::NoCommonAlgo { kind, theirs, .. } => {
            return Failure::Incompatible {
                host: shown(destination),
                why: format!(
                    "it offers no {kind:?} algorithm that is safe, only {}",
                    theirs.join(", ")
                ),
            };
        }
        russh::Error::Disconnect | russh::Error::HUP => {
            "it closed the connection before the login".to_owned()
        }
        russh::Error::IO(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "it closed the connection before the login".to_owned()
        }
        russh::Error::IO(error) => fs::said(error).to_lowercase(),
        russh::Error::Version => "what answers there does not speak SSH".to_owned(),
        other => other.to_string().to_lowercase(),
    };
    broken(destination, why)
}

fn broken(destination: &Destination, why: String) -> Failure {
    Failure::Broken {
        host: shown(destination),
        why,
        count: 1,
    }
}

async fn with_complaint(failure: Failure, proxy: &Proxy) -> Failure {
    // Its last words may still be on their way.
    tokio::time::sleep(Duration::from_millis(50)).await;
    match (failure, proxy.complaint()) {
        (Failure::Broken { host, why, count }, Some(said)) => Failure::Broken {
            host,
            why: format!("{why}; the proxy command said: {said}"),
            count,
        },
        (failure, _) => failure,
    }
}
