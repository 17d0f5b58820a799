//! Output on its way to who listens for results: so much of it that memory stays bounded.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::action_runner::{OutputSink, RunnerEvent};
use crate::host::Stream;

/// How many bytes wait to be heard before the commands that write them wait.
const MAX_UNREAD_BYTES: usize = 1 << 20;

/// How many bytes wait to be heard; none any more once nobody listens.
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

    /// Some were heard.
    pub(super) fn release(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
        self.released.notify_all();
    }

    /// Nobody listens any more.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.released.notify_all();
    }

    /// Waits until there is room for more.
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

/// Tells output where results are told.
#[derive(Debug)]
pub(super) struct RunnerEventSink {
    pub(super) results: Sender<RunnerEvent>,
    pub(super) budget: Arc<OutputBudget>,
}

impl OutputSink for RunnerEventSink {
    fn output(&mut self, id: u64, stream: Stream, bytes: &[u8]) {
        self.budget.reserve(bytes.len());
        // Where nobody listens, nobody misses it.
        self.results
            .send(RunnerEvent::Output(id, stream, bytes.to_vec()))
            .ok();
    }
}
