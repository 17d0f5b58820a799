//! The steps of a plan with their targets and tasks. [`JobSteps`] answers the scheduler's questions about
//! them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::DetectedChange;
use super::engine::Engine;
use super::evaluation::Evaluation;
use super::ledger::Ledger;
use super::schedule::Steps;
use super::task::TaskIndex;
use super::task_stage::TaskStage;
use crate::name::Priority;
use crate::plan::{self, CheckAbility, Plan, Reason, RepeatPolicy, StepId, WorkflowKind};
use crate::tosca::Operation;
use crate::value::Handle;

/// The targets and tasks of steps.
#[derive(Debug, Default)]
pub(super) struct StepTable {
    /// The target entity of each step.
    pub(super) targets: Vec<Handle>,
    /// The task of each step. None for steps that set a state.
    pub(super) tasks: Vec<Option<TaskIndex>>,
}

/// A view of a job's steps in their current state.
#[derive(Clone, Copy)]
pub(super) struct JobSteps<'t> {
    pub(super) evaluation: Evaluation<'t>,
    pub(super) table: &'t StepTable,
    pub(super) ledger: &'t Ledger,
}

impl JobSteps<'_> {
    /// Whether a task is part of the job. Tasks of `default` templates are not until a required template
    /// needs them.
    pub(super) fn includes(&self, task: TaskIndex) -> bool {
        let task = &self.ledger.tasks[task].spec;
        let goal = &self.evaluation.options.goal;
        goal.workflow != WorkflowKind::Deploy
            || goal.is_filtered()
            || task.priority == Priority::Critical
            || task.reason == Reason::Prune
            || task.is_for_added
            || self.is_needed(task.target)
    }

    fn is_needed(&self, target: Handle) -> bool {
        let topology = self.evaluation.topology;
        let owner = topology.source_of(target).unwrap_or(target);
        topology.priority(owner) >= Priority::Required
    }

    /// Whether a step runs only if another step has failed.
    pub(super) fn is_conditional(&self, step: StepId) -> bool {
        let group = self.group(step);
        group.is_some_and(|group| self.plan().is_conditional(group))
    }
}

impl Steps for JobSteps<'_> {
    fn plan(&self) -> &Plan {
        self.evaluation.plan
    }

    fn target(&self, step: StepId) -> Handle {
        self.table.targets[step]
    }

    fn instance(&self, step: StepId) -> Handle {
        self.evaluation.unit_instance(step, self.target(step))
    }

    fn runs(&self, step: StepId) -> bool {
        self.table.tasks[step].is_none_or(|task| self.includes(task))
    }

    fn is_deferred(&self, step: StepId) -> bool {
        let task = self.table.tasks[step];
        task.is_some_and(|task| matches!(self.ledger.tasks[task].stage, TaskStage::Deferred))
    }

    fn has_failed(&self, step: StepId) -> bool {
        let task = self.table.tasks[step];
        task.is_some_and(|task| self.ledger.tasks[task].has_failed())
    }

    fn removes(&self, step: StepId) -> bool {
        match self.evaluation.workflow_of(self.group(step)) {
            Some(workflow) => matches!(&**workflow, "undeploy" | "stop"),
            None => matches!(
                self.evaluation.options.goal.workflow,
                WorkflowKind::Undeploy | WorkflowKind::Stop
            ),
        }
    }

    fn required(&self, of: Handle) -> Vec<Handle> {
        let topology = self.evaluation.topology;
        let entity = topology.entity(of);
        let requirements = entity.node().map_or(&[][..], |node| &node.requirements);
        let targets = requirements.iter().filter_map(|r| topology.target_of(*r));
        let parent = entity.parent.filter(|parent| *parent != entity.scope);
        let required: Vec<Handle> = targets.chain(parent).collect();
        let within = required.iter();
        let mut all: Vec<Handle> = within.flat_map(|it| topology.nodes_within(*it)).collect();
        all.extend(required);
        all
    }

    fn exclusive_key(&self, step: StepId) -> Option<Handle> {
        let ancestors = self.evaluation.topology.ancestors(self.instance(step));
        (ancestors.len() > 2).then(|| ancestors[ancestors.len() - 2])
    }
}

/// The repeat policy of planning: compares operations with their last records.
struct RecordRepeatPolicy<'t> {
    evaluation: Evaluation<'t>,
    /// Entities that read secrets for which it is unknown whether they have changed.
    unknown_secrets: RefCell<BTreeSet<Handle>>,
}

impl RepeatPolicy for RecordRepeatPolicy<'_> {
    fn must_repeat(&self, target: Handle, operation: &Arc<Operation>) -> bool {
        let change = self.evaluation.model_change(target, operation);
        if change == DetectedChange::Unknown {
            self.unknown_secrets.borrow_mut().insert(target);
        }
        change.is_change()
    }

    fn check_ability(&self, operation: &Operation) -> CheckAbility {
        match (self.evaluation.context.choose)(operation) {
            Ok((configurator, inputs)) => configurator.check_ability(&inputs),
            Err(_) => CheckAbility::Cannot,
        }
    }
}

impl Engine {
    /// Makes the plan for the job's goal.
    pub fn plan(&mut self) -> Result<Plan, plan::Error> {
        let comparing = RecordRepeatPolicy {
            evaluation: self.evaluation(),
            unknown_secrets: RefCell::default(),
        };
        let plan = plan::plan(&self.topology, &self.options.goal, &comparing);
        let unknown = comparing.unknown_secrets.into_inner();
        self.unknown_secrets.extend(unknown);
        plan
    }
}
