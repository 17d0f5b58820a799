//! The parts of a plan: steps, groups, drafts, and the reasons for them. These types hold data only.

use std::collections::HashSet;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use super::no_action::NoActionReason;
use crate::name::{InstanceName, NodeState, OperationRef, Status, TemplateName};
use crate::tosca::Operation;

/// The index of a step in [`Plan::steps`].
pub type StepId = usize;

/// The index of a group in [`Plan::groups`].
pub type GroupId = usize;

/// The reason why a step is in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reason {
    Add,
    /// The instance should exist and does not.
    Missing,
    /// An operation was interrupted, and its effect on the instance is unknown.
    InDoubt,
    Repair,
    Degraded,
    /// Values that the instance was made from may have changed.
    Reconfigure,
    /// The instance was made from other property values, and the user requested an upgrade.
    Upgrade,
    /// The user requested the step whatever the status is.
    Force,
    /// The model no longer needs the instance.
    Prune,
    /// The instance stands for an imported one.
    Connect,
    /// The status must be determined first.
    Check,
    /// The instance must be discovered first.
    Discover,
    Run,
    /// The workflow of this name applies to every instance.
    Workflow(Arc<str>),
    /// A step of a workflow that the model defines.
    Step(Arc<str>),
    /// Another task, named here, requested this one.
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

/// The node instance or relationship that a step acts on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StepTarget {
    /// A node instance. `root` is the topology itself.
    Node(InstanceName),
    /// A relationship, given by the source and the index of the requirement.
    Relationship {
        source: InstanceName,
        /// The index among the requirements of the source's template.
        requirement_index: usize,
    },
}

/// The activity of a step: an operation, or a change of state.
#[derive(Debug, Clone)]
pub enum StepActivity {
    Operation {
        reference: OperationRef,
        operation: Arc<Operation>,
    },
    /// Set the status or node state to the given word.
    SetState(Arc<str>),
}

/// A single step of a plan.
#[derive(Debug, Clone)]
pub struct PlanStep {
    pub target: StepTarget,
    pub activity: StepActivity,
    pub reason: Reason,
    /// The node state that the target enters when the step starts.
    pub start_state: Option<NodeState>,
    /// The group of the step. The steps of a group run one after another and stop at the first failure.
    pub group: Option<GroupId>,
    /// Whether success of the step completes the group's workflow on the target.
    pub is_final: bool,
    /// Whether the job stops if the step fails.
    pub critical: bool,
}

/// Steps for one instance that together carry out a workflow.
#[derive(Debug, Clone)]
pub struct StepGroup {
    pub target: StepTarget,
    pub workflow: Arc<str>,
    /// The contained steps and groups, in order.
    pub items: Vec<PlanItem>,
    pub parent: Option<GroupId>,
    /// The condition under which the group runs.
    pub condition: RunCondition,
}

/// The condition under which a group runs, given by the result of other groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RunCondition {
    #[default]
    Always,
    /// The group runs after the other one succeeded, and is blocked if that failed.
    Succeeded(GroupId),
    /// The group runs if one of these groups failed. Each comes with the name of its workflow step.
    Failed(Vec<(GroupId, Arc<str>)>),
}

/// A step or group, as an element of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanItem {
    Step(StepId),
    Group(GroupId),
}

/// An instance that does not exist yet and that the job will create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceDraft {
    pub name: InstanceName,
    pub template: TemplateName,
    /// The instance's host. None stands for the root.
    pub parent: Option<InstanceName>,
    /// The initial status, until a task changes it.
    pub status: Status,
}

/// A plan: the steps of a job in order, with their reasons.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Instances to be created, hosts first.
    pub drafts: Vec<InstanceDraft>,
    /// The steps, each after those it depends on.
    pub steps: Vec<PlanStep>,
    pub groups: Vec<StepGroup>,
    /// The steps and groups at the top level, in order.
    pub items: Vec<PlanItem>,
    /// Steps that run because of a detected change. Later comparisons do not skip them.
    pub decided: HashSet<StepId>,
    /// Statuses to set before any task runs.
    pub statuses: Vec<(InstanceName, Status)>,
    /// Instances that the workflow would apply to but that are left alone, with the reason.
    pub skipped: Vec<(InstanceName, String)>,
    /// Steps that run their operation in test mode, to compare what it has made.
    pub tests: HashSet<StepId>,
    /// Recorded instances that nothing can look at, with the reason.
    pub unchecked: Vec<(InstanceName, String)>,
    /// Instances for which a deploy has nothing to do, with the reason.
    pub no_action: Vec<(InstanceName, NoActionReason)>,
}

impl Plan {
    /// Whether a group runs only if a step of a workflow has failed.
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
