//! Lazy values in templates: [`LazyObject`] wraps an unevaluated item for the engine and evaluates only the
//! parts that a template accesses.

use std::cmp::Ordering;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, Value as JinjaValue};

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::value::Value;

use super::operators::METHODS;
use super::undefined::missing_attribute;
use super::variables::Variables;

/// A value that is evaluated only where a template accesses it.
pub(super) struct LazyObject {
    variables: Arc<Variables>,
    item: LazyValue,
}

impl Debug for LazyObject {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyObject").finish_non_exhaustive()
    }
}

impl LazyObject {
    /// Wraps an item as an engine value.
    pub(super) fn value(variables: &Arc<Variables>, item: LazyValue) -> JinjaValue {
        JinjaValue::from_object(Self {
            variables: Arc::clone(variables),
            item,
        })
    }

    /// Evaluates the whole item to a native value.
    pub(super) fn evaluate_whole(&self) -> Result<Value, Error> {
        self.variables.evaluator.value_of(self.item.clone())
    }

    pub(super) fn item(&self) -> &LazyValue {
        &self.item
    }

    /// Creates the error for a method that a template reads but does not call.
    fn uncalled_method_error(&self, name: &str) -> JinjaValue {
        let has_entry = self
            .names()
            .is_some_and(|names| names.iter().any(|other| **other == *name));
        let hint = if has_entry {
            format!("write `['{name}']` for the entry of that name")
        } else {
            format!("write `.{name}()` to call it")
        };
        let error = Error::Function {
            function: format!(".{name}"),
            problem: format!("every map has a method of this name; {hint}"),
        };
        JinjaValue::from(self.variables.engine_error(error))
    }

    fn names(&self) -> Option<Vec<Arc<str>>> {
        let evaluator = &self.variables.evaluator;
        match &self.item {
            LazyValue::Attributes(of) => Some(evaluator.scope().attribute_names(*of)),
            LazyValue::AllInstances(from) => {
                let every = evaluator.root_and_instances(*from).into_iter();
                Some(every.map(|of| evaluator.name_of(of)).collect())
            }
            LazyValue::Inputs(inputs, _) => Some(inputs.names().cloned().collect()),
            LazyValue::Connections(connections) => Some(connections.keys().cloned().collect()),
            LazyValue::Lazy(lazy) => lazy.raw.as_map().map(|map| map.keys().cloned().collect()),
            LazyValue::Value(value) => value.as_map().map(|map| map.keys().cloned().collect()),
            _ => None,
        }
    }

    fn length(&self) -> Option<usize> {
        match &self.item {
            LazyValue::Lazy(lazy) => length(&lazy.raw),
            LazyValue::Value(value) => length(value),
            _ => self.names().map(|names| names.len()),
        }
    }

    /// Returns the item at a key. A missing key is noted for the error message.
    fn find(&self, key: &str, index: Option<i64>) -> Option<JinjaValue> {
        let Variables {
            evaluator, scene, ..
        } = &*self.variables;
        let mut found = Ok(None);
        if self.item.plain_entity().is_some() {
            // Templates access the special keys of an instance without the dot.
            let special = format!(".{key}");
            found = evaluator.get_key(&self.item, &special, None, scene);
        }
        if matches!(found, Ok(None)) {
            found = evaluator.get_key(&self.item, key, index, scene);
        }
        match found {
            // Templates see an instance of a topology through its attributes.
            Ok(Some(item)) => match (&self.item, item.as_entity()) {
                (LazyValue::AllInstances(_), Some(of)) => {
                    evaluator.record_entity(of);
                    Some(self.variables.engine_value(LazyValue::Attributes(of)))
                }
                _ => Some(self.variables.engine_value(item)),
            },
            Ok(None) => {
                let message = match self.item.as_entity() {
                    Some(of) => {
                        format!("`{key}` is not defined on `{}`", evaluator.scope().key(of))
                    }
                    None if matches!(self.item, LazyValue::AllInstances(_)) => {
                        format!("unknown node `{key}`")
                    }
                    None => missing_attribute(&JinjaValue::from(key)),
                };
                evaluator
                    .tracker()
                    .update_notes(|notes| notes.missing = Some(message));
                None
            }
            Err(error) => Some(JinjaValue::from(self.variables.engine_error(error))),
        }
    }
}

fn length(value: &Value) -> Option<usize> {
    match value.reveal() {
        Value::List(items) => Some(items.len()),
        Value::Map(map) => Some(map.len()),
        _ => None,
    }
}

impl Object for LazyObject {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match &self.item {
            item if item.is_list() => ObjectRepr::Seq,
            item if item.plain_entity().is_some() => ObjectRepr::Plain,
            LazyValue::Super(..) | LazyValue::Template(_) => ObjectRepr::Plain,
            _ => ObjectRepr::Map,
        }
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        match key.as_str() {
            Some(name) => self.find(name, None),
            None => self.find(&key.to_string(), key.as_i64()),
        }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<JinjaValue> {
        if METHODS.contains(&key) && self.repr() == ObjectRepr::Map {
            return Some(self.uncalled_method_error(key));
        }
        self.find(key, None)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        if self.item.is_list() {
            return Enumerator::Seq(self.length().unwrap_or_default());
        }
        match self.names() {
            Some(names) => Enumerator::Values(names.into_iter().map(JinjaValue::from).collect()),
            None => Enumerator::NonEnumerable,
        }
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        self.length()
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let other = other.downcast_ref::<Self>()?;
        Some(self.item.plain_entity()?.cmp(&other.item.plain_entity()?))
    }

    fn render(self: &Arc<Self>, f: &mut Formatter<'_>) -> std::fmt::Result {
        let value = self.evaluate_whole().unwrap_or_default();
        self.variables.evaluator.tracker().note_marks(&value);
        write!(f, "{}", value.revealed())
    }
}
