//! The states whose calls may be aggregated (S40).

use std::sync::Arc;

use super::graph::to_index;
use super::options::{Aggregation, EngineOptions};
use crate::states::low_data::UNCERTAIN_KEYWORDS;
use crate::states::state_function::find_function;
use crate::states::{Chunk, ChunkIndex, LowData};
use crate::value::{FoldMap, Value};

/// The chunks whose calls may be joined, by module and function.
#[derive(Debug, Default)]
pub(super) struct AggregateCandidates {
    pub(super) by_function: FoldMap<(Arc<str>, Arc<str>), Vec<ChunkIndex>>,
    /// The chunks whose work another chunk's call has taken over, by chunk index. Empty if there are no
    /// candidates.
    pub(super) joined: Vec<bool>,
}

impl AggregateCandidates {
    pub(super) fn of(low: &LowData, options: &EngineOptions) -> Self {
        let mut found = Self::default();
        for (at, chunk) in low.chunks.iter().enumerate() {
            if may_join(chunk, options) {
                let function = (Arc::clone(&chunk.state), Arc::clone(&chunk.fun));
                found
                    .by_function
                    .entry(function)
                    .or_default()
                    .push(to_index(at));
            }
        }
        if !found.by_function.is_empty() {
            found.joined = vec![false; low.chunks.len()];
        }
        found
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_function.is_empty()
    }
}

fn may_join(chunk: &Chunk, options: &EngineOptions) -> bool {
    let joins = match chunk.keywords.get("aggregate").map(Value::reveal) {
        Some(Value::List(modules)) => modules.iter().any(|it| it.as_str() == Some(&*chunk.state)),
        Some(written) => *written == Value::Bool(true),
        None => match &options.aggregate {
            Aggregation::Never => false,
            Aggregation::Always => true,
            Aggregation::Modules(modules) => modules.iter().any(|it| **it == *chunk.state),
        },
    };
    let can = || {
        let (module, _) = find_function(options.modules, &chunk.state, &chunk.fun);
        module.is_some_and(|it| it.aggregate.is_some())
    };
    joins
        && can()
        && !UNCERTAIN_KEYWORDS
            .iter()
            .any(|word| chunk.keywords.contains_key(*word))
}
