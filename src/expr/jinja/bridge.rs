//! Values of the engine into ours and back.

use std::sync::Arc;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error as JinjaError, ErrorKind, Value as JinjaValue};

use crate::expr::context::Var;
use crate::expr::error::Error;
use crate::expr::form::{Form, is_template};
use crate::expr::functions::revealed;
use crate::expr::item::Item;
use crate::value::{List, Map, Value};

use super::limits;
use super::object::Thing;
use super::variables::Variables;

/// How deep values made by templates may nest.
const DEPTH: usize = 200;

impl Variables {
    /// The results of an expression with more variables.
    pub(super) fn query(
        self: &Arc<Self>,
        expression: &Value,
        options: &Kwargs,
    ) -> Result<Vec<Item>, JinjaError> {
        let mut scene = self.scene.clone();
        for name in options.args() {
            let value = options.get::<JinjaValue>(name)?;
            let var = match value.downcast_object_ref::<Thing>().map(Thing::item) {
                Some(Item::Attributes(of)) => Var::Attributes(*of),
                _ => Var::Value(self.take(&value)?),
            };
            if !matches!(name, "wantList" | "trace") {
                scene.context.vars.set(name, var);
            }
        }
        let form = Form::of_query(expression);
        self.evaluator
            .resolve(&form, &scene)
            .map_err(|error| self.fail(error))
    }

    /// A value for the engine. A sensitive or external one is noted.
    pub(super) fn give(self: &Arc<Self>, item: Item) -> JinjaValue {
        let value = match item {
            Item::Value(value) => value,
            lazy => return Thing::value(self, lazy),
        };
        match value {
            Value::Null => JinjaValue::from(()),
            Value::Bool(truth) => truth.into(),
            Value::Int(int) => int.into(),
            Value::Float(float) => float.into(),
            // What was evaluated and still looks like a template is none.
            Value::Str(text) if is_template(&text) => {
                JinjaValue::from_safe_string(text.to_string())
            }
            Value::Str(text) => text.into(),
            Value::Big(digits) => match digits.parse::<i128>() {
                Ok(int) => int.into(),
                Err(_) => digits.into(),
            },
            Value::Sensitive(inner) => {
                self.evaluator.tracker().note_sensitive();
                self.give(Item::Value(Value::clone(&inner)))
            }
            Value::External(ref external) => {
                let inner = Item::Value(external.value.clone());
                let noted = value.clone();
                self.evaluator
                    .tracker()
                    .note(|notes| notes.external = Some(noted));
                self.give(inner)
            }
            value @ (Value::List(_) | Value::Map(_) | Value::Entity(_)) => {
                Thing::value(self, Item::Value(value))
            }
        }
    }

    /// An error for the engine; it is noted as it is.
    pub(super) fn fail(&self, error: Error) -> JinjaError {
        let told = JinjaError::new(ErrorKind::InvalidOperation, error.to_string());
        self.evaluator.tracker().note(|notes| {
            notes.error.get_or_insert(error);
        });
        told
    }

    /// A value of the engine as ours, marks of sensitivity kept.
    pub(super) fn take(&self, value: &JinjaValue) -> Result<Value, JinjaError> {
        let mut budget = limits::OUTPUT;
        self.take_at(value, 0, &mut budget, false)
    }

    /// A value of the engine for evaluation: what was evaluated already is quoted in it.
    pub(super) fn take_raw(&self, value: &JinjaValue) -> Result<Value, JinjaError> {
        let mut budget = limits::OUTPUT;
        self.take_at(value, 0, &mut budget, true)
    }

    /// A value of the engine as ours, open to view; that it is sensitive is noted.
    pub(super) fn open(&self, value: &JinjaValue) -> Result<Value, JinjaError> {
        let value = self.take(value)?;
        if value.has_sensitive() {
            self.evaluator.tracker().note_sensitive();
        }
        Ok(revealed(&value))
    }

    fn take_at(
        &self,
        value: &JinjaValue,
        depth: usize,
        budget: &mut usize,
        raw: bool,
    ) -> Result<Value, JinjaError> {
        let own = value.as_str().map_or(8, |text| text.len().max(8));
        match budget.checked_sub(own) {
            Some(rest) => *budget = rest,
            None => return Err(super::error::failed("a value is too large")),
        }
        if let Some(thing) = value.downcast_object_ref::<Thing>() {
            let whole = thing.whole().map_err(|error| self.fail(error))?;
            return Ok(if raw { quoted(whole) } else { whole });
        }
        if depth > DEPTH {
            return Err(JinjaError::new(
                ErrorKind::BadSerialization,
                "a value nests too deep",
            ));
        }
        match value.kind() {
            ValueKind::Undefined | ValueKind::None => Ok(Value::Null),
            ValueKind::Bool => Ok(value.is_true().into()),
            ValueKind::Number => Ok(number(value)),
            ValueKind::String if raw && value.is_safe() => {
                Ok(quoted(value.to_str().map_or(Value::Null, Value::Str)))
            }
            ValueKind::String => Ok(value.to_str().map_or(Value::Null, Value::Str)),
            ValueKind::Bytes => {
                let bytes = value.as_bytes().unwrap_or_default();
                Ok(String::from_utf8_lossy(bytes).into_owned().into())
            }
            ValueKind::Seq | ValueKind::Iterable => {
                let mut items = List::new();
                for item in value.try_iter()? {
                    items.push(self.take_at(&item, depth + 1, budget, raw)?);
                }
                Ok(items.into())
            }
            ValueKind::Map => {
                let mut map = Map::new();
                for key in value.try_iter()? {
                    let item = value.get_item(&key)?;
                    let name = self.take_at(&key, depth + 1, budget, raw)?.to_string();
                    map.insert(name.into(), self.take_at(&item, depth + 1, budget, raw)?);
                }
                Ok(map.into())
            }
            ValueKind::Invalid => Err(invalid(value)),
            _ => Ok(value.to_string().into()),
        }
    }
}

/// A value that no evaluation changes.
fn quoted(value: Value) -> Value {
    Value::map([("q", value)])
}

/// The error an invalid value stands for.
fn invalid(value: &JinjaValue) -> JinjaError {
    let raised = value.try_iter().err();
    raised.unwrap_or_else(|| JinjaError::new(ErrorKind::InvalidOperation, "a value is invalid"))
}

fn number(value: &JinjaValue) -> Value {
    if value.is_integer() {
        if let Some(int) = value.as_i64() {
            return int.into();
        }
        return Value::Big(value.to_string().into());
    }
    f64::try_from(value.clone()).map_or(Value::Null, Value::Float)
}
