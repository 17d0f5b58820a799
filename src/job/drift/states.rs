//! The findings of a test run of states: each state that would change something, and those that could not look.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::check::{Check, text_of};
use crate::drift::{Difference, DriftKind, Finding};
use crate::value::{Map, Value};

/// The word for something that a state would create.
const MISSING: &str = "missing";

/// Returns a finding for each state that would change something or failed.
pub(super) fn state_findings(check: &Check<'_>, result: &Value) -> Vec<Finding> {
    let unconditional = result.get("unconditional").and_then(Value::as_list);
    let unconditional = unconditional.into_iter().flatten();
    let unconditional: HashSet<&str> = unconditional.filter_map(Value::as_str).collect();
    let states = result.get("states").and_then(Value::as_map);
    let states: Vec<_> = states.into_iter().flatten().collect();
    let mut names: HashMap<String, usize> = HashMap::new();
    for (key, state) in &states {
        *names.entry(attribute_of(key, state)).or_default() += 1;
    }
    let states = states.into_iter();
    states
        .filter_map(|(key, state)| {
            let seen = SeenState {
                result: state.get("result").and_then(Value::as_bool),
                comment: state
                    .get("comment")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
                changes: state.get("changes").and_then(Value::as_map),
                is_unconditional: unconditional.contains(&**key),
            };
            let (kind, difference, reason) = seen.judge(check.kind)?;
            let mut attribute = attribute_of(key, state);
            // The states of one ID with several names differ in the name alone.
            if names[&attribute] > 1 {
                let name = state.get("name").and_then(Value::as_str);
                attribute = format!("{attribute}: {}", name.unwrap_or_default());
            }
            let mut finding = check.finding(&attribute, kind, difference);
            finding.reason = reason;
            Some(finding)
        })
        .collect()
}

/// The result of a state in a test run.
#[derive(Debug, Clone, Copy)]
pub struct SeenState<'a> {
    /// True without a difference, false after a failure, None if the state would change something.
    pub result: Option<bool>,
    pub comment: &'a str,
    pub changes: Option<&'a Map>,
    /// Returns true for a command that runs each time.
    pub is_unconditional: bool,
}

impl SeenState<'_> {
    /// Returns the kind, the sides and the reason of the finding. None without one. `kind` is that of differences.
    pub fn judge(&self, kind: DriftKind) -> Option<(DriftKind, Difference, Option<Arc<str>>)> {
        let comment = state_comment(self.comment);
        let cannot_tell = |reason: Arc<str>| {
            let none = Difference::default();
            Some((DriftKind::CannotTell, none, Some(reason)))
        };
        match self.result {
            Some(true) => None,
            Some(false) => cannot_tell(comment),
            None if self.is_unconditional => cannot_tell(
                "the command runs each time; `unless`, `onlyif` or `creates` would say when there is nothing to do"
                    .into(),
            ),
            None => {
                let difference = self.changes.map(state_difference).unwrap_or_default();
                Some((kind, difference, (!comment.is_empty()).then_some(comment)))
            }
        }
    }
}

/// Returns a state as `ID (file.managed)`. `key` is that of the results: module, id, name and function.
fn attribute_of(key: &str, state: &Value) -> String {
    let mut parts = key.split("_|-");
    let (module, id) = (parts.next(), parts.next());
    let function = parts.last();
    let own = state.get("__id__").and_then(Value::as_str);
    let (Some(module), Some(id), Some(function)) = (module, own.or(id), function) else {
        return key.to_owned();
    };
    format!("{id} ({module}.{function})")
}

/// Returns the two sides of the changes that a state would make: those of a single value as values, a difference of a
/// text as lines, and the word `missing` for something that the state would create.
fn state_difference(changes: &Map) -> Difference {
    let diff = changes.get("diff").and_then(Value::as_str);
    let lines = diff.filter(|diff| diff.starts_with("---")).map(|diff| {
        // The header lines with the file names are not informative.
        let lines: Vec<&str> = diff.lines().skip(2).collect();
        lines.join("\n").into()
    });
    let others: Map = changes
        .iter()
        .filter(|(name, _)| lines.is_none() || &***name != "diff")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(created) = created(&others) {
        return Difference {
            from: Some(created.into()),
            to: Some(MISSING.into()),
            lines,
        };
    }
    if others.len() == 1
        && let Some((name, inner)) = others.iter().next()
        && let Some(inner) = inner.as_map()
        && let Some(sides) = old_and_new(inner)
    {
        // A package or the like: its versions by its name.
        return Difference {
            from: sides.0.map(|new| format!("{name} {new}").into()),
            to: Some(sides.1.unwrap_or_else(|| MISSING.into())),
            lines,
        };
    }
    if let Some((from, to)) = old_and_new(&others) {
        return Difference { from, to, lines };
    }
    let from = (!others.is_empty()).then(|| pairs(&others).into());
    Difference {
        from,
        to: None,
        lines,
    }
}

/// Returns the word for what a state would create. None for other changes.
fn created(changes: &Map) -> Option<&'static str> {
    if changes.len() != 1 {
        return None;
    }
    let (name, value) = changes.iter().next()?;
    match (&**name, value.as_map()) {
        ("newfile", _) => Some("file"),
        (_, Some(inner)) if inner.get("directory").and_then(Value::as_str) == Some("new") => {
            Some("directory")
        }
        _ => None,
    }
}

/// The new side and the old side of a change.
type BothSides = (Option<Arc<str>>, Option<Arc<str>>);

/// Returns the sides of a change with nothing but `old` and `new`: the new side, then the old one.
fn old_and_new(changes: &Map) -> Option<BothSides> {
    let is_side = |name: &str| matches!(name, "old" | "new");
    if changes.is_empty() || !changes.keys().all(|name| is_side(name)) {
        return None;
    }
    let side = |name: &str| {
        let text = text_of(changes.get(name)?);
        (!text.is_empty()).then_some(text)
    };
    Some((side("new"), side("old")))
}

/// Returns changes as `mode: 0644, user: web`.
fn pairs(changes: &Map) -> String {
    let pairs = changes
        .iter()
        .map(|(name, value)| format!("{name}: {}", text_of(value)));
    pairs.collect::<Vec<_>>().join(", ")
}

/// Returns the first part of a comment: without the note of Salt that nothing was changed.
fn state_comment(comment: &str) -> Arc<str> {
    let end = comment
        .find("\nNote: No changes made")
        .unwrap_or(comment.len());
    comment[..end].trim().into()
}
