//! Low data: the compiled states as a list of chunks, one for each combination of ID, module and name, with
//! their run order and requisites.
//!
//! Made by the compiler and used by the engine. The types here have no behaviour beyond lookups.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::value::{Map, Value};

/// The index of a chunk in [`LowData::chunks`].
pub type ChunkIndex = u32;

/// The index of a set of chunks in [`LowData::sets`].
pub type SetIndex = u32;

/// The method to compute run order from order numbers and requisites (S16, S17).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum RunOrdering {
    /// Chunks run by order number, and each calls its requirements at run time (Salt up to 3007).
    #[default]
    Classic,
    /// The order is one topological sort, made before anything runs (Salt 3008 and later).
    Dag,
}

/// A single state to apply: a function of a module with its arguments (S12).
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The ID that declares the state.
    pub id: Arc<str>,
    /// The SLS file that declares the state.
    pub sls: Arc<str>,
    /// The environment of the SLS, such as `base`.
    pub env: Arc<str>,
    /// The name of the state module.
    pub state: Arc<str>,
    pub fun: Arc<str>,
    /// The `name` argument, by default the ID.
    pub name: Arc<str>,
    /// The order number, as written or assigned: an integer or a float (S13, S14).
    pub order: Value,
    /// The arguments of the function, without the keywords below.
    pub args: Map,
    /// The keywords for the engine as written, such as `unless`, `retry` and `failhard` (S38).
    pub keywords: Map,
    /// The requisites, in the order in which they are written.
    pub links: Vec<RequisiteLink>,
    /// The source position of the function.
    pub span: Span,
}

/// The keywords that make it uncertain whether or how often a state runs.
pub(super) const UNCERTAIN_KEYWORDS: [&str; 6] = [
    "unless",
    "onlyif",
    "creates",
    "check_cmd",
    "retry",
    "parallel",
];

/// The keywords that say when a state has something to do.
const CONDITIONS: [&str; 3] = ["creates", "onlyif", "unless"];

impl Chunk {
    /// The key of the state's result: `module_|-id_|-name_|-function` (S43).
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

    /// Whether the state is a command that runs each time: nothing says when it has nothing to do. A test run then
    /// tells nothing about the host.
    pub fn is_unconditional_command(&self) -> bool {
        let is_condition = |name: &&str| self.keywords.contains_key(*name);
        let mut links = self.links.iter();
        &*self.state == "cmd"
            && !CONDITIONS.iter().any(is_condition)
            && !links.any(|link| link.kind.is_condition())
    }
}

/// A requisite of a chunk with its resolved target.
#[derive(Debug, Clone)]
pub struct RequisiteLink {
    pub kind: Requisite,
    pub target: LinkTarget,
    /// The requisite as written, such as `{"cmd": "tgt"}` or `"tgt"`. Null if another state names this one in its
    /// `listen_in`: like Salt, low data then does not show the requisite.
    pub written: Value,
    /// How often low data shows the requisite: Salt repeats the first entries of a list of `_in` requisites.
    pub repeats: u32,
    /// The source position of the requisite.
    pub span: Span,
}

/// The resolved target of a requisite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget {
    /// A set of chunks. May be empty for an SLS without states (S20).
    Set(SetIndex),
    /// No state matches the requisite's target.
    Missing,
}

/// The kind of a requisite (S22–S30), in the order in which Classic ordering evaluates them (S17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// The reverse side of `prereq`, added by the engine and never written: the chunk with the `prereq` runs
    /// before its target.
    Prerequired,
}

impl Requisite {
    /// Whether a state with the requisite has something to do only after certain results of other states.
    fn is_condition(self) -> bool {
        matches!(
            self,
            Self::Prereq
                | Self::Onfail
                | Self::OnfailAny
                | Self::OnfailAll
                | Self::Onchanges
                | Self::OnchangesAny
        )
    }

    /// The requisites that users can write, without [`Requisite::Prerequired`].
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

    /// The kind in effect: `watch` counts as `require` if the module has no watch function (S23).
    pub(crate) fn effective(self, watches: impl Fn() -> bool) -> Self {
        match self {
            Self::Watch if !watches() => Self::Require,
            Self::WatchAny if !watches() => Self::RequireAny,
            other => other,
        }
    }

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

/// The compiled states of one machine.
#[derive(Debug, Clone, Default)]
pub struct LowData {
    /// The chunks by order number. Ties are broken by module, name and function (S15).
    pub chunks: Vec<Chunk>,
    /// The chunks in run order. With [`RunOrdering::Classic`] the order before requisites call chunks
    /// earlier; with [`RunOrdering::Dag`] the final order.
    pub order: Vec<ChunkIndex>,
    /// The target sets of requisites, each in the order of [`LowData::chunks`]. Equal targets share one set.
    pub sets: Vec<Box<[ChunkIndex]>>,
    pub ordering: RunOrdering,
    /// Whether any chunk has a requisite. Without requisites, states run in written order on all hosts.
    pub has_links: bool,
}

impl LowData {
    /// The targets of a chunk's requisites of the selected kinds, in the order in which they are written.
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
