//! The output of running tasks, which logs without a terminal print as one block when the task ends.

use std::collections::HashMap;
use std::time::Duration;

/// The size of a task's output at which it is printed before the task ends, in bytes.
const MAX_BUFFER_BYTES: usize = 1 << 20;

/// The running tasks with their output so far.
#[derive(Debug, Default)]
pub(super) struct TaskOutput {
    tasks: HashMap<usize, RunningTask>,
}

/// A running task with its output so far.
#[derive(Debug, Default)]
pub(super) struct RunningTask {
    /// The start, in the time of the job.
    pub(super) started: Duration,
    pub(super) text: String,
}

impl TaskOutput {
    pub(super) fn start(&mut self, task: usize, at: Duration) {
        self.tasks.entry(task).or_default().started = at;
    }

    /// Adds output. Returns the output so far if it is too long to wait for the end of the task.
    pub(super) fn add(&mut self, task: usize, text: &str) -> Option<String> {
        let output = &mut self.tasks.entry(task).or_default().text;
        output.push_str(text);
        (output.len() > MAX_BUFFER_BYTES).then(|| std::mem::take(output))
    }

    /// Takes the output of a task that has ended.
    pub(super) fn take(&mut self, task: usize) -> RunningTask {
        self.tasks.remove(&task).unwrap_or_default()
    }

    /// Takes the output of the tasks that have no end, in the order of their numbers.
    pub(super) fn take_all(&mut self) -> Vec<RunningTask> {
        let mut all: Vec<_> = self.tasks.drain().collect();
        all.sort_unstable_by_key(|(task, _)| *task);
        all.into_iter().map(|(_, task)| task).collect()
    }
}
