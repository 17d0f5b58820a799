//! The record of a task: all that the journal, the files of records and the summary say of it.

use std::sync::Arc;

use super::digest::TaskDigest;
use super::ports::FolderKey;
use super::task::TargetState;
use crate::name::{ChangeId, NodeState, OperationRef, Priority, Status, TaskNumber};
use crate::plan::GroupId;
use crate::value::{Map, Value};

/// The target of a task, by its names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TargetName {
    /// Its key, such as `::web`; those of nested topologies may be alike.
    pub key: Arc<str>,
    /// Its key among all topologies.
    pub whole_key: String,
    /// Whether it is part of a nested topology.
    pub is_nested: bool,
    /// Its name.
    pub name: String,
    /// Its name with those of the topologies around it.
    pub nested_name: String,
    /// The name of its template.
    pub template: String,
    /// The type of its template.
    pub type_name: String,
}

/// The turn that a task is part of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskTurn {
    /// The group of steps that it belongs to; those of subtasks and single operations have none.
    pub group: Option<GroupId>,
    /// The workflow that the group is for.
    pub workflow: Option<String>,
    /// The key of the instance whose turn it is, among all topologies.
    pub instance: String,
    /// The way from the `status` section to that instance.
    pub route: Vec<String>,
}

/// Something that a task read or wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct DependencyRecord {
    /// The key of the attribute, such as `::web::port`.
    pub key: String,
    /// Its value, secrets redacted.
    pub value: Value,
    /// Whether it was written without being read.
    pub write_only: bool,
}

/// The values that a task has read and set, secrets redacted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskData {
    /// Inputs that were evaluated, in the order of access.
    pub inputs: Map,
    /// The changes of entities, by their keys.
    pub changes: Map,
    /// What went wrong, in words.
    pub messages: Vec<String>,
    /// Attributes read and written.
    pub dependencies: Vec<DependencyRecord>,
    /// The outputs of the operation.
    pub outputs: Option<Map>,
    /// What the operation gave; null for nothing.
    pub result: Value,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEnd {
    /// Its id.
    pub id: ChangeId,
    /// The number that the id was made of.
    pub number: TaskNumber,
    /// `ok` or `error`.
    pub status: Status,
    /// When it ended.
    pub time: jiff::Timestamp,
    /// The change of the target before it.
    pub previous: Option<ChangeId>,
    /// Whether it never ran because something it needs has failed.
    pub blocked: bool,
    /// Whether it changed its target.
    pub changed: bool,
    /// How much of its work is done.
    pub completion: Completion,
}

/// How much of the work of a task is done when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// The task ended by itself.
    Complete,
    /// The task was ended before its work was done.
    Interrupted,
    /// The task was ended in the middle of its work, and nobody knows how far the work is done.
    InDoubt,
    /// The task did its work, and others of the same turn never came to run.
    HalfDone,
}

/// The record of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    /// The number of the task within the job, in the order of starting, from 1.
    pub task: usize,
    /// Its target.
    pub target: TargetName,
    /// Its operation.
    pub operation: OperationRef,
    /// What implements the operation.
    pub class_name: &'static str,
    /// Why it runs.
    pub reason: String,
    /// Its priority.
    pub priority: Priority,
    /// The node state that it enters when it starts.
    pub start_state: Option<NodeState>,
    /// Its target as it saw it last.
    pub target_state: TargetState,
    /// The turn that it is part of.
    pub turn: TaskTurn,
    /// Names its folders.
    pub folder: FolderKey,
    /// When it started, or else when the job did.
    pub started: jiff::Timestamp,
    /// How it ended; none while it runs, or where it was skipped.
    pub end: Option<TaskEnd>,
    /// The values that it has read and set.
    pub data: TaskData,
    /// The digests of what it has read.
    pub digest: TaskDigest,
}

impl TaskRecord {
    /// Whether it did what it is for.
    pub fn is_ok(&self) -> bool {
        self.status() == Some(Status::Ok)
    }

    /// `ok` or `error` once it has ended.
    pub fn status(&self) -> Option<Status> {
        self.end.as_ref().map(|end| end.status)
    }

    /// Whether it never ran because something it needs has failed.
    pub fn is_blocked(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.blocked)
    }

    /// Whether it changed its target.
    pub fn has_changed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.changed)
    }

    /// Why it failed, in words: its errors, or else what it gave instead of a result.
    pub fn errors(&self) -> Vec<&str> {
        let messages = &self.data.messages;
        let message = self.data.result.as_str().filter(|_| messages.is_empty());
        match message {
            Some(message) if self.status() == Some(Status::Error) => vec![message],
            _ => messages.iter().map(String::as_str).collect(),
        }
    }

    /// Whether it belongs to what is committed: it ran, and it did not fail without changing
    /// anything.
    pub fn is_committed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| {
            // Whatever it has done, the next job must know.
            end.completion != Completion::Complete || end.status != Status::Error || end.changed
        })
    }

    /// The task in one line, as records carry it.
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
