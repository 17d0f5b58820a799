//! Salt's Jinja filters that set a value at a path of keys in a map, such as `set_dict_key_value('a:b', 1)`.

use crate::value::{Map, Value};

/// The names of the filters, which change the filtered map.
pub(super) const FILTER_NAMES: [&str; 4] = [
    "append_dict_key_value",
    "extend_dict_key_value",
    "set_dict_key_value",
    "update_dict_key_value",
];

/// Applies a filter. The first argument is the filtered value. Returns `None` if the filter is unknown.
pub(super) fn apply_entry_filter(
    name: &str,
    args: &[Value],
    named: &Map,
) -> Option<Result<Value, String>> {
    if !FILTER_NAMES.contains(&name) {
        return None;
    }
    let null = Value::Null;
    let arg = |place: usize, key: &str| args.get(place).or_else(|| named.get(key));
    let Some(map) = args.first().and_then(|map| map.reveal().as_map()) else {
        return Some(Err("takes a map".to_owned()));
    };
    let keys = arg(1, "keys").unwrap_or(&null).reveal().to_string();
    let value = arg(2, "value").unwrap_or(&null);
    let delimiter = arg(3, "delimiter").map_or_else(|| ":".to_owned(), ToString::to_string);
    let keys: Vec<&str> = keys.split(&*delimiter).collect();
    Some(changed(map, &keys, name, value))
}

/// Returns a map with the value at the path of keys. Values on the way that are no maps are replaced.
fn changed(map: &Map, keys: &[&str], name: &str, value: &Value) -> Result<Value, String> {
    let mut map = map.clone();
    let [key, rest @ ..] = keys else {
        return Ok(map.into());
    };
    let old = map.get(*key).map(Value::reveal);
    let new = if rest.is_empty() {
        combined(old.filter(|old| !old.is_null()), name, value)?
    } else {
        let empty = Map::new();
        changed(
            old.and_then(Value::as_map).unwrap_or(&empty),
            rest,
            name,
            value,
        )?
    };
    map.insert((*key).into(), new);
    Ok(map.into())
}

fn combined(old: Option<&Value>, name: &str, value: &Value) -> Result<Value, String> {
    let wrong = |expected: &str| Err(format!("the value at the key is not a {expected}"));
    match (name, old) {
        ("set_dict_key_value", _) => Ok(value.clone()),
        ("update_dict_key_value", old) => {
            let mut map = match old {
                None => Map::new(),
                Some(Value::Map(map)) => Map::clone(map),
                Some(_) => return wrong("map"),
            };
            match value.reveal() {
                Value::Map(more) => map.extend(Map::clone(more)),
                _ => return Err("a map can be updated by a map only".to_owned()),
            }
            Ok(map.into())
        }
        (_, old) => {
            let mut list = match old {
                None => Vec::new(),
                Some(Value::List(items)) => items.to_vec(),
                Some(_) => return wrong("list"),
            };
            match (name, value.reveal()) {
                ("append_dict_key_value", _) => list.push(value.clone()),
                (_, Value::List(more)) => list.extend(more.iter().cloned()),
                _ => return Err("a list can be extended by a list only".to_owned()),
            }
            Ok(list.into())
        }
    }
}
