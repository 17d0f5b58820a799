//! The line above the output of a task that has ended, for logs.

use std::time::Duration;

use crate::ui::summary::TaskEnd;
use crate::ui::words;

/// Returns the title of a task that has ended: `web: configure (1.2 s)`.
pub(super) fn task_title(
    instance: &str,
    operation: &str,
    end: TaskEnd,
    elapsed: Duration,
) -> String {
    let (instance, operation) = (words::one_line(instance), words::one_line(operation));
    let time = words::duration(elapsed);
    match end {
        TaskEnd::Success => format!("{instance}: {operation} ({time})"),
        TaskEnd::Failed => format!("{instance}: {operation} failed ({time})"),
        TaskEnd::Blocked => format!("{instance}: {operation} was blocked"),
        TaskEnd::Skipped => format!("{instance}: {operation} was skipped"),
    }
}
