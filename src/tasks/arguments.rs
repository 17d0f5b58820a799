//! Binds the arguments of a call to the parameters of a task.
//!
//! Calls come from the command line (texts) or from `execute` steps (values).

use std::sync::Arc;

use super::{Task, TaskCall};
use crate::value::{Map, Value};

/// The bound arguments of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TaskArguments {
    /// The named parameters with their values or defaults.
    pub(super) named: Vec<(Arc<str>, Value)>,
    /// Extra positional arguments, which templates see as `args`.
    pub(super) list: Vec<Value>,
    /// Extra named arguments, which templates see as `kwargs`.
    pub(super) map: Map,
}

impl TaskArguments {
    /// Binds positional and named arguments, or describes what does not fit.
    pub(super) fn bind(task: &Task, list: Vec<Value>, mut map: Map) -> Result<Self, String> {
        let parameters = &task.parameters;
        let given = list.len();
        let mut list = list.into_iter();
        let mut named = Vec::with_capacity(parameters.named.len());
        for (name, default) in &parameters.named {
            let by_name = map.shift_remove(name);
            let value = match (list.next(), by_name) {
                (Some(_), Some(_)) => {
                    return Err(format!(
                        "task `{}` gets the argument `{name}` twice",
                        task.name
                    ));
                }
                (Some(value), None) | (None, Some(value)) => value,
                (None, None) => match default {
                    Some(default) => default.clone(),
                    None => {
                        return Err(format!("task `{}` needs the argument `{name}`", task.name));
                    }
                },
            };
            named.push((Arc::clone(name), value));
        }
        let list: Vec<Value> = list.collect();
        if !parameters.extra {
            if let Some(name) = map.keys().next() {
                return Err(format!("task `{}` has no argument `{name}`", task.name));
            }
            if !list.is_empty() {
                let (name, most) = (&task.name, parameters.named.len());
                return Err(format!(
                    "task `{name}` gets too many arguments: {given}, but at most {most} are allowed"
                ));
            }
        }
        Ok(Self { named, list, map })
    }

    /// Binds the texts of a call from the command line.
    pub(super) fn of_call(task: &Task, call: &TaskCall) -> Result<Self, String> {
        let list = call.args.iter().map(|arg| Value::from(arg.as_str()));
        let map = call.kwargs.iter();
        let map = map.map(|(key, value)| (Arc::from(key.as_str()), Value::from(value.as_str())));
        Self::bind(task, list.collect(), map.collect())
    }
}
