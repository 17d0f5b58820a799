//! Conversions between values of this program and values of the template engine. They keep track of
//! sensitivity and limit the size of the result.

use std::sync::Arc;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error as JinjaError, ErrorKind, Value as JinjaValue};

use crate::expr::context::Var;
use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::expr::syntax::{Expression, is_template};
use crate::value::{List, Map, Value};

use super::lazy_object::LazyObject;
use super::limits;
use super::variables::Variables;

/// The maximum nesting depth of values that templates create.
const DEPTH: usize = 200;

impl Variables {
    /// Returns the results of an expression, evaluated with the options as extra variables.
    pub(super) fn query(
        self: &Arc<Self>,
        expression: &Value,
        options: &Kwargs,
    ) -> Result<Vec<LazyValue>, JinjaError> {
        let mut scene = self.scene.clone();
        for name in options.args() {
            let value = options.get::<JinjaValue>(name)?;
            let var = match value
                .downcast_object_ref::<LazyObject>()
                .map(LazyObject::item)
            {
                Some(LazyValue::Attributes(of)) => Var::Attributes(*of),
                _ => Var::Value(self.argument_value(&value)?),
            };
            if !matches!(name, "wantList" | "trace") {
                scene.context.vars.set(name, var);
            }
        }
        let form = Expression::parse_query(expression);
        self.evaluator
            .resolve(&form, &scene)
            .map_err(|error| self.engine_error(error))
    }

    /// Converts an item to an engine value. A sensitive or external value is noted for the rendering.
    pub(super) fn engine_value(self: &Arc<Self>, item: LazyValue) -> JinjaValue {
        let value = match item {
            LazyValue::Value(value) => value,
            lazy => return LazyObject::value(self, lazy),
        };
        match value {
            Value::Null => JinjaValue::from(()),
            Value::Bool(truth) => truth.into(),
            Value::Int(int) => int.into(),
            Value::Float(float) => float.into(),
            // An evaluated text that looks like a template must not be rendered again.
            Value::Str(text) if is_template(&text) => {
                JinjaValue::from_safe_string(text.to_string())
            }
            Value::Str(text) => text.into(),
            Value::Big(digits) => match digits.parse::<i128>() {
                Ok(int) => int.into(),
                Err(_) => digits.into(),
            },
            marked @ (Value::Sensitive(_) | Value::Data(_)) => {
                self.evaluator.tracker().note_marks(&marked);
                self.engine_value(LazyValue::Value(marked.reveal().clone()))
            }
            Value::External(ref external) => {
                let inner = LazyValue::Value(external.value.clone());
                let noted = value.clone();
                self.evaluator
                    .tracker()
                    .update_notes(|notes| notes.external = Some(noted));
                self.engine_value(inner)
            }
            value @ (Value::List(_) | Value::Map(_) | Value::Entity(_)) => {
                LazyObject::value(self, LazyValue::Value(value))
            }
        }
    }

    /// Converts an error to an engine error and notes the original for the message.
    pub(super) fn engine_error(&self, error: Error) -> JinjaError {
        let jinja_error = JinjaError::new(ErrorKind::InvalidOperation, error.to_string());
        self.evaluator.tracker().update_notes(|notes| {
            notes.error.get_or_insert(error);
        });
        jinja_error
    }

    /// Converts an engine value to a native value and keeps its sensitivity marks.
    pub(super) fn native_value(&self, value: &JinjaValue) -> Result<Value, JinjaError> {
        let mut budget = limits::max_value();
        self.native_value_at(value, 0, &mut budget, false)
    }

    /// Converts an engine value for another evaluation: values that are already evaluated are quoted.
    pub(super) fn native_raw(&self, value: &JinjaValue) -> Result<Value, JinjaError> {
        let mut budget = limits::max_value();
        self.native_value_at(value, 0, &mut budget, true)
    }

    /// Converts an engine value to a native value without marks, and notes the marks for the rendering.
    pub(super) fn revealed_value(&self, value: &JinjaValue) -> Result<Value, JinjaError> {
        let value = self.native_value(value)?;
        self.evaluator.tracker().note_marks(&value);
        Ok(value.revealed())
    }

    /// Converts an engine value to a native value that may be evaluated: it is marked as data unless the
    /// author of the template wrote all of its texts.
    ///
    /// Texts of the engine have no marks. Once a template has accessed data, a text counts as written by the
    /// author only if it is a literal of the template and not part of the data.
    pub(super) fn argument_value(&self, value: &JinjaValue) -> Result<Value, JinjaError> {
        let value = self.native_value(value)?;
        self.evaluator.tracker().note_marks(&value);
        let is_foreign = self.evaluator.tracker().has_data() && !self.is_written(&value);
        Ok(value.data_if(is_foreign))
    }

    /// Whether all texts and keys of a value are literals of the template.
    fn is_written(&self, value: &Value) -> bool {
        let is_literal = |text: &str| {
            let literal = |quote: char| self.source.contains(&format!("{quote}{text}{quote}"));
            (literal('\'') || literal('"')) && !self.evaluator.tracker().is_part_of_data(text)
        };
        match value {
            Value::Str(text) => is_literal(text),
            Value::List(items) => items.iter().all(|item| self.is_written(item)),
            Value::Map(map) => map
                .iter()
                .all(|(key, item)| is_literal(key) && self.is_written(item)),
            Value::Sensitive(inner) => self.is_written(inner),
            Value::Data(_) => false,
            _ => true,
        }
    }

    fn native_value_at(
        &self,
        value: &JinjaValue,
        depth: usize,
        budget: &mut usize,
        raw: bool,
    ) -> Result<Value, JinjaError> {
        let own = value.as_str().map_or(8, |text| text.len().max(8));
        match budget.checked_sub(own) {
            Some(rest) => *budget = rest,
            None => return Err(super::error::filter_error("a value is too large")),
        }
        if let Some(lazy_object) = value.downcast_object_ref::<LazyObject>() {
            let whole = lazy_object
                .evaluate_whole()
                .map_err(|error| self.engine_error(error))?;
            let whole = self.evaluator.tracker().note_data(whole);
            return Ok(if raw { quote_evaluated(whole) } else { whole });
        }
        if depth > DEPTH {
            return Err(JinjaError::new(
                ErrorKind::BadSerialization,
                "a value nests too deeply",
            ));
        }
        match value.kind() {
            ValueKind::Undefined | ValueKind::None => Ok(Value::Null),
            ValueKind::Bool => Ok(value.is_true().into()),
            ValueKind::Number => Ok(number(value)),
            ValueKind::String if raw && value.is_safe() => Ok(quote_evaluated(
                value.to_str().map_or(Value::Null, Value::Str),
            )),
            ValueKind::String => Ok(value.to_str().map_or(Value::Null, Value::Str)),
            ValueKind::Bytes => {
                let bytes = value.as_bytes().unwrap_or_default();
                Ok(String::from_utf8_lossy(bytes).into_owned().into())
            }
            ValueKind::Seq | ValueKind::Iterable => {
                let mut items = List::new();
                for item in value.try_iter()? {
                    items.push(self.native_value_at(&item, depth + 1, budget, raw)?);
                }
                Ok(items.into())
            }
            ValueKind::Map => self.native_map(value, depth + 1, budget, raw),
            ValueKind::Invalid => Err(invalid(value)),
            _ => Ok(value.to_string().into()),
        }
    }

    /// Returns the native value of a map. Its keys and items are at the given depth.
    fn native_map(
        &self,
        value: &JinjaValue,
        depth: usize,
        budget: &mut usize,
        raw: bool,
    ) -> Result<Value, JinjaError> {
        let mut map = Map::new();
        for key in value.try_iter()? {
            let item = value.get_item(&key)?;
            let name = self.native_value_at(&key, depth, budget, raw)?.to_string();
            map.insert(
                name.into(),
                self.native_value_at(&item, depth, budget, raw)?,
            );
        }
        Ok(map.into())
    }
}

/// Quotes a value so that no evaluation changes it.
fn quote_evaluated(value: Value) -> Value {
    Value::map([("q", value)])
}

/// Returns the error that an invalid engine value carries.
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
