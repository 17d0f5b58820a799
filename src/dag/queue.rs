//! Releases each node once all it waits for are done.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// A queue of nodes with edges among them. Nodes that are ready come out by their rank, lower ones
/// first, and within it in the order in which they were added. Every step costs O(log n) plus the
/// edges it touches.
#[derive(Debug, Clone)]
pub struct ReadyQueue<N> {
    nodes: Vec<Entry<N>>,
    indices: HashMap<N, usize>,
    /// Ranks and places.
    ready: BTreeSet<(u8, usize)>,
    unfinished: usize,
}

#[derive(Debug, Clone)]
struct Entry<N> {
    node: N,
    rank: u8,
    pending_dependencies: usize,
    /// Those that wait for it, with their number of releases when they began to.
    dependents: Vec<(usize, u32)>,
    releases: u32,
    state: EntryState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryState {
    Queued,
    Taken,
    Done,
}

impl<N> Default for ReadyQueue<N> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            indices: HashMap::new(),
            ready: BTreeSet::new(),
            unfinished: 0,
        }
    }
}

impl<N: Copy + Eq + Hash> ReadyQueue<N> {
    /// Adds a node of a rank; one that is there already stays as it is.
    pub fn add_ranked(&mut self, node: N, rank: u8) {
        if self.indices.contains_key(&node) {
            return;
        }
        let place = self.nodes.len();
        self.indices.insert(node, place);
        self.nodes.push(Entry {
            node,
            rank,
            pending_dependencies: 0,
            dependents: Vec::new(),
            releases: 0,
            state: EntryState::Queued,
        });
        self.ready.insert((rank, place));
        self.unfinished += 1;
    }

    /// Lets `node` wait until `on` is done. Nothing happens where either is unknown, `on` is done,
    /// or `node` was released already.
    pub fn add_dependency(&mut self, node: N, on: N) {
        let (Some(&place), Some(&on)) = (self.indices.get(&node), self.indices.get(&on)) else {
            return;
        };
        let open = self.nodes[on].state != EntryState::Done
            && self.nodes[place].state == EntryState::Queued;
        if open && place != on {
            let releases = self.nodes[place].releases;
            self.nodes[on].dependents.push((place, releases));
            self.nodes[place].pending_dependencies += 1;
            self.ready.remove(&(self.nodes[place].rank, place));
        }
    }

    /// The rank of a node.
    pub fn rank(&self, node: N) -> u8 {
        let place = self.indices.get(&node);
        place.map_or(0, |place| self.nodes[*place].rank)
    }

    /// Gives a node another rank.
    pub fn set_rank(&mut self, node: N, rank: u8) {
        let Some(&place) = self.indices.get(&node) else {
            return;
        };
        let before = std::mem::replace(&mut self.nodes[place].rank, rank);
        if self.ready.remove(&(before, place)) {
            self.ready.insert((rank, place));
        }
    }

    /// Releases the first node that waits for nothing, if there is one.
    pub fn pop(&mut self) -> Option<N> {
        let (_, place) = self.ready.pop_first()?;
        self.nodes[place].state = EntryState::Taken;
        Some(self.nodes[place].node)
    }

    /// Puts a released node back, to be released again once it waits for nothing.
    pub fn put_back(&mut self, node: N) {
        let Some(&place) = self.indices.get(&node) else {
            return;
        };
        if self.nodes[place].state == EntryState::Taken {
            self.nodes[place].state = EntryState::Queued;
            if self.nodes[place].pending_dependencies == 0 {
                self.ready.insert((self.nodes[place].rank, place));
            }
        }
    }

    /// Lets a queued node be released although others that it waits for are not done.
    pub fn release(&mut self, node: N) {
        let Some(&place) = self.indices.get(&node) else {
            return;
        };
        if self.nodes[place].state == EntryState::Queued {
            self.nodes[place].releases += 1;
            self.nodes[place].pending_dependencies = 0;
            self.ready.insert((self.nodes[place].rank, place));
        }
    }

    /// Marks a node as done, so that those that waited for it may be released.
    pub fn mark_done(&mut self, node: N) {
        let Some(&place) = self.indices.get(&node) else {
            return;
        };
        if self.nodes[place].state == EntryState::Done {
            return;
        }
        self.nodes[place].state = EntryState::Done;
        self.ready.remove(&(self.nodes[place].rank, place));
        self.unfinished -= 1;
        for (dependent, releases) in std::mem::take(&mut self.nodes[place].dependents) {
            let entry = &mut self.nodes[dependent];
            if entry.releases != releases {
                continue;
            }
            entry.pending_dependencies -= 1;
            if entry.pending_dependencies == 0 && entry.state == EntryState::Queued {
                self.ready.insert((entry.rank, dependent));
            }
        }
    }

    /// The rank of the node that is released next.
    pub fn next_rank(&self) -> Option<u8> {
        self.ready.first().map(|(rank, _)| *rank)
    }

    /// Whether a node can be released now.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How many nodes are not done.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// The nodes that are queued, in the order in which they were added.
    pub fn queued(&self) -> impl Iterator<Item = N> {
        self.nodes
            .iter()
            .filter(|entry| entry.state == EntryState::Queued)
            .map(|entry| entry.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ready_nodes_come_in_the_order_in_which_they_were_added() {
        let mut queue = ReadyQueue::default();
        for node in [3, 1, 2] {
            queue.add_ranked(node, 0);
        }
        queue.add_dependency(3, 2);
        assert_eq!(
            (queue.pop(), queue.pop(), queue.pop()),
            (Some(1), Some(2), None)
        );
        queue.mark_done(2);
        assert_eq!(queue.pop(), Some(3));
    }

    #[test]
    fn ready_nodes_of_a_lower_rank_come_first() {
        let mut queue = ReadyQueue::default();
        queue.add_ranked(1, 2);
        queue.add_ranked(2, 0);
        queue.add_ranked(3, 1);
        queue.set_rank(2, 3);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [3, 1, 2]);
    }

    #[test]
    fn a_node_put_back_waits_for_what_was_added_since() {
        let mut queue = ReadyQueue::default();
        queue.add_ranked(1, 0);
        queue.add_ranked(2, 0);
        assert_eq!(queue.pop(), Some(1));
        queue.put_back(1);
        queue.add_dependency(1, 2);
        assert_eq!(queue.pop(), Some(2));
        assert_eq!(queue.pop(), None);
        queue.mark_done(2);
        assert_eq!(queue.pop(), Some(1));
    }

    proptest! {
        /// Edges go from a node to smaller ones only, so the graph has no cycle.
        #[test]
        fn drains_every_acyclic_graph(picks in prop::collection::vec(any::<u8>(), 1..60)) {
            let mut queue = ReadyQueue::default();
            for (node, pick) in picks.iter().enumerate() {
                queue.add_ranked(node, 0);
                if node > 0 {
                    queue.add_dependency(node, usize::from(*pick) % node);
                }
            }
            let mut done = 0;
            while let Some(node) = queue.pop() {
                queue.mark_done(node);
                done += 1;
            }
            prop_assert_eq!(done, picks.len());
            prop_assert_eq!(queue.unfinished(), 0);
        }
    }
}
