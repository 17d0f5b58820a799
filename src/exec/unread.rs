//! Output on its way to who listens for results: so much of it that memory stays bounded.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::perform::{Heard, OutputSink};
use crate::host::Stream;

/// How many bytes wait to be heard before the commands that write them wait.
const MOST: usize = 1 << 20;

/// How many bytes wait to be heard; none any more once nobody listens.
#[derive(Debug, Default)]
pub(super) struct Unread {
    state: Mutex<State>,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    closed: bool,
}

impl Unread {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some were heard.
    pub(super) fn take(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
        self.taken.notify_all();
    }

    /// Nobody listens any more.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.taken.notify_all();
    }

    /// Waits until there is room for more.
    fn add(&self, bytes: usize) {
        let mut state = self.state();
        while state.bytes >= MOST && !state.closed {
            state = self
                .taken
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes += bytes;
    }
}

/// Tells output where results are told.
#[derive(Debug)]
pub(super) struct Teller {
    pub(super) results: Sender<Heard>,
    pub(super) unread: Arc<Unread>,
}

impl OutputSink for Teller {
    fn output(&mut self, id: u64, stream: Stream, bytes: &[u8]) {
        self.unread.add(bytes.len());
        // Where nobody listens, nobody misses it.
        self.results
            .send(Heard::Wrote(id, stream, bytes.to_vec()))
            .ok();
    }
}
