//! Aggregation: joins the calls of several states with the same function into one, such as one installation
//! of many packages (S40).
//!
//! When the first state of a group runs, the engine passes the arguments of the whole group to the module's
//! `aggregate` hook. `aggregate_candidates.rs` decides which states may be in a group.

use std::sync::Arc;

use super::Engine;
use super::requisite_status::RequisiteStatus;
use super::result::ChunkStatus;
use super::running::{CallPurpose, RunningState};
use crate::states::ChunkIndex;
use crate::states::state_function::find_function;
use crate::value::{Map, Value};

/// The maximum number of candidates considered for one joined call.
const MAX_CANDIDATES: usize = 500;

impl Engine {
    /// Returns the joined arguments if this state can do the work of other states as well. Considers only
    /// states whose requisites are already met.
    pub(super) fn aggregate_args(&mut self, running: &RunningState) -> Option<Map> {
        let CallPurpose::Run { .. } = running.purpose else {
            return None;
        };
        let low = Arc::clone(&self.low);
        let chunk = &low.chunks[running.chunk as usize];
        if self.aggregates.joined.is_empty() || self.aggregates.joined[running.chunk as usize] {
            return None;
        }
        let function = (Arc::clone(&chunk.state), Arc::clone(&chunk.fun));
        let all = self.aggregates.by_function.get_mut(&function)?;
        if !all.contains(&running.chunk) {
            return None;
        }
        let ran = &self.statuses;
        all.retain(|it| *it != running.chunk && ran[*it as usize] == ChunkStatus::NotRun);
        let candidates: Vec<ChunkIndex> = all.iter().copied().take(MAX_CANDIDATES).collect();
        let mut others = Vec::new();
        for other in candidates {
            if !self.aggregates.joined[other as usize]
                && self.status(other, false) == RequisiteStatus::Met
            {
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
        let maps: Vec<Map> = std::iter::once(&running.chunk)
            .chain(&others)
            .map(named)
            .collect();
        let refs: Vec<&Map> = maps.iter().collect();
        let (module, _) = find_function(self.options.modules, &chunk.state, &chunk.fun);
        let joined = module?.aggregate?(&refs)?;
        for other in others {
            self.aggregates.joined[other as usize] = true;
        }
        Some(joined)
    }
}
