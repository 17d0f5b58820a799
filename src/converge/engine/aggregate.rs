//! Makes one call of several of one function, such as one installation of many packages (S40).

use std::sync::Arc;

use super::Engine;
use super::doing::{Doing, Purpose};
use super::engine::Ran;
use super::graph::count;
use super::setup::{Aggregation, Setup};
use super::standing::Status;
use crate::converge::function::find_in;
use crate::converge::{Chunk, ChunkIndex, Low};
use crate::hash::FoldMap;
use crate::value::{Map, Value};

/// The most calls that are looked at for one.
const MOST: usize = 500;

/// Words after which it is not known whether a state runs, or how often.
const CONDITIONS: [&str; 6] = [
    "unless",
    "onlyif",
    "creates",
    "check_cmd",
    "retry",
    "parallel",
];

/// The chunks whose calls may be joined, by module and function.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    by_function: FoldMap<(Arc<str>, Arc<str>), Vec<ChunkIndex>>,
    /// Those whose work another does.
    joined: Vec<bool>,
}

impl Candidates {
    pub(super) fn of(low: &Low, setup: &Setup) -> Self {
        let mut found = Self::default();
        for (at, chunk) in low.chunks.iter().enumerate() {
            if may_join(chunk, setup) {
                let function = (Arc::clone(&chunk.state), Arc::clone(&chunk.fun));
                found
                    .by_function
                    .entry(function)
                    .or_default()
                    .push(count(at));
            }
        }
        if !found.by_function.is_empty() {
            found.joined = vec![false; low.chunks.len()];
        }
        found
    }
}

impl Candidates {
    /// Whether nothing may be joined.
    pub(super) fn is_empty(&self) -> bool {
        self.by_function.is_empty()
    }
}

fn may_join(chunk: &Chunk, setup: &Setup) -> bool {
    let joins = match chunk.keywords.get("aggregate").map(Value::reveal) {
        Some(Value::List(modules)) => modules.iter().any(|it| it.as_str() == Some(&*chunk.state)),
        Some(written) => *written == Value::Bool(true),
        None => match &setup.aggregate {
            Aggregation::Never => false,
            Aggregation::Always => true,
            Aggregation::Modules(modules) => modules.iter().any(|it| **it == *chunk.state),
        },
    };
    let can = || {
        let (module, _) = find_in(setup.modules, &chunk.state, &chunk.fun);
        module.is_some_and(|it| it.aggregate.is_some())
    };
    joins
        && can()
        && !CONDITIONS
            .iter()
            .any(|word| chunk.keywords.contains_key(*word))
}

impl Engine {
    /// The arguments for one call of several, if this one may do the work of others: those that
    /// could run now as well.
    pub(super) fn aggregated(&mut self, doing: &Doing) -> Option<Map> {
        let Purpose::Run { .. } = doing.purpose else {
            return None;
        };
        let low = Arc::clone(&self.low);
        let chunk = &low.chunks[doing.chunk as usize];
        if self.aggregates.joined.is_empty() || self.aggregates.joined[doing.chunk as usize] {
            return None;
        }
        let function = (Arc::clone(&chunk.state), Arc::clone(&chunk.fun));
        let all = self.aggregates.by_function.get_mut(&function)?;
        if !all.contains(&doing.chunk) {
            return None;
        }
        let ran = &self.ran;
        all.retain(|it| *it != doing.chunk && ran[*it as usize] == Ran::No);
        let candidates: Vec<ChunkIndex> = all.iter().copied().take(MOST).collect();
        let mut others = Vec::new();
        for other in candidates {
            if !self.aggregates.joined[other as usize] && self.status(other, false) == Status::Met {
                others.push(other);
            }
        }
        if others.is_empty() {
            return None;
        }
        let named = |at: &ChunkIndex| {
            let chunk = &low.chunks[*at as usize];
            let mut args = chunk.args.clone();
            args.insert("name".into(), Value::Str(Arc::clone(&chunk.name)));
            args
        };
        let maps: Vec<Map> = std::iter::once(&doing.chunk)
            .chain(&others)
            .map(named)
            .collect();
        let refs: Vec<&Map> = maps.iter().collect();
        let (module, _) = find_in(self.setup.modules, &chunk.state, &chunk.fun);
        let joined = module?.aggregate?(&refs)?;
        for other in others {
            self.aggregates.joined[other as usize] = true;
        }
        Some(joined)
    }
}
