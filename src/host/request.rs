//! Requests: an action with its location, and the control that its caller keeps while it runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::{
    Action, ExecutorChain, Exit, InputSpool, Location, ShellLogin, Stream, TransferAmount,
};

/// A request to perform an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRequest {
    pub location: Location,
    pub action: Action,
    /// The executors that the action goes through; none to perform it directly.
    pub chain: Option<Arc<ExecutorChain>>,
    /// The login of the user whose shell reads facts or makes changes; none for the user of the location.
    pub login: Option<Arc<ShellLogin>>,
    /// The user to act as by `sudo`, if the driver that starts the action knows no other.
    pub become_user: Option<String>,
    /// The host name for the executors, if not that of the location.
    pub host: Option<String>,
    /// The rank of the host, counted from 0, and the number of hosts, for executors that spread
    /// them.
    pub rank: (u32, u32),
    /// The time limit until the host is up again, if the command restarts it.
    pub restart: Option<Duration>,
    /// True if no further action needs the connection to the host, which is closed after this one.
    pub closes_connection: bool,
}

impl ActionRequest {
    /// Creates a request for the local machine.
    pub fn local(action: Action) -> Self {
        Self::new(Location::Local, action)
    }

    /// Creates a request for a location.
    pub fn new(location: Location, action: Action) -> Self {
        Self {
            location,
            action,
            chain: None,
            login: None,
            become_user: None,
            host: None,
            rank: (0, 1),
            restart: None,
            closes_connection: false,
        }
    }

    /// Whether the output is shown while the command runs.
    pub fn is_echoed(&self) -> bool {
        matches!(&self.action, Action::Run(command) if command.echo)
    }
}

/// The caller's control over a running action.
#[derive(Debug)]
pub struct CallControl {
    /// The level at which the action has to stop, if at all.
    pub stop: watch::Receiver<StopLevel>,
    /// The receiver of output while the command runs. A slow receiver slows down the command.
    pub output_sender: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
    /// The receiver of the progress of a transfer.
    pub progress_sender: Option<mpsc::Sender<TransferAmount>>,
    /// The input of this program, for a command that reads it.
    pub program_input: Option<InputSpool>,
}

/// The urgency with which an action has to stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopLevel {
    #[default]
    No,
    /// The action is asked to stop and has some time for it.
    Gently,
    /// The action is killed without further delay.
    AtOnce,
}

/// Waits until a command has to end, and returns the reason: a stop is requested, or its time is over.
pub(super) async fn wait_for_end(
    limit: Option<Duration>,
    stop: &mut watch::Receiver<StopLevel>,
) -> Exit {
    tokio::select! {
        () = wait_for_stop(stop, StopLevel::Gently) => Exit::Cancelled,
        () = wait_for_limit(limit) => Exit::TimedOut,
    }
}

/// Waits for the end of a time limit, from now on.
///
/// Never returns without a limit.
pub(super) async fn wait_for_limit(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Waits until a stop of at least this level is requested.
///
/// Never returns if the sender is gone.
pub(super) async fn wait_for_stop(stop: &mut watch::Receiver<StopLevel>, kind: StopLevel) {
    if stop.wait_for(|now| *now >= kind).await.is_err() {
        std::future::pending::<()>().await;
    }
}
