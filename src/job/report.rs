//! The report of a job: all that it has come to, as data. Records, summaries and exit codes are made
//! of it.

use std::sync::Arc;

use super::engine::Engine;
use super::evaluation::{Evaluation, JobContext};
use super::event::Error;
use super::event::{JobEvent, JobHead};
use super::options::{JobOptions, Recording};
use super::proposal::Proposal;
use super::task::TaskIndex;
use super::task_record::TaskRecord;
use super::task_stage::TaskStage;
use crate::expr;
use crate::name::Status;
use crate::plan::{JobGoal, Plan};
use crate::topology::{SectionValues, Topology, status_section};
use crate::value::{Handle, Map, Value};

/// A task that a report lists.
#[derive(Debug, Clone)]
pub struct ReportedTask {
    /// Its record.
    pub record: Arc<TaskRecord>,
    /// The status of its target at the end of the job, together with what that depends on.
    pub final_status: Status,
}

/// How far a step of the plan has come at the end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// Its turn never came, or it sets a state.
    Open,
    /// It waited for others.
    Deferred,
    /// It was left out: nothing changed, or it takes no part in a dry run.
    Skipped,
    /// It was passed over when its turn came.
    Passed,
    /// Its task has succeeded.
    Succeeded,
    /// Its task has failed.
    Failed,
}

/// A step of the plan at the end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedStep {
    /// The entity that it is applied to.
    pub target: Handle,
    /// The number of its task within the job, from 1; none if it sets a state.
    pub task: Option<usize>,
    /// Whether it is part of the job.
    pub is_included: bool,
    /// How far it has come.
    pub state: StepState,
}

/// The values of a topology at the end of a job.
#[derive(Debug, Clone, Default)]
pub struct ReportedValues {
    /// The outputs; one that cannot be evaluated is null.
    pub outputs: Map,
    /// Whether an output could not be evaluated.
    pub outputs_failed: bool,
    /// The `status` section of the ensemble; none where the job is not recorded.
    pub status_section: Option<Value>,
    /// The node templates that tasks have added, by name.
    pub discovered: Map,
}

/// All that a job has come to.
#[derive(Debug)]
pub struct Report {
    /// The head of its record.
    pub head: JobHead,
    /// What it was to reach.
    pub goal: JobGoal,
    /// Its status: the worst of its tasks.
    pub status: Status,
    /// The signal that ended it early.
    pub interrupted: Option<i32>,
    /// Why it was given up, if it was.
    pub aborted: Option<String>,
    /// Its tasks, in the order in which records and summaries list them.
    pub tasks: Vec<ReportedTask>,
    /// The values of the topology.
    pub values: ReportedValues,
    /// What exists.
    pub topology: Arc<Topology>,
    /// The plan, with what came to it while the job ran.
    pub plan: Plan,
    /// The steps of the plan.
    pub steps: Vec<ReportedStep>,
    /// The instances of which tasks changed more than their own record, or on which an operation of
    /// the life cycle ran, in words; empty where the job is recorded.
    pub unrecorded: Vec<String>,
}

impl Report {
    /// Whether it is only a rehearsal.
    pub fn is_dry_run(&self) -> bool {
        self.goal.dry_run
    }

    /// The records of its tasks.
    pub fn records(&self) -> impl Iterator<Item = &TaskRecord> {
        self.tasks.iter().map(|task| &*task.record)
    }
}

/// A job that has ended.
#[derive(Debug)]
pub struct FinishedJob {
    /// The report.
    pub report: Report,
    /// The plan, if it was asked for.
    pub proposal: Option<Proposal>,
    /// The events since the last call of [`Engine::take_events`].
    pub events: Vec<JobEvent>,
    /// Answers questions about the job.
    pub queries: JobQueries,
}

/// Answers questions about a job that has ended.
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
    /// The value of an expression in the topology at the end of a job, as [`Engine::query`] gives it.
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
        };
        evaluation.query(expression, depth)
    }
}

impl Engine {
    /// Ends the job: evaluates the outputs and completes the records. The plan is given with
    /// `with_plan`.
    ///
    /// # Errors
    ///
    /// The start of the job is no time that an id can be made of.
    pub fn into_finished(mut self, with_plan: bool) -> Result<FinishedJob, Error> {
        self.complete_records();
        let values = self.values_at_end();
        let events = self.take_events();
        let tasks = self.reported_tasks();
        let steps = self.reported_steps();
        let unrecorded = match self.recording {
            Recording::Disabled => self.changed_instances(),
            Recording::AtEnd | Recording::Journal => Vec::new(),
        };
        let head = self.head()?;
        let status = self.status();
        let proposal = with_plan.then(|| self.proposal());
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
        // A process runs one job: these are left to its end, which frees them at once.
        std::mem::forget((ledger, table, scheduler, execution));
        Ok(FinishedJob {
            report,
            proposal,
            events,
            queries: JobQueries { options, context },
        })
    }

    /// The head of the job's record.
    pub(super) fn head(&self) -> Result<JobHead, Error> {
        Ok(JobHead {
            id: self.id()?,
            start: self.options.start,
            workflow: self.options.goal.workflow.to_string(),
            facts: self.facts.clone(),
        })
    }

    /// The `status` section of the ensemble as it is now.
    pub fn status_section(&mut self) -> Value {
        let (outputs, _) = self.outputs();
        self.evaluate_section(outputs)
    }

    fn evaluate_section(&self, outputs: Map) -> Value {
        let evaluation = self.evaluation();
        let values = SectionValues {
            inputs: evaluation.inputs(),
            outputs,
            nested: &|root| evaluation.nested_values(root),
        };
        status_section(&self.topology, values)
    }

    fn values_at_end(&mut self) -> ReportedValues {
        let (outputs, outputs_failed) = self.outputs();
        let is_recorded = self.recording != Recording::Disabled;
        let discovered = self.ledger.discovered.iter();
        ReportedValues {
            status_section: is_recorded.then(|| self.evaluate_section(outputs.clone())),
            outputs,
            outputs_failed,
            discovered: discovered
                .map(|(name, template)| (Arc::clone(name), template.redacted()))
                .collect(),
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
