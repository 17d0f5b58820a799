//! The record of a task, from which the journal, record files and the summary are written.

use std::sync::Arc;

use super::digest::TaskDigest;
use super::ports::FolderKey;
use super::task::TargetState;
use crate::diagnostic::Span;
use crate::name::{ChangeId, NodeState, OperationRef, Priority, Status, TaskNumber};
use crate::plan::GroupId;
use crate::value::{Map, Value};

/// The names of a task's target.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TargetName {
    /// The key, such as `::web`. Keys are not unique across nested topologies.
    pub key: Arc<str>,
    /// The key that is unique across all topologies.
    pub unique_key: String,
    /// Whether the target belongs to a nested topology.
    pub is_nested: bool,
    /// The name within the target's own topology.
    pub name: String,
    /// The full name, including the enclosing topologies.
    pub nested_name: String,
    /// The name of the target's template.
    pub template: String,
    /// The type of the target's template.
    pub type_name: String,
}

/// The group of steps on one instance that a task belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskUnit {
    /// The group of steps. None for subtasks and single operations.
    pub group: Option<GroupId>,
    /// The workflow that the group carries out.
    pub workflow: Option<String>,
    /// The unique key of the instance that the group is for.
    pub instance: String,
    /// The path of keys from the `status` section to the instance.
    pub record_path: Vec<String>,
}

/// An attribute that a task has read or written, as recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct DependencyRecord {
    /// The key of the attribute, such as `::web::port`.
    pub key: String,
    pub value: Value,
    /// Whether the attribute was written without being read.
    pub write_only: bool,
}

/// The values that a task has read and set. Inputs, changes and dependencies may be secret, and are written
/// encrypted or redacted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskData {
    /// Evaluated inputs in the order of access.
    pub inputs: Map,
    /// Changes that the task made, by entity key.
    pub changes: Map,
    pub messages: Vec<String>,
    /// Attributes that the task read or wrote.
    pub dependencies: Vec<DependencyRecord>,
    pub outputs: Option<Map>,
    /// The result of the operation; null if there is none.
    pub result: Value,
}

/// The part of a task's record that exists once it has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEnd {
    pub id: ChangeId,
    /// The task number from which the id is made.
    pub number: TaskNumber,
    /// Either `ok` or `error`; other statuses do not occur.
    pub status: Status,
    pub time: jiff::Timestamp,
    /// The previous change of the target.
    pub previous: Option<ChangeId>,
    /// Whether the task never ran because a dependency has failed.
    pub blocked: bool,
    /// Whether the task changed its target.
    pub changed: bool,
    pub completion: Completion,
}

/// How far the work of a task was completed when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// The task ended normally, with success or failure.
    Complete,
    /// The task was cut off before it was done.
    Interrupted,
    /// The task was cut off while it was acting, and its effect is unknown.
    InDoubt,
    /// The task was completed, but others of the same group never ran.
    HalfDone,
}

/// The record of a task at some point of the job.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    /// The number of the task within the job, from 1.
    pub task: usize,
    pub target: TargetName,
    pub operation: OperationRef,
    /// The class name of the configurator.
    pub class_name: &'static str,
    pub reason: String,
    pub priority: Priority,
    /// The node state that the target enters when the task starts.
    pub start_state: Option<NodeState>,
    /// The target as the task last saw it.
    pub target_state: TargetState,
    pub unit: TaskUnit,
    pub folder: FolderKey,
    /// The implementation of the operation, or the operation, in the files. Not stored in records.
    pub place: Span,
    /// The time at which the task started, or the start of the job if it did not.
    pub started: jiff::Timestamp,
    /// The end of the task. None while it runs, or if it was skipped.
    pub end: Option<TaskEnd>,
    pub data: TaskData,
    pub digest: TaskDigest,
}

impl TaskRecord {
    pub fn is_ok(&self) -> bool {
        self.status() == Some(Status::Ok)
    }

    /// Returns `ok` or `error` once the task has ended.
    pub fn status(&self) -> Option<Status> {
        self.end.as_ref().map(|end| end.status)
    }

    /// Whether the task never ran because a dependency has failed.
    pub fn is_blocked(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.blocked)
    }

    /// Whether the task changed its target.
    pub fn has_changed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.changed)
    }

    /// Returns the task's error messages, or its result if it failed without any.
    pub fn errors(&self) -> Vec<&str> {
        let messages = &self.data.messages;
        let message = self.data.result.as_str().filter(|_| messages.is_empty());
        match message {
            Some(message) if self.status() == Some(Status::Error) => vec![message],
            _ => messages.iter().map(String::as_str).collect(),
        }
    }

    /// Whether the record is committed. A task that failed without a change is not.
    pub fn is_committed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| {
            // The next job must know about tasks that were cut off, whatever their effect was.
            end.completion != Completion::Complete || end.status != Status::Error || end.changed
        })
    }

    /// Returns a one-line description of the task, in the form of Unfurl's records.
    pub fn summary(&self) -> String {
        let TargetName {
            name,
            template,
            type_name,
            ..
        } = &self.target;
        let name = match name {
            name if name == template => name.clone(),
            name => format!("{name} ({template})"),
        };
        let status = self.target_state.status.map_or("None", Status::as_str);
        format!(
            "{} on instance {name} (type {type_name}, status {status}) using configurator for {}: \
             {} ({}), priority: {}, reason: {}",
            self.operation.operation,
            self.reason,
            self.operation,
            self.class_name,
            self.priority,
            self.reason
        )
    }
}
