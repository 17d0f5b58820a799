//! Makes the proposal of a job: its tasks, and the details of as many instances as are shown.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::engine::Engine;
use super::instance_action::InstanceAction;
use super::proposal::{Proposal, ProposalExtent, ProposedTask, ProposedValue, Readiness};
use super::render::NO_DRY_RUN;
use super::task::TaskIndex;
use super::task_stage::TaskStage;
use crate::plan::Reason;
use crate::task::WorkInputs;
use crate::value::{Handle, Map};

/// The number of instances with the same effect of which a brief plan has the details.
const MAX_DETAILED: usize = 20;

impl Proposal {
    /// Chooses the instances whose details a plan of this extent has.
    fn choose_detailed(&mut self, extent: ProposalExtent) {
        let mut counts: HashMap<InstanceAction, usize> = HashMap::new();
        for (of, action) in self.instance_actions() {
            let count = counts.entry(action).or_default();
            *count += 1;
            if extent == ProposalExtent::Full || *count <= MAX_DETAILED {
                self.detailed.insert(of);
            }
        }
    }
}

impl Engine {
    /// Returns the plan as currently rendered.
    pub fn proposal(&self, extent: ProposalExtent) -> Proposal {
        let tasks = self.steps.tasks.iter();
        let tasks = tasks.map(|index| index.map(|index| self.propose_task(index)));
        let mut proposal = Proposal {
            goal: self.options.goal.clone(),
            plan: self.plan.clone(),
            topology: Arc::clone(&self.topology),
            targets: self.steps.targets.clone(),
            tasks: tasks.collect(),
            detailed: HashSet::new(),
            values: HashMap::new(),
            ensemble: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        proposal.choose_detailed(extent);
        self.add_details(&mut proposal);
        proposal
    }

    /// Adds differences, work and values of the chosen instances.
    fn add_details(&self, proposal: &mut Proposal) {
        for step in 0..proposal.tasks.len() {
            let owner = proposal.owner_of(step);
            let is_detailed = owner.is_some_and(|owner| proposal.detailed.contains(&owner));
            if let (true, Some(index)) = (is_detailed, self.steps.tasks[step])
                && let Some(task) = &mut proposal.tasks[step]
            {
                self.add_task_details(index, task);
            }
        }
        let actions = proposal.instance_actions();
        for (of, action) in &actions {
            if *action == InstanceAction::Create && proposal.detailed.contains(of) {
                let values = self.evaluation().proposed_properties(*of);
                proposal.values.insert(*of, values);
            }
        }
    }

    fn add_task_details(&self, index: TaskIndex, proposed: &mut ProposedTask) {
        let task = &self.ledger.tasks[index];
        let is_untried = matches!(&task.stage, TaskStage::Skipped(why) if why == NO_DRY_RUN);
        if task.change.is_change() && (is_untried || !task.is_skipped()) {
            proposed.comparison = self.evaluation().compare_with_record(task);
        }
        // A dry run renders no task that it cannot try. The plan shows the work of the task nevertheless.
        let untried = is_untried.then(|| self.evaluation().render(task).0.ok());
        let untried = untried.flatten();
        let rendered = match &task.stage {
            TaskStage::Rendered(rendered) => Some(&rendered.data),
            _ => untried.as_ref().map(|rendered| &rendered.data),
        };
        let inputs = WorkInputs {
            written: &task.inputs.raw,
            evaluated: &task.reads.resolved,
        };
        proposed.work = Some(task.spec.configurator.work(&inputs, rendered));
    }

    fn propose_task(&self, index: TaskIndex) -> ProposedTask {
        let task = &self.ledger.tasks[index];
        ProposedTask {
            target: task.spec.target,
            operation: task.spec.reference.operation.clone(),
            reason: task.spec.reason.clone(),
            reason_text: self.evaluation().reason_text(task),
            is_included: self.includes(index),
            readiness: match &task.stage {
                TaskStage::Deferred => Readiness::Deferred,
                TaskStage::Unrenderable(_) => Readiness::Unrenderable,
                // A dry run cannot try the task, but the job itself would run it.
                TaskStage::Skipped(why) if why == NO_DRY_RUN => Readiness::Ready,
                TaskStage::Skipped(why) | TaskStage::PassedOver(why) => {
                    Readiness::Skipped(why.clone())
                }
                _ => Readiness::Ready,
            },
            folders: task.folders.clone(),
            change: task.change.clone(),
            comparison: None,
            work: None,
            errors: task.errors.clone(),
        }
    }

    /// Returns the outputs that will have other values than `recorded`, those of the last job. Outputs that read
    /// attributes of instances with tasks are known only after the job.
    pub fn proposed_outputs(&self, proposal: &Proposal, recorded: &Map) -> Vec<ProposedValue> {
        let touched = proposal.instance_actions();
        let is_touched = |of: Handle| {
            let of = self.topology.instance_of(of);
            let action = of.and_then(|of| touched.get(&of));
            action.is_some_and(|action| *action != InstanceAction::Check)
        };
        let names = self.topology.template().outputs.keys();
        let outputs = names.filter_map(|name| {
            self.evaluation()
                .proposed_output(name, recorded.get(name), &is_touched)
        });
        outputs.collect()
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
            self.add_task_details(index, &mut proposed);
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
