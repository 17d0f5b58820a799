//! The control flow of steps: blocks, loops over items, and repetitions.
//!
//! There is no further control flow: a step has a condition, and everything else is a task.

use std::sync::Arc;
use std::time::Duration;

use crate::value::Value;

/// The number of repetitions of a step with `until`.
pub(super) const DEFAULT_RETRIES: usize = 3;

/// The time between two repetitions of a step with `until`.
pub(super) const DEFAULT_DELAY: Duration = Duration::from_secs(5);

/// The variable that holds the item of a loop.
pub(super) const DEFAULT_ITEM: &str = "item";

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
