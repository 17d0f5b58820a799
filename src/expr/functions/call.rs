//! The call of an expression function: [`FunctionCall`] gives each function its raw and evaluated arguments,
//! its options, and the sensitivity of its result.

use std::cell::Cell;

use crate::expr::budget;
use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::{LazyValue, Scene};
use crate::value::{List, Map, Marks, Value};

/// The implementation of an expression function, which evaluates a call to a value.
pub(in crate::expr) type ExpressionFunction = fn(&FunctionCall<'_>) -> Result<LazyValue, Error>;

/// A call of a function: its raw argument and the options next to it.
pub(in crate::expr) struct FunctionCall<'a> {
    pub(super) evaluator: &'a Evaluator,
    pub(super) name: &'a str,
    /// The argument as written, before evaluation.
    pub(super) raw: &'a Value,
    /// The whole function map before evaluation, including the options.
    pub(super) map: &'a Map,
    pub(super) scene: &'a Scene,
    marks: Cell<Marks>,
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
            marks: Cell::default(),
        }
    }

    /// Calls the function. The result has the marks of all arguments.
    pub(in crate::expr) fn invoke(&self, function: ExpressionFunction) -> Result<LazyValue, Error> {
        budget::check()?;
        Ok(match function(self)? {
            LazyValue::Value(value) => LazyValue::Value(value.marked(self.marks.get())),
            other => other,
        })
    }

    /// Creates an error that names this function.
    pub(super) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::Function {
            function: self.name.to_owned(),
            problem: problem.into(),
        }
    }

    /// Returns the text of a value. The error names the expected argument (`taken`) and the actual type.
    pub(super) fn require_text<'v>(
        &self,
        value: &'v Value,
        expected: &str,
    ) -> Result<&'v str, Error> {
        let problem = || self.fail(format!("takes {expected}, not {}", value.kind()));
        value.as_str().ok_or_else(problem)
    }

    /// Evaluates a raw value completely and notes its marks. The result is no longer marked as data: a
    /// function that evaluates it again takes [`Self::evaluate_marked`].
    pub(super) fn evaluate(&self, raw: &Value) -> Result<Value, Error> {
        let value = self.evaluate_marked(raw)?;
        Ok(if self.marks.get().data {
            value.without_data()
        } else {
            value
        })
    }

    /// Evaluates a raw value completely, notes its marks and keeps them.
    pub(super) fn evaluate_marked(&self, raw: &Value) -> Result<Value, Error> {
        let value = self.evaluator.evaluate_raw(raw, self.scene, None)?;
        let (known, found) = (self.marks.get(), value.marks());
        self.marks.set(Marks {
            sensitive: known.sensitive || found.sensitive,
            data: known.data || found.data,
        });
        Ok(value)
    }

    /// Whether any argument evaluated so far is data.
    pub(super) fn has_data(&self) -> bool {
        self.marks.get().data
    }

    /// Evaluates the argument of the function completely.
    pub(super) fn value(&self) -> Result<Value, Error> {
        self.evaluate(self.raw)
    }

    /// Evaluates the argument as a list. Null becomes an empty list, any other value a list with one item.
    pub(super) fn values(&self) -> Result<List, Error> {
        let value = self.value()?;
        Ok(match value.reveal() {
            Value::List(items) => items.to_vec(),
            Value::Null => List::new(),
            _ => vec![value],
        })
    }

    /// Evaluates the argument as a list, like [`Self::values`], and keeps the marks of the items.
    pub(super) fn marked_values(&self) -> Result<List, Error> {
        let value = self.evaluate_marked(self.raw)?;
        Ok(match value.marked_items() {
            Some(items) => items,
            None if value.is_null() => List::new(),
            None => vec![value],
        })
    }

    /// Evaluates the argument as a list of exactly two values.
    pub(super) fn two_values(&self) -> Result<(Value, Value), Error> {
        match <[Value; 2]>::try_from(self.values()?) {
            Ok([left, right]) => Ok((left, right)),
            Err(values) => Err(self.fail(format!("takes two values, not {}", values.len()))),
        }
    }

    /// Evaluates the option with a name. None if the function map does not contain it.
    pub(super) fn option(&self, name: &str) -> Result<Option<Value>, Error> {
        self.map.get(name).map(|raw| self.evaluate(raw)).transpose()
    }

    /// Evaluates the option with a name and converts it to text. None for null.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let value = self.option(name)?.filter(|value| !value.is_null());
        Ok(value.map(|value| value.reveal().to_string()))
    }

    /// Whether the option `map_value` is set: arguments are plain values, so a text is not a path.
    pub(super) fn has_map_value(&self) -> bool {
        self.map.get("map_value").is_some_and(Value::is_truthy)
    }

    /// Evaluates an operand of a logic function. A text is a path unless `map_value` is set.
    pub(super) fn evaluate_operand(&self, raw: &Value) -> Result<LazyValue, Error> {
        if self.has_map_value() {
            return self
                .evaluator
                .evaluate_raw(raw, self.scene, None)
                .map(LazyValue::Value);
        }
        self.evaluator.single_result(raw, self.scene)
    }

    /// Whether an evaluated operand is true in the sense of Python. An entity is always true.
    pub(super) fn is_true(&self, item: &LazyValue) -> Result<bool, Error> {
        Ok(match item {
            LazyValue::Value(value) => value.is_truthy(),
            LazyValue::Lazy(_) => self.evaluator.value_of(item.clone())?.is_truthy(),
            _ => true,
        })
    }
}
