//! Prefetch: collects the facts that states will need before their turn, so that one round trip reads them
//! together (P1): those of all states before the first one runs, and those of the next states whenever one
//! state needs facts that a change has made unknown.

use super::Engine;
use super::graph::to_index;
use super::result::ChunkStatus;
use super::running::{CallPurpose, RunDecision, RunningState};
use crate::host::change::Change;
use crate::host::fact::{Domain, Fact};
use crate::states::fact_cache::touched_domains;
use crate::states::{ChangeSet, ChunkIndex, FactCache, StateDecision};
use crate::system::fs::FILE_MODE;
use crate::value::FoldSet;

/// The number of next states whose facts are read together with those of a state.
const MAX_LOOKAHEAD: usize = 64;

impl Engine {
    /// Returns the facts that states need and that are not yet known. Empty when there are no more.
    ///
    /// Facts that were read may lead to further ones, so the caller repeats this a few times.
    pub fn prefetch_facts(&mut self, facts: &FactCache) -> Vec<Fact> {
        let mut needed: Vec<Fact> = Vec::new();
        let mut seen: FoldSet<Fact> = FoldSet::default();
        for chunk in 0..to_index(self.low.chunks.len()) {
            if self.prefetched[chunk as usize] {
                continue;
            }
            let running = RunningState::new(chunk, CallPurpose::test_of(chunk), self.now);
            match self.decide(&running, true, facts) {
                Ok(_) => self.prefetched[chunk as usize] = true,
                Err(needs) => {
                    let new: Vec<Fact> = needs.into_iter().filter(|it| !facts.has(it)).collect();
                    // A state that waits for a slot needs no further fact that can be known now.
                    self.prefetched[chunk as usize] = new.is_empty();
                    for fact in new {
                        if seen.insert(fact.clone()) {
                            needed.push(fact);
                        }
                    }
                }
            }
        }
        facts.take_used_doubtful();
        needed
    }

    /// Adds the facts that the next states need to the facts that a state needs now.
    ///
    /// The last state whose facts are added is one that may change anything: all facts behind it would be read
    /// again.
    pub(super) fn add_next_facts(&self, needed: &mut Vec<Fact>, facts: &FactCache) {
        // Changes that are still to be made, or that are being made, would make these facts wrong before they are used.
        let are_changes_pending = self.batch.is_open() || self.parallel_count > 0;
        if self.options.max_batch == 0 || are_changes_pending {
            return;
        }
        let mut seen: FoldSet<Fact> = needed.iter().cloned().collect();
        let order = self.low.order.iter().skip(self.position).copied();
        let due = |chunk: &ChunkIndex| self.statuses[*chunk as usize] == ChunkStatus::NotRun;
        for chunk in order.filter(due).take(MAX_LOOKAHEAD) {
            let running = RunningState::new(chunk, CallPurpose::test_of(chunk), self.now);
            match self.decide(&running, true, facts) {
                Err(needs) => {
                    let new = needs.into_iter().filter(|fact| !facts.has(fact));
                    needed.extend(new.filter(|fact| seen.insert(fact.clone())));
                }
                Ok(RunDecision::Evaluated(StateDecision::Change(changes), _))
                    if may_change_anything(&changes) =>
                {
                    break;
                }
                Ok(_) => {}
            }
        }
        facts.take_used_doubtful();
    }
}

/// Notes the modes of existing files in the changes that replace them, and the usual mode where no file is.
pub(super) fn note_present_modes(steps: &mut [Change], facts: &FactCache) {
    for step in steps {
        if let Change::Write(write) = step
            && let Ok(file) = facts.path(&write.path)
        {
            write.present_mode = match file {
                Some(file) => file.is_file().then_some(file.mode),
                None => Some(FILE_MODE),
            };
        }
    }
}

fn may_change_anything(changes: &ChangeSet) -> bool {
    let mut domains = changes.steps.iter().flat_map(touched_domains);
    domains.any(|domain| domain == Domain::All)
}
