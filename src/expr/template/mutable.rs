//! Mutable lists and maps for documents, because Salt templates change them: `{% do list.append(item) %}`.

use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use minijinja::value::{
    Enumerator, Kwargs, Object, ObjectRepr, Tuple, Value as JinjaValue, ValueKind, from_args,
};
use minijinja::{Error as JinjaError, ErrorKind, State};

use crate::expr::lazy::LazyValue;

use super::error::{Result, filter_error};
use super::lazy_object::LazyObject;
use super::limits;
use super::undefined::missing_attribute;
use super::variables::Variables;

/// The maximum depth to which lists and maps are copied.
const DEPTH: usize = 100;

/// A list that templates can change.
struct MutableList {
    items: Mutex<Vec<JinjaValue>>,
    variables: Arc<Variables>,
}

/// The entries of a map by name. Each entry keeps its original key, because a few keys are not texts.
type Entries = IndexMap<String, (JinjaValue, JinjaValue)>;

/// A map that templates can change.
struct MutableMap {
    entries: Mutex<Entries>,
    /// True if the filter `yaml` keeps the order of the keys.
    keeps_order: bool,
    /// The variables of the renderer, which note the keys that are missing.
    variables: Arc<Variables>,
}

impl Debug for MutableList {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MutableList").field(&self.items).finish()
    }
}

impl Debug for MutableMap {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MutableMap").field(&self.entries).finish()
    }
}

/// Returns true if a value is a mutable map.
pub(super) fn is_map(value: &JinjaValue) -> bool {
    value.downcast_object_ref::<MutableMap>().is_some()
}

/// Returns true if a value is a mutable map whose keys the filter `yaml` does not sort.
pub(super) fn keeps_order(value: &JinjaValue) -> bool {
    let map = value.downcast_object_ref::<MutableMap>();
    map.is_some_and(|map| map.keeps_order)
}

/// The maker of mutable values.
#[derive(Debug, Clone, Copy)]
pub(super) struct MutableMaker<'a> {
    variables: &'a Arc<Variables>,
}

impl<'a> MutableMaker<'a> {
    pub(super) fn new(variables: &'a Arc<Variables>) -> Self {
        Self { variables }
    }

    /// Converts lists and maps to mutable ones. A mutable value stays the same object.
    ///
    /// Several values become a tuple, as in `{% set a, b = 1, 2 %}`.
    pub(super) fn make_all(self, values: &[JinjaValue]) -> Result<JinjaValue> {
        match values {
            [value] => self.copy(value, 0),
            values => {
                let items = values.iter().map(|value| self.copy(value, 0));
                Ok(JinjaValue::from(Tuple::from(
                    items.collect::<Result<Vec<_>>>()?,
                )))
            }
        }
    }

    fn copy(self, value: &JinjaValue, depth: usize) -> Result<JinjaValue> {
        let is_own = value.downcast_object_ref::<MutableList>().is_some()
            || value.downcast_object_ref::<MutableMap>().is_some()
            || depth > DEPTH;
        if is_own || value.is_tuple() {
            return Ok(value.clone());
        }
        let is_lazy = value.downcast_object_ref::<LazyObject>().is_some();
        if is_lazy && self.variables.keeps_lazy {
            return Ok(value.clone());
        }
        // Other objects, such as namespaces and macros, stay unchanged.
        match value.kind() {
            // Concatenated lists are iterables that have a length.
            ValueKind::Iterable if value.len().is_none() => Ok(value.clone()),
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?.map(|item| self.copy(&item, depth + 1));
                Ok(JinjaValue::from_object(MutableList {
                    items: Mutex::new(items.collect::<Result<_>>()?),
                    variables: Arc::clone(self.variables),
                }))
            }
            ValueKind::Map if is_lazy || is_plain(value) => {
                let mut map = IndexMap::new();
                for key in value.try_iter()? {
                    let item = self.copy(&value.get_item(&key)?, depth + 1)?;
                    map.insert(name_of(&key), (key, item));
                }
                Ok(JinjaValue::from_object(MutableMap {
                    entries: Mutex::new(map),
                    keeps_order: self.is_ordered(value),
                    variables: Arc::clone(self.variables),
                }))
            }
            _ => Ok(value.clone()),
        }
    }

    /// Returns true if a map comes from a variable whose maps keep the order of their keys.
    fn is_ordered(self, value: &JinjaValue) -> bool {
        let lazy = value.downcast_object_ref::<LazyObject>();
        match lazy.map(LazyObject::item) {
            Some(LazyValue::Value(value)) => self.variables.ordered.has(value),
            _ => false,
        }
    }

    /// Writes the entries of `merged` into a mutable map, at any depth. Maps within it stay the same objects.
    ///
    /// Returns false if `target` is not a mutable map.
    pub(super) fn update_in_place(self, target: &JinjaValue, merged: &JinjaValue) -> Result<bool> {
        self.update_at(target, merged, 0)
    }

    fn update_at(self, target: &JinjaValue, merged: &JinjaValue, depth: usize) -> Result<bool> {
        let map = target.downcast_object_ref::<MutableMap>();
        let Some(map) = map.filter(|_| depth <= DEPTH && merged.kind() == ValueKind::Map) else {
            return Ok(false);
        };
        for key in merged.try_iter()? {
            let item = merged.get_item(&key)?;
            let own = lock(&map.entries).get(&name_of(&key)).cloned();
            if let Some((_, own)) = own
                && self.update_at(&own, &item, depth + 1)?
            {
                continue;
            }
            let item = self.copy(&item, 0)?;
            lock(&map.entries)
                .entry(name_of(&key))
                .and_modify(|entry| entry.1 = item.clone())
                .or_insert((key, item));
        }
        Ok(true)
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

impl MutableList {
    /// Returns an item in the form in which templates can change it. Fails if the item contains this list.
    fn mutable(&self, item: &JinjaValue) -> Result<JinjaValue> {
        mutable_item(self, &self.variables, item)
    }

    /// Sorts the items. `reverse` is the only argument that is supported.
    fn sort(&self, args: &[JinjaValue]) -> Result<JinjaValue> {
        let names: Kwargs = from_args::<(Kwargs,)>(args)?.0;
        let is_reversed: Option<bool> = names.get("reverse")?;
        names.assert_all_used()?;
        let mut items = lock(&self.items).clone();
        limits::check_items(&JinjaValue::from(items.clone()))?;
        items.sort();
        if is_reversed.unwrap_or_default() {
            items.reverse();
        }
        *lock(&self.items) = items;
        Ok(none())
    }

    /// Removes the first item that is equal to a value.
    fn remove(&self, item: &JinjaValue) -> Result<JinjaValue> {
        // The list is not locked while its items are compared, because the value may be the list itself.
        let items = lock(&self.items).clone();
        let at = items.iter().position(|own| own == item);
        let at = at.ok_or_else(|| filter_error("the item is not in the list"))?;
        lock(&self.items).remove(at);
        Ok(none())
    }
}

impl Object for MutableList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        lock(&self.items).get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(lock(&self.items).clone())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(lock(&self.items).len())
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue> {
        match (method, args) {
            ("sort", args) => return self.sort(args),
            ("remove", [item]) => return self.remove(item),
            _ => {}
        }
        // The added items are collected before the list is locked, because the argument may be the list
        // itself.
        let more: Vec<JinjaValue> = match (method, args) {
            ("extend", [more]) => more
                .try_iter()?
                .map(|item| self.mutable(&item))
                .collect::<Result<_>>()?,
            ("append", [item]) | ("insert", [_, item]) => vec![self.mutable(item)?],
            _ => Vec::new(),
        };
        let mut items = lock(&self.items);
        limits::check_item_count(items.len() + more.len() + 1)?;
        let place = |at: &JinjaValue, length: usize| {
            let at = at.as_i64().unwrap_or_default();
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let from_start = if at < 0 { at + length } else { at };
            usize::try_from(from_start.clamp(0, length)).unwrap_or_default()
        };
        match (method, args) {
            ("append" | "extend", [_]) => items.extend(more),
            ("insert", [at, _]) => {
                let at = place(at, items.len());
                items.splice(at..at, more);
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
            ("clear", []) => items.clear(),
            ("reverse", []) => items.reverse(),
            ("copy", []) => {
                return Ok(JinjaValue::from_object(Self {
                    items: Mutex::new(items.clone()),
                    variables: Arc::clone(&self.variables),
                }));
            }
            _ => return Err(unknown(method)),
        }
        Ok(none())
    }
}

impl MutableMap {
    /// Returns an item in the form in which templates can change it. Fails if the item contains this map.
    fn mutable(&self, item: &JinjaValue) -> Result<JinjaValue> {
        mutable_item(self, &self.variables, item)
    }

    /// Creates a map like this one with other entries.
    fn with_entries(&self, entries: Entries) -> Self {
        Self {
            entries: Mutex::new(entries),
            keeps_order: self.keeps_order,
            variables: Arc::clone(&self.variables),
        }
    }

    /// Returns the entries that a call of `update` adds: those of maps, pairs and named arguments.
    fn updates(&self, args: &[JinjaValue]) -> Result<Vec<(String, (JinjaValue, JinjaValue))>> {
        let (sources, names): (&[JinjaValue], Kwargs) = from_args(args)?;
        let mut pairs = Vec::new();
        for source in sources {
            let is_map = source.kind() == ValueKind::Map;
            for key in source.try_iter()? {
                pairs.push(if is_map {
                    (key.clone(), source.get_item(&key)?)
                } else {
                    pair(&key)?
                });
            }
        }
        for name in names.args() {
            pairs.push((name.into(), names.get(name)?));
        }
        let mut entries = Vec::new();
        for (key, item) in pairs {
            let item = self.mutable(&item)?;
            entries.push((name_of(&key), (key, item)));
        }
        Ok(entries)
    }
}

/// Returns an item for a list or map in the form in which templates can change it.
fn mutable_item<T: Object + 'static>(
    owner: &T,
    variables: &Arc<Variables>,
    item: &JinjaValue,
) -> Result<JinjaValue> {
    let item = MutableMaker::new(variables).copy(item, 0)?;
    let is_owner = |value: &JinjaValue| {
        let other = value.downcast_object_ref::<T>();
        other.is_some_and(|other| std::ptr::eq(other, owner))
    };
    refuse_cycle(&item, &is_owner)?;
    Ok(item)
}

/// Returns an error if a value contains the list or map that it is added to, or more items than a list may have.
/// An item that occurs more than once counts each time.
fn refuse_cycle(value: &JinjaValue, is_self: &dyn Fn(&JinjaValue) -> bool) -> Result<()> {
    let mut open = vec![value.clone()];
    let mut count = 0;
    while let Some(value) = open.pop() {
        if is_self(&value) {
            return Err(filter_error("a list or map cannot contain itself"));
        }
        count += 1;
        limits::check_item_count(count)?;
        if let Some(list) = value.downcast_object_ref::<MutableList>() {
            open.extend(lock(&list.items).iter().cloned());
        } else if let Some(map) = value.downcast_object_ref::<MutableMap>() {
            open.extend(lock(&map.entries).values().map(|(_, item)| item.clone()));
        } else if value.is_tuple() {
            open.extend(value.try_iter()?);
        }
    }
    Ok(())
}

/// Returns the two items of a pair.
fn pair(value: &JinjaValue) -> Result<(JinjaValue, JinjaValue)> {
    let mut items = value.try_iter()?;
    match (items.next(), items.next(), items.next()) {
        (Some(key), Some(item), None) => Ok((key, item)),
        _ => Err(filter_error("`update` takes maps and pairs")),
    }
}

impl Object for MutableMap {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        let found = lock(&self.entries).get(&name_of(key)).cloned();
        if found.is_none() {
            let missing = missing_attribute(key);
            self.variables
                .evaluator
                .tracker()
                .update_notes(|notes| notes.missing = Some(missing));
        }
        found.map(|(_, item)| item)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(
            lock(&self.entries)
                .values()
                .map(|(key, _)| key.clone())
                .collect(),
        )
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(lock(&self.entries).len())
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue> {
        let more = match method {
            "update" => self.updates(args)?,
            _ => Vec::new(),
        };
        let default = match method {
            "setdefault" => self.mutable(args.get(1).unwrap_or(&none()))?,
            _ => none(),
        };
        let mut map = lock(&self.entries);
        limits::check_item_count(map.len() + more.len() + 1)?;
        match (method, args) {
            ("update", _) => map.extend(more),
            ("clear", []) => map.clear(),
            ("setdefault", [key, ..]) => {
                let entry = map
                    .entry(name_of(key))
                    .or_insert_with(|| (key.clone(), default));
                return Ok(entry.1.clone());
            }
            ("pop", [key, rest @ ..]) => {
                let found = map.shift_remove(&name_of(key)).map(|(_, item)| item);
                let found = found.or_else(|| rest.first().cloned());
                return found.ok_or_else(|| filter_error(format!("the map has no `{key}`")));
            }
            ("copy", []) => {
                return Ok(JinjaValue::from_object(self.with_entries(map.clone())));
            }
            ("popitem", []) => {
                let last = map.pop().map(|(_, (key, item))| Tuple::from([key, item]));
                let last = last.ok_or_else(|| filter_error("the map is empty"))?;
                return Ok(JinjaValue::from(last));
            }
            ("get", [key, rest @ ..]) => {
                let found = map.get(&name_of(key)).map(|(_, item)| item.clone());
                return Ok(found.or_else(|| rest.first().cloned()).unwrap_or_else(none));
            }
            ("keys", []) => return Ok(map.values().map(|(key, _)| key.clone()).collect()),
            ("values", []) => return Ok(map.values().map(|(_, item)| item.clone()).collect()),
            ("items", []) => {
                let pair = |(key, item): &(JinjaValue, JinjaValue)| {
                    JinjaValue::from(Tuple::from([key.clone(), item.clone()]))
                };
                return Ok(map.values().map(pair).collect());
            }
            _ => return Err(unknown(method)),
        }
        Ok(none())
    }
}
