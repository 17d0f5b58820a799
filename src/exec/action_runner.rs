//! The port through which a driver has actions performed, by this machine or in a simulation, and
//! the news of them: their ends, notes and output.

use std::time::Instant;

use crate::host::{ActionRequest, ActionResult, ChainNote, Stream};
use crate::system::signals::{Interrupts, ListenerGuard};

/// Performs actions; those begun may end in any order.
pub trait ActionRunner {
    /// Begins an action. Its result comes with the same number, which no other action that runs
    /// has.
    fn begin(&mut self, id: u64, request: ActionRequest) -> Result<(), Error>;

    /// Waits for the news that come next, until a time if there is one; none if there were none
    /// by then.
    fn next_event(&mut self, until: Option<Instant>) -> Result<Option<RunnerEvent>, Error>;

    /// Ends all actions early; their results still come.
    fn cancel_all(&mut self);

    /// Listens to signals from now on, if they reach this while it waits.
    fn listen(&self, _interrupts: &Interrupts) -> Option<ListenerGuard> {
        None
    }
}

/// What a runner tells.
#[derive(Debug)]
pub enum RunnerEvent {
    /// An action has ended.
    Ended(u64, ActionResult),
    /// What an executor does with an action, in words without secrets.
    Note(u64, ChainNote),
    /// Somebody asks for an end of all by this signal.
    Interruption(i32),
    /// The command of an action wrote something; only a runner that was started with
    /// [`Local::start_telling`](super::Local::start_telling) tells it.
    Output(u64, Stream, Vec<u8>),
}

/// Hears what commands with `echo` write, while they run. A slow one slows those commands down.
pub trait OutputSink: Send {
    /// Takes the next bytes that the command of an effect wrote.
    fn output(&mut self, id: u64, stream: Stream, bytes: &[u8]);
}

/// Why actions cannot be performed any more.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system gave it no thread or no event queue.
    #[error("could not start the local runner: {0}")]
    Start(#[from] std::io::Error),
    /// Its thread ended.
    #[error("the local runner has ended")]
    Ended,
}
