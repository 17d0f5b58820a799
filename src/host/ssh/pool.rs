//! The open connections: opened by the first that needs one, shared by all, more of them to one
//! host where one does not do (spec/hosts.md F6, F41, F42).

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use russh::Channel;
use russh::client::Msg;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connect::{AnyFuture, Opener, Ways};
use super::connection::{Connection, NoSession, run_text};
use super::failure::{Failure, shown};
use super::keys::Keys;
use crate::host::{Address, Destination, Route};

/// The most connections to one host by one way.
const MOST: usize = 4;
/// How often a host may refuse the only session of a connection, and how long it has in between: a
/// session that has just ended may still count there.
const REFUSALS: u32 = 5;
const REFUSED: Duration = Duration::from_millis(50);
/// How long all connections together may take to be closed.
const CLOSING: Duration = Duration::from_secs(1);

/// Bounds of what is open at a time.
#[derive(Debug, Clone)]
pub struct PoolLimits {
    /// The most commands and transfers at a time on one connection; further ones open another.
    /// A server allows 10 unless it is told otherwise.
    pub sessions: usize,
    /// The most connections that are being opened at a time: a server drops some of too many, and
    /// each costs a key exchange.
    pub opening: usize,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            sessions: 10,
            opening: 20,
        }
    }
}

/// The open connections, one for each address and way, more where one does not do. A connection is
/// opened at first use, and shared by all that need it (F41, F42).
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

/// What all connections share.
struct Shared {
    limits: PoolLimits,
    opening: Semaphore,
    keys: Keys,
    lanes: Mutex<HashMap<Address, Vec<Arc<Lane>>>>,
    closing: watch::Sender<bool>,
}

impl Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool without any connection.
    pub fn new(limits: PoolLimits) -> Self {
        let opening = limits.opening.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            shared: Arc::new(Shared {
                limits,
                opening: Semaphore::new(opening),
                keys: Keys::default(),
                lanes: Mutex::default(),
                closing: watch::Sender::new(false),
            }),
        }
    }

    /// Gives a connection with room to a host, which may mean to open it, or to wait until there
    /// is room.
    pub(in crate::host) async fn lease(
        &self,
        destination: &Arc<Destination>,
    ) -> Result<Lease, Failure> {
        self.lane(destination).lease(self).await
    }

    /// Opens a session on a host.
    pub(in crate::host) async fn session(
        &self,
        destination: &Arc<Destination>,
    ) -> Result<(Lease, Channel<Msg>), Failure> {
        self.lane(destination).session(self).await
    }

    /// Starts a shell with a line beside the session of a lease, and gives it a text to run. The
    /// shell gets a connection of its own where the host allows the shared one no more sessions.
    pub(in crate::host) async fn run_beside(&self, lease: &Lease, line: &str, text: &str) {
        match run_text(&lease.connection, line, text).await {
            Ok(()) | Err(NoSession::Lost) => return,
            Err(NoSession::Refused) => {}
        }
        if let Ok(connection) = self.opener().open(&lease.lane.destination).await {
            // There is no other way left.
            run_text(&connection, line, text).await.ok();
            connection.close().await;
        }
    }

    fn opener(&self) -> Opener<'_> {
        Opener {
            keys: &self.shared.keys,
            opening: &self.shared.opening,
            ways: self,
        }
    }

    /// The connections to a host.
    fn lane(&self, destination: &Arc<Destination>) -> Arc<Lane> {
        let lanes = self.shared.lanes.lock();
        let mut lanes = lanes.unwrap_or_else(PoisonError::into_inner);
        let ways = lanes.entry(destination.address.clone()).or_default();
        let is = |lane: &&Arc<Lane>| is_same_way(&lane.destination, destination);
        if let Some(lane) = ways.iter().find(is) {
            return Arc::clone(lane);
        }
        let lane = Arc::new(Lane::new(Arc::clone(destination)));
        ways.push(Arc::clone(&lane));
        lane
    }

    fn is_closing(&self) -> bool {
        *self.shared.closing.borrow()
    }

    /// Waits until all is to be closed.
    async fn closing(&self) {
        let mut closing = self.shared.closing.subscribe();
        // The one that tells lives as long as this.
        closing.wait_for(|closing| *closing).await.ok();
    }

    /// Closes all connections in order, within a second. What still runs on them is killed where
    /// the host allows it, and lost. No connection is opened any more.
    pub async fn close(&self) {
        self.shared.closing.send_replace(true);
        let lanes: Vec<Arc<Lane>> = {
            let lanes = self.shared.lanes.lock();
            let mut lanes = lanes.unwrap_or_else(PoisonError::into_inner);
            lanes.drain().flat_map(|(_, ways)| ways).collect()
        };
        let mut closing: JoinSet<()> = JoinSet::new();
        for connection in lanes.iter().flat_map(|lane| lane.take()) {
            closing.spawn(async move { connection.close().await });
        }
        let all = async { while closing.join_next().await.is_some() {} };
        timeout(CLOSING, all).await.ok();
    }
}

impl Ways for Pool {
    fn to(&self, gate: Arc<Destination>) -> AnyFuture<'_, Result<Arc<Connection>, Failure>> {
        Box::pin(async move {
            // Ways through a host are no sessions there, so the lease goes at once.
            let lease = self.lease(&gate).await?;
            Ok(Arc::clone(&lease.connection))
        })
    }
}

type Opening = watch::Receiver<Option<Result<(), Failure>>>;

/// The connections to one host by one way.
struct Lane {
    destination: Arc<Destination>,
    state: Mutex<State>,
    /// Somebody may find a connection with room now.
    changed: Notify,
}

#[derive(Default)]
struct State {
    open: Vec<Slot>,
    opening: Option<Opening>,
    /// How many connections there may be, once the host has refused more.
    most: Option<usize>,
}

struct Slot {
    connection: Arc<Connection>,
    /// How many sessions it has.
    used: usize,
    /// How many it may have.
    most: usize,
}

/// The right to have one session on a connection.
pub(in crate::host) struct Lease {
    lane: Arc<Lane>,
    pub(in crate::host) connection: Arc<Connection>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.lane.with_slot(&self.connection, |slot| slot.used -= 1);
        self.lane.changed.notify_one();
    }
}

impl Lane {
    fn new(destination: Arc<Destination>) -> Self {
        Self {
            destination,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_slot(&self, connection: &Arc<Connection>, change: impl FnOnce(&mut Slot)) {
        let mut state = self.state();
        let is = |slot: &&mut Slot| Arc::ptr_eq(&slot.connection, connection);
        if let Some(slot) = state.open.iter_mut().find(is) {
            change(slot);
        }
    }

    /// Takes all connections out.
    fn take(&self) -> Vec<Arc<Connection>> {
        let open = std::mem::take(&mut self.state().open);
        open.into_iter().map(|slot| slot.connection).collect()
    }

    /// Gives a connection with room, which may mean to open it, or to wait until there is room.
    async fn lease(self: &Arc<Self>, pool: &Pool) -> Result<Lease, Failure> {
        loop {
            let woken = self.changed.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let opening = {
                let mut state = self.state();
                state.open.retain(|slot| !slot.connection.is_lost());
                if let Some(slot) = state.open.iter_mut().find(|slot| slot.used < slot.most) {
                    slot.used += 1;
                    return Ok(Lease {
                        lane: Arc::clone(self),
                        connection: Arc::clone(&slot.connection),
                    });
                }
                if pool.is_closing() {
                    return Err(Failure::Closing);
                }
                let may_open = state.open.len() < state.most.unwrap_or(MOST);
                if state.opening.is_none() && (may_open || state.open.is_empty()) {
                    state.opening = Some(self.open(pool));
                }
                state.opening.clone().filter(|_| state.open.is_empty())
            };
            let Some(mut opening) = opening else {
                woken.await;
                continue;
            };
            tokio::select! {
                () = woken => {}
                opened = opening.wait_for(Option::is_some) => match opened.as_deref() {
                    Ok(Some(Err(failure))) => return Err(failure.clone()),
                    Ok(_) => {}
                    Err(_) => return Err(Failure::Closing),
                }
            }
        }
    }

    /// Begins to open a connection, on its own: who asked for it first may give up.
    fn open(self: &Arc<Self>, pool: &Pool) -> Opening {
        let (tell, told) = watch::channel(None);
        let (lane, pool) = (Arc::clone(self), pool.clone());
        tokio::spawn(async move {
            let opener = pool.opener();
            let result = tokio::select! {
                result = opener.open(&lane.destination) => result,
                () = pool.closing() => Err(Failure::Closing),
            };
            let sessions = pool.shared.limits.sessions.max(1);
            let result = result.map(|connection| lane.opened(connection, sessions));
            if result.is_err() {
                let mut state = lane.state();
                state.opening = None;
                // What is open has to do.
                state.most = Some(state.open.len());
            }
            // Those that wait for room look again, whatever came of it.
            tell.send_replace(Some(result));
            lane.changed.notify_waiters();
        });
        told
    }

    fn opened(&self, connection: Connection, sessions: usize) {
        let mut state = self.state();
        state.opening = None;
        state.most = None;
        state.open.push(Slot {
            connection: Arc::new(connection),
            used: 0,
            most: sessions,
        });
    }

    /// Opens a session. A connection that proves to be lost is opened anew, once; a host that
    /// allows fewer sessions than we thought gets fewer.
    async fn session(self: &Arc<Self>, pool: &Pool) -> Result<(Lease, Channel<Msg>), Failure> {
        let mut losses = 0;
        let mut refusals = 0;
        loop {
            let lease = self.lease(pool).await?;
            let within = self.destination.connect_timeout;
            let opened = timeout(within, lease.connection.session()).await;
            match opened.unwrap_or(Err(NoSession::Lost)) {
                Ok(channel) => return Ok((lease, channel)),
                Err(NoSession::Lost) => {
                    self.forget(&lease.connection);
                    losses += 1;
                    if losses > 1 {
                        return Err(self.broken("the connection was lost at once"));
                    }
                }
                Err(NoSession::Refused) => {
                    let mut is_only = false;
                    self.with_slot(&lease.connection, |slot| {
                        is_only = slot.used <= 1;
                        slot.most = slot.most.min(slot.used.saturating_sub(1)).max(1);
                    });
                    drop(lease);
                    if is_only {
                        refusals += 1;
                        if refusals > REFUSALS {
                            return Err(self.broken("it allows no session"));
                        }
                        sleep(REFUSED).await;
                    }
                }
            }
        }
    }

    /// Does not use a connection any more.
    fn forget(&self, connection: &Arc<Connection>) {
        let mut state = self.state();
        state
            .open
            .retain(|slot| !Arc::ptr_eq(&slot.connection, connection));
    }

    fn broken(&self, why: &str) -> Failure {
        Failure::Broken {
            host: shown(&self.destination),
            why: why.to_owned(),
            count: 1,
        }
    }
}

/// Whether two destinations with one address share their connections.
fn is_same_way(one: &Destination, other: &Destination) -> bool {
    let route = match (&one.route, &other.route) {
        (Route::Jumps(one), Route::Jumps(other)) => {
            let pairs = || one.iter().zip(other);
            one.len() == other.len() && pairs().all(|(one, other)| is_same(one, other))
        }
        (one, other) => one == other,
    };
    route
        && one.identities == other.identities
        && one.host_key_alias == other.host_key_alias
        && one.known_hosts == other.known_hosts
        && one.host_keys == other.host_keys
        && one.forward_agent == other.forward_agent
}

fn is_same(one: &Destination, other: &Destination) -> bool {
    one.address == other.address && is_same_way(one, other)
}
