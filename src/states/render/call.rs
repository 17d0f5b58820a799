//! A function call from a template, with positional and named arguments.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::states::{BASE_ENV, FactCache, Halt, StateTrees};
use crate::value::{Map, Value};

/// The variables of a machine that template functions read.
#[derive(Clone)]
pub(super) struct TemplateVars {
    pub(super) id: Arc<str>,
    pub(super) roots: StateTrees,
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
    /// The number of calls so far that drew random numbers.
    pub(super) draws: &'a AtomicU64,
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

    /// The state trees, seen from the environment that the argument `saltenv` names, or from `otherwise`.
    pub(super) fn roots(&self, place: usize, otherwise: &str) -> StateTrees {
        let env = self.text_or(place, "saltenv", otherwise);
        self.vars.roots.within(&env)
    }

    /// The environment that the whole run uses.
    pub(super) fn run_env(&self) -> &str {
        let chosen = self.vars.options.get("saltenv").and_then(Value::as_str);
        chosen.unwrap_or(BASE_ENV)
    }

    /// An optional argument as an integer, with a default for absent or null. Fails for any other value.
    pub(super) fn int_or(&self, place: usize, name: &str, otherwise: i64) -> Result<i64, Halt> {
        match self.arg(place, name).filter(|value| !value.is_null()) {
            None => Ok(otherwise),
            Some(value) => value.reveal().as_int().ok_or_else(|| {
                self.fail(format_args!("the argument `{name}` must be a whole number"))
            }),
        }
    }

    /// A number that each call for random numbers has for itself.
    pub(super) fn next_draw(&self) -> u64 {
        self.draws.fetch_add(1, Ordering::Relaxed)
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
