//! Where a task is on its way, with what holds there.

use crate::name::{ChangeId, NodeState, Status, TaskNumber};
use crate::task::{Outcome, Part, Rendered, Run};

/// Where a task is on its way.
#[derive(Debug)]
pub enum Stage {
    /// Not rendered, or it must be rendered again.
    Planned,
    /// Rendered: it can run when its turn comes.
    Rendered(Rendered),
    /// It reads what others have yet to set.
    Deferred,
    /// It cannot be rendered.
    Unrenderable,
    /// It is left out, and why: nothing changed, or it cannot take part in a dry run.
    Skipped(String),
    /// Passed over when its turn came, and why: the target is already there.
    Passed(String),
    /// Its turn came and it was let in.
    Entered(Entry, Rendered),
    /// It runs.
    Running(Box<Running>),
    /// It has ended.
    Finished(Box<Finished>),
}

/// The moment at which a task was let in.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// When it started.
    pub started: jiff::Timestamp,
    /// The node state of its target then.
    pub state: Option<NodeState>,
    /// The own status of its target then.
    pub status: Option<Status>,
}

/// A run that is under way.
#[derive(Debug)]
pub struct Running {
    /// When it was let in.
    pub entry: Entry,
    /// The run; none while it takes a step.
    pub(super) run: Option<Box<dyn Run>>,
    /// What the effect is that it waits for.
    pub(super) part: Part,
    /// Whether it was ended before it had done its work, by whoever asked for an end.
    pub(super) cut_off: bool,
    /// Whether the journal knows that it acts.
    pub(super) announced: bool,
}

/// How a task ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its id.
    pub id: ChangeId,
    /// The number that the id was made of.
    pub number: TaskNumber,
    /// What came of it.
    pub outcome: Outcome,
    /// When it was let in; none if it never ran.
    pub entry: Option<Entry>,
    /// When it ended.
    pub ended: jiff::Timestamp,
    /// Whether something it needs has failed.
    pub blocked: bool,
    /// Whether it was ended before it had done its work.
    pub cut_off: bool,
    /// Whether it changed its target.
    pub changed: bool,
    /// The change of the target before it.
    pub previous: Option<ChangeId>,
}

impl Finished {
    /// `ok` or `error`.
    pub fn status(&self) -> Status {
        if self.outcome.success {
            Status::Ok
        } else {
            Status::Error
        }
    }
}
