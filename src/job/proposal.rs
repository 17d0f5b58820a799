//! The proposal: a rendered plan as data, with the reasons for each task.
//!
//! It is shown to users and programs before a job runs, and also if no task is left to run.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::change::DetectedChange;
use super::change_diff::{Comparison, DifferenceSide};
use crate::diagnostic::Span;
use crate::name::OperationName;
use crate::plan::{JobGoal, Plan, Reason, StepId};
use crate::task::TaskWork;
use crate::topology::Topology;
use crate::value::Handle;

/// Whether a rendered task is ready to run, and otherwise why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// The task is ready or not rendered yet.
    Ready,
    /// The task reads values that other tasks have yet to set.
    Deferred,
    /// The task cannot run because rendering it failed.
    Unrenderable,
    /// The task is skipped, for this reason.
    Skipped(String),
}

/// A task of a proposed plan.
#[derive(Debug, Clone)]
pub struct ProposedTask {
    pub target: Handle,
    pub operation: OperationName,
    pub reason: Reason,
    /// The reason as a phrase with details.
    pub reason_text: Option<String>,
    /// Whether the task is part of the job.
    pub is_included: bool,
    pub readiness: Readiness,
    pub folders: Vec<(String, PathBuf)>,
    /// The detected change, for a task with the reason `reconfigure`.
    pub change: DetectedChange,
    /// The comparison with the operation's last record. None if it never ran or was not compared.
    pub comparison: Option<Comparison>,
    /// The work of the task. None if it is not shown.
    pub work: Option<TaskWork>,
    /// The errors that prevent the task from being rendered.
    pub errors: Vec<String>,
}

impl ProposedTask {
    pub fn is_skipped(&self) -> bool {
        matches!(self.readiness, Readiness::Skipped(_))
    }

    /// Returns a remark about the readiness of the task. None if it is ready.
    pub fn note(&self) -> Option<&str> {
        match &self.readiness {
            Readiness::Ready => None,
            Readiness::Deferred => Some("render waiting for dependents"),
            Readiness::Unrenderable => Some("errors while rendering"),
            Readiness::Skipped(why) => Some(why),
        }
    }
}

/// How much of a plan is computed besides its tasks and their reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProposalExtent {
    /// Differences, work and values of as many instances as people read.
    #[default]
    Brief,
    /// Those of all instances.
    Full,
}

/// An input or output with its value at the last job and the one that it will have.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedValue {
    pub name: String,
    pub old: DifferenceSide,
    /// The new value. `Unknown` if only the job determines it.
    pub new: DifferenceSide,
    /// Whether the value is secret as a whole.
    pub is_secret: bool,
    /// The source of an input, such as `--var input_port`.
    pub source: Option<String>,
    pub span: Span,
}

/// A rendered plan that can be shown to the user.
#[derive(Debug)]
pub struct Proposal {
    pub goal: JobGoal,
    pub plan: Plan,
    /// The topology, including drafted instances of the plan.
    pub topology: Arc<Topology>,
    /// The target entity of each step.
    pub targets: Vec<Handle>,
    /// The task of each step. None for steps that set a state.
    pub tasks: Vec<Option<ProposedTask>>,
    /// The instances of which all details are known.
    pub detailed: HashSet<Handle>,
    /// The properties of new instances with their values; `Unknown` if only the job determines them.
    pub values: HashMap<Handle, Vec<(Arc<str>, DifferenceSide)>>,
    /// The ensemble with its environment, as headings show it.
    pub ensemble: String,
    /// The inputs, if the caller has added them.
    pub inputs: Vec<ProposedValue>,
    /// The outputs that change, if the caller has added them.
    pub outputs: Vec<ProposedValue>,
}

impl Proposal {
    /// Returns the target entity of a step.
    pub fn target_of(&self, step: StepId) -> Option<Handle> {
        self.targets.get(step).copied()
    }

    /// Returns the task of a step. None for steps that set a state.
    pub fn task_of(&self, step: StepId) -> Option<&ProposedTask> {
        self.tasks.get(step)?.as_ref()
    }

    /// Returns the instance that a step is for: its target, or the one that has the requirement.
    pub fn owner_of(&self, step: StepId) -> Option<Handle> {
        let target = self.target_of(step)?;
        Some(self.topology.source_of(target).unwrap_or(target))
    }

    /// Returns true if a task of the plan cannot be rendered.
    pub fn has_errors(&self) -> bool {
        self.unrunnable() > 0
    }

    /// Returns the number of tasks that cannot run, because they cannot be rendered.
    pub fn unrunnable(&self) -> usize {
        let tasks = self.tasks.iter().flatten();
        let unrunnable =
            tasks.filter(|task| task.is_included && task.readiness == Readiness::Unrenderable);
        unrunnable.count()
    }
}
