//! The control flow of steps: blocks, loops over items, and repetitions.
//!
//! There is no further control flow: a step has a condition, and everything else is a task.

use std::sync::Arc;
use std::time::Duration;

use super::{EnvSettings, TaskStep, TemplateText};
use crate::value::Value;

/// A list of steps. Runs share it with the definition of the task.
pub type Steps = Arc<[TaskStep]>;

/// The number of repetitions of a step with `until`.
pub(super) const DEFAULT_RETRIES: usize = 3;

/// The time between two repetitions of a step with `until`.
pub(super) const DEFAULT_DELAY: Duration = Duration::from_secs(5);

/// The variable that holds the item of a loop.
pub(super) const DEFAULT_ITEM: &str = "item";

/// Steps that belong together.
#[derive(Debug, Clone)]
pub struct Block {
    pub steps: Steps,
    /// The steps that follow if one of `steps` fails.
    pub rescue: Steps,
    /// The steps that follow in any case.
    pub always: Steps,
    /// Settings that apply only within the block.
    pub settings: Option<EnvSettings>,
}

/// The items that a step runs for, one after the other.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// A list or a map, which may contain templates, or a template that gives one.
    pub items: Value,
    /// The variable that holds the item.
    pub name: Arc<str>,
}

/// The repetition of a step until a condition is true.
#[derive(Debug, Clone)]
pub struct Until {
    /// The condition on the result. None means that the step must succeed.
    pub condition: Option<TemplateText>,
    /// The maximum number of repetitions after the first attempt.
    pub retries: usize,
    /// The time between two attempts.
    pub delay: Duration,
}

/// Returns the items of a loop. A map gives one item with `key` and `value` per entry.
pub(super) fn loop_items(value: &Value) -> Result<Vec<Value>, String> {
    match value.reveal() {
        Value::List(items) => Ok(items.iter().cloned().collect()),
        Value::Map(map) => {
            let item = |(key, value): (&Arc<str>, &Value)| {
                Value::map([
                    ("key", Value::str(Arc::clone(key))),
                    ("value", value.clone()),
                ])
            };
            Ok(map.iter().map(item).collect())
        }
        Value::Null => Ok(Vec::new()),
        other => Err(format!(
            "`for_each` needs a list or a map, not {}",
            other.kind()
        )),
    }
}
