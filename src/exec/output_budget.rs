//! Bounds the memory for output that is reported as events.
//!
//! Commands write faster than a view can print. [`OutputBudget`] blocks the sink thread while too
//! many bytes are unread, which in turn slows the commands down.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::action_runner::{OutputSink, RunnerEvent};
use crate::host::Stream;

/// The number of unread bytes at which the commands that write them have to wait.
const MAX_UNREAD_BYTES: usize = 1 << 20;

/// Counts unread bytes. Once closed, it blocks no writer any more.
#[derive(Debug, Default)]
pub(super) struct OutputBudget {
    state: Mutex<BudgetState>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct BudgetState {
    bytes: usize,
    closed: bool,
}

impl OutputBudget {
    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases bytes that the receiver has read.
    pub(super) fn release(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
        self.released.notify_all();
    }

    /// Lets all writers go on: the receiver is gone.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.released.notify_all();
    }

    /// Waits until the number of unread bytes is below the limit.
    fn reserve(&self, bytes: usize) {
        let mut state = self.state();
        while state.bytes >= MAX_UNREAD_BYTES && !state.closed {
            state = self
                .released
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes += bytes;
    }
}

/// A sink that reports output as events, in the same channel as the results.
#[derive(Debug)]
pub(super) struct RunnerEventSink {
    pub(super) results: Sender<RunnerEvent>,
    pub(super) budget: Arc<OutputBudget>,
}

impl OutputSink for RunnerEventSink {
    fn output(&mut self, id: u64, stream: Stream, bytes: &[u8]) {
        self.budget.reserve(bytes.len());
        // The channel is closed only when no receiver needs the output.
        self.results
            .send(RunnerEvent::Output(id, stream, bytes.to_vec()))
            .ok();
    }
}
