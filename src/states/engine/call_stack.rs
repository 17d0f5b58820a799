//! A call of a chunk on the stack of those that wait for others.

use crate::states::ChunkIndex;

/// A chunk that is about to run.
#[derive(Debug)]
pub(super) struct CallFrame {
    pub(super) chunk: ChunkIndex,
    /// How often it was looked at again after those it requires were called.
    pub(super) revisits: u8,
    /// Whether those it requires are being called.
    pub(super) is_walking: bool,
    /// The next of them: a need, and a place in its set.
    pub(super) need_index: u32,
    pub(super) target_index: u32,
    /// The last that was called.
    pub(super) last_called: Option<ChunkIndex>,
    /// How much had happened when it was looked at.
    pub(super) progress_seen: u64,
}

impl CallFrame {
    pub(super) fn of(chunk: ChunkIndex) -> Self {
        Self {
            chunk,
            revisits: 0,
            is_walking: false,
            need_index: 0,
            target_index: 0,
            last_called: None,
            progress_seen: 0,
        }
    }
}
