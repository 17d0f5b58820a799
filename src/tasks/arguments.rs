//! What a task is given, bound to what it takes.

use std::sync::Arc;

use super::{Task, TaskCall};
use crate::value::{Map, Value};

/// What a task was given.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TaskArguments {
    /// Those with a name that the task knows, defaults among them.
    pub(super) named: Vec<(Arc<str>, Value)>,
    /// Further ones without a name.
    pub(super) list: Vec<Value>,
    /// Further ones with a name.
    pub(super) map: Map,
}

impl TaskArguments {
    /// Binds what was given, or says what does not fit.
    pub(super) fn bind(task: &Task, list: Vec<Value>, mut map: Map) -> Result<Self, String> {
        let parameters = &task.parameters;
        let given = list.len();
        let mut list = list.into_iter();
        let mut named = Vec::with_capacity(parameters.named.len());
        for (name, default) in &parameters.named {
            let by_name = map.shift_remove(name);
            let value = match (list.next(), by_name) {
                (Some(_), Some(_)) => {
                    return Err(format!("task `{}` is given `{name}` twice", task.name));
                }
                (Some(value), None) | (None, Some(value)) => value,
                (None, None) => match default {
                    Some(default) => default.clone(),
                    None => return Err(format!("task `{}` needs `{name}`", task.name)),
                },
            };
            named.push((Arc::clone(name), value));
        }
        let list: Vec<Value> = list.collect();
        if !parameters.extra {
            if let Some(name) = map.keys().next() {
                return Err(format!("task `{}` takes no argument `{name}`", task.name));
            }
            if !list.is_empty() {
                let (name, most) = (&task.name, parameters.named.len());
                return Err(format!(
                    "task `{name}` takes {most} arguments at most, and is given {given}"
                ));
            }
        }
        Ok(Self { named, list, map })
    }

    /// Binds what was typed.
    pub(super) fn of_call(task: &Task, call: &TaskCall) -> Result<Self, String> {
        let list = call.args.iter().map(|arg| Value::from(arg.as_str()));
        let map = call.kwargs.iter();
        let map = map.map(|(key, value)| (Arc::from(key.as_str()), Value::from(value.as_str())));
        Self::bind(task, list.collect(), map.collect())
    }
}
