//! Puts maps together as `slsutil.merge` and `defaults.merge` do.

use std::sync::Arc;

use crate::value::{Map, Value};

/// A map with another merged into it, at any depth; lists are put together if so asked.
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

/// What a path such as `a:b:0` leads to.
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
                let index = part.parse::<usize>().ok();
                let by_index = index.and_then(|index| items.get(index).cloned());
                // A list of maps is searched for the key.
                by_index.or_else(|| items.iter().find_map(|item| item.get(part).cloned()))
            }
            _ => None,
        }?;
        let sensitive = matches!(found, Value::Sensitive(_));
        found = next.sensitive_if(sensitive);
    }
    Some(found)
}
