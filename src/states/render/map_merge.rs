//! Deep merging of maps, as in `slsutil.merge` and `defaults.merge`, and lookup of nested values.

use std::sync::Arc;

use crate::value::{Map, Value};

/// Merges a map into another at any depth. Lists are concatenated only if `join_lists` is set.
pub(super) fn merge_values(base: &Value, over: &Value, join_lists: bool) -> Value {
    match (base, over) {
        (Value::Map(base), Value::Map(over)) => {
            let mut map = Map::clone(base);
            for (key, value) in over.iter() {
                let item = match map.get(key) {
                    Some(own) => merge_values(own, value, join_lists),
                    None => value.clone(),
                };
                map.insert(Arc::clone(key), item);
            }
            map.into()
        }
        (Value::List(base), Value::List(over)) if join_lists => {
            Value::list(base.iter().chain(over.iter()).cloned())
        }
        (_, over) => over.clone(),
    }
}

/// Returns the place in a list. A negative number counts from the end.
fn index_of(part: &str, length: usize) -> Option<usize> {
    match part.strip_prefix('-') {
        Some(number) => length.checked_sub(number.parse().ok()?),
        None => part.parse().ok(),
    }
}

/// Returns the value at a path such as `a:b:0`. A key equal to the whole path takes precedence.
pub(in crate::states) fn value_at_path(
    value: &Value,
    path: &str,
    delimiter: &str,
) -> Option<Value> {
    if let Some(found) = value.get(path) {
        return Some(found.clone());
    }
    let mut found = value.clone();
    for part in path.split(delimiter) {
        let next = match found.reveal() {
            Value::Map(map) => map.get(part).cloned(),
            Value::List(items) => {
                let by_index =
                    index_of(part, items.len()).and_then(|index| items.get(index).cloned());
                // In a list of maps, the first map with the key counts.
                by_index.or_else(|| items.iter().find_map(|item| item.get(part).cloned()))
            }
            _ => None,
        }?;
        let sensitive = matches!(found, Value::Sensitive(_));
        found = next.sensitive_if(sensitive);
    }
    Some(found)
}
