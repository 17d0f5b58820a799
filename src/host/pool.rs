//! Performs actions on other machines, over connections that are shared.

use std::fmt::Debug;

use tokio::sync::{mpsc, watch};

use super::{Action, ActionResult, Exit, Place, Stop, Stream};

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

/// The open connections, one for each address. A connection is opened at first use.
#[derive(Debug)]
pub struct Pool {
    _limits: PoolLimits,
}

impl Pool {
    /// A pool without any connection.
    pub fn new(limits: PoolLimits) -> Self {
        Self { _limits: limits }
    }

    /// Performs an action on another machine. The result says how it went in every case.
    #[expect(clippy::unused_async, reason = "the connection comes next")]
    pub async fn perform(&self, place: &Place, action: &Action, call: Call) -> ActionResult {
        drop(call);
        let message = format!("`{place}` cannot be reached");
        ActionResult::not_performed(action, Exit::Unreachable(message))
    }

    /// Closes all connections in order, within a second; what still runs on them is lost.
    #[expect(clippy::unused_async, reason = "the connection comes next")]
    pub async fn close(&self) {}
}
