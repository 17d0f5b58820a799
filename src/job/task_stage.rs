//! The stages of a task, each with the data that exists in it.

use crate::name::{ChangeId, NodeState, Status, TaskNumber};
use crate::task::{EffectRole, OperationRun, RenderedTask, TaskOutcome};

/// The reach of an error that keeps a task from being rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorReach {
    /// The task fails, and tasks that depend on it are blocked. All others run.
    Task,
    /// The job does not begin, unless the task is not required.
    Job,
}

/// The stage of a task, from planned to finished or skipped.
#[derive(Debug)]
pub enum TaskStage {
    /// Not rendered, or to be rendered again.
    Planned,
    /// Rendered and able to run when due.
    Rendered(RenderedTask),
    /// Waiting for attributes that other tasks have yet to set.
    Deferred,
    /// Not runnable because rendering it failed.
    Unrenderable(ErrorReach),
    /// Skipped before the run, for this reason: no change, or no support for dry runs.
    Skipped(String),
    /// Due but not needed, for this reason, such as that the target is already in the desired state.
    PassedOver(String),
    /// Due and passing its start checks.
    Entered(EntrySnapshot, RenderedTask),
    Running(Box<RunningTask>),
    Finished(Box<FinishedTask>),
}

impl TaskStage {
    /// Returns the snapshot of the entry, if the task was entered, and whether its effect was cut off.
    pub(super) fn entry(&self) -> (Option<EntrySnapshot>, bool) {
        match self {
            Self::Entered(entry, _) => (Some(*entry), false),
            Self::Running(running) => (Some(running.entry), running.interrupted),
            _ => (None, false),
        }
    }
}

/// The state of a task's target when the task was entered.
#[derive(Debug, Clone, Copy)]
pub struct EntrySnapshot {
    pub started_at: jiff::Timestamp,
    /// The target's node state at that time.
    pub state: Option<NodeState>,
    /// The target's own status at that time.
    pub status: Option<Status>,
}

/// The data of a running task.
#[derive(Debug)]
pub struct RunningTask {
    pub entry: EntrySnapshot,
    /// The configurator's run. None while it is executing a step.
    pub(super) run: Option<Box<dyn OperationRun>>,
    /// The role of the effect that the task waits for.
    pub(super) role: EffectRole,
    /// Whether the effect was cut off, by a signal or a lost connection.
    pub(super) interrupted: bool,
    /// Whether the event that the task started has been emitted.
    pub(super) is_announced: bool,
}

/// The data of a finished task.
#[derive(Debug, Clone)]
pub struct FinishedTask {
    pub id: ChangeId,
    /// The task number from which the id is made.
    pub number: TaskNumber,
    pub outcome: TaskOutcome,
    /// The snapshot at the start. None if the task never ran.
    pub entry: Option<EntrySnapshot>,
    pub finished_at: jiff::Timestamp,
    /// Whether the task did not run because a dependency has failed.
    pub blocked: bool,
    /// Whether the task was cut off before it was done.
    pub interrupted: bool,
    /// Whether the task changed its target.
    pub changed: bool,
    /// The previous change of the target.
    pub previous: Option<ChangeId>,
}

impl FinishedTask {
    /// Returns `ok` or `error`, by the success of the outcome.
    pub fn status(&self) -> Status {
        if self.outcome.success {
            Status::Ok
        } else {
            Status::Error
        }
    }
}
