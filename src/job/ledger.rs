//! The tasks of a job, and the events of what happened to them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::event::{JobEvent, LogLevel};
use super::task::{Task, TaskIndex};
use super::task_record::TaskRecord;
use crate::diagnostic::Diagnostic;
use crate::name::{Status, TaskNumber};
use crate::value::Map;

/// The tasks of a job, the order in which records list them, and its events.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// All tasks: one for each step that runs an operation, then subtasks.
    pub(super) tasks: Vec<Task>,
    /// Tasks in the order in which the summary and the record list them.
    pub(super) listed_order: Vec<TaskIndex>,
    /// The node templates that tasks have added, by name, raw.
    pub(super) discovered: Map,
    /// The signal that ended the job early.
    pub(super) interrupted: Option<i32>,
    /// Whether the job was given up, and why.
    pub(super) aborted: Option<String>,
    /// The tasks that are listed.
    listed: HashSet<TaskIndex>,
    /// The records of tasks that have ended.
    records: HashMap<TaskIndex, Arc<TaskRecord>>,
    /// Whether the records of all tasks are as they are at the end of the job.
    pub(super) has_complete_records: bool,
    /// How many of the node templates that tasks have added were told.
    reported_templates: usize,
    /// The number that the last id was made of.
    last_number: TaskNumber,
    events: Vec<JobEvent>,
}

impl Ledger {
    /// Adds a task; returns its index.
    pub(super) fn add(&mut self, task: Task) -> TaskIndex {
        self.tasks.push(task);
        self.tasks.len() - 1
    }

    /// Lists a task in the summary and the record, once.
    pub(super) fn list(&mut self, index: TaskIndex) {
        if self.listed.insert(index) {
            self.listed_order.push(index);
        }
    }

    /// Takes all tasks off the list of the summary. A task that was listed is not listed again.
    pub(super) fn clear_list(&mut self) {
        self.listed_order.clear();
    }

    /// The tasks that the summary and the record list, in their order.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Task> {
        self.listed_order.iter().map(|index| &self.tasks[*index])
    }

    /// Keeps the record of a task.
    pub(super) fn store_record(&mut self, index: TaskIndex, record: Arc<TaskRecord>) {
        self.records.insert(index, record);
    }

    /// The record of a task that has ended.
    pub(super) fn record(&self, index: TaskIndex) -> Option<&Arc<TaskRecord>> {
        self.records.get(&index)
    }

    /// Gives the next number of an id.
    pub(super) fn next_number(&mut self) -> TaskNumber {
        self.last_number += 1;
        self.last_number
    }

    /// Adds an event.
    pub(super) fn push(&mut self, event: JobEvent) {
        self.events.push(event);
    }

    /// Adds a message for the log.
    pub(super) fn log(&mut self, level: LogLevel, text: impl Into<String>) {
        let text = text.into();
        self.push(JobEvent::Message { level, text });
    }

    /// Adds a problem with its places in the text.
    pub(super) fn log_problem(&mut self, problem: Diagnostic) {
        self.push(JobEvent::Problem(Box::new(problem)));
    }

    /// How many events nobody has taken yet.
    pub(super) fn pending_events(&self) -> usize {
        self.events.len()
    }

    /// The events since the last call.
    pub(super) fn take_events(&mut self) -> Vec<JobEvent> {
        std::mem::take(&mut self.events)
    }

    /// The events of node templates that tasks have added since the last call.
    pub(super) fn take_added_templates(&mut self) -> Vec<JobEvent> {
        let added = self.discovered.iter().skip(self.reported_templates);
        let added = added.map(|(name, template)| JobEvent::TemplateAdded {
            name: Arc::clone(name),
            template: template.redacted(),
        });
        let added: Vec<JobEvent> = added.collect();
        self.reported_templates = self.discovered.len();
        added
    }

    /// The status of the job: the worst of its tasks.
    pub(super) fn status(&self) -> Status {
        if self.aborted.is_some() || self.listed().any(Task::has_failed) {
            Status::Error
        } else {
            Status::Ok
        }
    }

    /// The task of the plan for which a subtask runs; a task of the plan itself.
    pub(super) fn root_task(&self, task: TaskIndex) -> TaskIndex {
        let mut root = task;
        while let Some(parent) = self.tasks.get(root).and_then(|task| task.spec.parent) {
            root = parent;
        }
        root
    }
}
