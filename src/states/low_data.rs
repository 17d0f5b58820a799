//! Low data: one chunk for each (ID, module, name), and the order they run in.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::value::{Map, Value};

/// The place of a chunk in [`Low::chunks`].
pub type ChunkIndex = u32;

/// The place of a set of chunks in [`Low::sets`].
pub type SetIndex = u32;

/// How run order is made from orders and requisites (S16, S17).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum RunOrdering {
    /// Chunks by order; at run time each calls what it requires first (Salt up to 3007).
    #[default]
    Classic,
    /// One topological sort before anything runs (Salt 3008 and later).
    Dag,
}

/// One state to bring about: a function of a module with its arguments (S12).
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The ID it was declared under.
    pub id: Arc<str>,
    /// The SLS it was declared in.
    pub sls: Arc<str>,
    /// The environment of that SLS, such as `base`.
    pub env: Arc<str>,
    /// The module.
    pub state: Arc<str>,
    /// The function.
    pub fun: Arc<str>,
    /// What it is about; the ID unless said otherwise.
    pub name: Arc<str>,
    /// Its order as written or numbered: a whole number, or one with a fraction (S13, S14).
    pub order: Value,
    /// The function's arguments, without those below.
    pub args: Map,
    /// Words for whoever runs it, as written: `unless`, `retry`, `failhard` and so on (S38).
    pub keywords: Map,
    /// What it asks of others, by the order of writing.
    pub links: Vec<RequisiteLink>,
    /// Where its function is written.
    pub span: Span,
}

impl Chunk {
    /// The key of its result: `module_|-id_|-name_|-function` (S43).
    pub fn tag(&self) -> String {
        let Self {
            state,
            id,
            name,
            fun,
            ..
        } = self;
        format!("{state}_|-{id}_|-{name}_|-{fun}")
    }
}

/// A requisite of a chunk and what it leads to.
#[derive(Debug, Clone)]
pub struct RequisiteLink {
    /// Which one.
    pub kind: Requisite,
    /// What it leads to.
    pub target: LinkTarget,
    /// The value as written, such as `{"cmd": "tgt"}` or `"tgt"`.
    pub written: Value,
    /// Where it is written.
    pub span: Span,
}

/// What a requisite leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget {
    /// These chunks; there may be none, for an SLS without states (S20).
    Set(SetIndex),
    /// Nothing by that name.
    Missing,
}

/// What a chunk asks of others (S22–S30), in the order in which Classic looks at them (S17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are the words that people write")]
pub enum Requisite {
    Require,
    RequireAny,
    Watch,
    WatchAny,
    Prereq,
    Onfail,
    OnfailAny,
    OnfailAll,
    Onchanges,
    OnchangesAny,
    Listen,
    /// The other side of `prereq`, which nobody writes: what goes before a chunk that it tested.
    Prerequired,
}

impl Requisite {
    /// The requisites that people write, without the one that the engine adds.
    pub const ALL: [Self; 11] = [
        Self::Require,
        Self::RequireAny,
        Self::Watch,
        Self::WatchAny,
        Self::Prereq,
        Self::Onfail,
        Self::OnfailAny,
        Self::OnfailAll,
        Self::Onchanges,
        Self::OnchangesAny,
        Self::Listen,
    ];

    /// A `watch` of a module that cannot be told of changes is a `require` (S23).
    pub(crate) fn effective(self, watches: impl Fn() -> bool) -> Self {
        match self {
            Self::Watch if !watches() => Self::Require,
            Self::WatchAny if !watches() => Self::RequireAny,
            other => other,
        }
    }

    /// The word that people write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::RequireAny => "require_any",
            Self::Watch => "watch",
            Self::WatchAny => "watch_any",
            Self::Prereq => "prereq",
            Self::Onfail => "onfail",
            Self::OnfailAny => "onfail_any",
            Self::OnfailAll => "onfail_all",
            Self::Onchanges => "onchanges",
            Self::OnchangesAny => "onchanges_any",
            Self::Listen => "listen",
            Self::Prerequired => "prerequired",
        }
    }
}

/// A compiled state tree.
#[derive(Debug, Clone, Default)]
pub struct LowData {
    /// The chunks by order, equal ones by module, name and function (S15).
    pub chunks: Vec<Chunk>,
    /// All chunks in run order: for [`Ordering::Classic`] as they stand, before requisites call
    /// anything earlier; for [`Ordering::Dag`] the final order.
    pub order: Vec<ChunkIndex>,
    /// The sets of chunks that links lead to, each in the order of [`Low::chunks`]. Equal targets
    /// share one set.
    pub sets: Vec<Box<[ChunkIndex]>>,
    /// How the order was made.
    pub ordering: RunOrdering,
    /// Whether any chunk has a requisite. A tree without runs in written order on all its hosts.
    pub has_links: bool,
}

impl LowData {
    /// The chunks that the links of one chunk lead to, for these kinds of links, in the order of
    /// writing.
    pub fn linked_chunks(
        &self,
        chunk: ChunkIndex,
        is_kind: impl Fn(Requisite) -> bool,
    ) -> impl Iterator<Item = &Chunk> {
        let links = self.chunks.get(chunk as usize).map(|chunk| &chunk.links);
        let links = links.into_iter().flatten();
        let sets = links.filter_map(move |link| match link.target {
            LinkTarget::Set(set) if is_kind(link.kind) => self.sets.get(set as usize),
            _ => None,
        });
        sets.flatten()
            .filter_map(|index| self.chunks.get(*index as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_cannot_watch_requires() {
        assert_eq!(Requisite::Watch.effective(|| false), Requisite::Require);
        assert_eq!(
            Requisite::WatchAny.effective(|| false),
            Requisite::RequireAny
        );
        assert_eq!(Requisite::Watch.effective(|| true), Requisite::Watch);
        assert_eq!(Requisite::Prereq.effective(|| false), Requisite::Prereq);
    }

    #[test]
    fn what_goes_before_a_tested_chunk_comes_last() {
        assert!(Requisite::OnchangesAny < Requisite::Prerequired);
        assert!(!Requisite::ALL.contains(&Requisite::Prerequired));
    }
}
