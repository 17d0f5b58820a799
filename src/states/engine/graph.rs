//! The requisite graph in the compact form that the engine uses: for each chunk the sets it waits for.
//!
//! [`RequisiteGraph::build`] makes it from low data once, at the start. It replaces `watch` by `require`
//! where a module has no watch function, and adds the reverse side of each `prereq`.

use crate::states::state_function::find_function;
use crate::states::{ChunkIndex, LinkTarget, LowData, ModuleTable, Requisite, RequisiteLink};
use crate::value::FoldMap;

/// The index of a set of chunks. The sets of the low data come first, then the sets made by
/// [`RequisiteGraph::add_prerequired`].
pub(super) type SetId = u32;

/// A requirement of a chunk: a requisite kind and the set it applies to.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequisiteNeed {
    pub(super) kind: Requisite,
    /// The set of targets, or `None` if the requisite matches no state.
    pub(super) set: Option<SetId>,
    /// The index in the links of the chunk.
    pub(super) link: u32,
}

/// The requirements of all chunks, stored in one vector.
#[derive(Debug, Default)]
pub(super) struct RequisiteGraph {
    needs: Vec<RequisiteNeed>,
    /// The start of each chunk's requirements in `needs`, plus the end of the last.
    starts: Vec<u32>,
    sets: Vec<Box<[ChunkIndex]>>,
    /// Whether each chunk is the target of a `prereq`.
    prerequired: Vec<bool>,
}

impl RequisiteGraph {
    /// Builds the graph. Disabled chunks are treated as absent (S41).
    pub(super) fn build(low: &LowData, modules: ModuleTable, disabled: &[bool]) -> Self {
        let mut graph = Self {
            sets: low
                .sets
                .iter()
                .map(|set| without_disabled(set, disabled))
                .collect(),
            prerequired: vec![false; low.chunks.len()],
            ..Self::default()
        };
        let before = graph.add_prerequired(low);
        for (at, chunk) in low.chunks.iter().enumerate() {
            graph.starts.push(to_index(graph.needs.len()));
            let first = graph.needs.len();
            let watches = || {
                find_function(modules, &chunk.state, &chunk.fun)
                    .0
                    .is_some_and(|it| it.watch.is_some())
            };
            for (place, link) in chunk.links.iter().enumerate() {
                if link.kind == Requisite::Listen {
                    continue;
                }
                let kind = link.kind.effective(watches);
                let set = graph.target_set(low, link);
                let link = to_index(place);
                graph.needs.push(RequisiteNeed { kind, set, link });
            }
            for set in before.get(&to_index(at)).into_iter().flatten() {
                graph.needs.push(RequisiteNeed {
                    kind: Requisite::Prerequired,
                    set: Some(*set),
                    link: 0,
                });
            }
            // A `watch` that became `require` is checked after the genuine `require`.
            graph.needs[first..].sort_by_key(|need| {
                let link = chunk.links.get(need.link as usize);
                let moved = matches!(need.kind, Requisite::Require | Requisite::RequireAny)
                    && link.is_some_and(|it| {
                        !matches!(it.kind, Requisite::Require | Requisite::RequireAny)
                    });
                (need.kind, moved)
            });
        }
        graph.starts.push(to_index(graph.needs.len()));
        graph
    }

    /// Adds, for each set that is the target of a `prereq`, a set of the chunks that hold this `prereq`.
    /// Returns for each target the sets of chunks that must run before it.
    fn add_prerequired(&mut self, low: &LowData) -> FoldMap<ChunkIndex, Vec<SetId>> {
        let mut holders: Vec<(SetId, Vec<ChunkIndex>)> = Vec::new();
        let mut places: FoldMap<SetId, usize> = FoldMap::default();
        for (at, chunk) in low.chunks.iter().enumerate() {
            for link in chunk.links.iter().filter(|it| it.kind == Requisite::Prereq) {
                let LinkTarget::Set(set) = link.target else {
                    continue;
                };
                let place = *places.entry(set).or_insert_with(|| {
                    holders.push((set, Vec::new()));
                    holders.len() - 1
                });
                holders[place].1.push(to_index(at));
            }
        }
        let mut before: FoldMap<ChunkIndex, Vec<SetId>> = FoldMap::default();
        for (set, chunks) in holders {
            let new = to_index(self.sets.len());
            self.sets.push(chunks.into());
            for chunk in &self.sets[set as usize] {
                self.prerequired[*chunk as usize] = true;
                before.entry(*chunk).or_default().push(new);
            }
        }
        before
    }

    fn target_set(&self, low: &LowData, link: &RequisiteLink) -> Option<SetId> {
        let LinkTarget::Set(set) = link.target else {
            return None;
        };
        let is_emptied = self.items(set).is_empty() && !low.sets[set as usize].is_empty();
        let whole = link.written.get("sls").is_some();
        (!is_emptied || whole).then_some(set)
    }

    /// The requirements of a chunk, sorted by kind.
    pub(super) fn needs(&self, chunk: ChunkIndex) -> &[RequisiteNeed] {
        let at = chunk as usize;
        &self.needs[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    pub(super) fn items(&self, set: SetId) -> &[ChunkIndex] {
        &self.sets[set as usize]
    }

    pub(super) fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Whether a chunk is the target of a `prereq` of another chunk.
    pub(super) fn is_prerequired(&self, chunk: ChunkIndex) -> bool {
        self.prerequired[chunk as usize]
    }
}

fn without_disabled(set: &[ChunkIndex], disabled: &[bool]) -> Box<[ChunkIndex]> {
    let stays = |chunk: &ChunkIndex| !disabled.get(*chunk as usize).copied().unwrap_or(false);
    set.iter().copied().filter(stays).collect()
}

/// Converts an index to the 32 bits that it is stored in.
pub(super) fn to_index(number: usize) -> u32 {
    u32::try_from(number).expect("a run has fewer than 2^32 states and links")
}
