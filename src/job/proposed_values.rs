//! Evaluates the values that plans show: properties of new instances, and outputs.

use std::sync::Arc;

use super::change_diff::DifferenceSide;
use super::evaluation::Evaluation;
use super::live_attributes::is_live;
use super::proposal::ProposedValue;
use super::recorded_form::{as_recorded, can_be_equal, hide_like};
use crate::value::{Handle, REDACTED, Value};

/// The maximum number of attributes to trace when looking for those that an output depends on.
const MAX_READS: usize = 100;

/// Functions that fetch secrets. A plan does not call them only to show that a value is secret.
const SECRET_FUNCTIONS: [&str; 2] = ["get_secret", "secret"];

impl Evaluation<'_> {
    /// Returns the properties of an instance with their values.
    pub(super) fn proposed_properties(&self, of: Handle) -> Vec<(Arc<str>, DifferenceSide)> {
        let Some(node) = self.topology.entity(of).node() else {
            return Vec::new();
        };
        let evaluator = self.evaluator();
        let mut shown = Vec::new();
        for (name, property) in &*node.template.properties {
            if property.value.is_null() {
                continue;
            }
            let value = if calls_secrets(&property.value) {
                Ok(Some(Value::str(REDACTED)))
            } else {
                evaluator.attribute(of, name)
            };
            let side = match value {
                Ok(Some(value)) if !value.is_null() => DifferenceSide::Value(as_recorded(&value)),
                _ => DifferenceSide::Unknown,
            };
            shown.push((Arc::clone(name), side));
        }
        shown
    }

    /// Returns the change of an output. None if its value stays.
    pub(super) fn proposed_output(
        &self,
        name: &str,
        recorded: Option<&Value>,
        is_touched: &dyn Fn(Handle) -> bool,
    ) -> Option<ProposedValue> {
        let (value, reads) = self.output(name);
        let read = self.evaluator().closure(&reads, MAX_READS);
        let mut read = read.iter().filter(|(of, ..)| is_touched(*of));
        let is_open = read.any(|(of, name, value)| {
            value.is_null() || is_live(self.topology, *of, name) != Some(false)
        });
        let value = value.ok().filter(|value| !value.is_null());
        let recorded = recorded.filter(|value| !value.is_null());
        let is_secret = value.as_ref().is_some_and(Value::has_sensitive);
        let (old, new) = match (recorded, &value) {
            (Some(old), Some(new)) if !is_open && can_be_equal(old, new) => return None,
            (None, None) if !is_open => return None,
            (Some(old), Some(new)) => (Some(hide_like(old, new)), Some(as_recorded(new))),
            (old, new) => (old.map(Value::redacted), new.as_ref().map(as_recorded)),
        };
        let side =
            |value: Option<Value>| value.map_or(DifferenceSide::Missing, DifferenceSide::Value);
        Some(ProposedValue {
            name: name.to_owned(),
            old: side(old),
            new: if is_open {
                DifferenceSide::Unknown
            } else {
                side(new)
            },
            is_secret,
            source: None,
            span: self.topology.span_of(self.topology.outputs(), name),
        })
    }
}

/// Returns true if an expression calls a function that fetches a secret.
fn calls_secrets(value: &Value) -> bool {
    match value {
        Value::Map(map) => map
            .iter()
            .any(|(key, value)| SECRET_FUNCTIONS.contains(&&**key) || calls_secrets(value)),
        Value::List(items) => items.iter().any(calls_secrets),
        Value::Str(text) => text.contains("{{") && text.contains("secret"),
        _ => false,
    }
}
