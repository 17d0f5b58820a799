//! Merges environments: one map over another. The merged nodes keep their locations in the text.
//!
//! [`merge`] is the entry. The rules are those of Unfurl, including its merge directive `+%`.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The sections whose entries are replaced as a whole instead of merged.
const REPLACED_SECTIONS: &[&str] = &[
    "inputs",
    "secrets",
    "secret_backends",
    "locals",
    "external",
    "connections",
    "variables",
    "repositories",
    "instances",
];

/// The key of a map that selects how it is merged.
const STRATEGY_KEY: &str = "+%";

/// The maximum depth at which maps are merged. Below it, they are replaced.
const MAX_DEPTH: usize = 200;

/// Merges `over` over `base`.
///
/// Maps are merged, lists are joined, and other values are replaced. In [`REPLACED_SECTIONS`] each entry is
/// replaced as a whole, unless it has `+%: merge`.
pub(super) fn merge(base: &Node, over: &Node) -> Node {
    merge_maps(base, over, false, 0)
}

/// Merges two maps. `replace` states whether nested maps replace each other, unless they have `+%`.
fn merge_maps(base: &Node, over: &Node, replace: bool, depth: usize) -> Node {
    let (Some(under), Some(upper)) = (base.as_map(), over.as_map()) else {
        return if over.is_null() {
            base.clone()
        } else {
            over.clone()
        };
    };
    if under.is_empty() || depth > MAX_DEPTH {
        return over.clone();
    }
    let mut merged = Mapping::default();
    let mut removed = Vec::new();
    for (key, entry) in upper.iter().filter(|(key, _)| &***key != STRATEGY_KEY) {
        let value = &entry.value;
        let below = under.get(key);
        let strategy = strategy_of(value).or_else(|| below.and_then(strategy_of));
        let value = match (strategy, below) {
            (Some("whiteout"), _) => {
                removed.push(Arc::clone(key));
                continue;
            }
            (Some("nullout"), _) => Node::new(NodeKind::Null, value.span(), None),
            (_, None) => value.clone(),
            (strategy, Some(below)) => {
                let merges = strategy.map_or(!replace, |strategy| strategy == "merge");
                let inner_replaces = REPLACED_SECTIONS.contains(&&**key);
                merge_values(below, value, merges, inner_replaces, depth)
            }
        };
        let key_span = entry.key_span;
        merged.insert(Arc::clone(key), MapEntry { key_span, value });
    }
    for (key, entry) in under {
        let is_inherited =
            &**key != STRATEGY_KEY && !removed.contains(key) && merged.get(key).is_none();
        if is_inherited {
            merged.insert(Arc::clone(key), entry.clone());
        }
    }
    Node::new(NodeKind::Map(merged), over.span(), None)
}

fn merge_values(base: &Node, over: &Node, merges: bool, replaces: bool, depth: usize) -> Node {
    match (base.kind(), over.kind()) {
        // A null or an empty map is equivalent to a missing key.
        (NodeKind::Map(_), NodeKind::Null) if merges => base.clone(),
        (NodeKind::Map(_), NodeKind::Map(empty)) if merges && empty.is_empty() => base.clone(),
        (NodeKind::Map(_), NodeKind::Map(_)) if merges => {
            merge_maps(base, over, replaces, depth + 1)
        }
        (NodeKind::Seq(first), NodeKind::Seq(more)) => join_lists(first, more, over.span()),
        _ => over.clone(),
    }
}

fn strategy_of(node: &Node) -> Option<&str> {
    node.get(STRATEGY_KEY)?.as_str()
}

fn join_lists(first: &[Node], more: &[Node], span: Span) -> Node {
    let mut items = first.to_vec();
    let mut known: Vec<_> = items.iter().map(Node::to_value).collect();
    for item in more {
        let value = item.to_value();
        if !known.contains(&value) {
            known.push(value);
            items.push(item.clone());
        }
    }
    Node::new(NodeKind::Seq(items), span, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn merged(base: &str, over: &str) -> String {
        let mut sources = Sources::default();
        let mut read = |text: &str| {
            let id = sources.add("x", text, None);
            parse(&sources, id, &Limits::default()).unwrap()
        };
        let (base, over) = (read(base), read(over));
        merge(&base, &over).to_value().to_string()
    }

    #[test]
    fn things_in_a_section_are_replaced_as_a_whole() {
        assert_eq!(
            merged(
                "{inputs: {a: {x: 1}, b: 1}, variables: {V: 1}}",
                "{inputs: {a: {y: 2}, c: 3}, variables: }"
            ),
            "{'inputs': {'a': {'y': 2}, 'c': 3, 'b': 1}, 'variables': {'V': 1}}"
        );
    }

    #[test]
    fn a_thing_can_ask_to_be_merged_or_removed() {
        assert_eq!(
            merged(
                "{secrets: {v: {a: 1}, w: {b: 1}, z: {c: 1}}}",
                "{secrets: {v: {+%: merge, b: 2}, w: {+%: whiteout}, z: null}}"
            ),
            "{'secrets': {'v': {'b': 2, 'a': 1}, 'z': None}}"
        );
    }

    #[test]
    fn other_maps_are_merged_and_lists_joined() {
        assert_eq!(
            merged(
                "{lfs_lock: {lock: try, url: u}, imports: [a, b]}",
                "{lfs_lock: {lock: no}, imports: [b, c]}"
            ),
            "{'lfs_lock': {'lock': 'no', 'url': 'u'}, 'imports': ['a', 'b', 'c']}"
        );
    }
}
