//! One call of a function.

use std::cell::Cell;

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::item::{Item, Scene};
use crate::value::{List, Map, Value};

/// A function: gets its call, gives what the expression stands for.
pub(in crate::expr) type Function = fn(&Call<'_>) -> Result<Item, Error>;

/// One call of a function: its argument, and what stands beside it.
pub(in crate::expr) struct Call<'a> {
    pub(super) evaluator: &'a Evaluator,
    pub(super) name: &'a str,
    /// The argument, as it is written.
    pub(super) raw: &'a Value,
    /// The whole map, as it is written.
    pub(super) map: &'a Map,
    pub(super) scene: &'a Scene,
    sensitive: Cell<bool>,
}

impl<'a> Call<'a> {
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
    pub(in crate::expr) fn run(&self, function: Function) -> Result<Item, Error> {
        let item = function(self)?;
        match item {
            Item::Value(value) if self.sensitive.get() => Ok(Item::Value(value.sensitive())),
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
    pub(super) fn name_in<'v>(&self, value: &'v Value, taken: &str) -> Result<&'v str, Error> {
        let problem = || self.fail(format!("takes {taken}, not {}", value.kind()));
        value.as_str().ok_or_else(problem)
    }

    /// Evaluates a raw value as a whole.
    pub(super) fn evaluate(&self, raw: &Value) -> Result<Value, Error> {
        let value = self.evaluator.deep(raw, self.scene, None)?;
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
    pub(super) fn pair(&self) -> Result<(Value, Value), Error> {
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
    pub(super) fn maps_value(&self) -> bool {
        self.map.get("map_value").is_some_and(Value::is_truthy)
    }

    /// Evaluates a raw argument the way logic functions do: text is a path.
    pub(super) fn one(&self, raw: &Value) -> Result<Item, Error> {
        if self.maps_value() {
            return self.evaluator.deep(raw, self.scene, None).map(Item::Value);
        }
        self.evaluator.one(raw, self.scene)
    }

    /// Whether what a raw argument gives is true.
    pub(super) fn is_true(&self, item: &Item) -> Result<bool, Error> {
        Ok(match item {
            Item::Value(value) => value.is_truthy(),
            Item::Lazy(_) => self.evaluator.value_of(item.clone())?.is_truthy(),
            _ => true,
        })
    }
}
