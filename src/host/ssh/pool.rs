//! The connections to one host by one way: opened by the first that needs one, shared by all, more
//! of them where one does not do (spec/hosts.md F6, F42).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use russh::Channel;
use russh::client::Msg;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::pool::Inner;
use super::ssh::{Connection, Failure, NoSession, Opener, shown};
use super::{Destination, Route};

/// The most connections to one host by one way.
const MOST: usize = 4;
/// How often a host may refuse the only session of a connection, and how long it has in between: a
/// session that has just ended may still count there.
const REFUSALS: u32 = 5;
const REFUSED: Duration = Duration::from_millis(50);

type Opening = watch::Receiver<Option<Result<(), Failure>>>;

/// The connections to one host by one way.
pub(super) struct Lane {
    pub(super) destination: Arc<Destination>,
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
pub(super) struct Lease {
    lane: Arc<Lane>,
    pub(super) connection: Arc<Connection>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.lane.with_slot(&self.connection, |slot| slot.used -= 1);
        self.lane.changed.notify_one();
    }
}

impl Lane {
    pub(super) fn new(destination: Arc<Destination>) -> Self {
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
    pub(super) fn take(&self) -> Vec<Arc<Connection>> {
        let open = std::mem::take(&mut self.state().open);
        open.into_iter().map(|slot| slot.connection).collect()
    }

    /// Gives a connection with room, which may mean to open it, or to wait until there is room.
    pub(super) async fn lease(self: &Arc<Self>, pool: &Arc<Inner>) -> Result<Lease, Failure> {
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
    fn open(self: &Arc<Self>, pool: &Arc<Inner>) -> Opening {
        let (tell, told) = watch::channel(None);
        let (lane, pool) = (Arc::clone(self), Arc::clone(pool));
        tokio::spawn(async move {
            let opener = Opener {
                keys: &pool.keys,
                opening: &pool.opening,
                ways: &pool,
            };
            let result = tokio::select! {
                result = opener.open(&lane.destination) => result,
                () = pool.closing() => Err(Failure::Closing),
            };
            let sessions = pool.limits.sessions.max(1);
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
    pub(super) async fn session(
        self: &Arc<Self>,
        pool: &Arc<Inner>,
    ) -> Result<(Lease, Channel<Msg>), Failure> {
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
pub(super) fn is_same_way(one: &Destination, other: &Destination) -> bool {
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
