//! Prefetch: collects the facts that all states will need before any of them runs, so that one round trip
//! reads them together (P1).

use super::Engine;
use super::graph::to_index;
use super::running::{CallPurpose, RunningState};
use crate::host::fact::Fact;
use crate::states::FactCache;
use crate::value::FoldSet;

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
}
