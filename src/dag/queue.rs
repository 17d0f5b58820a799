//! A queue that releases each node once all its dependencies are done. The schedulers of jobs and host runs
//! fill it and report finished nodes; the queue itself runs nothing.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// A queue of nodes with dependencies.
///
/// Ready nodes come out by rank, lowest first, and within a rank in the order in which they were added.
/// Every step costs O(log n) plus the edges it touches.
///
/// ```
/// use unfurl::testing::dag::ReadyQueue;
///
/// let mut queue = ReadyQueue::default();
/// queue.add_ranked("app", 0);
/// queue.add_ranked("database", 0);
/// queue.add_dependency("app", "database");
/// assert_eq!(queue.pop(), Some("database"));
/// assert_eq!(queue.pop(), None, "the app waits for the database");
/// queue.mark_done("database");
/// assert_eq!(queue.pop(), Some("app"));
/// ```
#[derive(Debug, Clone)]
pub struct ReadyQueue<N> {
    nodes: Vec<Entry<N>>,
    indices: HashMap<N, usize>,
    /// The ready nodes, as pairs of rank and index into `nodes`.
    ready: BTreeSet<(u8, usize)>,
    unfinished: usize,
}

#[derive(Debug, Clone)]
struct Entry<N> {
    node: N,
    rank: u8,
    pending_dependencies: usize,
    /// The indices of the nodes that wait for this one, each with its value of `releases` when it began to
    /// wait.
    ///
    /// A node released early has a higher value by then, so this dependency no longer counts for it.
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
    /// Adds a node with a rank. A node that is already known stays as it is.
    pub fn add_ranked(&mut self, node: N, rank: u8) {
        if self.indices.contains_key(&node) {
            return;
        }
        let index = self.nodes.len();
        self.indices.insert(node, index);
        self.nodes.push(Entry {
            node,
            rank,
            pending_dependencies: 0,
            dependents: Vec::new(),
            releases: 0,
            state: EntryState::Queued,
        });
        self.ready.insert((rank, index));
        self.unfinished += 1;
    }

    /// Makes `node` wait until `on` is done.
    ///
    /// Has no effect if either node is unknown, if `on` is done, or if `node` was already released.
    pub fn add_dependency(&mut self, node: N, on: N) {
        let (Some(&index), Some(&on)) = (self.indices.get(&node), self.indices.get(&on)) else {
            return;
        };
        let open = self.nodes[on].state != EntryState::Done
            && self.nodes[index].state == EntryState::Queued;
        if open && index != on {
            let releases = self.nodes[index].releases;
            self.nodes[on].dependents.push((index, releases));
            self.nodes[index].pending_dependencies += 1;
            self.ready.remove(&(self.nodes[index].rank, index));
        }
    }

    /// Returns the rank of a node, or 0 if the node is unknown.
    pub fn rank(&self, node: N) -> u8 {
        let index = self.indices.get(&node);
        index.map_or(0, |place| self.nodes[*place].rank)
    }

    pub fn set_rank(&mut self, node: N, rank: u8) {
        let Some(&index) = self.indices.get(&node) else {
            return;
        };
        let before = std::mem::replace(&mut self.nodes[index].rank, rank);
        if self.ready.remove(&(before, index)) {
            self.ready.insert((rank, index));
        }
    }

    /// Releases the first ready node. Returns None if no node is ready.
    pub fn pop(&mut self) -> Option<N> {
        let (_, index) = self.ready.pop_first()?;
        self.nodes[index].state = EntryState::Taken;
        Some(self.nodes[index].node)
    }

    /// Puts a released node back into the queue; it is released again once its dependencies are done.
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

    /// Makes a queued node ready although some of its dependencies are not done.
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

    /// Marks a node as done, which may make the nodes that wait for it ready.
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

    /// Returns the rank of the node that [`pop`](Self::pop) would release next.
    pub fn next_rank(&self) -> Option<u8> {
        self.ready.first().map(|(rank, _)| *rank)
    }

    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the pairs of a waiting node and a node that it waits for.
    pub fn dependencies(&self) -> impl Iterator<Item = (N, N)> {
        self.nodes.iter().flat_map(|on| {
            let waiting = on.dependents.iter();
            let waiting = waiting.map(|(index, releases)| (&self.nodes[*index], releases));
            let waiting = waiting.filter(|(node, releases)| node.releases == **releases);
            waiting.map(|(node, _)| (node.node, on.node))
        })
    }

    /// Returns the number of nodes that are not done.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Returns the queued nodes in the order in which they were added.
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
        assert_eq!(queue.dependencies().collect::<Vec<_>>(), [(1, 2)]);
        queue.release(1);
        assert_eq!(queue.dependencies().count(), 0);
        queue.mark_done(2);
        assert_eq!(queue.pop(), Some(1));
    }

    proptest! {
        /// Edges lead to smaller nodes only, so the graph has no cycle.
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
