//! A task of a job: an operation on an entity, with everything from its creation to its result.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use super::change::DetectedChange;
use super::compared_file::ComparedFile;
use crate::expr::{Context, RequestedWrites};
use crate::name::{NodeState, OperationRef, Priority, Status};
use crate::plan::{GroupId, Reason, StepId};
use crate::task::Configurator;
use crate::tosca::Operation;
use crate::value::{Handle, Map, Value};

use super::task_stage::{EntrySnapshot, FinishedTask, TaskStage};

/// The index of a task in the ledger of its job.
pub type TaskIndex = usize;

/// An attribute that a task has read or written.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDependency {
    /// Whether Unfurl (Python) would list it in its digest.
    pub in_digest: bool,
    pub value: Value,
    /// Whether the attribute is live, in which case the status of its entity counts.
    pub live: bool,
    /// Whether the attribute was written without being read.
    pub write_only: bool,
}

/// The changes of one entity by a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntityChanges {
    /// The changed attributes with their new values.
    pub attributes: Map,
    /// The status, if the task set it explicitly.
    pub status: Option<Status>,
    /// The specification of the instance, if the task added it.
    pub added: Option<Value>,
}

impl EntityChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.status.is_none() && self.added.is_none()
    }
}

/// The operation of a task, its target, and its position in the plan.
#[derive(Debug, Clone)]
pub struct TaskSpec {
    pub target: Handle,
    pub reference: OperationRef,
    pub operation: Arc<Operation>,
    pub configurator: Arc<dyn Configurator>,
    /// The artifact that the operation executes.
    pub artifact: Option<Handle>,
    pub reason: Reason,
    pub priority: Priority,
    /// The node state that the target enters when the task starts.
    pub start_state: Option<NodeState>,
    /// The group of steps that the task belongs to.
    pub group: Option<GroupId>,
    /// The step of the plan. None for subtasks.
    pub step: Option<StepId>,
    /// Whether success completes the group's workflow on the target.
    pub is_final: bool,
    /// Whether the task is for an instance that another task has added.
    pub is_for_added: bool,
    /// The task that waits for this subtask.
    pub parent: Option<TaskIndex>,
    /// True for a task that only compares the results of its operation.
    pub check_only: bool,
    /// The number of enclosing tasks that wait for this one.
    pub depth: usize,
}

/// The inputs of a task and the variables of its expressions.
#[derive(Debug, Clone)]
pub(super) struct TaskInputs {
    /// The inputs as written, not evaluated.
    pub(super) raw: Arc<Map>,
    /// The number of inputs that the operation defines. Properties of its artifact follow.
    pub(super) declared: usize,
    pub(super) context: Context,
}

/// The values that a task has read.
#[derive(Debug, Clone, Default)]
pub struct TaskReads {
    /// Evaluated inputs in the order of access.
    pub resolved: IndexMap<Arc<str>, Value>,
    /// Attributes read and written, in the order of Unfurl (Python).
    pub dependencies: IndexMap<(Handle, Arc<str>), TaskDependency>,
    /// Values read, by record key: the basis of the exact digest.
    pub exact: IndexMap<String, Value>,
    /// Files that the inputs name, by record key, with their digests before the task ran.
    pub files: IndexMap<String, Value>,
}

/// The changes of files that the expressions of a task request.
#[derive(Debug, Clone, Default)]
pub(super) struct TaskWrites {
    pub(super) requested: RequestedWrites,
    pub(super) performed: RequestedWrites,
}

/// The state of a task's target as the task last saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetState {
    pub status: Option<Status>,
    pub state: Option<NodeState>,
}

/// A task of a job with its progress.
#[derive(Debug)]
pub struct Task {
    pub spec: TaskSpec,
    pub(super) inputs: TaskInputs,
    pub reads: TaskReads,
    /// The detected change, for a task with the reason `reconfigure`.
    pub change: DetectedChange,
    /// A phrase about a property of the target that has changed since the target was created.
    pub(super) outdated: Option<String>,
    /// Changes made by the task, by entity.
    pub changes: IndexMap<Handle, EntityChanges>,
    pub errors: Vec<String>,
    /// The files that the task's expressions request, and those that were written for them.
    pub(super) writes: TaskWrites,
    /// The files that a test run compared with what the operation would write.
    pub(super) compared: Vec<ComparedFile>,
    pub folders: Vec<(String, PathBuf)>,
    /// The target as the task last saw it.
    pub target_state: TargetState,
    pub stage: TaskStage,
}

impl Task {
    /// Returns the task's end. None if it has not ended.
    pub fn finished(&self) -> Option<&FinishedTask> {
        match &self.stage {
            TaskStage::Finished(finished) => Some(finished),
            _ => None,
        }
    }

    pub(super) fn finished_mut(&mut self) -> Option<&mut FinishedTask> {
        match &mut self.stage {
            TaskStage::Finished(finished) => Some(finished),
            _ => None,
        }
    }

    /// Returns `ok` or `error` once the task has ended.
    pub fn status(&self) -> Option<Status> {
        self.finished().map(FinishedTask::status)
    }

    /// Whether the task ended with an error.
    pub fn has_failed(&self) -> bool {
        self.status() == Some(Status::Error)
    }

    /// Whether the task never ran because a dependency has failed.
    pub fn is_blocked(&self) -> bool {
        self.finished().is_some_and(|finished| finished.blocked)
    }

    /// Whether the task was cut off before it was done.
    pub fn is_interrupted(&self) -> bool {
        self.finished().is_some_and(|finished| finished.interrupted)
    }

    /// Returns the snapshot taken when the task was entered. None if it was not.
    pub(super) fn entry(&self) -> Option<&EntrySnapshot> {
        match &self.stage {
            TaskStage::Entered(entry, _) => Some(entry),
            TaskStage::Running(running) => Some(&running.entry),
            TaskStage::Finished(finished) => finished.entry.as_ref(),
            _ => None,
        }
    }

    /// Whether the task was due and passed into its start checks.
    pub(super) fn was_entered(&self) -> bool {
        self.entry().is_some()
    }

    /// Returns the time at which the task started, if it did.
    pub fn started(&self) -> Option<jiff::Timestamp> {
        self.entry().map(|entry| entry.started_at)
    }

    pub fn is_skipped(&self) -> bool {
        matches!(self.stage, TaskStage::Skipped(_))
    }

    /// Returns the configurator's class name, as job records write it.
    pub fn class_name(&self) -> &'static str {
        self.spec.configurator.class_name()
    }

    /// Whether an input is part of digests.
    pub(super) fn counts_in_digest(&self, name: &str) -> bool {
        let excluded = self.spec.configurator.excluded_from_digest();
        !excluded.contains(&name)
    }

    /// Returns the longest time that the task's commands may run.
    pub(super) fn time_limit(&self) -> Option<std::time::Duration> {
        let implementation = self.spec.operation.implementation.as_ref()?;
        implementation.timeout
    }
}
