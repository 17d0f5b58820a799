//! Mutable lists and maps for documents, because Salt templates change them: `{% do list.append(item) %}`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use minijinja::value::{Enumerator, Object, ObjectRepr, Value as JinjaValue, ValueKind};
use minijinja::{Error as JinjaError, ErrorKind, State};

use super::error::{Result, filter_error};
use super::lazy_object::LazyObject;
use super::limits;

/// The name of the function that makes an assigned value mutable. `preprocess` inserts the calls.
pub(super) const MUTABLE_FUNCTION: &str = "__own";

/// The maximum depth to which lists and maps are copied.
const DEPTH: usize = 100;

/// A list that templates can change.
#[derive(Debug)]
struct MutableList(Mutex<Vec<JinjaValue>>);

/// A map that templates can change. Each entry keeps its original key, because a few keys are not texts.
#[derive(Debug)]
struct MutableMap(Mutex<IndexMap<String, (JinjaValue, JinjaValue)>>);

/// Converts lists and maps to mutable ones. A mutable value stays the same object.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
pub(super) fn make_mutable(value: JinjaValue) -> Result<JinjaValue> {
    mutable_copy(&value, 0)
}

fn mutable_copy(value: &JinjaValue, depth: usize) -> Result<JinjaValue> {
    let is_own = value.downcast_object_ref::<MutableList>().is_some()
        || value.downcast_object_ref::<MutableMap>().is_some()
        || depth > DEPTH;
    if is_own {
        return Ok(value.clone());
    }
    let is_lazy = value.downcast_object_ref::<LazyObject>().is_some();
    // Other objects, such as namespaces and macros, stay unchanged.
    match value.kind() {
        ValueKind::Seq => {
            let items = value.try_iter()?.map(|item| mutable_copy(&item, depth + 1));
            Ok(JinjaValue::from_object(MutableList(Mutex::new(
                items.collect::<Result<_>>()?,
            ))))
        }
        ValueKind::Map if is_lazy || is_plain(value) => {
            let mut map = IndexMap::new();
            for key in value.try_iter()? {
                let item = mutable_copy(&value.get_item(&key)?, depth + 1)?;
                map.insert(name_of(&key), (key, item));
            }
            Ok(JinjaValue::from_object(MutableMap(Mutex::new(map))))
        }
        _ => Ok(value.clone()),
    }
}

/// Whether a map was created by a template, unlike objects such as namespaces.
fn is_plain(value: &JinjaValue) -> bool {
    value.as_object().is_none_or(|object| {
        object.type_name().contains("Map<") && !object.type_name().contains("Namespace")
    })
}

fn name_of(key: &JinjaValue) -> String {
    key.as_str()
        .map_or_else(|| format!("\u{0}{key}"), str::to_owned)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn none() -> JinjaValue {
    JinjaValue::from(())
}

fn unknown(method: &str) -> JinjaError {
    JinjaError::new(
        ErrorKind::UnknownMethod,
        format!("there is no method `{method}`"),
    )
}

impl Object for MutableList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        lock(&self.0).get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(lock(&self.0).clone())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(lock(&self.0).len())
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue> {
        // The added items are collected before the list is locked, because the argument may be the list
        // itself.
        let more = match (method, args) {
            ("extend", [more]) => more.try_iter()?.collect(),
            _ => Vec::new(),
        };
        let mut items = lock(&self.0);
        limits::check_item_count(items.len() + more.len() + 1)?;
        let place = |at: &JinjaValue, length: usize| {
            let at = at.as_i64().unwrap_or_default();
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let from_start = if at < 0 { at + length } else { at };
            usize::try_from(from_start.clamp(0, length)).unwrap_or_default()
        };
        match (method, args) {
            ("append", [item]) => items.push(item.clone()),
            ("extend", [_]) => items.extend(more),
            ("insert", [at, item]) => {
                let at = place(at, items.len());
                items.insert(at, item.clone());
            }
            ("pop", []) => {
                return items.pop().ok_or_else(|| filter_error("the list is empty"));
            }
            ("pop", [at]) => {
                let at = place(at, items.len());
                if at >= items.len() {
                    return Err(filter_error("the list has no such item"));
                }
                return Ok(items.remove(at));
            }
            ("remove", [item]) => {
                let at = items.iter().position(|own| own == item);
                items.remove(at.ok_or_else(|| filter_error("the item is not in the list"))?);
            }
            ("clear", []) => items.clear(),
            ("reverse", []) => items.reverse(),
            ("sort", _) => items.sort(),
            ("copy", []) => {
                let copy = Self(Mutex::new(items.clone()));
                return Ok(JinjaValue::from_object(copy));
            }
            _ => return Err(unknown(method)),
        }
        Ok(none())
    }
}

impl Object for MutableMap {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        lock(&self.0)
            .get(&name_of(key))
            .map(|(_, item)| item.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(lock(&self.0).values().map(|(key, _)| key.clone()).collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(lock(&self.0).len())
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue> {
        let mut more = Vec::new();
        if method == "update" {
            for map in args {
                for key in map.try_iter()? {
                    let item = mutable_copy(&map.get_item(&key)?, 0)?;
                    more.push((name_of(&key), (key, item)));
                }
            }
        }
        let mut map = lock(&self.0);
        limits::check_item_count(map.len() + more.len() + 1)?;
        match (method, args) {
            ("update", _) => map.extend(more),
            ("clear", []) => map.clear(),
            ("setdefault", [key, rest @ ..]) => {
                let item = rest.first().cloned().unwrap_or_else(none);
                let entry = map
                    .entry(name_of(key))
                    .or_insert_with(|| (key.clone(), item));
                return Ok(entry.1.clone());
            }
            ("pop", [key, rest @ ..]) => {
                let found = map.shift_remove(&name_of(key)).map(|(_, item)| item);
                let found = found.or_else(|| rest.first().cloned());
                return found.ok_or_else(|| filter_error(format!("the map has no `{key}`")));
            }
            ("copy", []) => {
                let copy = Self(Mutex::new(map.clone()));
                return Ok(JinjaValue::from_object(copy));
            }
            ("get", [key, rest @ ..]) => {
                let found = map.get(&name_of(key)).map(|(_, item)| item.clone());
                return Ok(found.or_else(|| rest.first().cloned()).unwrap_or_else(none));
            }
            ("keys", []) => return Ok(map.values().map(|(key, _)| key.clone()).collect()),
            ("values", []) => return Ok(map.values().map(|(_, item)| item.clone()).collect()),
            ("items", []) => {
                let pair = |(key, item): &(JinjaValue, JinjaValue)| {
                    JinjaValue::from(vec![key.clone(), item.clone()])
                };
                return Ok(map.values().map(pair).collect());
            }
            _ => return Err(unknown(method)),
        }
        Ok(none())
    }
}
