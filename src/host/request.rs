//! An action with the place where it is performed, and how it is gone along with: its output, and
//! its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::{Action, Chain, Place, Stream};

/// What a runner is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Where.
    pub place: Place,
    /// What.
    pub action: Action,
    /// The executors it goes through; none to perform it as it is.
    pub chain: Option<Arc<Chain>>,
    /// The name of the host for the executors, if not that of the place.
    pub host: Option<String>,
    /// Which of so many hosts it is, counted from 0, for executors that spread them.
    pub rank: (u32, u32),
    /// How long it may take until the host has started anew, where the command restarts it.
    pub restart: Option<Duration>,
}

impl Request {
    /// An action on this machine.
    pub fn here(action: Action) -> Self {
        Self::at(Place::Here, action)
    }

    /// An action at a place.
    pub fn at(place: Place, action: Action) -> Self {
        Self {
            place,
            action,
            chain: None,
            host: None,
            rank: (0, 1),
            restart: None,
        }
    }

    /// Whether output is shown while it is written.
    pub fn is_echoed(&self) -> bool {
        matches!(&self.action, Action::Run(command) if command.echo)
    }
}

/// How the one who asks for an action goes along with it.
#[derive(Debug)]
pub struct Call {
    /// Whether it is to end early.
    pub stop: watch::Receiver<Stop>,
    /// Takes what a command writes, while it runs; a slow taker slows it down.
    pub pieces: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
}

/// Whether an action is to end early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stop {
    /// It may go on.
    #[default]
    No,
    /// It is asked to end, and has some time for it.
    Gently,
    /// It is killed.
    AtOnce,
}

/// Waits until there is to be an end of at least this kind; for ever if nobody can say so.
pub(super) async fn until(stop: &mut watch::Receiver<Stop>, kind: Stop) {
    if stop.wait_for(|now| *now >= kind).await.is_err() {
        std::future::pending::<()>().await;
    }
}
