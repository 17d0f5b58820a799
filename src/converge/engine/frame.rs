//! A call of a chunk on the stack of those that wait for others.

use crate::converge::ChunkIndex;

/// A chunk that is about to run.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) chunk: ChunkIndex,
    /// How often it was looked at again after those it requires were called.
    pub(super) depth: u8,
    /// Whether those it requires are being called.
    pub(super) walks: bool,
    /// The next of them: a need, and a place in its set.
    pub(super) need: u32,
    pub(super) item: u32,
    /// The last that was called.
    pub(super) called: Option<ChunkIndex>,
    /// How much had happened when it was looked at.
    pub(super) since: u64,
}

impl Frame {
    pub(super) fn of(chunk: ChunkIndex) -> Self {
        Self {
            chunk,
            depth: 0,
            walks: false,
            need: 0,
            item: 0,
            called: None,
            since: 0,
        }
    }
}
