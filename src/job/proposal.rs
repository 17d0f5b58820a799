//! The proposal: a rendered plan as data, with the reasons for each task.
//!
//! It is shown to users and programs before a job runs, and also if no task is left to run.

use std::path::PathBuf;
use std::sync::Arc;

use super::change::DetectedChange;
use super::change_diff::Comparison;
use super::engine::Engine;
use super::task::TaskIndex;
use super::task_stage::TaskStage;
use crate::name::OperationName;
use crate::plan::{JobGoal, Plan, Reason, StepId};
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
}

impl Engine {
    /// Returns the plan as currently rendered.
    pub fn proposal(&self) -> Proposal {
        let tasks = self.steps.tasks.iter();
        let tasks = tasks.map(|index| index.map(|index| self.propose_task(index)));
        Proposal {
            goal: self.options.goal.clone(),
            plan: self.plan.clone(),
            topology: Arc::clone(&self.topology),
            targets: self.steps.targets.clone(),
            tasks: tasks.collect(),
        }
    }

    fn propose_task(&self, index: TaskIndex) -> ProposedTask {
        let task = &self.ledger.tasks[index];
        let compares = task.change.is_change() && !task.is_skipped();
        let comparison = compares.then(|| self.evaluation().compare_with_record(task));
        ProposedTask {
            target: task.spec.target,
            operation: task.spec.reference.operation.clone(),
            reason: task.spec.reason.clone(),
            reason_text: self.evaluation().reason_text(task),
            is_included: self.includes(index),
            readiness: match &task.stage {
                TaskStage::Deferred => Readiness::Deferred,
                TaskStage::Unrenderable => Readiness::Unrenderable,
                TaskStage::Skipped(why) | TaskStage::PassedOver(why) => {
                    Readiness::Skipped(why.clone())
                }
                _ => Readiness::Ready,
            },
            folders: task.folders.clone(),
            change: task.change.clone(),
            comparison: comparison.flatten(),
        }
    }

    /// Returns the planned tasks for an instance and its relationships. Skipped tasks are compared with
    /// their records too.
    pub fn proposed_tasks_for(&self, of: Handle) -> Vec<ProposedTask> {
        let tasks = self.ledger.tasks.iter().enumerate();
        let own = tasks.filter(|(_, task)| {
            let target = task.spec.target;
            target == of || self.topology.source_of(target) == Some(of)
        });
        own.map(|(index, task)| {
            let mut proposed = self.propose_task(index);
            if task.is_skipped() && task.spec.reason == Reason::Reconfigure {
                proposed.comparison = self.evaluation().compare_with_record(task);
            }
            proposed
        })
        .collect()
    }

    /// Returns the attributes that planned tasks have read, as task target, entity and name.
    pub fn planned_reads(&self) -> Vec<(Handle, Handle, String)> {
        let tasks = self.ledger.tasks.iter();
        let reads = tasks.flat_map(|task| {
            let all = task.reads.dependencies.iter();
            let read = all.filter(|(_, dependency)| !dependency.write_only);
            read.map(|((of, name), _)| (task.spec.target, *of, name.to_string()))
        });
        reads.collect()
    }
}
