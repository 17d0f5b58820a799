//! Reversal of states: builds the states that undo others, for deleting what they created.

use std::sync::Arc;

use super::{Chunk, ChunkIndex, LowData, Reverse, find};

/// Returns the states that undo the given ones, in reverse order, and a message for each state that cannot be
/// undone.
pub fn reverse_states(low: &LowData) -> (Arc<LowData>, Vec<String>) {
    let (mut chunks, mut irreversible): (Vec<Chunk>, Vec<String>) = (Vec::new(), Vec::new());
    for index in low.order.iter().rev() {
        let chunk = &low.chunks[*index as usize];
        let (_, function) = find(&chunk.state, &chunk.fun);
        match function.map(|function| function.reverse) {
            Some(Reverse::By(fun)) => {
                let mut back = chunk.clone();
                back.fun = fun.into();
                back.links.clear();
                back.keywords.clear();
                if let (_, Some(other)) = find(&chunk.state, fun) {
                    back.args.retain(|key, _| other.takes(key));
                }
                chunks.push(back);
            }
            Some(Reverse::NoOp) => {}
            Some(Reverse::Irreversible(why)) => irreversible.push(format!(
                "{} ({}.{}) cannot be undone: {why}",
                chunk.id, chunk.state, chunk.fun
            )),
            None => irreversible.push(format!(
                "{} ({}.{}) cannot be undone: the state function is unknown",
                chunk.id, chunk.state, chunk.fun
            )),
        }
    }
    let count = ChunkIndex::try_from(chunks.len()).unwrap_or(ChunkIndex::MAX);
    let low = LowData {
        order: (0..count).collect(),
        chunks,
        sets: Vec::new(),
        ordering: low.ordering,
        has_links: false,
    };
    (Arc::new(low), irreversible)
}
