//! The combination of several patches into one tree of changes, so that each value is edited only once.

use indexmap::IndexMap;

use super::PatchError;
use crate::value::{List, Map, Value};
use crate::yaml::{Patch, PatchOp, Route, RouteStep};

/// The change that patches make to one value.
#[derive(Debug)]
pub(super) enum ValueChange {
    /// The value is replaced by this one.
    Set(Value),
    Remove,
    /// Only parts of the value change, by step.
    Parts(IndexMap<RouteStep, Self>),
}

impl ValueChange {
    /// Combines patches. A later patch sees the effect of an earlier one.
    pub(super) fn from_patches(patches: &[Patch]) -> Result<Self, PatchError> {
        let mut all = Self::Parts(IndexMap::new());
        for patch in patches {
            all.add(patch, 0)?;
        }
        Ok(all)
    }

    fn add(&mut self, patch: &Patch, depth: usize) -> Result<(), PatchError> {
        let Some(step) = patch.route.steps().get(depth) else {
            *self = match &patch.op {
                PatchOp::Set(value) => Self::Set(value.clone()),
                PatchOp::Remove => Self::Remove,
            };
            return Ok(());
        };
        match self {
            Self::Parts(parts) => {
                let empty = || Self::Parts(IndexMap::new());
                let part = parts.entry(step.clone()).or_insert_with(empty);
                part.add(patch, depth + 1)
            }
            // A patch below a value that is already replaced or removed changes that value directly.
            Self::Set(_) | Self::Remove => {
                let mut parts = Self::Parts(IndexMap::new());
                parts.add(patch, depth)?;
                let base = match self {
                    Self::Set(value) => std::mem::take(value),
                    _ => Value::Null,
                };
                let route = Route::from(patch.route.steps()[..depth].to_vec());
                if let Some(value) = parts.apply_to(Some(base), &route)? {
                    *self = Self::Set(value);
                }
                Ok(())
            }
        }
    }

    /// Applies the change to a value. None if the value is removed or does not come into existence.
    pub(super) fn apply_to(
        &self,
        base: Option<Value>,
        route: &Route,
    ) -> Result<Option<Value>, PatchError> {
        let parts = match self {
            Self::Set(value) => return Ok(Some(value.clone())),
            Self::Remove => return Ok(None),
            Self::Parts(parts) if parts.is_empty() => return Ok(base),
            Self::Parts(parts) => parts,
        };
        let list = parts.keys().all(|step| matches!(step, RouteStep::Index(_)));
        match base {
            None | Some(Value::Null) if list => {
                apply_to_list(parts, &List::new(), route).map(unless_empty)
            }
            None | Some(Value::Null) => apply_to_map(parts, &Map::new(), route).map(unless_empty),
            Some(Value::List(items)) => apply_to_list(parts, &items, route).map(Some),
            Some(Value::Map(map)) => apply_to_map(parts, &map, route).map(Some),
            Some(other) => Err(PatchError::no_such_part(route, other.kind())),
        }
    }
}

/// Returns a collection unless it is empty. An empty collection is not created.
fn unless_empty(value: Value) -> Option<Value> {
    value.is_truthy().then_some(value)
}

fn apply_to_map(
    parts: &IndexMap<RouteStep, ValueChange>,
    base: &Map,
    route: &Route,
) -> Result<Value, PatchError> {
    let mut map = base.clone();
    for (step, change) in parts {
        let RouteStep::Key(key) = step else {
            return Err(PatchError::no_such_part(route, "a map"));
        };
        match change.apply_to(map.get(key).cloned(), &route.clone().key(key.clone()))? {
            Some(value) => drop(map.insert(key.clone(), value)),
            None if matches!(change, ValueChange::Remove) => drop(map.shift_remove(key)),
            // A removal below a null or missing value has no effect.
            None => {}
        }
    }
    Ok(Value::from(map))
}

fn apply_to_list(
    parts: &IndexMap<RouteStep, ValueChange>,
    base: &List,
    route: &Route,
) -> Result<Value, PatchError> {
    let mut items: Vec<Option<Value>> = base.iter().cloned().map(Some).collect();
    for (step, change) in parts {
        let index = match step {
            RouteStep::Index(index) if *index <= items.len() => *index,
            RouteStep::Index(_) if matches!(change, ValueChange::Remove) => continue,
            _ => {
                return Err(PatchError::no_such_part(route, "a list"));
            }
        };
        let old = items.get(index).cloned().flatten();
        let new = change.apply_to(old, &route.clone().index(index))?;
        if new.is_none() && !matches!(change, ValueChange::Remove) {
            continue;
        }
        if index == items.len() {
            items.push(new);
        } else {
            items[index] = new;
        }
    }
    Ok(Value::list(items.into_iter().flatten()))
}
