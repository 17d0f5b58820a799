//! What a plan is made of.

use std::collections::HashSet;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use super::no_action::NoActionReason;
use crate::name::{InstanceName, NodeState, OperationRef, Status, TemplateName};
use crate::tosca::Operation;

/// Names a step of a plan; steps are numbered in the order of the plan.
pub type StepId = usize;

/// Names a group of a plan.
pub type GroupId = usize;

/// Why a step is in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The instance is new.
    Add,
    /// It should exist and does not.
    Missing,
    /// Nobody knows whether what was begun on it was done.
    InDoubt,
    /// It is in error.
    Repair,
    /// It is degraded.
    Degraded,
    /// What it was made from may have changed.
    Reconfigure,
    /// It was made from other properties, and the user asks for those of the model.
    Upgrade,
    /// The user asked for it whatever the status.
    Force,
    /// Nothing in the model needs it any more.
    Prune,
    /// It stands for an imported instance.
    Connect,
    /// Its status must be found out first.
    Check,
    /// It must be found first.
    Discover,
    /// An ad-hoc run.
    Run,
    /// The workflow does it to every instance.
    Workflow(Arc<str>),
    /// A step of a workflow of the model.
    Step(Arc<str>),
    /// Another task asked for it.
    Subtask(Arc<str>),
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Missing => "missing",
            Self::InDoubt => "in-doubt",
            Self::Repair => "repair",
            Self::Degraded => "degraded",
            Self::Reconfigure => "reconfigure",
            Self::Upgrade => "upgrade",
            Self::Force => "force",
            Self::Prune => "prune",
            Self::Connect => "connect",
            Self::Check => "check",
            Self::Discover => "discover",
            Self::Run => "run",
            Self::Workflow(name) => name,
            Self::Step(name) => return write!(f, "step:{name}"),
            Self::Subtask(name) if name.is_empty() => "subtask",
            Self::Subtask(name) => return write!(f, "subtask: {name}"),
        })
    }
}

/// What a step is applied to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StepTarget {
    /// A node instance; `root` is the topology itself.
    Node(InstanceName),
    /// A relationship: the source's requirement at this place.
    Relationship {
        /// The instance that has the requirement.
        source: InstanceName,
        /// The place among the requirements of its template.
        requirement_index: usize,
    },
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum StepActivity {
    /// Run an operation.
    Operation {
        /// Its name.
        reference: OperationRef,
        /// How it is implemented.
        operation: Arc<Operation>,
    },
    /// Set the status or node state to a word.
    SetState(Arc<str>),
}

/// One step of a plan.
#[derive(Debug, Clone)]
pub struct PlanStep {
    /// What it is applied to.
    pub target: StepTarget,
    /// What it does.
    pub activity: StepActivity,
    /// Why.
    pub reason: Reason,
    /// The node state entered when it starts.
    pub start_state: Option<NodeState>,
    /// The group whose steps run one after another, and stop where one fails.
    pub group: Option<GroupId>,
    /// Whether its success completes the group's workflow on the target.
    pub is_final: bool,
    /// Whether the job stops where it fails.
    pub critical: bool,
}

/// Steps for one instance that together reach what a workflow is for.
#[derive(Debug, Clone)]
pub struct StepGroup {
    /// The instance.
    pub target: StepTarget,
    /// The workflow's name.
    pub workflow: Arc<str>,
    /// Steps and groups within, in order.
    pub items: Vec<PlanItem>,
    /// The group that it is part of.
    pub parent: Option<GroupId>,
    /// Whether it is part of the job at all.
    pub condition: RunCondition,
}

/// Whether a group runs, which depends on how others end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RunCondition {
    /// In any case.
    #[default]
    Always,
    /// When another has succeeded; where that failed it is blocked.
    Succeeded(GroupId),
    /// When one of these, steps of a workflow of these names, has failed.
    Failed(Vec<(GroupId, Arc<str>)>),
}

/// A step or a group of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanItem {
    /// A step.
    Step(StepId),
    /// A group.
    Group(GroupId),
}

/// An instance that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceDraft {
    /// Its name.
    pub name: InstanceName,
    /// What it is made from.
    pub template: TemplateName,
    /// What it is hosted on; none for the root.
    pub parent: Option<InstanceName>,
    /// Its status until something happens to it.
    pub status: Status,
}

/// What to do, in order, and why.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Instances to be made, parents first.
    pub drafts: Vec<InstanceDraft>,
    /// All steps; a step comes after those it depends on.
    pub steps: Vec<PlanStep>,
    /// All groups.
    pub groups: Vec<StepGroup>,
    /// Steps and groups at the top, in order.
    pub items: Vec<PlanItem>,
    /// Steps that run because of what has changed, whatever else is found out.
    pub decided: HashSet<StepId>,
    /// Statuses to be set before anything runs.
    pub statuses: Vec<(InstanceName, Status)>,
    /// Instances left alone although the workflow would apply to them, and why.
    pub skipped: Vec<(InstanceName, String)>,
    /// Instances that a deploy has nothing to do for, and why.
    pub no_action: Vec<(InstanceName, NoActionReason)>,
}

impl Plan {
    /// Whether a group runs only where a step of a workflow has failed.
    pub fn is_conditional(&self, group: GroupId) -> bool {
        let mut next = Some(group);
        while let Some(group) = next {
            let group = &self.groups[group];
            next = match &group.condition {
                RunCondition::Failed(_) => return true,
                RunCondition::Succeeded(before) => Some(*before),
                RunCondition::Always => group.parent,
            };
        }
        false
    }
}
