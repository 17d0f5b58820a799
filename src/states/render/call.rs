//! A function call from a template, with positional and named arguments.

use std::sync::Arc;

use crate::states::{FactCache, FileRoots, Halt};
use crate::value::{Map, Value};

/// The variables of a machine that template functions read.
pub(super) struct TemplateVars {
    pub(super) id: Arc<str>,
    pub(super) roots: Arc<dyn FileRoots>,
    pub(super) grains: Value,
    pub(super) pillar: Value,
    pub(super) options: Value,
}

/// A call of a template function.
pub(super) struct TemplateCall<'a> {
    pub(super) function: &'a str,
    pub(super) args: &'a [Value],
    pub(super) named: &'a Map,
    pub(super) vars: &'a TemplateVars,
    pub(super) facts: &'a FactCache,
}

/// The result of a template function.
pub(super) type CallResult = Result<Value, Halt>;

impl TemplateCall<'_> {
    /// An argument by position or by name.
    pub(super) fn arg(&self, place: usize, name: &str) -> Option<&Value> {
        self.args.get(place).or_else(|| self.named.get(name))
    }

    /// An argument, or null if absent.
    pub(super) fn arg_or_null(&self, place: usize, name: &str) -> Value {
        self.arg(place, name).cloned().unwrap_or_default()
    }

    /// A required argument as text. Fails if it is absent or null.
    pub(super) fn text(&self, place: usize, name: &str) -> Result<String, Halt> {
        match self.arg(place, name) {
            Some(value) if !value.is_null() => Ok(value.reveal().to_string()),
            _ => Err(self.fail(format_args!("the argument `{name}` is missing"))),
        }
    }

    /// An optional argument as text, with a default for absent or null.
    pub(super) fn text_or(&self, place: usize, name: &str, otherwise: &str) -> String {
        let supplied = self.arg(place, name).filter(|value| !value.is_null());
        supplied.map_or_else(|| otherwise.to_owned(), |value| value.reveal().to_string())
    }

    /// An optional argument as a boolean.
    pub(super) fn flag(&self, place: usize, name: &str, otherwise: bool) -> bool {
        self.arg(place, name).map_or(otherwise, Value::is_truthy)
    }

    /// Makes an error that names the function.
    pub(super) fn fail(&self, problem: impl std::fmt::Display) -> Halt {
        Halt::Failed(format!("`{}`: {problem}", self.function))
    }

    /// The named arguments as a map.
    pub(super) fn options(&self) -> Value {
        let named = self.named.iter();
        Value::from(
            named
                .map(|(key, value)| (Arc::clone(key), value.clone()))
                .collect::<Map>(),
        )
    }
}
