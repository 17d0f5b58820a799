//! Follows paths over templates while requirements are still being matched.

use std::sync::Arc;

use crate::value::{FoldSet, Value};

use super::filter::path_of;
use super::known::{Edge, Known, Wait};
use super::matching::Index;

/// How deep values of properties can lead to others.
const MOST_LEVELS: u32 = 20;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    /// The template at a place.
    Node(usize),
    /// A capability of the template at a place.
    Capability(usize, Arc<str>),
    /// A value.
    Value(Value),
}

/// Follows paths and notes what is not known yet.
pub(super) struct Walk<'w, 'a> {
    pub(super) index: &'w Index<'a>,
    pub(super) known: &'w Known<'a>,
    /// Something that the answer depends on and that is not matched yet.
    pub(super) waits: Option<Wait>,
    /// The kinds that the requirement itself is of that asks.
    own: &'w [Wait],
    level: u32,
}

/// One part of a path: a key, and what is asked of its results.
struct Step<'p> {
    key: &'p str,
    filter: Option<(&'p str, &'p str)>,
}

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(index: &'w Index<'a>, known: &'w Known<'a>, own: &'w [Wait]) -> Self {
        Self {
            index,
            known,
            own,
            waits: None,
            level: 0,
        }
    }

    /// What a path leads to from a template; nothing if it is none that can be followed here.
    pub(super) fn path(&mut self, start: usize, path: &str) -> Option<Vec<Found>> {
        let steps = steps_of(path)?;
        let mut rest = steps.as_slice();
        let mut current = vec![Found::Node(start)];
        if rest
            .first()
            .is_some_and(|step| step.key.is_empty() && step.filter.is_none())
        {
            let named = rest.get(1)?;
            current = self
                .index
                .place(named.key)
                .map(Found::Node)
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
                current = self.named(&current, step.key, name);
                current.retain(|found| self.admits(found, name.filter));
                continue;
            }
            let mut next = Vec::new();
            for found in &current {
                next.extend(self.step(found, step.key)?);
            }
            current = next;
            current.retain(|found| self.admits(found, step.filter));
        }
        Some(current)
    }

    /// The value of a template's own property, as far as it can be told.
    pub(super) fn property(&mut self, place: usize, name: &str) -> Option<Value> {
        if let Some(assigned) = self.known.assigned(place, name) {
            return self.plain(place, assigned);
        }
        let property = self.index.template(place).properties.get(name)?;
        self.plain(place, &property.value)
    }

    /// A value that is not computed, or what its path leads to.
    fn plain(&mut self, place: usize, value: &Value) -> Option<Value> {
        if !super::check::is_expression(value) {
            return Some(value.clone());
        }
        let path = path_of(value)?;
        if self.level >= MOST_LEVELS {
            return None;
        }
        self.level += 1;
        let found = self.path(place, &path);
        self.level -= 1;
        match found?.into_iter().next()? {
            Found::Value(value) => Some(value),
            _ => None,
        }
    }

    fn admits(&mut self, found: &Found, filter: Option<(&str, &str)>) -> bool {
        let Some((key, wanted)) = filter else {
            return true;
        };
        if let (Found::Node(place), ".type") = (found, key) {
            return self.index.is_a(*place, wanted);
        }
        if let (Found::Capability(_, name), ".name") = (found, key) {
            return **name == *wanted;
        }
        let values = self.step(found, key).unwrap_or_default();
        values.iter().any(|value| match value {
            Found::Value(value) => value.to_string() == wanted,
            _ => false,
        })
    }

    /// The steps that take a name from the step after them.
    fn named(&mut self, current: &[Found], key: &str, name: &Step<'_>) -> Vec<Found> {
        let wanted = |other: &str| name.key == other || matches!(name.key, "*" | "");
        let mut next = Vec::new();
        for found in current {
            let Found::Node(place) = *found else {
                continue;
            };
            match key {
                ".targets" => {
                    let edges = self.targets(place, Some(name.key).filter(|it| *it != "*"));
                    let edges = edges.iter().filter(|edge| wanted(&edge.requirement));
                    next.extend(edges.map(|edge| Found::Node(edge.place)));
                }
                ".sources" => {
                    let edges = self.sources(place, name.key);
                    let edges = edges.iter().filter(|edge| wanted(&edge.requirement));
                    next.extend(edges.map(|edge| Found::Node(edge.place)));
                }
                _ => {
                    let capabilities = self.index.template(place).capabilities.keys();
                    let named = capabilities.filter(|it| wanted(it));
                    next.extend(named.map(|it| Found::Capability(place, Arc::clone(it))));
                }
            }
        }
        next
    }

    fn step(&mut self, found: &Found, key: &str) -> Option<Vec<Found>> {
        let place = match found {
            Found::Node(place) => *place,
            Found::Capability(place, name) => {
                let capability = self.index.template(*place).capabilities.get(name)?;
                let value = capability.properties.get(key).map(|it| it.value.clone());
                let value = value.and_then(|value| self.plain(*place, &value));
                return Some(value.map(Found::Value).into_iter().collect());
            }
            Found::Value(value) => {
                let inner = value.get(key).cloned();
                return Some(inner.map(Found::Value).into_iter().collect());
            }
        };
        let hosts = |edge: &Edge| edge.is_host;
        Some(match key {
            "." | "" | "SELF" | "$start" => vec![Found::Node(place)],
            "SOURCE" | "$SOURCE" if self.level == 0 => vec![Found::Node(place)],
            ".." => nodes(
                self.targets(place, None)
                    .iter()
                    .filter(|edge| hosts(edge))
                    .take(1),
            ),
            ".hosted_on" | ".parents" => self.all(place, Self::any_target, hosts),
            ".ancestors" => {
                let mut all = vec![Found::Node(place)];
                all.extend(self.all(place, Self::any_target, hosts));
                all
            }
            ".configured_by" => self.all(place, Self::any_source, |edge| edge.configures),
            ".instances" => nodes(
                self.sources(place, "host")
                    .iter()
                    .filter(|edge| hosts(edge)),
            ),
            ".targets" => nodes(self.targets(place, None).iter()),
            ".sources" => nodes(self.sources(place, "*").iter()),
            ".name" => vec![Found::Value(
                self.index.template(place).name.shared().into(),
            )],
            ".type" => vec![Found::Value(
                self.index.template(place).type_name.shared().into(),
            )],
            _ if key.starts_with(['.', '$']) => return None,
            _ => match self.property(place, key) {
                Some(value) => vec![Found::Value(value)],
                None => nodes(self.targets(place, Some(key)).iter()),
            },
        })
    }

    fn any_target(&mut self, place: usize) -> Vec<Edge> {
        self.targets(place, None)
    }

    fn any_source(&mut self, place: usize) -> Vec<Edge> {
        self.sources(place, "*")
    }

    /// Everything that edges of a kind lead to.
    fn all(
        &mut self,
        from: usize,
        next: fn(&mut Self, usize) -> Vec<Edge>,
        is_wanted: fn(&Edge) -> bool,
    ) -> Vec<Found> {
        let mut seen = FoldSet::default();
        seen.insert(from);
        let (mut found, mut open) = (Vec::new(), vec![from]);
        while let Some(place) = open.pop() {
            for edge in next(self, place).into_iter().filter(is_wanted) {
                if seen.insert(edge.place) {
                    found.push(Found::Node(edge.place));
                    open.push(edge.place);
                }
            }
        }
        found
    }

    fn targets(&mut self, place: usize, name: Option<&str>) -> Vec<Edge> {
        let wait = self.known.open_item(place, name, self.own);
        self.waits = self.waits.take().or(wait);
        let edges = self.known.targets(place).iter();
        let named = edges.filter(|edge| name.is_none_or(|name| *edge.requirement == *name));
        named.cloned().collect()
    }

    fn sources(&mut self, place: usize, name: &str) -> Vec<Edge> {
        let wait = self.known.open_name(name, self.own);
        self.waits = self.waits.take().or(wait);
        self.known.sources(place).to_vec()
    }
}

fn nodes<'e>(edges: impl Iterator<Item = &'e Edge>) -> Vec<Found> {
    edges.map(|edge| Found::Node(edge.place)).collect()
}

/// The steps of a path; nothing if it has a form that cannot be followed here.
fn steps_of(path: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    let (mut depth, mut begin, mut place) = (0_u32, 0, 0);
    let bytes = path.as_bytes();
    while place < bytes.len() {
        match bytes[place] {
            b'[' => depth += 1,
            b']' => depth = depth.checked_sub(1)?,
            b':' if depth == 0 && bytes.get(place + 1) == Some(&b':') => {
                steps.push(step_of(&path[begin..place])?);
                place += 1;
                begin = place + 1;
            }
            _ => {}
        }
        place += 1;
    }
    steps.push(step_of(&path[begin..])?);
    Some(steps)
}

fn step_of(text: &str) -> Option<Step<'_>> {
    let text = text.trim().trim_end_matches('?');
    let Some((key, rest)) = text.split_once('[') else {
        let filter = None;
        return Some(Step { key: text, filter });
    };
    let inner = rest.strip_suffix(']')?;
    let (left, right) = inner.split_once('=')?;
    let is_plain = !inner.contains(['[', '!']) && !right.starts_with(['$', '=']);
    is_plain.then_some(Step {
        key,
        filter: Some((left.trim(), right.trim())),
    })
}
