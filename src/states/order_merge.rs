//! Merging of run orders: combines the orders of many machines into one common sequence of states (P27–P31).
//!
//! Each machine keeps its own order, and every machine reaches a shared state before any machine continues
//! behind it. Entry: [`merge_orders`], used by runs over many hosts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::self_contained::is_self_contained;
use super::{Chunk, LowData};
use crate::dag::{Cycle, find_cycle};
use crate::diagnostic::Span;
use crate::value::FoldMap;

/// A state of the merged sequence, shared by one or more machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedState {
    /// The label for output: the ID, the function, and the name if it differs.
    pub label: String,
    /// The machines with this state, each with the position in its [`LowData::order`].
    pub positions: Vec<(usize, usize)>,
    /// True if the state cannot notice what other machines do, on all machines that have it.
    pub is_self_contained: bool,
}

/// An error: machines have the same states in contradicting orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderConflict {
    /// The states of the cycle. Each comes before the next, and the last before the first.
    pub states: Vec<ConflictStep>,
}

/// A state in the cycle of an [`OrderConflict`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictStep {
    pub label: String,
    /// The source position on one of the machines.
    pub span: Span,
    /// The index of a machine on which the state comes before the next one of the cycle.
    pub machine: usize,
}

/// The identity of a state across machines: SLS, ID, module, function, and how often these occurred before on
/// the machine. The `name` may differ (P28).
type StateIdentity<'a> = (&'a str, &'a str, &'a str, &'a str, u32);

/// Merges the orders of machines, given in inventory order. Where several states are possible next, the one
/// with the earliest position on its first machine comes first.
pub fn merge_orders(machines: &[&LowData]) -> Result<Vec<SharedState>, OrderConflict> {
    let mut merging = OrderMerger::default();
    for (machine, low) in machines.iter().enumerate() {
        merging.add_machine(machine, low);
    }
    merging.sort(machines)
}

/// The graph of states across machines during a merge.
#[derive(Default)]
struct OrderMerger<'a> {
    numbers: FoldMap<StateIdentity<'a>, usize>,
    states: Vec<SharedState>,
    /// For each state, the states that directly follow it on some machine.
    after: Vec<Vec<usize>>,
    /// For each state, the number of direct predecessors.
    before: Vec<usize>,
}

impl<'a> OrderMerger<'a> {
    fn add_machine(&mut self, machine: usize, low: &'a LowData) {
        let mut seen: FoldMap<StateIdentity<'a>, u32> = FoldMap::default();
        let mut last = None;
        for (place, index) in low.order.iter().enumerate() {
            let chunk = &low.chunks[*index as usize];
            let mut identity: StateIdentity<'a> =
                (&chunk.sls, &chunk.id, &chunk.state, &chunk.fun, 0);
            let nth = seen.entry(identity).or_default();
            identity.4 = *nth;
            *nth += 1;
            let number = self.state_number(identity, chunk);
            let state = &mut self.states[number];
            state.positions.push((machine, place));
            state.is_self_contained &= is_self_contained(chunk);
            if let Some(last) = last.replace(number) {
                self.after[last].push(number);
                self.before[number] += 1;
            }
        }
    }

    fn state_number(&mut self, identity: StateIdentity<'a>, chunk: &Chunk) -> usize {
        let next = self.states.len();
        match self.numbers.entry(identity) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(next);
                self.states.push(SharedState {
                    label: label(chunk),
                    positions: Vec::new(),
                    is_self_contained: true,
                });
                self.after.push(Vec::new());
                self.before.push(0);
                next
            }
        }
    }

    fn sort(mut self, machines: &[&LowData]) -> Result<Vec<SharedState>, OrderConflict> {
        // States are numbered by the first machine that has them and their position on it, so the number
        // breaks ties.
        let key = |states: &[SharedState], number: usize| (states[number].positions[0].1, number);
        let free = (0..self.states.len()).filter(|number| self.before[*number] == 0);
        let mut ready: BinaryHeap<_> = free
            .map(|number| Reverse(key(&self.states, number)))
            .collect();
        let mut order = Vec::with_capacity(self.states.len());
        while let Some(Reverse((_, number))) = ready.pop() {
            order.push(number);
            for next in std::mem::take(&mut self.after[number]) {
                self.before[next] -= 1;
                if self.before[next] == 0 {
                    ready.push(Reverse(key(&self.states, next)));
                }
            }
        }
        if order.len() < self.states.len() {
            return Err(self.find_conflict(machines));
        }
        let mut states: Vec<Option<SharedState>> = self.states.into_iter().map(Some).collect();
        let taken = order.into_iter().filter_map(|number| states[number].take());
        Ok(taken.collect())
    }

    fn find_conflict(&self, machines: &[&LowData]) -> OrderConflict {
        // Sorted states have no successors left, so only the cycle remains.
        let found = find_cycle(0..self.states.len(), |number| self.after[number].clone());
        let Cycle(circle) = found.unwrap_or(Cycle(Vec::new()));
        let nexts = circle.iter().cycle().skip(1);
        let states = circle.iter().zip(nexts).map(|(&one, &next)| {
            let (machine, place) = self.adjacent_position(one, next);
            let low = machines[machine];
            let chunk = &low.chunks[low.order[place] as usize];
            ConflictStep {
                label: self.states[one].label.clone(),
                span: chunk.span,
                machine,
            }
        });
        OrderConflict {
            states: states.collect(),
        }
    }

    /// The machine and position where one state comes directly before another.
    fn adjacent_position(&self, one: usize, next: usize) -> (usize, usize) {
        let nexts: FoldMap<usize, usize> = self.states[next].positions.iter().copied().collect();
        let at = &self.states[one].positions;
        let found = at
            .iter()
            .find(|(machine, place)| nexts.get(machine) == Some(&(place + 1)));
        found.or(at.first()).copied().unwrap_or_default()
    }
}

/// The label of a state for output.
fn label(chunk: &Chunk) -> String {
    let Chunk {
        id,
        state,
        fun,
        name,
        ..
    } = chunk;
    let named: Arc<str> = Arc::clone(name);
    if *id == named {
        format!("{id} ({state}.{fun})")
    } else {
        format!("{id} ({state}.{fun} {named})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::*;

    fn low(ids: &[&str]) -> LowData {
        let chunk = |id: &&str| Chunk {
            id: (*id).into(),
            sls: "main".into(),
            env: "base".into(),
            state: "test".into(),
            fun: "nop".into(),
            name: (*id).into(),
            order: crate::value::Value::Null,
            args: crate::value::Map::new(),
            keywords: crate::value::Map::new(),
            links: Vec::new(),
            span: Span::NONE,
        };
        let chunks: Vec<Chunk> = ids.iter().map(chunk).collect();
        LowData {
            order: (0..u32::try_from(chunks.len()).unwrap()).collect(),
            chunks,
            ..LowData::default()
        }
    }

    fn merged(machines: &[&[&str]]) -> Result<Vec<String>, OrderConflict> {
        let lows: Vec<LowData> = machines.iter().map(|ids| low(ids)).collect();
        let states = merge_orders(&lows.iter().collect::<Vec<_>>())?;
        let short = |label: &str| label.split(' ').next().unwrap_or("").to_owned();
        Ok(states.iter().map(|state| short(&state.label)).collect())
    }

    #[test]
    fn machines_with_the_same_states_keep_their_order() {
        assert_eq!(merged(&[&["a", "b"], &["a", "b"]]).unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_state_of_some_machines_stands_where_they_have_it() {
        let all: [&[&str]; 3] = [
            &["all", "web", "after"],
            &["all", "web", "bad", "after"],
            &["all", "after"],
        ];
        assert_eq!(merged(&all).unwrap(), ["all", "web", "bad", "after"]);
    }

    #[test]
    fn rounds_of_a_loop_that_name_their_round_merge() {
        let all: [&[&str]; 2] = [&["A0", "B0", "A1", "B1"], &["B0", "A1", "B1"]];
        assert_eq!(merged(&all).unwrap(), ["A0", "B0", "A1", "B1"]);
    }

    #[test]
    fn the_same_state_may_be_about_different_things() {
        let (mut one, mut two) = (low(&["a", "b"]), low(&["a", "b"]));
        one.chunks[0].name = "of one".into();
        two.chunks[0].name = "of two".into();
        let states = merge_orders(&[&one, &two]).unwrap();
        assert_eq!(states[0].positions, [(0, 0), (1, 0)]);
    }

    #[test]
    fn what_repeats_is_counted_on_each_machine() {
        assert_eq!(
            merged(&[&["a", "a", "b"], &["a", "b"]]).unwrap(),
            ["a", "a", "b"]
        );
    }

    #[test]
    fn orders_that_contradict_each_other_are_refused_with_their_machines() {
        let refused = merged(&[&["a", "b"], &["b", "a"]]).unwrap_err();
        let mut named: Vec<_> = refused
            .states
            .iter()
            .map(|state| (state.label.as_str(), state.machine))
            .collect();
        named.sort_unstable();
        assert_eq!(named, [("a (test.nop)", 0), ("b (test.nop)", 1)]);
    }

    proptest! {
        #[test]
        fn each_machine_keeps_its_order(machines in prop::collection::vec(prop::collection::vec(any::<bool>(), 12), 1..5)) {
            // Sublists of one list cannot contradict each other.
            let names: Vec<String> = (0..12).map(|it| format!("s{it}")).collect();
            let lows: Vec<LowData> = machines.iter().map(|has| {
                let ids: Vec<&str> = names.iter().zip(has).filter(|(_, has)| **has).map(|(name, _)| name.as_str()).collect();
                low(&ids)
            }).collect();
            let states = merge_orders(&lows.iter().collect::<Vec<_>>()).unwrap();
            for (machine, low) in lows.iter().enumerate() {
                let places: Vec<usize> = states.iter().flat_map(|state| state.positions.iter()).filter(|(of, _)| *of == machine).map(|(_, place)| *place).collect();
                assert_eq!(places, (0..low.order.len()).collect::<Vec<_>>());
            }
        }
    }
}
