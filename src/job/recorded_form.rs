//! Values in the form in which the records of tasks contain them, and comparisons with recorded values.

use std::sync::Arc;

use crate::value::{REDACTED, Value};

/// Returns a value as records contain it: external values as their expression, secrets redacted.
pub(super) fn as_recorded(value: &Value) -> Value {
    match value {
        Value::Sensitive(_) => Value::str(REDACTED),
        Value::External(external) if external.value.has_sensitive() => Value::str(REDACTED),
        Value::External(external) if external.expression.is_null() => as_recorded(&external.value),
        Value::External(external) => as_recorded(&external.expression),
        Value::List(items) => Value::list(items.iter().map(as_recorded)),
        Value::Map(map) => Value::map(
            map.iter()
                .map(|(key, value)| (Arc::clone(key), as_recorded(value))),
        ),
        Value::Entity(entity) => entity.expression().clone(),
        Value::Data(inner) => as_recorded(&inner.with_externals_resolved()),
        other => other.clone(),
    }
}

/// Returns true if a recorded value can be that of the current one.
///
/// A record has a secret encrypted or redacted. Unfurl (Python) also writes it as it is, or as an expression. Only
/// the value as it is shows a change.
pub(super) fn can_be_equal(recorded: &Value, current: &Value) -> bool {
    let is_redacted = matches!(recorded, Value::Str(text) if **text == *REDACTED);
    if is_redacted || is_reference(recorded) || matches!(recorded, Value::Sensitive(_)) {
        return true;
    }
    match current {
        Value::Sensitive(inner) => {
            mentions_secret(recorded) || *recorded == **inner || *recorded == as_recorded(inner)
        }
        other if !other.has_sensitive() => *recorded == as_recorded(other),
        Value::Data(inner) => can_be_equal(recorded, inner),
        Value::List(items) => recorded.as_list().is_some_and(|recorded| {
            let mut pairs = recorded.iter().zip(items.iter());
            recorded.len() == items.len() && pairs.all(|(old, new)| can_be_equal(old, new))
        }),
        Value::Map(map) => recorded.as_map().is_some_and(|recorded| {
            let is_equal = |(key, new): (&Arc<str>, &Value)| {
                recorded.get(key).is_some_and(|old| can_be_equal(old, new))
            };
            recorded.len() == map.len() && map.iter().all(is_equal)
        }),
        other => *recorded == as_recorded(other),
    }
}

/// Returns a recorded value without the parts that are secret now.
pub(super) fn hide_like(recorded: &Value, current: &Value) -> Value {
    match current {
        Value::Data(inner) => hide_like(recorded, inner),
        Value::Sensitive(_) => Value::str(REDACTED),
        other if !other.has_sensitive() => recorded.redacted(),
        other => match (recorded.reveal(), other) {
            (Value::Map(old), Value::Map(new)) => Value::map(old.iter().map(|(key, old)| {
                let shown = new.get(key).map(|new| hide_like(old, new));
                (Arc::clone(key), shown.unwrap_or_else(|| old.redacted()))
            })),
            _ => Value::str(REDACTED),
        },
    }
}

/// Returns true if a recorded value is the expression that Unfurl (Python) writes in place of a secret or local value.
pub(super) fn is_reference(recorded: &Value) -> bool {
    let external = recorded.get("eval").and_then(|eval| eval.get("external"));
    matches!(external.and_then(Value::as_str), Some("secret" | "local"))
}

/// Returns true if a value has a secret in it, as far as a record shows.
pub(super) fn mentions_secret(value: &Value) -> bool {
    match value {
        Value::Str(text) => text.contains(REDACTED),
        Value::List(items) => items.iter().any(mentions_secret),
        Value::Map(map) => map.values().any(mentions_secret),
        Value::Sensitive(_) => true,
        Value::Data(inner) => mentions_secret(inner),
        _ => false,
    }
}
