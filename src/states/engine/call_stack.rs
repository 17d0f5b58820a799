//! The call stack of the engine: a chunk that waits for the chunks it requires has a frame on it.

use crate::states::ChunkIndex;

/// A stack frame of a chunk that is about to run.
#[derive(Debug)]
pub(super) struct CallFrame {
    pub(super) chunk: ChunkIndex,
    /// The number of times the chunk was checked again after its requirements were called.
    pub(super) revisits: u8,
    /// Whether the engine is calling the chunk's requirements one by one.
    pub(super) is_walking: bool,
    /// The next requirement to call: the index of a need, then the index in its set.
    pub(super) need_index: u32,
    pub(super) target_index: u32,
    /// The requirement that was called last.
    pub(super) last_called: Option<ChunkIndex>,
    /// The engine's progress counter when the walk began. No progress since then means a cycle.
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
