//! One task of a job: an operation on an entity, from rendering to its record.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use super::change::DetectedChange;
use crate::expr::Context;
use crate::name::{NodeState, OperationRef, Priority, Status};
use crate::plan::{GroupId, Reason, StepId};
use crate::task::Configurator;
use crate::tosca::Operation;
use crate::value::{Handle, Map, Value};

use super::task_stage::{EntrySnapshot, FinishedTask, TaskStage};

/// Names a task of a job.
pub type TaskIndex = usize;

/// Something a task read or wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDependency {
    /// The value read or written.
    pub value: Value,
    /// Whether the attribute is live, so that the status of its entity counts.
    pub live: bool,
    /// Whether it was written without being read.
    pub write_only: bool,
}

/// What a task changed of one entity.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntityChanges {
    /// Attributes with their new values.
    pub attributes: Map,
    /// A status that was set explicitly.
    pub status: Option<Status>,
    /// The specification of an instance that the task added.
    pub added: Option<Value>,
}

impl EntityChanges {
    /// Whether it is none.
    pub(super) fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.status.is_none() && self.added.is_none()
    }
}

/// The operation of a task, its target, and its place in the plan.
#[derive(Debug, Clone)]
pub struct TaskSpec {
    /// What it acts on.
    pub target: Handle,
    /// Its operation.
    pub reference: OperationRef,
    /// How the operation is implemented.
    pub operation: Arc<Operation>,
    /// What implements it.
    pub configurator: Arc<dyn Configurator>,
    /// The artifact that it executes.
    pub artifact: Option<Handle>,
    /// Why it runs.
    pub reason: Reason,
    /// Its priority.
    pub priority: Priority,
    /// The node state it enters when it starts.
    pub start_state: Option<NodeState>,
    /// The group it belongs to.
    pub group: Option<GroupId>,
    /// The step of the plan that it is for; none for subtasks.
    pub step: Option<StepId>,
    /// Whether its success completes the group's workflow.
    pub is_final: bool,
    /// Whether it is for an instance that another task has added.
    pub is_for_added: bool,
    /// The task that waits for this subtask.
    pub parent: Option<TaskIndex>,
    /// How many tasks wait for it in a row.
    pub depth: usize,
}

/// The inputs of a task and the variables that its expressions see.
#[derive(Debug, Clone)]
pub(super) struct TaskInputs {
    /// The inputs as they are written.
    pub(super) raw: Arc<Map>,
    /// How many of the inputs are the operation's own; the properties of its artifact follow.
    pub(super) declared: usize,
    /// The variables.
    pub(super) context: Context,
}

/// The values that a task has read.
#[derive(Debug, Clone, Default)]
pub struct TaskReads {
    /// Inputs that were evaluated, in the order of access.
    pub resolved: IndexMap<Arc<str>, Value>,
    /// Attributes read and written, in upstream's order.
    pub dependencies: IndexMap<(Handle, Arc<str>), TaskDependency>,
    /// What it read, exactly: the basis of our own digest.
    pub exact: IndexMap<String, Value>,
}

/// The target of a task as the task saw it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetState {
    /// Its own status.
    pub status: Option<Status>,
    /// Its node state.
    pub state: Option<NodeState>,
}

/// One task of a job.
#[derive(Debug)]
pub struct Task {
    /// Its operation, its target and its place in the plan.
    pub spec: TaskSpec,
    pub(super) inputs: TaskInputs,
    /// The values that it has read.
    pub reads: TaskReads,
    /// Why it runs again, for a task with the reason `reconfigure`.
    pub change: DetectedChange,
    /// A property of its target that was another when the target was made, in words.
    pub(super) outdated: Option<String>,
    /// What it changed, by entity.
    pub changes: IndexMap<Handle, EntityChanges>,
    /// What went wrong, in words.
    pub errors: Vec<String>,
    /// The folders of its rendered files.
    pub folders: Vec<(String, PathBuf)>,
    /// Its target as it saw it last.
    pub target_state: TargetState,
    /// Where it is on its way.
    pub stage: TaskStage,
}

impl Task {
    /// How it ended, once it has.
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

    /// `ok` or `error` once it has ended.
    pub fn status(&self) -> Option<Status> {
        self.finished().map(FinishedTask::status)
    }

    /// Whether it ended with an error.
    pub fn has_failed(&self) -> bool {
        self.status() == Some(Status::Error)
    }

    /// Whether something it needs has failed, so that it never ran.
    pub fn is_blocked(&self) -> bool {
        self.finished().is_some_and(|finished| finished.blocked)
    }

    /// Whether it was ended before it had done its work.
    pub fn was_interrupted(&self) -> bool {
        self.finished().is_some_and(|finished| finished.interrupted)
    }

    /// The moment at which its turn came and it was let in, if it was.
    pub(super) fn entry(&self) -> Option<&EntrySnapshot> {
        match &self.stage {
            TaskStage::Entered(entry, _) => Some(entry),
            TaskStage::Running(running) => Some(&running.entry),
            TaskStage::Finished(finished) => finished.entry.as_ref(),
            _ => None,
        }
    }

    /// Whether its turn came and it was let in.
    pub(super) fn was_entered(&self) -> bool {
        self.entry().is_some()
    }

    /// When it started, if it did.
    pub fn started(&self) -> Option<jiff::Timestamp> {
        self.entry().map(|entry| entry.started_at)
    }

    /// Whether it was left out.
    pub fn is_skipped(&self) -> bool {
        matches!(self.stage, TaskStage::Skipped(_))
    }

    /// The class name that records carry.
    pub fn class_name(&self) -> &'static str {
        self.spec.configurator.class_name()
    }

    /// Whether an input takes part in digests.
    pub(super) fn counts_in_digest(&self, name: &str) -> bool {
        let excluded = self.spec.configurator.excluded_from_digest();
        !excluded.contains(&name)
    }

    /// How long its commands may run.
    pub(super) fn time_limit(&self) -> Option<std::time::Duration> {
        let implementation = self.spec.operation.implementation.as_ref()?;
        implementation.timeout
    }
}
