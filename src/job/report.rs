//! The report of a finished job, as data. Records, summaries and exit codes are made from it.

use std::sync::Arc;

use super::check_run::CheckedInstance;
use super::engine::Engine;
use super::evaluation::{Evaluation, JobContext};
use super::event::Error;
use super::event::{JobEvent, JobHead};
use super::options::{JobOptions, Recording};
use super::proposal::{Proposal, ProposalExtent};
use super::render::NO_DRY_RUN;
use super::task::TaskIndex;
use super::task_record::TaskRecord;
use super::task_stage::TaskStage;
use crate::expr;
use crate::name::Status;
use crate::plan::{JobGoal, Plan};
use crate::topology::{SectionValues, Topology, status_section};
use crate::value::{Handle, Map, Value};

/// The type of node templates that install an artifact.
const INSTALLER_TYPE: &str = "unfurl.nodes.ArtifactInstaller";

/// A task that the report lists, with its record.
#[derive(Debug, Clone)]
pub struct ReportedTask {
    pub record: Arc<TaskRecord>,
    /// The effective status of the task's target at the end of the job.
    pub final_status: Status,
}

/// The state of a plan's step at the end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// The step was never started, or it sets a state.
    Open,
    /// The step was waiting for others.
    Deferred,
    /// The step was skipped because nothing changed.
    Skipped,
    /// The step would run, but does not support dry runs.
    Untried,
    /// The step was due but not needed.
    Passed,
    Succeeded,
    Failed,
}

/// A step of the plan at the end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedStep {
    pub target: Handle,
    /// The number of the step's task within the job, from 1. None if the step sets a state.
    pub task: Option<usize>,
    /// Whether the step is part of the job.
    pub is_included: bool,
    pub state: StepState,
}

/// The values of a topology at the end of a job.
#[derive(Debug, Clone, Default)]
pub struct ReportedValues {
    /// The outputs. An output that cannot be evaluated is null.
    pub outputs: Map,
    /// Whether any output could not be evaluated.
    pub outputs_failed: bool,
    /// The `status` section of the ensemble. None if the job is not recorded.
    pub status_section: Option<Value>,
    /// Node templates that tasks have added, by name.
    pub added_templates: Map,
}

/// The results of a finished job.
#[derive(Debug)]
pub struct Report {
    pub head: JobHead,
    pub goal: JobGoal,
    /// The job's status: the worst of its tasks.
    pub status: Status,
    /// The signal that ended the job early.
    pub interrupted: Option<i32>,
    /// The reason why the job was given up, if it was.
    pub aborted: Option<String>,
    /// The tasks in the order in which records and summaries list them.
    pub tasks: Vec<ReportedTask>,
    pub values: ReportedValues,
    /// The topology at the end of the job.
    pub topology: Arc<Topology>,
    /// The plan, including steps that were added while the job ran.
    pub plan: Plan,
    pub steps: Vec<ReportedStep>,
    /// Names of instances that the job changed or operated on without recording it. Empty if the job is
    /// recorded.
    pub unrecorded: Vec<String>,
}

impl Report {
    pub fn is_dry_run(&self) -> bool {
        self.goal.dry_run
    }

    /// Returns the records of the listed tasks.
    pub fn records(&self) -> impl Iterator<Item = &TaskRecord> {
        self.tasks.iter().map(|task| &*task.record)
    }
}

/// A finished job: its report, remaining events, and access for queries.
#[derive(Debug)]
pub struct FinishedJob {
    pub report: Report,
    /// The plan, if it was requested.
    pub proposal: Option<Proposal>,
    /// The events since the last call of [`Engine::take_events`].
    pub events: Vec<JobEvent>,
    /// The results of the checks of a job that only looks for drift. Empty for other jobs.
    pub checked: Vec<CheckedInstance>,
    pub queries: JobQueries,
}

/// The context of a finished job, kept to evaluate expressions on its report.
pub struct JobQueries {
    options: JobOptions,
    context: JobContext,
}

impl std::fmt::Debug for JobQueries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Questions").finish_non_exhaustive()
    }
}

impl JobQueries {
    /// Evaluates an expression in the topology at the end of a job, like [`Engine::query`].
    ///
    /// # Errors
    ///
    /// The expression cannot be evaluated.
    pub fn query(
        &self,
        report: &Report,
        expression: &str,
        depth: u8,
    ) -> Result<(Value, Vec<(String, Value)>), expr::Error> {
        let evaluation = Evaluation {
            topology: &report.topology,
            plan: &report.plan,
            options: &self.options,
            context: &self.context,
            saved_plans: None,
        };
        evaluation.query(expression, depth)
    }
}

impl Engine {
    /// Ends the job: evaluates the outputs and completes the records.
    ///
    /// A given extent adds the proposal to the result.
    ///
    /// # Errors
    ///
    /// No change id can be made from the start time of the job.
    pub fn into_finished(mut self, plan: Option<ProposalExtent>) -> Result<FinishedJob, Error> {
        self.complete_records();
        let values = self.values_at_end();
        let events = self.take_events();
        let tasks = self.reported_tasks();
        let steps = self.reported_steps();
        let unrecorded = match self.recording {
            Recording::Disabled => self.changed_instances(),
            Recording::AtEnd | Recording::Journal => Vec::new(),
        };
        let checked = self.checked_instances();
        let head = self.head()?;
        let status = self.status();
        let proposal = plan.map(|extent| self.proposal(extent));
        let Self {
            options,
            topology,
            plan,
            context,
            mut ledger,
            steps: table,
            scheduler,
            execution,
            ..
        } = self;
        let report = Report {
            head,
            goal: options.goal.clone(),
            status,
            interrupted: ledger.interrupted,
            aborted: ledger.aborted.take(),
            tasks,
            values,
            topology,
            plan,
            steps,
            unrecorded,
        };
        // A process runs only one job, so freeing these is left to the exit of the process, which is
        // faster.
        std::mem::forget((ledger, table, scheduler, execution));
        Ok(FinishedJob {
            report,
            proposal,
            events,
            checked,
            queries: JobQueries { options, context },
        })
    }

    /// Returns the head of the job's record.
    pub(super) fn head(&self) -> Result<JobHead, Error> {
        Ok(JobHead {
            id: self.id()?,
            start: self.options.start,
            workflow: self.options.goal.workflow.to_string(),
            facts: self.facts.clone(),
        })
    }

    /// Returns the evaluated inputs of the topology, without those that cannot be evaluated.
    pub fn inputs(&self) -> Map {
        self.evaluation().inputs()
    }

    /// Returns the current `status` section of the ensemble.
    pub fn status_section(&mut self) -> Value {
        let (outputs, _) = self.outputs();
        self.evaluate_section(outputs)
    }

    fn evaluate_section(&self, outputs: Map) -> Value {
        let evaluation = self.evaluation();
        let nested = |root| {
            let (inputs, outputs) = evaluation.nested_values(root);
            let of_inputs = self.topology.inputs_of(root);
            let of_outputs = self.topology.outputs_of(root);
            let inputs = evaluation.mark_locals(of_inputs, inputs);
            (inputs, evaluation.mark_locals(of_outputs, outputs))
        };
        let values = SectionValues {
            inputs: evaluation.mark_locals(self.topology.inputs(), evaluation.inputs()),
            outputs: evaluation.mark_locals(self.topology.outputs(), outputs),
            nested: &nested,
        };
        status_section(&self.topology, values)
    }

    /// Returns the templates of instances that install an artifact, which the model does not have itself.
    fn installer_templates(&self) -> impl Iterator<Item = (Arc<str>, Value)> {
        let service = self.topology.service();
        let nodes = self.topology.nodes().into_iter();
        let templates = nodes.filter_map(|handle| {
            let template = &self.topology.entity(handle).node()?.template;
            let is_installer = template.node_type.info.is_derived_from(INSTALLER_TYPE);
            is_installer.then(|| template.name.clone())
        });
        templates.filter_map(|name| {
            let written = service.added_template(&name)?;
            Some((name.shared(), written.redacted()))
        })
    }

    fn values_at_end(&mut self) -> ReportedValues {
        let (outputs, outputs_failed) = self.outputs();
        let is_recorded = self.recording != Recording::Disabled;
        let discovered = self.ledger.added_templates.iter();
        let discovered = discovered.map(|(name, template)| (Arc::clone(name), template.redacted()));
        ReportedValues {
            status_section: is_recorded.then(|| self.evaluate_section(outputs.clone())),
            outputs,
            outputs_failed,
            added_templates: self.installer_templates().chain(discovered).collect(),
        }
    }

    fn changed_instances(&self) -> Vec<String> {
        let mut changed = indexmap::IndexSet::new();
        for task in self.ledger.listed() {
            let outcome = task.finished().map(|finished| &finished.outcome);
            let own = outcome.is_some_and(|it| it.status.is_some() || it.modified == Some(true));
            let is_standard = task.spec.reference.interface.as_str() == "Standard";
            let own = (own || is_standard && !task.is_blocked()).then_some(task.spec.target);
            let others = task.changes.iter();
            let others = others.filter(|(_, changes)| !changes.is_empty());
            changed.extend(own.into_iter().chain(others.map(|(of, _)| *of)));
        }
        let name = |of: &Handle| format!("`{}`", self.topology.entity(*of).name);
        changed.iter().map(name).collect()
    }

    fn reported_steps(&self) -> Vec<ReportedStep> {
        let steps = self.steps.targets.iter().zip(&self.steps.tasks);
        let reported = steps.map(|(target, index)| ReportedStep {
            target: *target,
            task: index.map(|index| index + 1),
            is_included: index.is_none_or(|index| self.includes(index)),
            state: index.map_or(StepState::Open, |index| self.step_state(index)),
        });
        reported.collect()
    }

    fn step_state(&self, index: TaskIndex) -> StepState {
        match &self.ledger.tasks[index].stage {
            TaskStage::Deferred => StepState::Deferred,
            TaskStage::Skipped(why) if why == NO_DRY_RUN => StepState::Untried,
            TaskStage::Skipped(_) => StepState::Skipped,
            TaskStage::PassedOver(_) => StepState::Passed,
            TaskStage::Finished(finished) if finished.outcome.success => StepState::Succeeded,
            TaskStage::Finished(_) => StepState::Failed,
            _ => StepState::Open,
        }
    }

    fn reported_tasks(&self) -> Vec<ReportedTask> {
        let listed = self.ledger.listed_order.iter();
        let reported = listed.filter_map(|index| {
            let target = self.ledger.tasks[*index].spec.target;
            Some(ReportedTask {
                record: Arc::clone(self.ledger.record(*index)?),
                final_status: self.topology.effective(target),
            })
        });
        reported.collect()
    }
}
