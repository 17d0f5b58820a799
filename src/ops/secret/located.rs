//! Finds the values of a file at places of its text, all in one pass.

use std::collections::{BTreeSet, HashMap};

use crate::yaml::{Node, NodeKind, Route};

/// A value of a file, and the route to it.
#[derive(Debug, Clone)]
pub(super) struct LocatedValue {
    pub(super) route: Route,
    pub(super) node: Node,
}

/// The thing that begins at an offset. A key goes before a scalar, and both go before a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beginning {
    Collection,
    Scalar,
    Key,
}

/// Returns the values that begin at some offsets, or whose keys do.
///
/// Values that stand elsewhere, as those of aliases, are left out.
pub(super) fn values_at(root: &Node, starts: &BTreeSet<usize>) -> HashMap<usize, LocatedValue> {
    let mut search = Search {
        starts,
        found: HashMap::new(),
    };
    let mut open = vec![(root, Route::root())];
    while let Some((node, route)) = open.pop() {
        search.enter(node, &route, &mut open);
    }
    let found = search.found.into_iter();
    found.map(|(start, (_, value))| (start, value)).collect()
}

struct Search<'s> {
    starts: &'s BTreeSet<usize>,
    found: HashMap<usize, (Beginning, LocatedValue)>,
}

impl Search<'_> {
    fn enter<'n>(&mut self, node: &'n Node, route: &Route, open: &mut Vec<(&'n Node, Route)>) {
        let start = node.span().start as usize;
        match node.kind() {
            NodeKind::Map(map) => {
                self.keep(start, Beginning::Collection, node, route);
                for (key, entry) in map {
                    let at_key = entry.key_span.start as usize;
                    let is_own = entry.value.span().start >= entry.key_span.end;
                    if is_own && self.has_any(at_key, &entry.value) {
                        let route = route.clone().key(key.clone());
                        self.keep(at_key, Beginning::Key, &entry.value, &route);
                        open.push((&entry.value, route));
                    }
                }
            }
            NodeKind::Seq(items) => {
                self.keep(start, Beginning::Collection, node, route);
                for (index, item) in items.iter().enumerate() {
                    if self.has_any(item.span().start as usize, item) {
                        open.push((item, route.clone().index(index)));
                    }
                }
            }
            _ => self.keep(start, Beginning::Scalar, node, route),
        }
    }

    /// Returns true if an offset is between a start and the end of a node.
    fn has_any(&self, start: usize, node: &Node) -> bool {
        let end = (node.span().end as usize).max(start);
        self.starts.range(start..=end).next().is_some()
    }

    fn keep(&mut self, start: usize, beginning: Beginning, node: &Node, route: &Route) {
        let is_known = |known: &(Beginning, _)| known.0 >= beginning;
        if !self.starts.contains(&start) || self.found.get(&start).is_some_and(is_known) {
            return;
        }
        let value = LocatedValue {
            route: route.clone(),
            node: node.clone(),
        };
        self.found.insert(start, (beginning, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Schema, parse_text};

    #[test]
    fn keys_scalars_and_collections_are_found_by_their_start() {
        let text = "a: {b: 1, c: [x, y]}\nd:\n  e: 2\nf: &f z\ng: *f\n";
        let root = parse_text(Schema::Core, text).unwrap();
        for (at, expected) in [
            ("a: ", "/a"),
            ("{b", "/a"),
            ("b: 1", "/a/b"),
            ("1, ", "/a/b"),
            ("[x", "/a/c"),
            ("y]", "/a/c/1"),
            ("d:", "/d"),
            ("e: 2", "/d/e"),
            ("2\n", "/d/e"),
            ("z\n", "/f"),
        ] {
            let start = text.find(at).unwrap();
            let found = values_at(&root, &[start].into());
            let route = found.get(&start).map(|value| value.route.to_string());
            assert_eq!(route.as_deref(), Some(expected), "{at}");
        }
        assert!(values_at(&root, &[1, 2, 1000].into()).is_empty());
    }

    #[test]
    fn a_value_is_found_by_its_start_and_by_its_key() {
        let text = "a:\n  b: [x, {c: secret}]\n  d:\n    e: 1\n";
        let root = parse_text(Schema::Core, text).unwrap();
        for (at, route) in [
            ("secret", "/a/b/1/c"),
            ("c: s", "/a/b/1/c"),
            ("d:", "/a/d"),
            ("e:", "/a/d/e"),
            ("a:", "/a"),
        ] {
            let start = text.find(at).unwrap();
            let found = values_at(&root, &[start].into()).remove(&start).unwrap();
            assert_eq!(found.route.to_string(), route, "{at}");
        }
        assert!(values_at(&root, &[500].into()).is_empty());
    }
}
