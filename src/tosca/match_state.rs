//! Facts about the matching of requirements: what is known so far, and what is waited for.

use std::sync::Arc;

use crate::value::{FoldMap, FoldSet, Value};

use super::node_filter::NodeFilter;
use super::template::Requirement;

/// What matching one requirement can wait for: that no requirement of a kind is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum MatchDependency {
    /// Those of the template at a place, all or those of a name.
    OfTemplate(usize, Option<Arc<str>>),
    /// Those of a name.
    Named(Arc<str>),
    /// Those whose filters set a property.
    SettingProperty(Arc<str>),
    /// Those whose filters restrict requirements of a name.
    Restricting(Arc<str>),
    /// All.
    All,
}

/// A requirement of a template: as it states it, or as its type alone declares it.
#[derive(Debug, Clone)]
pub(super) struct OpenRequirement {
    pub(super) place: usize,
    pub(super) stated: Option<usize>,
    pub(super) name: Arc<str>,
}

/// A match, seen from one of its ends.
#[derive(Debug, Clone)]
pub(super) struct MatchEdge {
    /// The other end.
    pub(super) place: usize,
    pub(super) requirement: Arc<str>,
    pub(super) is_host: bool,
    pub(super) configures: bool,
}

/// What is known so far.
#[derive(Default)]
pub(super) struct MatchState<'a> {
    targets: FoldMap<usize, Vec<MatchEdge>>,
    sources: FoldMap<usize, Vec<MatchEdge>>,
    set: FoldMap<usize, FoldMap<Arc<str>, Value>>,
    pub(super) restricted: FoldMap<usize, FoldMap<Arc<str>, Vec<NodeFilter<'a>>>>,
    /// How many open requirements are of a kind.
    pub(super) open_counts: FoldMap<MatchDependency, usize>,
    /// The properties that some filter sets.
    pub(super) settable: FoldSet<Arc<str>>,
    /// The templates whose property of a name is computed.
    pub(super) computed: FoldMap<Arc<str>, Vec<usize>>,
}

impl<'a> MatchState<'a> {
    /// What filters have set so far.
    pub(super) fn assigned(&self, place: usize, name: &str) -> Option<&Value> {
        self.set.get(&place)?.get(name)
    }

    pub(super) fn assign(&mut self, place: usize, name: &Arc<str>, value: Value) {
        let set = self.set.entry(place).or_default();
        set.insert(Arc::clone(name), value);
    }

    /// The filters of other requirements that restrict one.
    pub(super) fn restrictions(&self, place: usize, name: &str) -> &[NodeFilter<'a>] {
        let found = self.restricted.get(&place).and_then(|it| it.get(name));
        found.map_or(&[], Vec::as_slice)
    }

    pub(super) fn targets(&self, place: usize) -> &[MatchEdge] {
        self.targets.get(&place).map_or(&[], Vec::as_slice)
    }

    pub(super) fn sources(&self, place: usize) -> &[MatchEdge] {
        self.sources.get(&place).map_or(&[], Vec::as_slice)
    }

    /// The kind, if a requirement of it is open besides the one that asks.
    pub(super) fn open_dependency(
        &self,
        wait: MatchDependency,
        own: &[MatchDependency],
    ) -> Option<MatchDependency> {
        let open = self.open_counts.get(&wait).copied().unwrap_or(0);
        (open > usize::from(own.contains(&wait))).then_some(wait)
    }

    /// Whether a requirement of a template is open.
    pub(super) fn open_requirement_of(
        &self,
        place: usize,
        name: Option<&str>,
        own: &[MatchDependency],
    ) -> Option<MatchDependency> {
        self.open_dependency(MatchDependency::OfTemplate(place, name.map(Arc::from)), own)
    }

    /// Whether a requirement of a name is open.
    pub(super) fn open_requirement_named(
        &self,
        name: &str,
        own: &[MatchDependency],
    ) -> Option<MatchDependency> {
        let wait = match name {
            "*" | "" => MatchDependency::All,
            name => MatchDependency::Named(name.into()),
        };
        self.open_dependency(wait, own)
    }

    pub(super) fn add_matches(&mut self, source: usize, found: &[(Requirement, Option<usize>)]) {
        for (requirement, target) in found {
            let Some(target) = *target else {
                continue;
            };
            let relationship = &requirement.relationship.relationship_type;
            let edge = |place| MatchEdge {
                place,
                requirement: Arc::clone(&requirement.name),
                is_host: requirement.is_host(),
                configures: relationship.is_derived_from("unfurl.relationships.Configures"),
            };
            self.targets.entry(source).or_default().push(edge(target));
            self.sources.entry(target).or_default().push(edge(source));
        }
    }
}
