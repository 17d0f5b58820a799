//! Which facts states will need, asked before any of them runs, so that they are read together
//! (P19).

use super::Engine;
use super::doing::{Doing, Purpose};
use super::graph::count;
use crate::converge::Facts;
use crate::host::fact::Fact;
use crate::value::FoldSet;

impl Engine {
    /// The facts that states need as things stand and that are not known yet; none if there are
    /// no more. What is read may lead to further ones, so this is asked again a few times.
    pub fn first_facts(&mut self, facts: &Facts) -> Vec<Fact> {
        let mut needed: Vec<Fact> = Vec::new();
        let mut seen: FoldSet<Fact> = FoldSet::default();
        for chunk in 0..count(self.low.chunks.len()) {
            if self.surveyed[chunk as usize] {
                continue;
            }
            let doing = Doing::new(chunk, Purpose::test_of(chunk), self.now);
            match self.decide(&doing, true, facts) {
                Ok(_) => self.surveyed[chunk as usize] = true,
                Err(needs) => {
                    let new: Vec<Fact> = needs.into_iter().filter(|it| !facts.has(it)).collect();
                    // What waits for a slot needs nothing that is known by now.
                    self.surveyed[chunk as usize] = new.is_empty();
                    for fact in new {
                        if seen.insert(fact.clone()) {
                            needed.push(fact);
                        }
                    }
                }
            }
        }
        facts.take_doubted();
        needed
    }
}
