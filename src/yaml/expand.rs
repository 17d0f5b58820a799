//! Expands merge directives.

use super::{Limits, Loader, Node, Route};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};

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

    /// What the directives alone give at a route; what a document adds to it is an override.
    pub fn base(&self, _route: &Route) -> Option<Node> {
        None
    }
}

/// Expands all merge directives of a document.
pub fn expand(
    root: &Node,
    _loader: &mut dyn Loader,
    _limits: &Limits,
) -> Result<Expanded, Diagnostics> {
    if root.may_have_directives() {
        return Err(Diagnostic::error("merge directives are not expanded yet").into());
    }
    Ok(Expanded {
        root: root.clone(),
        raw: root.clone(),
        merges: Vec::new(),
    })
}
