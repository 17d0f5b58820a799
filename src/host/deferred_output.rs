//! Long outputs of commands as variables of expressions.
//!
//! Such an output is read from its file when an expression uses it. If it was not kept whole, its use is an error.

use std::fmt::{Debug, Formatter};
use std::sync::{Arc, OnceLock};

use super::{CapturedOutput, IncompleteOutput};
use crate::expr::{DeferredValue, Error, Var};
use crate::value::{Map, Value};

/// Converts the text of an output to a value.
type Conversion = dyn Fn(&str) -> Value + Send + Sync;

/// A long output of a command, which is loaded when an expression reads it.
#[derive(Clone)]
pub struct DeferredOutput {
    name: Arc<str>,
    output: Arc<CapturedOutput>,
    convert: Arc<Conversion>,
    loaded: Arc<OnceLock<Value>>,
}

impl Debug for DeferredOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DeferredOutput").field(&self.name).finish()
    }
}

impl DeferredOutput {
    /// Creates the variable of an output that is not completely in memory. None for other outputs.
    pub fn of_long(
        name: &str,
        output: &CapturedOutput,
        convert: impl Fn(&str) -> Value + Send + Sync + 'static,
    ) -> Option<Self> {
        output.is_truncated().then(|| Self {
            name: name.into(),
            output: Arc::new(output.clone()),
            convert: Arc::new(convert),
            loaded: Arc::default(),
        })
    }

    /// Returns the variables for results of which some are long outputs, each under its own name.
    pub fn variables(outputs: &[Self]) -> Vec<(Arc<str>, Var)> {
        let var = |output: &Self| (Arc::clone(&output.name), Var::from(output.clone()));
        outputs.iter().map(var).collect()
    }

    /// Returns the variable `name` for a map of results of which some are long outputs, and the variables that it
    /// refers to. `number` tells these from those of other maps.
    pub fn variables_of_map(
        name: &str,
        values: &Map,
        outputs: &[Self],
        number: usize,
    ) -> Vec<(Arc<str>, Var)> {
        let entries = values.iter();
        let mut parts: Map = entries
            .map(|(key, value)| (Arc::clone(key), value.clone().data()))
            .collect();
        let mut variables = Vec::new();
        for output in outputs {
            let hidden = format!("_output_{number}_{}", output.name);
            let read = Value::map([("eval", Value::from(format!("${hidden}")))]);
            parts.insert(Arc::clone(&output.name), read);
            variables.push((hidden.into(), Var::from(output.clone())));
        }
        variables.push((name.into(), Var::Parts(Value::from(parts))));
        variables
    }
}

/// An output of which only a part is known. Its use in an expression is an error.
#[derive(Debug, Clone)]
pub struct UnavailableOutput {
    pub name: &'static str,
    pub reason: IncompleteOutput,
}

impl DeferredValue for UnavailableOutput {
    fn load(&self) -> Result<Value, Error> {
        Err(incomplete(self.name, &self.reason))
    }
}

fn incomplete(name: &str, reason: &IncompleteOutput) -> Error {
    Error::Incomplete {
        name: name.to_owned(),
        problem: reason.to_string(),
    }
}

impl From<DeferredOutput> for Var {
    fn from(output: DeferredOutput) -> Self {
        Self::Deferred(Arc::new(output))
    }
}

impl DeferredValue for DeferredOutput {
    fn load(&self) -> Result<Value, Error> {
        if let Some(value) = self.loaded.get() {
            return Ok(value.clone());
        }
        let text = self
            .output
            .whole_text()
            .map_err(|reason| incomplete(&self.name, &reason))?;
        let value = (self.convert)(&text);
        Ok(self.loaded.get_or_init(|| value).clone())
    }
}
