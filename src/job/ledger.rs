//! The ledger of a job: its tasks, the events since the last publication, and the task numbers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::event::{JobEvent, LogLevel};
use super::task::{Task, TaskIndex};
use super::task_record::TaskRecord;
use crate::diagnostic::Diagnostic;
use crate::name::{Status, TaskNumber};
use crate::value::Map;

/// The tasks of a job, the order in which records list them, and the pending events.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The tasks of the plan's steps, followed by subtasks.
    pub(super) tasks: Vec<Task>,
    /// Tasks in the order in which the summary and the record list them.
    pub(super) listed_order: Vec<TaskIndex>,
    /// Node templates that tasks have added, by name, as written.
    pub(super) added_templates: Map,
    /// The signal that ended the job early.
    pub(super) interrupted: Option<i32>,
    /// The reason why the job was given up, if it was.
    pub(super) aborted: Option<String>,
    /// Tasks that are or were listed.
    listed: HashSet<TaskIndex>,
    /// Records of finished tasks, as they were last reported.
    records: HashMap<TaskIndex, Arc<TaskRecord>>,
    /// Whether all records have been completed at the end of the job.
    pub(super) has_complete_records: bool,
    /// The number of added node templates already reported as events.
    reported_templates: usize,
    /// The number of the last assigned task id.
    last_number: TaskNumber,
    events: Vec<JobEvent>,
}

impl Ledger {
    /// Adds a task and returns its index.
    pub(super) fn add(&mut self, task: Task) -> TaskIndex {
        self.tasks.push(task);
        self.tasks.len() - 1
    }

    /// Lists a task in the summary and the record, unless it was listed before.
    pub(super) fn list(&mut self, index: TaskIndex) {
        if self.listed.insert(index) {
            self.listed_order.push(index);
        }
    }

    /// Clears the list of the summary. A task that was listed before is not listed again.
    pub(super) fn clear_list(&mut self) {
        self.listed_order.clear();
    }

    /// Returns the listed tasks in order.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Task> {
        self.listed_order.iter().map(|index| &self.tasks[*index])
    }

    /// Stores the record of a task.
    pub(super) fn store_record(&mut self, index: TaskIndex, record: Arc<TaskRecord>) {
        self.records.insert(index, record);
    }

    /// Returns the stored record of a task.
    pub(super) fn record(&self, index: TaskIndex) -> Option<&Arc<TaskRecord>> {
        self.records.get(&index)
    }

    /// Assigns the next number for a task id.
    pub(super) fn next_number(&mut self) -> TaskNumber {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn push(&mut self, event: JobEvent) {
        self.events.push(event);
    }

    /// Adds a log message as an event.
    pub(super) fn log(&mut self, level: LogLevel, text: impl Into<String>) {
        let text = text.into();
        self.push(JobEvent::Message { level, text });
    }

    /// Adds a problem with source positions as an event.
    pub(super) fn log_problem(&mut self, problem: Diagnostic) {
        self.push(JobEvent::Problem(Box::new(problem)));
    }

    /// Returns the number of events that were not taken yet.
    pub(super) fn pending_events(&self) -> usize {
        self.events.len()
    }

    /// Takes the events since the last call.
    pub(super) fn take_events(&mut self) -> Vec<JobEvent> {
        std::mem::take(&mut self.events)
    }

    /// Returns events for the node templates added since the last call.
    pub(super) fn take_added_templates(&mut self) -> Vec<JobEvent> {
        let added = self.added_templates.iter().skip(self.reported_templates);
        let added = added.map(|(name, template)| JobEvent::TemplateAdded {
            name: Arc::clone(name),
            template: template.redacted(),
        });
        let added: Vec<JobEvent> = added.collect();
        self.reported_templates = self.added_templates.len();
        added
    }

    /// Returns the status of the job: the worst of its tasks.
    pub(super) fn status(&self) -> Status {
        if self.aborted.is_some() || self.listed().any(Task::has_failed) {
            Status::Error
        } else {
            Status::Ok
        }
    }

    /// Returns the planned task for which a subtask runs. A planned task is its own root.
    pub(super) fn root_task(&self, task: TaskIndex) -> TaskIndex {
        let mut root = task;
        while let Some(parent) = self.tasks.get(root).and_then(|task| task.spec.parent) {
            root = parent;
        }
        root
    }
}
