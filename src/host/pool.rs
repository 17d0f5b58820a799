//! Performs actions on other machines, over connections that are shared.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::lane::{Lane, is_same_way};
use super::ssh::{AnyFuture, Connection, Failure, Keys, Ways};
use super::way::Way;
use super::{
    Action, ActionResult, Address, Destination, Exit, Place, Stop, Stream, batch, remote, transfer,
};

/// How long all connections together may take to be closed.
const CLOSING: Duration = Duration::from_secs(1);

/// How the one who asks for an action goes along with it.
#[derive(Debug)]
pub struct Call {
    /// Whether it is to end early.
    pub stop: watch::Receiver<Stop>,
    /// Takes what a command writes, while it runs; a slow taker slows it down.
    pub pieces: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
}

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
#[derive(Debug)]
pub struct Pool {
    pub(super) inner: Arc<Inner>,
}

/// What all connections share.
pub(super) struct Inner {
    pub(super) limits: PoolLimits,
    pub(super) opening: Semaphore,
    pub(super) keys: Keys,
    lanes: Mutex<HashMap<Address, Vec<Arc<Lane>>>>,
    closing: watch::Sender<bool>,
}

impl Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// The connections to a host.
    pub(super) fn lane(&self, destination: &Arc<Destination>) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let ways = lanes.entry(destination.address.clone()).or_default();
        let is = |lane: &&Arc<Lane>| is_same_way(&lane.destination, destination);
        if let Some(lane) = ways.iter().find(is) {
            return Arc::clone(lane);
        }
        let lane = Arc::new(Lane::new(Arc::clone(destination)));
        ways.push(Arc::clone(&lane));
        lane
    }

    pub(super) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Waits until all is to be closed.
    pub(super) async fn closing(&self) {
        let mut closing = self.closing.subscribe();
        // The one that tells lives as long as this.
        closing.wait_for(|closing| *closing).await.ok();
    }
}

impl Ways for Arc<Inner> {
    fn to(&self, gate: Arc<Destination>) -> AnyFuture<'_, Result<Arc<Connection>, Failure>> {
        Box::pin(async move {
            // Ways through a host are no sessions there, so the lease goes at once.
            let lease = self.lane(&gate).lease(self).await?;
            Ok(Arc::clone(&lease.connection))
        })
    }
}

impl Pool {
    /// A pool without any connection.
    pub fn new(limits: PoolLimits) -> Self {
        let opening = limits.opening.clamp(1, Semaphore::MAX_PERMITS);
        let inner = Inner {
            limits,
            opening: Semaphore::new(opening),
            keys: Keys::default(),
            lanes: Mutex::default(),
            closing: watch::Sender::new(false),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Performs an action that is not a command of this machine. The result says how it went in
    /// every case.
    pub async fn perform(&self, place: &Place, action: &Action, call: Call) -> ActionResult {
        let way = Way::new(&self.inner, place);
        match (place, action) {
            (Place::Here, Action::Run(_) | Action::Read(_) | Action::Change(_)) => {
                let why = "commands of this machine do not come here".to_owned();
                ActionResult::not_performed(action, Exit::Failed(why))
            }
            (_, Action::Run(command)) => ActionResult::Run(remote::run(&way, command, call).await),
            (_, Action::Read(_) | Action::Change(_)) => match batch::command(action) {
                Some(command) => {
                    let output = remote::run(&way, &command, call).await;
                    batch::result(action, &output)
                }
                None => ActionResult::not_performed(action, Exit::Code(0)),
            },
            (Place::Here, _) => ActionResult::Transfer(transfer::here(action).await),
            _ => ActionResult::Transfer(transfer::there(&way, action, call).await),
        }
    }

    /// Closes all connections in order, within a second. What still runs on them is killed where
    /// the host allows it, and lost. No connection is opened any more.
    pub async fn close(&self) {
        self.inner.closing.send_replace(true);
        let lanes: Vec<Arc<Lane>> = {
            let lanes = self.inner.lanes.lock();
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
