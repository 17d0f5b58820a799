//! The order of keys in the filter `yaml` of documents: as in Salt, maps of the pillar keep their order and all
//! other maps are sorted.

use std::sync::Arc;

use minijinja::value::{Value as JinjaValue, ValueKind};

use crate::expr::lazy::LazyValue;
use crate::value::Value;

use super::error::Result;
use super::lazy_object::LazyObject;
use super::mutable;
use super::ordered_maps::OrderedMaps;
use super::variables::Variables;

/// The maximum nesting depth of values whose keys are sorted.
const DEPTH: usize = 100;

/// Converts an engine value to a native value without marks. Sorts the keys of all maps, except those of
/// [`Variables::ordered`].
pub(super) fn with_sorted_keys(variables: &Arc<Variables>, value: &JinjaValue) -> Result<Value> {
    // Notes the marks of the value, and fails if it is too large to be walked.
    variables.revealed_value(value)?;
    sorted_at(variables, value, 0)
}

fn sorted_at(variables: &Arc<Variables>, value: &JinjaValue, depth: usize) -> Result<Value> {
    let lazy = value.downcast_object_ref::<LazyObject>();
    if let Some(LazyValue::Value(inner)) = lazy.map(LazyObject::item) {
        return Ok(sorted_value(&variables.ordered, inner));
    }
    let is_collection = matches!(value.kind(), ValueKind::Seq | ValueKind::Map);
    if lazy.is_some() || depth > DEPTH || !is_collection {
        return variables.revealed_value(value);
    }
    let inner = |item: &JinjaValue| sorted_at(variables, item, depth + 1);
    if value.kind() == ValueKind::Seq {
        let items = value.try_iter()?.map(|item| inner(&item));
        return Ok(Value::from(items.collect::<Result<Vec<_>>>()?));
    }
    let mut entries = Vec::new();
    for key in value.try_iter()? {
        let name = variables.revealed_value(&key)?.to_string();
        entries.push((name, inner(&value.get_item(&key)?)?));
    }
    if !mutable::keeps_order(value) {
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    Ok(Value::map(entries))
}

fn sorted_value(ordered: &OrderedMaps, value: &Value) -> Value {
    match value.reveal() {
        Value::List(items) => Value::list(items.iter().map(|item| sorted_value(ordered, item))),
        plain @ Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            if !ordered.has(plain) {
                entries.sort_by_key(|(key, _)| *key);
            }
            let entries = entries.into_iter();
            Value::map(entries.map(|(key, item)| (Arc::clone(key), sorted_value(ordered, item))))
        }
        other => other.clone(),
    }
}
