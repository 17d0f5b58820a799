//! A rendered plan as data: what would be done, and why. It is shown to people and programs before a
//! job runs, and where nothing is left to run.

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

/// The difference between a rendered task and one that is ready to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It is ready, or not rendered yet.
    Ready,
    /// It reads what others have yet to set.
    Deferred,
    /// It cannot be rendered.
    Unrenderable,
    /// It is left out, and why.
    Skipped(String),
}

/// A task of a plan.
#[derive(Debug, Clone)]
pub struct ProposedTask {
    /// The entity that it acts on.
    pub target: Handle,
    /// The name of its operation.
    pub operation: OperationName,
    /// Why it runs.
    pub reason: Reason,
    /// The reason in more words.
    pub reason_text: Option<String>,
    /// Whether it is part of the job.
    pub is_included: bool,
    /// Whether it is ready to run.
    pub readiness: Readiness,
    /// The folders rendered for it, by kind.
    pub folders: Vec<(String, PathBuf)>,
    /// Why it runs again, for a task with the reason `reconfigure`.
    pub change: DetectedChange,
    /// The comparison with the last record of its operation; none if it never ran, or nobody asked.
    pub comparison: Option<Comparison>,
}

impl ProposedTask {
    /// Whether it is left out.
    pub fn is_skipped(&self) -> bool {
        matches!(self.readiness, Readiness::Skipped(_))
    }

    /// Something else to know about it, in words.
    pub fn note(&self) -> Option<&str> {
        match &self.readiness {
            Readiness::Ready => None,
            Readiness::Deferred => Some("render waiting for dependents"),
            Readiness::Unrenderable => Some("errors while rendering"),
            Readiness::Skipped(why) => Some(why),
        }
    }
}

/// A rendered plan.
#[derive(Debug)]
pub struct Proposal {
    /// What the job is to reach.
    pub goal: JobGoal,
    /// The steps and their groups.
    pub plan: Plan,
    /// What exists.
    pub topology: Arc<Topology>,
    /// The entity that each step is applied to.
    pub targets: Vec<Handle>,
    /// The task of each step; none for steps that set a state.
    pub tasks: Vec<Option<ProposedTask>>,
}

impl Proposal {
    /// The entity that a step is applied to.
    pub fn target_of(&self, step: StepId) -> Option<Handle> {
        self.targets.get(step).copied()
    }

    /// The task of a step; none for steps that set a state.
    pub fn task_of(&self, step: StepId) -> Option<&ProposedTask> {
        self.tasks.get(step)?.as_ref()
    }
}

impl Engine {
    /// The plan as it is rendered now.
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

    /// The tasks of the plan for an instance and its relationships, those that are left out compared
    /// with their records as well.
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

    /// The attributes that tasks of the plan have read: the target of the task, the entity, the name.
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
