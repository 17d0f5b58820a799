//! Expansion of the merge directives of a whole document, in passes until each directive has found its
//! target. [`expand`] is the entry of the module.

use std::sync::Arc;

use super::expander::{Expander, MissingTarget, with_entries};
use crate::diagnostic::{Check, Diagnostic, Diagnostics, Span};
use crate::yaml::directive::STRATEGY;
use crate::yaml::merge::same_or_merged;
use crate::yaml::{Limits, Loader, MapEntry, Node, NodeKind, Route};

/// The maximum number of passes. Each link in a chain of directives that depend on each other needs one
/// more.
const MAX_PASSES: usize = 100;

/// Expands the merge directives of a document and of the files that it includes.
pub fn expand(
    root: &Node,
    loader: &mut dyn Loader,
    limits: &Limits,
) -> Result<Expanded, Diagnostics> {
    let expanded = expand_for_merging(root, loader, limits)?;
    Ok(Expanded {
        root: without_strategies(&expanded.root),
        ..expanded
    })
}

/// Like [`expand`], for a document whose maps are merged with those of other documents afterwards: the merge
/// strategies that they state stay in them.
pub fn expand_for_merging(
    root: &Node,
    loader: &mut dyn Loader,
    limits: &Limits,
) -> Result<Expanded, Diagnostics> {
    let done = |root: Node, raw: &Node, merges| Expanded {
        root,
        raw: raw.clone(),
        merges,
    };
    if !root.may_have_directives() {
        return Ok(done(root.clone(), root, Vec::new()));
    }
    let mut expander = Expander::new(root, loader, limits);
    let mut missing = 0;
    for _ in 0..MAX_PASSES {
        let expanded = expander.pass(root)?;
        let missing_targets = std::mem::take(&mut expander.missing);
        if missing_targets.is_empty() {
            return Ok(done(
                without_removed(&expanded, true),
                root,
                expander.merges,
            ));
        }
        // A directive that is expanded in the next pass may supply the missing target.
        if missing_targets.len() == missing {
            if let Some(problem) = missing_includes(&missing_targets) {
                return Err(problem.into());
            }
            expander.drops_missing = true;
        }
        missing = missing_targets.len();
        expander.document = expanded;
    }
    let message = "the merge directives depend on each other in an endless chain";
    Err(Diagnostic::error(message)
        .check(Check::Import)
        .label(root.span(), "")
        .into())
}

fn missing_includes(open: &[MissingTarget]) -> Option<Diagnostic> {
    let required: Vec<_> = open.iter().filter(|missing| !missing.optional).collect();
    let names: Vec<_> = required
        .iter()
        .map(|missing| format!("'{}'", missing.name))
        .collect();
    let problem =
        Diagnostic::error(format!("missing includes: [{}]", names.join(", "))).check(Check::Import);
    let problem = required.iter().fold(problem, |problem, missing| {
        problem.label(missing.span, "the target of this directive does not exist")
    });
    (!required.is_empty())
        .then(|| problem.help("correct the pointer, or write `+?` if the target is optional"))
}

/// Removes entries marked for removal that had no counterpart, and strategies that have been applied.
pub fn without_strategies(node: &Node) -> Node {
    without_removed(node, false)
}

fn without_removed(node: &Node, keeps_strategies: bool) -> Node {
    if !node.may_have_directives() {
        return node.clone();
    }
    let map = match node.kind() {
        NodeKind::Seq(items) => {
            let items = items.iter();
            let items = items
                .map(|item| without_removed(item, keeps_strategies))
                .collect();
            let (tag, anchor) = (node.tag().map(Arc::from), node.anchor().map(Arc::from));
            return Node::with_anchor(NodeKind::Seq(items), node.span(), tag, anchor);
        }
        NodeKind::Map(map) => map,
        _ => return node.clone(),
    };
    let strategy = |node: &Node| node.get(STRATEGY).and_then(Node::as_str).map(str::to_owned);
    let retained = map
        .iter()
        .filter_map(|(key, entry)| match strategy(&entry.value).as_deref() {
            Some("whiteout" | "nullout") => None,
            _ if key.as_ref() == STRATEGY && !keeps_strategies => {
                let followed = matches!(entry.value.as_str(), Some("merge" | "replace" | "error"));
                (!followed).then(|| (Arc::clone(key), entry.clone()))
            }
            _ => {
                let value = without_removed(&entry.value, keeps_strategies);
                Some((Arc::clone(key), MapEntry::new(entry.key_span, value)))
            }
        });
    with_entries(node, retained.collect())
}

/// A document with its merge directives expanded.
#[derive(Debug, Clone)]
pub struct Expanded {
    /// The expanded document. Parts without directives are the same nodes as in `raw`.
    pub root: Node,
    /// The document as it was before the expansion.
    pub raw: Node,
    /// The merges, in the order in which they were performed.
    pub merges: Vec<MergeRecord>,
}

/// The result of the directives of one map.
#[derive(Debug, Clone)]
pub struct MergeRecord {
    /// The route of the map in the unexpanded document.
    pub route: Route,
    /// The merged targets of the directives, without the keys of the map itself.
    pub base: Node,
    /// The position of the first directive's key.
    pub span: Span,
}

impl Expanded {
    /// Returns the value that the directives alone give at a route. A patch of the document states only the
    /// difference to it.
    pub fn base(&self, route: &Route) -> Option<Node> {
        let mut enclosing: Vec<&MergeRecord> = self
            .merges
            .iter()
            .filter(|merge| route.steps().starts_with(merge.route.steps()))
            .collect();
        enclosing.sort_by_key(|merge| merge.route.steps().len());
        enclosing.into_iter().fold(None, |base, merge| {
            let rest = Route::from(route.steps()[merge.route.steps().len()..].to_vec());
            match (base, rest.find(&merge.base)) {
                (base, None) => base,
                (None, Some(node)) => Some(node.clone()),
                (Some(base), Some(node)) => Some(same_or_merged(&base, node)),
            }
        })
    }
}
