//! One call of a function.

use std::cell::Cell;

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::{LazyValue, Scene};
use crate::value::{List, Map, Value};

/// A function: gets its call, gives what the expression stands for.
pub(in crate::expr) type ExpressionFunction = fn(&FunctionCall<'_>) -> Result<LazyValue, Error>;

/// One call of a function: its argument, and what stands beside it.
pub(in crate::expr) struct FunctionCall<'a> {
    pub(super) evaluator: &'a Evaluator,
    pub(super) name: &'a str,
    /// The argument, as it is written.
    pub(super) raw: &'a Value,
    /// The whole map, as it is written.
    pub(super) map: &'a Map,
    pub(super) scene: &'a Scene,
    sensitive: Cell<bool>,
}

impl<'a> FunctionCall<'a> {
    pub(in crate::expr) fn new(
        evaluator: &'a Evaluator,
        name: &'a str,
        raw: &'a Value,
        map: &'a Map,
        scene: &'a Scene,
    ) -> Self {
        Self {
            evaluator,
            name,
            raw,
            map,
            scene,
            sensitive: Cell::new(false),
        }
    }

    /// Calls the function. What is made of something sensitive is sensitive.
    pub(in crate::expr) fn invoke(&self, function: ExpressionFunction) -> Result<LazyValue, Error> {
        let item = function(self)?;
        match item {
            LazyValue::Value(value) if self.sensitive.get() => {
                Ok(LazyValue::Value(value.sensitive()))
            }
            other => Ok(other),
        }
    }

    /// An error of this function.
    pub(super) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::Function {
            function: self.name.to_owned(),
            problem: problem.into(),
        }
    }

    /// The text that a value is; the error says what is taken.
    pub(super) fn require_text<'v>(&self, value: &'v Value, taken: &str) -> Result<&'v str, Error> {
        let problem = || self.fail(format!("takes {taken}, not {}", value.kind()));
        value.as_str().ok_or_else(problem)
    }

    /// Evaluates a raw value as a whole.
    pub(super) fn evaluate(&self, raw: &Value) -> Result<Value, Error> {
        let value = self.evaluator.evaluate_raw(raw, self.scene, None)?;
        if value.has_sensitive() {
            self.sensitive.set(true);
        }
        Ok(value)
    }

    /// The argument, evaluated.
    pub(super) fn value(&self) -> Result<Value, Error> {
        self.evaluate(self.raw)
    }

    /// The argument, evaluated, as a list: null is none, what is no list is the only item.
    pub(super) fn values(&self) -> Result<List, Error> {
        let value = self.value()?;
        Ok(match value.reveal() {
            Value::List(items) => items.to_vec(),
            Value::Null => List::new(),
            _ => vec![value],
        })
    }

    /// Exactly two evaluated arguments.
    pub(super) fn two_values(&self) -> Result<(Value, Value), Error> {
        match <[Value; 2]>::try_from(self.values()?) {
            Ok([left, right]) => Ok((left, right)),
            Err(values) => Err(self.fail(format!("takes two values, not {}", values.len()))),
        }
    }

    /// What stands beside the function under a name, evaluated.
    pub(super) fn option(&self, name: &str) -> Result<Option<Value>, Error> {
        self.map.get(name).map(|raw| self.evaluate(raw)).transpose()
    }

    /// What stands beside the function under a name, as text.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let value = self.option(name)?.filter(|value| !value.is_null());
        Ok(value.map(|value| value.reveal().to_string()))
    }

    /// Whether arguments are evaluated as values, so that text is no path.
    pub(super) fn has_map_value(&self) -> bool {
        self.map.get("map_value").is_some_and(Value::is_truthy)
    }

    /// Evaluates a raw argument the way logic functions do: text is a path.
    pub(super) fn evaluate_operand(&self, raw: &Value) -> Result<LazyValue, Error> {
        if self.has_map_value() {
            return self
                .evaluator
                .evaluate_raw(raw, self.scene, None)
                .map(LazyValue::Value);
        }
        self.evaluator.single_result(raw, self.scene)
    }

    /// Whether what a raw argument gives is true.
    pub(super) fn is_true(&self, item: &LazyValue) -> Result<bool, Error> {
        Ok(match item {
            LazyValue::Value(value) => value.is_truthy(),
            LazyValue::Lazy(_) => self.evaluator.value_of(item.clone())?.is_truthy(),
            _ => true,
        })
    }
}
