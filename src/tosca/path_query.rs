//! Path queries over node templates while their requirements are still being matched.
//!
//! A path is a restricted form of an Unfurl expression, such as `.targets::host::name`. [`PathQuery`] follows
//! it over the matches found so far, and records the first open requirement that could change the result.

use std::sync::Arc;

use crate::value::{FoldSet, Value};

use super::match_state::{MatchDependency, MatchEdge, MatchState};
use super::node_filter::path_of;
use super::template_index::TemplateIndex;

/// The maximum number of property values that refer to each other in a chain.
const MAX_LEVELS: u32 = 20;

/// A result of a path query. Templates are given by their index.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PathResult {
    Node(usize),
    /// A capability of the template with the index.
    Capability(usize, Arc<str>),
    Value(Value),
}

/// Follows paths and records which dependency is still open.
pub(super) struct PathQuery<'w, 'a> {
    pub(super) index: &'w TemplateIndex<'a>,
    pub(super) match_state: &'w MatchState<'a>,
    /// An open dependency that the result depends on. `None` if the result is final.
    pub(super) blocked_by: Option<MatchDependency>,
    /// The dependencies that the asking requirement itself resolves, which do not block it.
    own: &'w [MatchDependency],
    level: u32,
}

/// A step of a path: a key, and a condition on its results.
struct PathStep<'p> {
    key: &'p str,
    filter: Option<(&'p str, &'p str)>,
}

impl<'w, 'a> PathQuery<'w, 'a> {
    pub(super) fn new(
        index: &'w TemplateIndex<'a>,
        known: &'w MatchState<'a>,
        own: &'w [MatchDependency],
    ) -> Self {
        Self {
            index,
            match_state: known,
            own,
            blocked_by: None,
            level: 0,
        }
    }

    /// Follows a path from a template. Returns `None` if the path has an unsupported form.
    pub(super) fn path(&mut self, start: usize, path: &str) -> Option<Vec<PathResult>> {
        let steps = parse_steps(path)?;
        let mut rest = steps.as_slice();
        let mut current = vec![PathResult::Node(start)];
        if rest
            .first()
            .is_some_and(|step| step.key.is_empty() && step.filter.is_none())
        {
            let named = rest.get(1)?;
            current = self
                .index
                .position(named.key)
                .map(PathResult::Node)
                .into_iter()
                .collect();
            rest = &rest[2..];
        }
        while let Some((step, after)) = rest.split_first() {
            rest = after;
            let takes_name = matches!(step.key, ".targets" | ".sources" | ".capabilities");
            let name = after.first().filter(|_| takes_name);
            if let Some(name) = name {
                rest = &after[1..];
                current = self.follow_named_step(&current, step.key, name);
                current.retain(|found| self.meets_condition(found, name.filter));
                continue;
            }
            let mut next = Vec::new();
            for found in &current {
                next.extend(self.follow_step(found, step.key)?);
            }
            current = next;
            current.retain(|found| self.meets_condition(found, step.filter));
        }
        Some(current)
    }

    /// Returns the value of a template's own property, as far as it is known.
    pub(super) fn property(&mut self, place: usize, name: &str) -> Option<Value> {
        if let Some(assigned) = self.match_state.assigned(place, name) {
            return self.literal_value(place, assigned);
        }
        let property = self.index.template(place).properties.get(name)?;
        self.literal_value(place, &property.value)
    }

    /// Returns a value, or the value that its path leads to if it is an expression.
    fn literal_value(&mut self, place: usize, value: &Value) -> Option<Value> {
        if !super::check::is_expression(value) {
            return Some(value.clone());
        }
        let path = path_of(value)?;
        if self.level >= MAX_LEVELS {
            return None;
        }
        self.level += 1;
        let found = self.path(place, &path);
        self.level -= 1;
        match found?.into_iter().next()? {
            PathResult::Value(value) => Some(value),
            _ => None,
        }
    }

    fn meets_condition(&mut self, found: &PathResult, filter: Option<(&str, &str)>) -> bool {
        let Some((key, expected)) = filter else {
            return true;
        };
        if let (PathResult::Node(place), ".type") = (found, key) {
            return self.index.is_a(*place, expected);
        }
        if let (PathResult::Capability(_, name), ".name") = (found, key) {
            return **name == *expected;
        }
        let values = self.follow_step(found, key).unwrap_or_default();
        values.iter().any(|value| match value {
            PathResult::Value(value) => value.to_string() == expected,
            _ => false,
        })
    }

    /// Follows a step that takes a name from the step after it, such as `.targets::host`.
    fn follow_named_step(
        &mut self,
        current: &[PathResult],
        key: &str,
        name: &PathStep<'_>,
    ) -> Vec<PathResult> {
        let expected = |other: &str| name.key == other || matches!(name.key, "*" | "");
        let mut next = Vec::new();
        for found in current {
            let PathResult::Node(place) = *found else {
                continue;
            };
            match key {
                ".targets" => {
                    let edges = self.targets(place, Some(name.key).filter(|it| *it != "*"));
                    let edges = edges.iter().filter(|edge| expected(&edge.requirement));
                    next.extend(edges.map(|edge| PathResult::Node(edge.place)));
                }
                ".sources" => {
                    let edges = self.sources(place, name.key);
                    let edges = edges.iter().filter(|edge| expected(&edge.requirement));
                    next.extend(edges.map(|edge| PathResult::Node(edge.place)));
                }
                _ => {
                    let capabilities = self.index.template(place).capabilities.keys();
                    let named = capabilities.filter(|it| expected(it));
                    next.extend(named.map(|it| PathResult::Capability(place, Arc::clone(it))));
                }
            }
        }
        next
    }

    fn follow_step(&mut self, found: &PathResult, key: &str) -> Option<Vec<PathResult>> {
        let place = match found {
            PathResult::Node(place) => *place,
            PathResult::Capability(place, name) => {
                let capability = self.index.template(*place).capabilities.get(name)?;
                let value = capability.properties.get(key).map(|it| it.value.clone());
                let value = value.and_then(|value| self.literal_value(*place, &value));
                return Some(value.map(PathResult::Value).into_iter().collect());
            }
            PathResult::Value(value) => {
                let inner = value.get(key).cloned();
                return Some(inner.map(PathResult::Value).into_iter().collect());
            }
        };
        let hosts = |edge: &MatchEdge| edge.is_host;
        Some(match key {
            "." | "" | "SELF" | "$start" => vec![PathResult::Node(place)],
            "SOURCE" | "$SOURCE" if self.level == 0 => vec![PathResult::Node(place)],
            ".." => nodes(
                self.targets(place, None)
                    .iter()
                    .filter(|edge| hosts(edge))
                    .take(1),
            ),
            ".hosted_on" | ".parents" => self.collect_edges(place, Self::any_target, hosts),
            ".ancestors" => {
                let mut all = vec![PathResult::Node(place)];
                all.extend(self.collect_edges(place, Self::any_target, hosts));
                all
            }
            ".configured_by" => self.collect_edges(place, Self::any_source, |edge| edge.configures),
            ".instances" => nodes(
                self.sources(place, "host")
                    .iter()
                    .filter(|edge| hosts(edge)),
            ),
            ".targets" => nodes(self.targets(place, None).iter()),
            ".sources" => nodes(self.sources(place, "*").iter()),
            ".name" => vec![PathResult::Value(
                self.index.template(place).name.shared().into(),
            )],
            ".type" => vec![PathResult::Value(
                self.index.template(place).type_name.shared().into(),
            )],
            _ if key.starts_with(['.', '$']) => return None,
            _ => match self.property(place, key) {
                Some(value) => vec![PathResult::Value(value)],
                None => nodes(self.targets(place, Some(key)).iter()),
            },
        })
    }

    fn any_target(&mut self, place: usize) -> Vec<MatchEdge> {
        self.targets(place, None)
    }

    fn any_source(&mut self, place: usize) -> Vec<MatchEdge> {
        self.sources(place, "*")
    }

    /// Returns every node that edges of a kind lead to, directly or indirectly.
    fn collect_edges(
        &mut self,
        from: usize,
        next: fn(&mut Self, usize) -> Vec<MatchEdge>,
        predicate: fn(&MatchEdge) -> bool,
    ) -> Vec<PathResult> {
        let mut seen = FoldSet::default();
        seen.insert(from);
        let (mut found, mut open) = (Vec::new(), vec![from]);
        while let Some(place) = open.pop() {
            for edge in next(self, place).into_iter().filter(predicate) {
                if seen.insert(edge.place) {
                    found.push(PathResult::Node(edge.place));
                    open.push(edge.place);
                }
            }
        }
        found
    }

    fn targets(&mut self, place: usize, name: Option<&str>) -> Vec<MatchEdge> {
        let wait = self.match_state.open_requirement_of(place, name, self.own);
        self.blocked_by = self.blocked_by.take().or(wait);
        let edges = self.match_state.targets(place).iter();
        let named = edges.filter(|edge| name.is_none_or(|name| *edge.requirement == *name));
        named.cloned().collect()
    }

    fn sources(&mut self, place: usize, name: &str) -> Vec<MatchEdge> {
        let wait = self.match_state.open_requirement_named(name, self.own);
        self.blocked_by = self.blocked_by.take().or(wait);
        self.match_state.sources(place).to_vec()
    }
}

fn nodes<'e>(edges: impl Iterator<Item = &'e MatchEdge>) -> Vec<PathResult> {
    edges.map(|edge| PathResult::Node(edge.place)).collect()
}

/// Splits a path into steps. Returns `None` if it has an unsupported form.
fn parse_steps(path: &str) -> Option<Vec<PathStep<'_>>> {
    let mut steps = Vec::new();
    let (mut depth, mut begin, mut place) = (0_u32, 0, 0);
    let bytes = path.as_bytes();
    while place < bytes.len() {
        match bytes[place] {
            b'[' => depth += 1,
            b']' => depth = depth.checked_sub(1)?,
            b':' if depth == 0 && bytes.get(place + 1) == Some(&b':') => {
                steps.push(parse_step(&path[begin..place])?);
                place += 1;
                begin = place + 1;
            }
            _ => {}
        }
        place += 1;
    }
    steps.push(parse_step(&path[begin..])?);
    Some(steps)
}

fn parse_step(text: &str) -> Option<PathStep<'_>> {
    let text = text.trim().trim_end_matches('?');
    let Some((key, rest)) = text.split_once('[') else {
        let filter = None;
        return Some(PathStep { key: text, filter });
    };
    let inner = rest.strip_suffix(']')?;
    let (left, right) = inner.split_once('=')?;
    let is_plain = !inner.contains(['[', '!']) && !right.starts_with(['$', '=']);
    is_plain.then_some(PathStep {
        key,
        filter: Some((left.trim(), right.trim())),
    })
}
