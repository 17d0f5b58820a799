//! The run order of DAG ordering, fixed before anything runs (S16).
//!
//! A chunk comes after all chunks it requires. Among the chunks that are ready, the lowest order number comes
//! first; requirements of an early chunk are promoted to just before that chunk. Entry: [`order`], called by
//! the compile pipeline. Reports a cycle as a diagnostic.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::draft::OrderNumber;
use super::problem::StateFileProblem;
use super::watching::effective_kind;
use crate::dag::{Cycle, find_cycle};
use crate::diagnostic::{Diagnostic, Span};
use crate::states::{ChunkIndex, LinkTarget, LowData, Requisite, RunOrdering};
use crate::value::FoldMap;

/// A position in the run order: a chunk's run, or the test run of a chunk that is the target of a `prereq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OrderEntry {
    pub chunk: ChunkIndex,
    /// Whether the chunk is only tested (`test=True`) to learn whether it would change anything.
    pub is_test: bool,
}

/// The weight of a requisite kind when chunks are promoted. A heavier kind overrides lighter ones declared
/// before.
fn weight(kind: Requisite) -> u8 {
    match kind {
        Requisite::Onfail => 0,
        Requisite::OnfailAny => 1,
        Requisite::OnfailAll => 2,
        Requisite::Require => 3,
        Requisite::RequireAny => 4,
        Requisite::Onchanges => 5,
        Requisite::OnchangesAny => 6,
        Requisite::Watch => 7,
        Requisite::WatchAny => 8,
        Requisite::Prereq => 9,
        Requisite::Listen | Requisite::Prerequired => 10,
    }
}

/// A request, made by a dependent chunk, to move its requirements forward in the order.
#[derive(Debug, Clone, Copy)]
struct Promotion {
    /// The time of declaration: the dependent's position in high data, then the requisite kind.
    declared_at: (u32, u8),
    weight: u8,
    order: f64,
}

/// The dependency graph over chunks and chunk tests. Nodes `0..chunks` are chunks; the nodes behind them are
/// tests.
struct OrderGraph<'a> {
    low: &'a LowData,
    numbers: &'a [OrderNumber],
    /// The position of each chunk in high data.
    declaration_positions: &'a [u32],
    /// The sets of chunks that each chunk waits for.
    inputs: Vec<Vec<u32>>,
    /// For each chunk, the sets that contain it, if at least one chunk waits for the set.
    containing_sets: Vec<Vec<u32>>,
    /// For each set, the chunks that wait for it. The tests of these chunks wait for it too.
    dependents: Vec<Vec<ChunkIndex>>,
    promotions: Vec<Vec<Promotion>>,
    /// The test node of each chunk that is the target of a `prereq`.
    tests: FoldMap<ChunkIndex, usize>,
    /// The tested chunks, in the order of the test nodes.
    tested: Vec<ChunkIndex>,
    /// The edges between nodes that come from `prereq`.
    edges: Vec<(usize, usize)>,
    /// The promotions of single nodes that come from `prereq`.
    own_promotions: FoldMap<usize, Vec<Promotion>>,
}

/// Computes the run order of all chunks, including the tests that `prereq` needs. Fails if requisites form a
/// cycle.
pub(super) fn order(
    low: &LowData,
    numbers: &[OrderNumber],
    times: &[u32],
) -> Result<Vec<OrderEntry>, Box<Diagnostic>> {
    let mut graph = OrderGraph {
        low,
        numbers,
        declaration_positions: times,
        inputs: vec![Vec::new(); low.chunks.len()],
        containing_sets: vec![Vec::new(); low.chunks.len()],
        dependents: vec![Vec::new(); low.sets.len()],
        promotions: vec![Vec::new(); low.sets.len()],
        tests: FoldMap::default(),
        tested: Vec::new(),
        edges: Vec::new(),
        own_promotions: FoldMap::default(),
    };
    graph.read_links();
    graph.sort()
}

/// Returns true for a requisite that does not decide when a chunk runs. Salt up to 3007 does not call the targets of
/// `onfail_all`.
pub(super) fn is_passed_over(kind: Requisite, ordering: RunOrdering) -> bool {
    match kind {
        Requisite::Listen => true,
        Requisite::OnfailAll => ordering == RunOrdering::Classic,
        _ => false,
    }
}

impl OrderGraph<'_> {
    /// Reads the links of all chunks in order of declaration and fills the graph.
    fn read_links(&mut self) {
        let mut declared: Vec<ChunkIndex> = self.low.order.clone();
        declared.sort_unstable_by_key(|index| self.declaration_positions[*index as usize]);
        for index in declared {
            let place = index as usize;
            let chunk = &self.low.chunks[place];
            let mut links: Vec<(Requisite, u32)> = chunk
                .links
                .iter()
                .filter(|link| !is_passed_over(link.kind, self.low.ordering))
                .filter_map(|link| match link.target {
                    LinkTarget::Set(set) => Some((effective_kind(chunk, link.kind), set)),
                    LinkTarget::Missing => None,
                })
                .collect();
            links.sort_by_key(|(kind, _)| *kind);
            for (kind, set) in links {
                if kind == Requisite::Prereq {
                    for target in &self.low.sets[set as usize] {
                        self.prereq(index, *target);
                    }
                    continue;
                }
                if !self.inputs[place].contains(&set) {
                    self.inputs[place].push(set);
                    self.dependents[set as usize].push(index);
                }
                let time = (self.declaration_positions[place], kind as u8);
                let order = self.numbers[place].state;
                let weight = weight(kind);
                self.promotions[set as usize].push(Promotion {
                    declared_at: time,
                    weight,
                    order,
                });
            }
        }
        for (set, dependents) in (0..).zip(&self.dependents) {
            if !dependents.is_empty() {
                for member in &self.low.sets[set as usize] {
                    self.containing_sets[*member as usize].push(set);
                }
            }
        }
    }

    /// Adds a `prereq`: the target is tested first, then the chunk runs, then the target runs.
    fn prereq(&mut self, chunk: ChunkIndex, target: ChunkIndex) {
        let count = self.low.chunks.len();
        let own = chunk as usize;
        let test = *self.tests.entry(target).or_insert_with(|| {
            self.tested.push(target);
            count + self.tested.len() - 1
        });
        let time = (self.declaration_positions[own], Requisite::Prereq as u8);
        self.edges.push((test, own));
        self.edges.push((own, target as usize));
        let order = |of: ChunkIndex| self.numbers[of as usize].state;
        let (to_chunk, to_target) = (order(chunk), order(target));
        let mut promotion = |node, kind, order| {
            let weight = weight(kind);
            self.own_promotions
                .entry(node)
                .or_default()
                .push(Promotion {
                    declared_at: time,
                    weight,
                    order,
                });
        };
        promotion(test, Requisite::Prereq, to_chunk);
        promotion(own, Requisite::Require, to_target);
        if let Some(own_test) = self.tests.get(&chunk) {
            self.edges.push((test, *own_test));
            promotion(test, Requisite::Prereq, to_chunk);
        }
    }

    fn chunk_of(&self, node: usize) -> ChunkIndex {
        let count = self.low.chunks.len();
        match node.checked_sub(count) {
            Some(test) => self.tested[test],
            None => ChunkIndex::try_from(node).unwrap_or(ChunkIndex::MAX),
        }
    }

    fn sort(&self) -> Result<Vec<OrderEntry>, Box<Diagnostic>> {
        let (chunks, nodes) = (
            self.low.chunks.len(),
            self.low.chunks.len() + self.tested.len(),
        );
        let mut after: FoldMap<usize, Vec<usize>> = FoldMap::default();
        let mut remaining: Vec<usize> = self.low.sets.iter().map(|set| set.len()).collect();
        let mut waits = self.count_waiting_sets(&remaining, nodes);
        for (from, to) in &self.edges {
            waits[*to] += 1;
            after.entry(*from).or_default().push(*to);
        }
        let keys = self.sort_keys(nodes);
        let mut free: BinaryHeap<Reverse<(SortKey, usize)>> = BinaryHeap::with_capacity(nodes);
        let push = |free: &mut BinaryHeap<_>, node: usize| free.push(Reverse((keys[node], node)));
        for node in (0..nodes).filter(|node| waits[*node] == 0) {
            push(&mut free, node);
        }
        let mut turns = Vec::with_capacity(nodes);
        let mut done = vec![false; nodes];
        while let Some(Reverse((_, node))) = free.pop() {
            done[node] = true;
            let chunk = self.chunk_of(node);
            turns.push(OrderEntry {
                chunk,
                is_test: node >= chunks,
            });
            let mut met = |free: &mut BinaryHeap<_>, node: usize| {
                waits[node] -= 1;
                if waits[node] == 0 {
                    push(free, node);
                }
            };
            for next in after.get(&node).into_iter().flatten() {
                met(&mut free, *next);
            }
            if node >= chunks {
                continue;
            }
            for set in &self.containing_sets[node] {
                remaining[*set as usize] -= 1;
                if remaining[*set as usize] > 0 {
                    continue;
                }
                for dependent in &self.dependents[*set as usize] {
                    met(&mut free, *dependent as usize);
                    if let Some(test) = self.tests.get(dependent) {
                        met(&mut free, *test);
                    }
                }
            }
        }
        if turns.len() == nodes {
            Ok(turns)
        } else {
            Err(Box::new(self.report_cycle(&done)))
        }
    }

    /// Counts for each node the sets it waits for that still have members.
    fn count_waiting_sets(&self, remaining: &[usize], nodes: usize) -> Vec<usize> {
        let waiting = |node: usize| {
            let inputs = &self.inputs[self.chunk_of(node) as usize];
            inputs
                .iter()
                .filter(|set| remaining[**set as usize] > 0)
                .count()
        };
        (0..nodes).map(waiting).collect()
    }

    /// Computes the sort key of each node.
    fn sort_keys(&self, nodes: usize) -> Vec<SortKey> {
        let uniform: Vec<Option<(u8, f64)>> = self
            .promotions
            .iter()
            .map(|promotions| uniform_promotion(promotions))
            .collect();
        let rank = self.name_ranks(nodes);
        (0..nodes)
            .map(|node| {
                let own = self.numbers[self.chunk_of(node) as usize].own;
                let lifted = self.promoted_number(node, &uniform);
                SortKey(
                    sortable_bits(own.min(lifted)),
                    sortable_bits(own),
                    rank[node],
                )
            })
            .collect()
    }

    /// The lowest order number to which a node is promoted, or infinity if there is no promotion.
    fn promoted_number(&self, node: usize, uniform: &[Option<(u8, f64)>]) -> f64 {
        let own = self.own_promotions.get(&node);
        let sets = if node < self.low.chunks.len() {
            &*self.containing_sets[node]
        } else {
            &[]
        };
        let mut all: Option<(u8, f64)> = None;
        let same = own.is_none()
            && sets.iter().all(|set| match (uniform[*set as usize], all) {
                (None, _) => false,
                (Some(set), None) => {
                    all = Some(set);
                    true
                }
                (Some((weight, order)), Some((known, lowest))) => {
                    all = Some((known, lowest.min(order)));
                    weight == known
                }
            });
        if same {
            return all.map_or(f64::INFINITY, |(_, order)| order);
        }
        let mut promotions: Vec<Promotion> = own.cloned().unwrap_or_default();
        promotions.extend(sets.iter().flat_map(|set| &self.promotions[*set as usize]));
        promotions.sort_by_key(|promotion| promotion.declared_at);
        lowest_promotion(&promotions)
    }

    /// Ranks nodes by module, name and function, then by their full tags, to break ties between equal order
    /// numbers.
    fn name_ranks(&self, nodes: usize) -> Vec<u32> {
        let names: Vec<(String, String)> = (0..nodes)
            .map(|node| {
                let chunk = &self.low.chunks[self.chunk_of(node) as usize];
                let test = if node < self.low.chunks.len() {
                    ""
                } else {
                    "_|-__prereq_test__"
                };
                let label = [&*chunk.state, &*chunk.name, &*chunk.fun].concat();
                (label, chunk.tag() + test)
            })
            .collect();
        let mut sorted: Vec<usize> = (0..nodes).collect();
        sorted.sort_by(|a, b| names[*a].cmp(&names[*b]));
        let mut ranks = vec![0; nodes];
        for (rank, node) in (0..).zip(sorted) {
            ranks[node] = rank;
        }
        ranks
    }

    /// Builds the error that names the states of a requisite cycle.
    fn report_cycle(&self, done: &[bool]) -> Diagnostic {
        let before = |node: usize| -> Vec<usize> {
            let chunk = self.chunk_of(node) as usize;
            let sets = self.inputs[chunk].iter();
            let members = sets.flat_map(|set| &self.low.sets[*set as usize]);
            let mut nodes: Vec<usize> = members.map(|member| *member as usize).collect();
            let made = self.edges.iter().filter(|(_, to)| *to == node);
            nodes.extend(made.map(|(from, _)| *from));
            nodes.retain(|node| !done[*node]);
            nodes
        };
        let remaining = (0..done.len()).filter(|node| !done[*node]);
        let Some(Cycle(cycle)) = find_cycle(remaining, before) else {
            return Diagnostic::error(StateFileProblem::Recursive {
                edges: String::new(),
            });
        };
        let mut edges = Vec::new();
        let mut spans = Vec::new();
        for (place, node) in cycle.iter().enumerate() {
            let next = cycle[(place + 1) % cycle.len()];
            let (from, to) = (self.chunk_of(*node), self.chunk_of(next));
            let chunk = &self.low.chunks[from as usize];
            let to_chunk = &self.low.chunks[to as usize];
            let link = chunk.links.iter().find(|link| match link.target {
                LinkTarget::Set(set) => self.low.sets[set as usize].contains(&to),
                LinkTarget::Missing => false,
            });
            // The reverse edge of a `prereq` has no link of its own: the link belongs to the other chunk.
            let (word, span) = link.map_or(("prereq", chunk.span), |link| {
                (link.kind.as_str(), link.span)
            });
            edges.push(format!("`{}` {word} `{}`", chunk.id, to_chunk.id));
            spans.push(span);
        }
        let edges = edges.join(", ");
        let diagnostic = Diagnostic::error(StateFileProblem::Recursive { edges });
        let add_label = |diagnostic: Diagnostic, span: Span| diagnostic.label(span, "");
        spans.into_iter().fold(diagnostic, add_label)
    }
}

/// The common weight of the promotions and the lowest order number among them, or `None` if the weights
/// differ. Saves the sort in [`OrderGraph::promoted_number`] in the usual case.
fn uniform_promotion(promotions: &[Promotion]) -> Option<(u8, f64)> {
    let first = promotions.first()?;
    let same = promotions
        .iter()
        .all(|promotion| promotion.weight == first.weight);
    same.then(|| (first.weight, lowest_promotion(promotions)))
}

/// The lowest order number among the promotions that are at least as heavy as every promotion before them.
fn lowest_promotion(promotions: &[Promotion]) -> f64 {
    let (mut heaviest, mut lowest) = (0, f64::INFINITY);
    for promotion in promotions {
        if promotion.weight >= heaviest {
            heaviest = promotion.weight;
            lowest = lowest.min(promotion.order);
        }
    }
    lowest
}

/// The sort key of a node: the promoted order number, its own order number, the rank of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey(u64, u64, u32);

/// Maps a number to bits that sort in the same order as the numbers.
fn sortable_bits(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 0 {
        bits | (1 << 63)
    } else {
        !bits
    }
}
