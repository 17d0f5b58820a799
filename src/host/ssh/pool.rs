//! The pool of open connections.
//!
//! The first user of a host opens a connection, which others share. More connections to the same
//! host are opened when one has too many sessions (F6, F41, F42).

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use russh::Channel;
use russh::client::Msg;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connect::{BoxFuture, Connector, JumpConnector};
use super::connection::{Connection, SessionError, run_script};
use super::failure::{ConnectFailure, display_name};
use super::idle_shells::{IdleShells, ShellPlace};
use super::login_files::LoginFiles;
use crate::host::channel_io::{ChannelIo, CommandInput};
use crate::host::{Address, Destination, Route};

/// The maximum number of connections to one host by one route.
const MAX_CONNECTIONS: usize = 4;
/// The number of times that a host may refuse the only session of a connection, and the pause in
/// between.
///
/// The host may still count a session that has just ended.
const MAX_SESSION_REFUSALS: u32 = 5;
const SESSION_RETRY_PAUSE: Duration = Duration::from_millis(50);
/// The time limit for closing all connections.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The limits on what a connection pool opens.
#[derive(Debug, Clone)]
pub struct PoolLimits {
    /// The maximum number of sessions per connection; more sessions open another connection.
    ///
    /// The default of an SSH server is 10 (`MaxSessions`).
    pub sessions: usize,
    /// The maximum number of handshakes at the same time, counted from the first byte of the host on.
    ///
    /// A server drops connections if there are too many, and each costs a key exchange.
    pub handshakes: usize,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            sessions: 10,
            handshakes: 20,
        }
    }
}

/// A pool of open connections, shared by all clones.
///
/// A connection is opened at first use and shared by all actions with the same address and route
/// (F41, F42).
#[derive(Clone)]
pub struct ConnectionPool {
    shared: Arc<PoolState>,
}

/// The state shared by all clones of a pool.
struct PoolState {
    limits: PoolLimits,
    handshakes: Arc<Semaphore>,
    files: LoginFiles,
    host_pools: Mutex<HashMap<Address, Vec<Arc<HostPool>>>>,
    /// The hosts that the program `ssh` reaches, with the reason why this program cannot.
    program_hosts: Mutex<HashMap<Address, String>>,
    idle_shells: Mutex<IdleShells<OpenShell>>,
    closing: watch::Sender<bool>,
}

impl Debug for ConnectionPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionPool")
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

impl ConnectionPool {
    pub fn new(limits: PoolLimits) -> Self {
        let handshakes = limits.handshakes.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            shared: Arc::new(PoolState {
                limits,
                handshakes: Arc::new(Semaphore::new(handshakes)),
                files: LoginFiles::default(),
                host_pools: Mutex::default(),
                program_hosts: Mutex::default(),
                idle_shells: Mutex::default(),
                closing: watch::Sender::new(false),
            }),
        }
    }

    /// Returns a connection to a host with room for a session.
    ///
    /// Opens a connection or waits for room if necessary.
    pub(in crate::host) async fn lease(
        &self,
        destination: &Arc<Destination>,
    ) -> Result<Lease, ConnectFailure> {
        self.host_pool(destination).lease(self).await
    }

    /// Opens a session on a host.
    pub(in crate::host) async fn session(
        &self,
        destination: &Arc<Destination>,
    ) -> Result<(Lease, Channel<Msg>), ConnectFailure> {
        self.host_pool(destination).session(self).await
    }

    /// Returns the reason why a host is reached by the program `ssh`; none for hosts that this program reaches.
    pub(in crate::host) fn program_reason(&self, address: &Address) -> Option<String> {
        let hosts = self.shared.program_hosts.lock();
        let hosts = hosts.unwrap_or_else(PoisonError::into_inner);
        hosts.get(address).cloned()
    }

    /// Notes that a host is reached by the program `ssh`.
    pub(in crate::host) fn use_program(&self, address: &Address, reason: String) {
        let hosts = self.shared.program_hosts.lock();
        let mut hosts = hosts.unwrap_or_else(PoisonError::into_inner);
        hosts.insert(address.clone(), reason);
    }

    /// Takes an idle shell at a place, on a connection that the destination can share.
    pub(in crate::host) fn take_shell(
        &self,
        place: &ShellPlace,
        destination: Option<&Arc<Destination>>,
    ) -> Option<OpenShell> {
        let host_pool = destination.map(|destination| self.host_pool(destination));
        let fits = |shell: &OpenShell| match (&shell.lease, &host_pool) {
            (Some(lease), Some(host_pool)) => Arc::ptr_eq(&lease.host_pool, host_pool),
            (None, None) => true,
            _ => false,
        };
        let (found, lost) = self.idle_shells().take(place, OpenShell::is_lost, fits);
        // A lease takes the locks of the pool when it is dropped, so the list of shells is no longer locked.
        drop(lost);
        found
    }

    /// Keeps an idle shell.
    pub(in crate::host) fn keep_shell(&self, place: ShellPlace, shell: OpenShell) {
        if self.is_closing() {
            return;
        }
        let host_pool = shell
            .lease
            .as_ref()
            .map(|lease| Arc::clone(&lease.host_pool));
        self.idle_shells().push(place, shell);
        if let Some(host_pool) = host_pool {
            // An action that waits for a session can have that of the shell.
            host_pool.changed.notify_one();
        }
    }

    fn idle_shells(&self) -> MutexGuard<'_, IdleShells<OpenShell>> {
        let shells = self.shared.idle_shells.lock();
        shells.unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes an idle shell of a host whose sessions are all in use, so that another action gets its session.
    ///
    /// Returns false if there is none.
    fn close_idle_shell(&self, host_pool: &Arc<HostPool>) -> bool {
        let address = &host_pool.destination.address;
        let is_here = |shell: &OpenShell| {
            let lease = shell.lease.as_ref();
            lease.is_some_and(|lease| Arc::ptr_eq(&lease.host_pool, host_pool))
        };
        let found = self.idle_shells().take_on(address, is_here);
        found.is_some_and(|shell| {
            tokio::spawn(shell.close());
            true
        })
    }

    /// Runs a script in a shell that `line` starts, on the connection of a lease.
    ///
    /// If the host allows no further session there, a separate connection is opened for it.
    pub(in crate::host) async fn run_beside(&self, lease: &Lease, line: &str, text: &str) {
        match run_script(&lease.connection, line, text).await {
            Ok(()) | Err(SessionError::Lost) => return,
            Err(SessionError::Refused) => {}
        }
        if let Ok(connection) = self.connector().open(&lease.host_pool.destination).await {
            // Errors are ignored, as there is no other way to reach the host.
            run_script(&connection, line, text).await.ok();
            connection.close().await;
        }
    }

    fn connector(&self) -> Connector<'_> {
        Connector {
            files: &self.shared.files,
            handshakes: &self.shared.handshakes,
            jumps: self,
        }
    }

    /// Returns the connections to a host, adding an entry if there is none.
    fn host_pool(&self, destination: &Arc<Destination>) -> Arc<HostPool> {
        let host_pools = self.shared.host_pools.lock();
        let mut host_pools = host_pools.unwrap_or_else(PoisonError::into_inner);
        let same_address = host_pools.entry(destination.address.clone()).or_default();
        let is =
            |host_pool: &&Arc<HostPool>| can_share_connection(&host_pool.destination, destination);
        if let Some(host_pool) = same_address.iter().find(is) {
            return Arc::clone(host_pool);
        }
        let host_pool = Arc::new(HostPool::new(Arc::clone(destination)));
        same_address.push(Arc::clone(&host_pool));
        host_pool
    }

    fn is_closing(&self) -> bool {
        *self.shared.closing.borrow()
    }

    /// Waits until the pool is being closed.
    async fn wait_for_close(&self) {
        let mut closing = self.shared.closing.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        closing.wait_for(|closing| *closing).await.ok();
    }

    /// Closes the connections to a host, which no further action needs, without waiting for it.
    ///
    /// Does nothing while one of them is in use or being opened.
    pub fn release(&self, destination: &Arc<Destination>) {
        let released = {
            let host_pools = self.shared.host_pools.lock();
            let mut host_pools = host_pools.unwrap_or_else(PoisonError::into_inner);
            let Some(same_address) = host_pools.get_mut(&destination.address) else {
                return;
            };
            let fits = |host_pool: &mut Arc<HostPool>| {
                can_share_connection(&host_pool.destination, destination) && host_pool.is_idle()
            };
            let released: Vec<Arc<HostPool>> = same_address.extract_if(.., fits).collect();
            if same_address.is_empty() {
                host_pools.remove(&destination.address);
            }
            released
        };
        for connection in released
            .iter()
            .flat_map(|host_pool| host_pool.take_connections())
        {
            tokio::spawn(async move { connection.close().await });
        }
    }

    /// Closes all connections within a second.
    ///
    /// Commands that still run on them are killed if the host allows it, and their results are
    /// lost. No new connections are opened.
    pub async fn close(&self) {
        self.shared.closing.send_replace(true);
        let idle = self.idle_shells().drain();
        drop(idle);
        let host_pools: Vec<Arc<HostPool>> = {
            let host_pools = self.shared.host_pools.lock();
            let mut host_pools = host_pools.unwrap_or_else(PoisonError::into_inner);
            host_pools
                .drain()
                .flat_map(|(_, same_address)| same_address)
                .collect()
        };
        let mut closing: JoinSet<()> = JoinSet::new();
        for connection in host_pools
            .iter()
            .flat_map(|host_pool| host_pool.take_connections())
        {
            closing.spawn(async move { connection.close().await });
        }
        let all = async { while closing.join_next().await.is_some() {} };
        timeout(CLOSE_TIMEOUT, all).await.ok();
    }
}

impl JumpConnector for ConnectionPool {
    fn connect_to(
        &self,
        jump_host: Arc<Destination>,
    ) -> BoxFuture<'_, Result<Arc<Connection>, ConnectFailure>> {
        Box::pin(async move {
            // Forwarded channels do not count as sessions of the host, so the lease is returned at
            // once.
            let lease = self.lease(&jump_host).await?;
            Ok(Arc::clone(&lease.connection))
        })
    }
}

type OpenReceiver = watch::Receiver<Option<Result<(), ConnectFailure>>>;

/// Returns the failure of an attempt that has ended.
fn failure_of(opening: &OpenReceiver) -> Option<ConnectFailure> {
    opening.borrow().as_ref()?.as_ref().err().cloned()
}

/// The connections to one host by one route.
struct HostPool {
    destination: Arc<Destination>,
    state: Mutex<HostPoolState>,
    /// Wakes up those who wait for a connection with room.
    changed: Notify,
}

#[derive(Default)]
struct HostPoolState {
    open: Vec<PooledConnection>,
    opening: Option<OpenReceiver>,
    /// The maximum number of connections, once the host has refused another one.
    max_connections: Option<usize>,
}

struct PooledConnection {
    connection: Arc<Connection>,
    /// The number of sessions in use.
    sessions: usize,
    max_sessions: usize,
}

/// The right to one session on a connection. Dropping it gives the session free.
pub(in crate::host) struct Lease {
    host_pool: Arc<HostPool>,
    pub(in crate::host) connection: Arc<Connection>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.host_pool
            .with_slot(&self.connection, |slot| slot.sessions -= 1);
        self.host_pool.changed.notify_one();
    }
}

/// A started shell that reads its input.
pub(in crate::host) struct OpenShell {
    pub(in crate::host) channel_io: ChannelIo,
    pub(in crate::host) input: CommandInput,
    /// The lease of the session; none in a container of this machine.
    pub(in crate::host) lease: Option<Lease>,
}

impl OpenShell {
    /// Closes the session, then gives it free.
    pub(in crate::host) async fn close(self) {
        drop(self.input);
        self.channel_io.close().await;
        drop(self.lease);
    }

    /// Returns whether the connection below the shell has ended.
    fn is_lost(&self) -> bool {
        let lease = self.lease.as_ref();
        lease.is_some_and(|lease| lease.connection.is_lost())
    }
}

impl HostPool {
    fn new(destination: Arc<Destination>) -> Self {
        Self {
            destination,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, HostPoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_slot(&self, connection: &Arc<Connection>, change: impl FnOnce(&mut PooledConnection)) {
        let mut state = self.state();
        let is = |slot: &&mut PooledConnection| Arc::ptr_eq(&slot.connection, connection);
        if let Some(slot) = state.open.iter_mut().find(is) {
            change(slot);
        }
    }

    /// Returns true if no session is in use and no connection is being opened.
    fn is_idle(&self) -> bool {
        let state = self.state();
        state.opening.is_none() && state.open.iter().all(|slot| slot.sessions == 0)
    }

    /// Removes and returns all open connections.
    fn take_connections(&self) -> Vec<Arc<Connection>> {
        let open = std::mem::take(&mut self.state().open);
        open.into_iter().map(|slot| slot.connection).collect()
    }

    /// Returns a connection with room for a session.
    ///
    /// Opens a connection or waits for room if necessary.
    async fn lease(self: &Arc<Self>, pool: &ConnectionPool) -> Result<Lease, ConnectFailure> {
        // The attempt that this caller waits for. Its failure is the answer, whatever else wakes the caller.
        let mut awaited: Option<OpenReceiver> = None;
        loop {
            let woken = self.changed.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let opening = {
                let mut state = self.state();
                state.open.retain(|slot| !slot.connection.is_lost());
                if let Some(slot) = state
                    .open
                    .iter_mut()
                    .find(|slot| slot.sessions < slot.max_sessions)
                {
                    slot.sessions += 1;
                    return Ok(Lease {
                        host_pool: Arc::clone(self),
                        connection: Arc::clone(&slot.connection),
                    });
                }
                if pool.is_closing() {
                    return Err(ConnectFailure::Closing);
                }
                if let Some(failure) = awaited.as_ref().and_then(failure_of) {
                    return Err(failure);
                }
                let is_closing_shell = pool.close_idle_shell(self);
                let max_connections = state.max_connections.unwrap_or(MAX_CONNECTIONS);
                let may_open = !is_closing_shell && state.open.len() < max_connections;
                if state.opening.is_none() && (may_open || state.open.is_empty()) {
                    state.opening = Some(self.open(pool));
                }
                state.opening.clone().filter(|_| state.open.is_empty())
            };
            let Some(opening) = opening else {
                woken.await;
                continue;
            };
            let opening = awaited.insert(opening);
            tokio::select! {
                () = woken => {}
                opened = opening.wait_for(Option::is_some) => match opened.as_deref() {
                    Ok(Some(Err(failure))) => return Err(failure.clone()),
                    Ok(_) => {}
                    Err(_) => return Err(ConnectFailure::Closing),
                }
            }
        }
    }

    /// Opens a connection in a separate task, as the first caller may give up waiting.
    fn open(self: &Arc<Self>, pool: &ConnectionPool) -> OpenReceiver {
        let (result_sender, result_receiver) = watch::channel(None);
        let (host_pool, pool) = (Arc::clone(self), pool.clone());
        // The runtime copies a future that it spawns, so this large one is boxed.
        tokio::spawn(Box::pin(async move {
            let opener = pool.connector();
            let result = tokio::select! {
                result = opener.open(&host_pool.destination) => result,
                () = pool.wait_for_close() => Err(ConnectFailure::Closing),
            };
            let sessions = pool.shared.limits.sessions.max(1);
            match result {
                Ok(connection) => {
                    host_pool.add_connection(connection, sessions);
                    result_sender.send_replace(Some(Ok(())));
                }
                Err(failure) => {
                    // Callers that look now see either this attempt with its failure, or none.
                    let mut state = host_pool.state();
                    result_sender.send_replace(Some(Err(failure)));
                    state.opening = None;
                    // The host accepts no more connections, so the open ones must suffice.
                    state.max_connections = Some(state.open.len());
                }
            }
            // Waiting callers look for room again, whether opening succeeded or not.
            host_pool.changed.notify_waiters();
        }));
        result_receiver
    }

    fn add_connection(&self, connection: Connection, sessions: usize) {
        let mut state = self.state();
        state.opening = None;
        state.max_connections = None;
        state.open.push(PooledConnection {
            connection: Arc::new(connection),
            sessions: 0,
            max_sessions: sessions,
        });
    }

    /// Opens a session.
    ///
    /// A lost connection is replaced once. If the host allows fewer sessions than the limit, the
    /// limit of the connection is lowered.
    async fn session(
        self: &Arc<Self>,
        pool: &ConnectionPool,
    ) -> Result<(Lease, Channel<Msg>), ConnectFailure> {
        let mut losses = 0;
        let mut refusals = 0;
        loop {
            let lease = self.lease(pool).await?;
            let within = self.destination.connect_timeout;
            let opened = timeout(within, lease.connection.open_session()).await;
            match opened.unwrap_or(Err(SessionError::Lost)) {
                Ok(channel) => return Ok((lease, channel)),
                Err(SessionError::Lost) => {
                    self.remove_connection(&lease.connection);
                    losses += 1;
                    if losses > 1 {
                        return Err(self.broken("the connection was lost at once"));
                    }
                }
                Err(SessionError::Refused) => {
                    let mut is_only = false;
                    self.with_slot(&lease.connection, |slot| {
                        is_only = slot.sessions <= 1;
                        slot.max_sessions = slot
                            .max_sessions
                            .min(slot.sessions.saturating_sub(1))
                            .max(1);
                    });
                    drop(lease);
                    if is_only {
                        refusals += 1;
                        if refusals > MAX_SESSION_REFUSALS {
                            return Err(self.broken("the host allows no session"));
                        }
                        sleep(SESSION_RETRY_PAUSE).await;
                    }
                }
            }
        }
    }

    /// Removes a connection from the pool.
    fn remove_connection(&self, connection: &Arc<Connection>) {
        let mut state = self.state();
        state
            .open
            .retain(|slot| !Arc::ptr_eq(&slot.connection, connection));
    }

    fn broken(&self, why: &str) -> ConnectFailure {
        ConnectFailure::Broken {
            host: display_name(&self.destination),
            why: why.to_owned(),
            count: 1,
        }
    }
}

/// Whether two destinations with the same address can share a connection.
fn can_share_connection(one: &Destination, other: &Destination) -> bool {
    let route = match (&one.route, &other.route) {
        (Route::Jumps(one), Route::Jumps(other)) => {
            let pairs = || one.iter().zip(other);
            one.len() == other.len() && pairs().all(|(one, other)| is_same_hop(one, other))
        }
        (one, other) => one == other,
    };
    route
        && one.identities == other.identities
        && one.host_key_alias == other.host_key_alias
        && one.host_key_algorithms == other.host_key_algorithms
        && one.algorithms == other.algorithms
        && one.known_hosts_command == other.known_hosts_command
        && one.environment == other.environment
        && one.dial == other.dial
        && one.known_hosts == other.known_hosts
        && one.host_key_policy == other.host_key_policy
        && one.forward_agent == other.forward_agent
}

fn is_same_hop(one: &Destination, other: &Destination) -> bool {
    one.address == other.address && can_share_connection(one, other)
}
