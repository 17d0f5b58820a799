//! An action with the place where it is performed, and how it is gone along with: its output, and
//! its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::{Action, ExecutorChain, Location, Stream};

/// What a runner is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRequest {
    /// Where.
    pub location: Location,
    /// What.
    pub action: Action,
    /// The executors it goes through; none to perform it as it is.
    pub chain: Option<Arc<ExecutorChain>>,
    /// The name of the host for the executors, if not that of the place.
    pub host: Option<String>,
    /// Which of so many hosts it is, counted from 0, for executors that spread them.
    pub rank: (u32, u32),
    /// How long it may take until the host has started anew, where the command restarts it.
    pub restart: Option<Duration>,
}

impl ActionRequest {
    /// An action on this machine.
    pub fn local(action: Action) -> Self {
        Self::at(Location::Local, action)
    }

    /// An action at a place.
    pub fn at(place: Location, action: Action) -> Self {
        Self {
            location: place,
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
pub struct CallControl {
    /// Whether it is to end early.
    pub stop: watch::Receiver<StopLevel>,
    /// Takes what a command writes, while it runs; a slow taker slows it down.
    pub output_sender: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
}

/// Whether an action is to end early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopLevel {
    /// It may go on.
    #[default]
    No,
    /// It is asked to end, and has some time for it.
    Gently,
    /// It is killed.
    AtOnce,
}

/// Waits until there is to be an end of at least this kind; for ever if nobody can say so.
pub(super) async fn wait_for_stop(stop: &mut watch::Receiver<StopLevel>, kind: StopLevel) {
    if stop.wait_for(|now| *now >= kind).await.is_err() {
        std::future::pending::<()>().await;
    }
}
