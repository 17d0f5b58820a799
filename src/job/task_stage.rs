//! Where a task is on its way, with what holds there.

use crate::name::{ChangeId, NodeState, Status, TaskNumber};
use crate::task::{EffectRole, OperationRun, RenderedTask, TaskOutcome};

/// Where a task is on its way.
#[derive(Debug)]
pub enum TaskStage {
    /// Not rendered, or it must be rendered again.
    Planned,
    /// Rendered: it can run when its turn comes.
    Rendered(RenderedTask),
    /// It reads what others have yet to set.
    Deferred,
    /// It cannot be rendered.
    Unrenderable,
    /// It is left out, and why: nothing changed, or it cannot take part in a dry run.
    Skipped(String),
    /// Passed over when its turn came, and why: the target is already there.
    PassedOver(String),
    /// Its turn came and it was let in.
    Entered(EntrySnapshot, RenderedTask),
    /// It runs.
    Running(Box<RunningTask>),
    /// It has ended.
    Finished(Box<FinishedTask>),
}

/// The moment at which a task was let in.
#[derive(Debug, Clone, Copy)]
pub struct EntrySnapshot {
    /// When it started.
    pub started_at: jiff::Timestamp,
    /// The node state of its target then.
    pub state: Option<NodeState>,
    /// The own status of its target then.
    pub status: Option<Status>,
}

/// A run that is under way.
#[derive(Debug)]
pub struct RunningTask {
    /// When it was let in.
    pub entry: EntrySnapshot,
    /// The run; none while it takes a step.
    pub(super) run: Option<Box<dyn OperationRun>>,
    /// What the effect is that it waits for.
    pub(super) role: EffectRole,
    /// Whether it was ended before it had done its work, by whoever asked for an end.
    pub(super) interrupted: bool,
    /// Whether the journal knows that it acts.
    pub(super) is_announced: bool,
}

/// How a task ended.
#[derive(Debug, Clone)]
pub struct FinishedTask {
    /// Its id.
    pub id: ChangeId,
    /// The number that the id was made of.
    pub number: TaskNumber,
    /// What came of it.
    pub outcome: TaskOutcome,
    /// When it was let in; none if it never ran.
    pub entry: Option<EntrySnapshot>,
    /// When it ended.
    pub finished_at: jiff::Timestamp,
    /// Whether something it needs has failed.
    pub blocked: bool,
    /// Whether it was ended before it had done its work.
    pub interrupted: bool,
    /// Whether it changed its target.
    pub changed: bool,
    /// The change of the target before it.
    pub previous: Option<ChangeId>,
}

impl FinishedTask {
    /// `ok` or `error`.
    pub fn status(&self) -> Status {
        if self.outcome.success {
            Status::Ok
        } else {
            Status::Error
        }
    }
}
