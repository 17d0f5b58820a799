//! The functions `get_env`, `has_env` and `to_env`, which read the environment of the task. No function
//! changes the environment of the process.

use std::collections::BTreeMap;

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::{LazyValue, Scene};
use crate::expr::reads::Read;
use crate::value::{EnvRuleOptions, Map, Value, filter_env};

use super::call::FunctionCall;

impl Evaluator {
    /// Returns an environment variable of the task and records the read.
    pub(in crate::expr) fn env(&self, name: &str, scene: &Scene) -> Option<String> {
        let value = match &scene.context.env {
            Some(env) => env.0.get(name).cloned(),
            None => self.system().env(name),
        };
        let read = Read::Env(self.memo().intern_name(name));
        let seen = value.clone();
        let seen = seen.map(|value| self.variable_value(name, value, scene));
        self.tracker().record_read(read, seen);
        value
    }

    /// Marks the value of a variable as secret if the variable is.
    pub(in crate::expr) fn variable_value(
        &self,
        name: &str,
        value: String,
        scene: &Scene,
    ) -> Value {
        let is_secret = scene.context.env.is_none() && self.system().is_secret_variable(name);
        Value::from(value).sensitive_if(is_secret)
    }

    fn env_all(&self, scene: &Scene) -> BTreeMap<String, String> {
        match &scene.context.env {
            Some(env) => BTreeMap::clone(&env.0),
            None => self.system().env_all().into_iter().collect(),
        }
    }
}

/// The error message for the unsupported option `update_os_environ`.
const NO_UPDATE: &str = "cannot change the environment of this process (`update_os_environ`): all \
    tasks share it and run at the same time; set the map as the `environment` of the operations \
    that need it";

pub(super) fn get_env(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let args = call.raw;
    if !args.is_truthy() {
        let all = call.evaluator.env_all(call.scene);
        let values = all.into_iter().map(|(name, value)| {
            let value = call.evaluator.variable_value(&name, value, call.scene);
            (name, value)
        });
        return Ok(LazyValue::Value(Value::map(values)));
    }
    let (name, default) = match args {
        Value::List(items) => (items.first().unwrap_or(&Value::Null), items.get(1)),
        other => (other, None),
    };
    let name = call.evaluate(name)?;
    let Some(name) = name.as_str() else {
        return Err(call.fail(format!("takes the name of a variable, not {}", name.kind())));
    };
    match (call.evaluator.env(name, call.scene), default) {
        (Some(value), _) => Ok(LazyValue::Value(
            call.evaluator.variable_value(name, value, call.scene),
        )),
        (None, Some(default)) => call.evaluate(default).map(LazyValue::Value),
        (None, None) => Ok(LazyValue::Value(Value::Null)),
    }
}

pub(super) fn has_env(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let name = call.value()?;
    let name = name.as_str().unwrap_or_default();
    Ok(LazyValue::Value(
        call.evaluator.env(name, call.scene).is_some().into(),
    ))
}

pub(super) fn to_env(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let rules = call.value()?;
    let empty = Map::new();
    let rules = match rules.reveal() {
        Value::Null => &empty,
        Value::Map(rules) => &**rules,
        other => return Err(call.fail(format!("takes a map of rules, not {}", other.kind()))),
    };
    let env = call.evaluator.env_all(call.scene);
    if call
        .option("update_os_environ")?
        .is_some_and(|update| update.is_truthy())
    {
        return Err(call.fail(NO_UPDATE));
    }
    let options = EnvRuleOptions {
        add_only: true,
        substitute: Some(&env),
    };
    let rules = rules.iter().map(|(rule, value)| (&**rule, value));
    let result = filter_env(rules, &env, options);
    let variables = result.variables.into_iter().map(|(name, value)| {
        let secret = result.sensitive.contains(&name);
        (name, Value::from(value).sensitive_if(secret))
    });
    Ok(LazyValue::Value(Value::map(variables)))
}
