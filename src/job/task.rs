//! One task of a job: an operation on an entity, from rendering to its record.

use std::sync::Arc;

use indexmap::IndexMap;

use super::compare::Change;
use crate::expr::Context;
use crate::name::{ChangeId, NodeState, OperationRef, Priority, Status};
use crate::plan::{GroupId, Reason, StepId};
use crate::task::{Configurator, Outcome, Part, Rendered, Run};
use crate::tosca::Operation;
use crate::value::{Handle, Map, Value};

/// Names a task of a job.
pub type TaskIndex = usize;

/// Where a task is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not rendered, or it must be rendered again.
    Planned,
    /// Rendered: it can run when its turn comes.
    Rendered,
    /// It reads what others have yet to set.
    Deferred,
    /// It cannot be rendered.
    Unrenderable,
    /// It is left out: nothing changed, or it cannot take part in a dry run.
    Skipped,
    /// Passed over when its turn came: the target is already there.
    Passed,
    /// It runs.
    Running,
    /// It has ended.
    Finished,
}

/// Something a task read or wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Dependency {
    /// The value read or written.
    pub value: Value,
    /// Whether the attribute is live, so that the status of its entity counts.
    pub live: bool,
    /// Whether it was written without being read.
    pub write_only: bool,
}

/// What a task changed of one entity.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Attributes with their new values.
    pub attributes: Map,
    /// A status that was set explicitly.
    pub status: Option<Status>,
    /// The specification of an instance that the task added.
    pub added: Option<Value>,
}

impl Changes {
    /// Whether it is none.
    pub(super) fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.status.is_none() && self.added.is_none()
    }
}

/// One task of a job.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Task {
    /// What it acts on.
    pub target: Handle,
    /// Its operation.
    pub reference: OperationRef,
    /// How the operation is implemented.
    pub operation: Arc<Operation>,
    /// Why it runs.
    pub reason: Reason,
    /// What implements it.
    pub configurator: Arc<dyn Configurator>,
    /// The node state it enters when it starts.
    pub start_state: Option<NodeState>,
    /// The group it belongs to.
    pub group: Option<GroupId>,
    /// Whether its success completes the group's workflow.
    pub is_final: bool,
    /// Where it is on its way.
    pub stage: Stage,
    /// Its priority.
    pub priority: Priority,
    /// Inputs that were evaluated, in the order of access.
    pub resolved: IndexMap<Arc<str>, Value>,
    /// Attributes read and written, in upstream's order.
    pub dependencies: IndexMap<(Handle, Arc<str>), Dependency>,
    /// What it read, exactly: the basis of our own digest.
    pub exact: IndexMap<String, Value>,
    /// Why it runs again, for a task with the reason `reconfigure`.
    pub change: Change,
    /// What it changed, by entity.
    pub changes: IndexMap<Handle, Changes>,
    /// What went wrong, in words.
    pub errors: Vec<String>,
    /// How it ended; none while it has not, or where it was skipped.
    pub outcome: Option<Outcome>,
    /// Its id, once it has ended.
    pub id: Option<ChangeId>,
    /// The change of the target before it.
    pub previous: Option<ChangeId>,
    /// When it started.
    pub started: jiff::Timestamp,
    /// When it ended.
    pub ended: Option<jiff::Timestamp>,
    /// Whether it changed its target.
    pub changed: bool,
    /// Whether something it needs has failed.
    pub blocked: bool,
    /// `ok` or `error` once it has ended.
    pub status: Option<Status>,
    /// The target's own status after it.
    pub target_status: Option<Status>,
    /// The target's node state after it.
    pub target_state: Option<NodeState>,
    /// The folders of its rendered files.
    pub folders: Vec<(String, std::path::PathBuf)>,
    /// The artifact that it executes.
    pub(super) artifact: Option<Handle>,
    pub(super) inputs: Arc<Map>,
    /// How many of the inputs are the operation's own; the properties of its artifact follow.
    pub(super) declared: usize,
    pub(super) context: Context,
    pub(super) rendered: Option<Rendered>,
    pub(super) run: Option<Box<dyn Run>>,
    /// The step of the plan that it is for; none for subtasks.
    pub(super) step: Option<StepId>,
    /// Whether it is for an instance that another task has added.
    pub(super) follows: bool,
    /// Whether its turn came and it was let in.
    pub(super) entered: bool,
    /// What the effect is that it waits for.
    pub(super) part: Part,
    /// Whether it was ended before it had done its work, by whoever asked for an end.
    pub(super) cut_off: bool,
    /// Whether the journal knows that it acts.
    pub(super) announced: bool,
    /// Whether the summary lists it already.
    pub(super) listed: bool,
    /// The task that waits for this subtask.
    pub(super) parent: Option<TaskIndex>,
    pub(super) depth: usize,
    /// Why it was skipped or passed over.
    pub(super) note: Option<String>,
    /// The node state and status of the target when it started.
    pub(super) before: (Option<NodeState>, Option<Status>),
}

impl Task {
    /// Whether it was ended before it had done its work.
    pub fn was_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Whether it ended with an error.
    pub fn has_failed(&self) -> bool {
        self.status == Some(Status::Error)
    }

    /// The class name that records carry.
    pub fn class_name(&self) -> &'static str {
        self.configurator.class_name()
    }

    /// Why it was left out, in words.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Whether an input takes part in digests.
    pub(super) fn counts_in_digest(&self, name: &str) -> bool {
        !self.configurator.excluded_from_digest().contains(&name)
    }
}
