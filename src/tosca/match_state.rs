//! The state of requirement matching: matches found, values set by filters, and open dependencies.
//!
//! [`super::match_queue`] updates the state. Path queries read it to follow matches before all of them exist.

use std::sync::Arc;

use crate::value::{FoldMap, FoldSet, Value};

use super::node_filter::NodeFilter;
use super::template::Requirement;

/// A condition that a requirement can wait for: no requirement of the kind is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum MatchDependency {
    /// The requirements of the template with the index: those with the name, or all if it is `None`.
    OfTemplate(usize, Option<Arc<str>>),
    /// The requirements with the name, of any template.
    Named(Arc<str>),
    /// The requirements whose filters set the property.
    SettingProperty(Arc<str>),
    /// The requirements whose filters restrict requirements with the name.
    Restricting(Arc<str>),
    /// The requirements of all templates.
    All,
}

/// A requirement to be matched: stated by its template, or only declared by the node type.
#[derive(Debug, Clone)]
pub(super) struct OpenRequirement {
    pub(super) template_index: usize,
    pub(super) stated: Option<usize>,
    pub(super) name: Arc<str>,
}

/// A match between two templates, seen from one of them.
#[derive(Debug, Clone)]
pub(super) struct MatchEdge {
    /// The index of the template at the other end.
    pub(super) place: usize,
    pub(super) requirement: Arc<str>,
    pub(super) is_host: bool,
    pub(super) configures: bool,
}

/// The facts that matching has found so far.
#[derive(Default)]
pub(super) struct MatchState<'a> {
    targets: FoldMap<usize, Vec<MatchEdge>>,
    sources: FoldMap<usize, Vec<MatchEdge>>,
    set: FoldMap<usize, FoldMap<Arc<str>, Value>>,
    pub(super) restricted: FoldMap<usize, FoldMap<Arc<str>, Vec<NodeFilter<'a>>>>,
    /// The number of open requirements of each kind.
    pub(super) open_counts: FoldMap<MatchDependency, usize>,
    /// The properties that at least one filter sets.
    pub(super) settable: FoldSet<Arc<str>>,
    /// The templates, by property name, whose property of that name is an expression.
    pub(super) computed: FoldMap<Arc<str>, Vec<usize>>,
}

impl<'a> MatchState<'a> {
    /// Returns the value that a filter has set for the property of a template.
    pub(super) fn assigned(&self, place: usize, name: &str) -> Option<&Value> {
        self.set.get(&place)?.get(name)
    }

    pub(super) fn assign(&mut self, place: usize, name: &Arc<str>, value: Value) {
        let set = self.set.entry(place).or_default();
        set.insert(Arc::clone(name), value);
    }

    /// Returns the filters of other requirements that restrict a requirement of the template.
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

    /// Returns the dependency if a requirement of its kind is open.
    ///
    /// The requirement that is about to be matched does not count: `own` holds the dependencies that it
    /// resolves.
    pub(super) fn open_dependency(
        &self,
        wait: MatchDependency,
        own: &[MatchDependency],
    ) -> Option<MatchDependency> {
        let open = self.open_counts.get(&wait).copied().unwrap_or(0);
        (open > usize::from(own.contains(&wait))).then_some(wait)
    }

    /// Returns a dependency if a requirement of the template is open.
    pub(super) fn open_requirement_of(
        &self,
        place: usize,
        name: Option<&str>,
        own: &[MatchDependency],
    ) -> Option<MatchDependency> {
        self.open_dependency(MatchDependency::OfTemplate(place, name.map(Arc::from)), own)
    }

    /// Returns a dependency if a requirement with the name is open. `*` stands for every name.
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
