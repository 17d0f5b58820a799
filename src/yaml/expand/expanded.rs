//! What expanding gives, and where it came from.

use crate::diagnostic::Span;
use crate::yaml::merge::same_or_merged;
use crate::yaml::{Node, Route};

/// A document with its merge directives expanded.
#[derive(Debug, Clone)]
pub struct Expanded {
    /// The result. What no directive touched is the same node as in the document.
    pub root: Node,
    /// The document as it was written.
    pub raw: Node,
    /// The merges, in the order in which they were done.
    pub merges: Vec<Merge>,
}

/// What the directives of one map gave.
#[derive(Debug, Clone)]
pub struct Merge {
    /// The map, in the document as it was written.
    pub route: Route,
    /// All they gave together, without the map's own keys.
    pub base: Node,
    /// The key of the first directive.
    pub span: Span,
}

impl Expanded {
    /// Whether the value at a route comes from a directive, wholly or partly.
    pub fn is_merged(&self, route: &Route) -> bool {
        match (route.find(&self.raw), route.find(&self.root)) {
            (Some(raw), Some(expanded)) => !raw.is_same(expanded),
            (None, None) => false,
            _ => true,
        }
    }

    /// What the directives alone give at a route: the document overrides it with its difference.
    pub fn base(&self, route: &Route) -> Option<Node> {
        let mut around: Vec<&Merge> = self
            .merges
            .iter()
            .filter(|merge| route.steps().starts_with(merge.route.steps()))
            .collect();
        around.sort_by_key(|merge| merge.route.steps().len());
        around.into_iter().fold(None, |base, merge| {
            let rest = Route::from(route.steps()[merge.route.steps().len()..].to_vec());
            match (base, rest.find(&merge.base)) {
                (base, None) => base,
                (None, Some(node)) => Some(node.clone()),
                (Some(base), Some(node)) => Some(same_or_merged(&base, node)),
            }
        })
    }
}
