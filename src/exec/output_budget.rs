//! Bounds the memory for output that is reported as events.
//!
//! Commands write faster than a view can print. An [`OutputSender`] waits while too many bytes are
//! unread, which in turn slows the commands down.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use tokio::sync::Semaphore;

use super::action_runner::RunnerEvent;
use crate::host::Stream;

/// The number of unread bytes at which the commands that write them have to wait.
const MAX_UNREAD_BYTES: u32 = 1 << 20;

/// The number of bytes that may still be sent before a receiver has to read.
#[derive(Debug, Clone)]
pub(super) struct OutputBudget(Arc<Semaphore>);

impl OutputBudget {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_UNREAD_BYTES as usize)))
    }

    /// Releases bytes that the receiver has read.
    pub(super) fn release(&self, bytes: usize) {
        self.0.add_permits(cost(bytes) as usize);
    }

    /// Lets all senders go on: the receiver is gone.
    pub(super) fn close(&self) {
        self.0.close();
    }

    /// Waits until so many bytes may be sent.
    async fn reserve(&self, bytes: usize) {
        if let Ok(permit) = self.0.acquire_many(cost(bytes)).await {
            permit.forget();
        }
    }
}

/// The part of the budget that a piece of output takes. A large piece takes all of it.
fn cost(bytes: usize) -> u32 {
    u32::try_from(bytes)
        .unwrap_or(u32::MAX)
        .min(MAX_UNREAD_BYTES)
}

/// Reports output as events, in the same channel as the results.
#[derive(Debug, Clone)]
pub(super) struct OutputSender {
    pub(super) results: Sender<RunnerEvent>,
    pub(super) budget: OutputBudget,
}

impl OutputSender {
    /// Reports a line of the stdout of an action. Its result must be reported later.
    pub(super) async fn send_line(&self, id: u64, line: String) {
        self.budget.reserve(line.len()).await;
        // The channel is closed only when no receiver needs the output.
        self.results.send(RunnerEvent::Line(id, line)).ok();
    }

    /// Reports output of an action. Its result must be reported later.
    pub(super) async fn send(&self, id: u64, stream: Stream, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.budget.reserve(bytes.len()).await;
        // The channel is closed only when no receiver needs the output.
        self.results
            .send(RunnerEvent::Output(id, stream, bytes))
            .ok();
    }
}
