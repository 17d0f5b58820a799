//! Filters on lists and maps.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands arguments over by value"
)]

use std::sync::Arc;

use minijinja::value::{Kwargs, Rest, Value as JinjaValue};
use minijinja::{Environment, State};

use crate::expr::item::Item;
use crate::value::{List, Map, Value};

use super::filters::{Result, failed, open_all};
use super::variables::Variables;

/// How deep maps may nest that are combined, and lists that are flattened.
const DEPTH: usize = 100;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("combine", combine);
    environment.add_filter("dict2items", dict2items);
    environment.add_filter("items2dict", items2dict);
    environment.add_filter("flatten", flatten);
    environment.add_filter("union", union);
    environment.add_filter("intersect", intersect);
    environment.add_filter("difference", difference);
    environment.add_filter("symmetric_difference", symmetric_difference);
    environment.add_filter("product", product);
    environment.add_filter("extract", extract);
}

fn give(state: &State, value: impl Into<Value>) -> Result<JinjaValue> {
    Ok(Variables::of(state)?.give(Item::Value(value.into())))
}

fn list(state: &State, value: &JinjaValue) -> Result<List> {
    let value = Variables::of(state)?.open(value)?;
    match &value {
        Value::List(items) => Ok(items.to_vec()),
        Value::Map(map) => Ok(map.keys().map(|key| Value::Str(Arc::clone(key))).collect()),
        other => Err(failed(format!("takes a list, not {}", other.kind()))),
    }
}

fn combine(
    state: &State,
    value: &JinjaValue,
    others: Rest<JinjaValue>,
    options: Kwargs,
) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let recursive = options
        .get::<Option<bool>>("recursive")?
        .unwrap_or_default();
    let lists = options.get::<Option<String>>("list_merge")?;
    let lists = lists.as_deref().unwrap_or("replace");
    let mut values = Vec::new();
    for value in std::iter::once(variables.open(value)?).chain(open_all(&variables, &others)?) {
        match value {
            Value::List(items) => values.extend(items.iter().cloned()),
            other => values.push(other),
        }
    }
    let mut result = Map::new();
    for value in values {
        let Value::Map(map) = &value else {
            return Err(failed(format!(
                "`combine` takes maps, not {}",
                value.kind()
            )));
        };
        result = merged(result, map, recursive, lists, 0)?;
    }
    give(state, result)
}

fn merged(mut base: Map, over: &Map, recursive: bool, lists: &str, depth: usize) -> Result<Map> {
    if depth > DEPTH {
        return Err(failed("`combine`: maps nest too deep"));
    }
    for (key, value) in over {
        let value = match (base.get(key), value) {
            (Some(Value::Map(old)), Value::Map(new)) if recursive => {
                merged(Map::clone(old), new, recursive, lists, depth + 1)?.into()
            }
            (Some(Value::List(old)), Value::List(new)) => {
                let both = |a: &List, b: &List| Value::list(a.iter().chain(b).cloned());
                match lists {
                    "append" => both(old, new),
                    "prepend" => both(new, old),
                    "append_rp" => both(&without(old, new), new),
                    "prepend_rp" => both(new, &without(old, new)),
                    "keep" => Value::List(Arc::clone(old)),
                    _ => value.clone(),
                }
            }
            _ => value.clone(),
        };
        base.insert(Arc::clone(key), value);
    }
    Ok(base)
}

fn without(items: &List, others: &List) -> List {
    items
        .iter()
        .filter(|item| !others.contains(item))
        .cloned()
        .collect()
}

fn dict2items(state: &State, value: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let value = Variables::of(state)?.open(value)?;
    let Value::Map(map) = &value else {
        return Err(failed(format!(
            "`dict2items` takes a map, not {}",
            value.kind()
        )));
    };
    let name = |name, default: &str| -> Result<String> {
        Ok(options
            .get::<Option<String>>(name)?
            .unwrap_or_else(|| default.to_owned()))
    };
    let (key_name, value_name) = (name("key_name", "key")?, name("value_name", "value")?);
    let items = map.iter().map(|(key, value)| {
        Value::map([
            (key_name.clone(), Value::Str(Arc::clone(key))),
            (value_name.clone(), value.clone()),
        ])
    });
    give(state, Value::list(items))
}

fn items2dict(state: &State, value: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let name = |name, default: &str| -> Result<String> {
        Ok(options
            .get::<Option<String>>(name)?
            .unwrap_or_else(|| default.to_owned()))
    };
    let (key_name, value_name) = (name("key_name", "key")?, name("value_name", "value")?);
    let mut map = Map::new();
    for item in list(state, value)? {
        let (Some(key), Some(value)) = (item.get(&key_name), item.get(&value_name)) else {
            return Err(failed(format!(
                "an item has no `{key_name}` or no `{value_name}`"
            )));
        };
        map.insert(key.to_string().into(), value.clone());
    }
    give(state, map)
}

fn flatten(state: &State, value: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let levels = options.get::<Option<usize>>("levels")?.unwrap_or(DEPTH);
    let skip_nulls = options.get::<Option<bool>>("skip_nulls")?.unwrap_or(true);
    let mut flat = List::new();
    flatten_into(&list(state, value)?, levels, skip_nulls, &mut flat);
    give(state, flat)
}

fn flatten_into(items: &List, levels: usize, skip_nulls: bool, flat: &mut List) {
    for item in items {
        match item {
            Value::List(inner) if levels > 0 => flatten_into(inner, levels - 1, skip_nulls, flat),
            Value::Null if skip_nulls => {}
            other => flat.push(other.clone()),
        }
    }
}

fn unique(items: impl IntoIterator<Item = Value>) -> List {
    let mut unique = List::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}

fn union(state: &State, left: &JinjaValue, right: &JinjaValue) -> Result<JinjaValue> {
    let (left, right) = (list(state, left)?, list(state, right)?);
    give(state, unique(left.into_iter().chain(right)))
}

fn intersect(state: &State, left: &JinjaValue, right: &JinjaValue) -> Result<JinjaValue> {
    let (left, right) = (list(state, left)?, list(state, right)?);
    give(
        state,
        unique(left.into_iter().filter(|item| right.contains(item))),
    )
}

fn difference(state: &State, left: &JinjaValue, right: &JinjaValue) -> Result<JinjaValue> {
    let (left, right) = (list(state, left)?, list(state, right)?);
    give(state, unique(without(&left, &right)))
}

fn symmetric_difference(
    state: &State,
    left: &JinjaValue,
    right: &JinjaValue,
) -> Result<JinjaValue> {
    let (left, right) = (list(state, left)?, list(state, right)?);
    let both = without(&left, &right)
        .into_iter()
        .chain(without(&right, &left));
    give(state, unique(both))
}

fn product(state: &State, value: &JinjaValue, others: Rest<JinjaValue>) -> Result<JinjaValue> {
    let mut rows = vec![List::new()];
    for value in std::iter::once(value).chain(others.iter()) {
        let items = list(state, value)?;
        if rows.len().saturating_mul(items.len()) > 100_000 {
            return Err(failed("`product`: there are too many combinations"));
        }
        let with = |row: &List, item: &Value| row.iter().chain([item]).cloned().collect();
        rows = rows
            .iter()
            .flat_map(|row| items.iter().map(move |item| with(row, item)))
            .collect();
    }
    give(state, Value::list(rows.into_iter().map(Value::from)))
}

fn extract(key: &JinjaValue, container: &JinjaValue) -> Result<JinjaValue> {
    container.get_item(key)
}
