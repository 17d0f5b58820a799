//! The port through which a driver runs actions, with [`LocalRunner`](super::LocalRunner) for real
//! runs and fakes for tests.
//!
//! A runner reports results, notes and output as [`RunnerEvent`]s.

use std::time::Instant;

use crate::host::{ActionRequest, ActionResult, ChainNote, Stream, TransferAmount};
use crate::system::limit_hints::limit_suffix;
use crate::system::signals::{Interrupts, ListenerGuard};

/// Runs actions. Actions may end in any order.
pub trait ActionRunner {
    /// Starts an action.
    ///
    /// Its result has the same id. No other running action may have this id.
    fn begin(&mut self, id: u64, request: ActionRequest) -> Result<(), Error>;

    /// Waits for the next event, at most until the given time.
    ///
    /// None if no event came by then.
    fn next_event(&mut self, until: Option<Instant>) -> Result<Option<RunnerEvent>, Error>;

    /// Cancels all running actions. Their results still come.
    fn cancel_all(&mut self);

    /// Registers the runner as a listener for signals, if signals shall reach it while it waits.
    fn listen(&self, _interrupts: &Interrupts) -> Option<ListenerGuard> {
        None
    }
}

/// An event that a runner reports to its driver.
#[derive(Debug)]
pub enum RunnerEvent {
    /// An action has ended with this result.
    Ended(u64, ActionResult),
    /// A note of an executor about an action, in words without secrets.
    Note(u64, ChainNote),
    /// The user or the system requests termination with this signal.
    Interruption(i32),
    /// The command of an action wrote output.
    ///
    /// Only reported by a runner started with
    /// [`LocalRunner::start_with_output`](super::LocalRunner::start_with_output).
    Output(u64, Stream, Vec<u8>),
    /// A transfer has copied this amount so far.
    ///
    /// Only reported by a runner that reports output.
    Progress(u64, TransferAmount),
    /// The command of an action wrote this line to its stdout, here without secrets and line end.
    ///
    /// Only reported for commands that ask for it.
    Line(u64, String),
}

/// The reason why a runner cannot run actions any more.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system provided no thread or no event queue.
    #[error("could not start the local runner: {}{}", .0, limit_suffix(.0))]
    Start(#[from] std::io::Error),
    /// The thread of the runner has ended.
    #[error("the local runner has ended")]
    Ended,
}
