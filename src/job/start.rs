//! Starting and continuing tasks: takes a due step through rendering, its checks, its run and its end.

use std::sync::Arc;

use super::engine::Engine;
use super::evaluation::Evaluation;
use super::event::Error;
use super::event::{JobEvent, LogLevel};
use super::ports::TaskFolders;
use super::render::NO_CHANGE;
use super::schedule::{Admission, AwaitedAttribute, Steps as _};
use super::start_check::StartDecision;
use super::task::{TargetState, Task, TaskIndex};
use super::task_stage::{EntrySnapshot, RunningTask, TaskStage};
use crate::expr::{Reads, Scope as _, matches_schema};
use crate::host::{ActionResult, Exit};
use crate::name::{NodeState, Priority, Status};
use crate::plan::{StepActivity, StepId, WorkflowKind};
use crate::task::{EffectResult, EffectRole, RenderedTask, RunStep, TaskEffect, TaskOutcome};
use crate::topology::Creator;
use crate::value::{Handle, Map, Value};

/// The request of a step after it was started or continued.
#[derive(Debug)]
pub(super) enum NextEffect {
    /// No effect: the step ended, was skipped or was requeued.
    None,
    /// An effect to perform for a task.
    Perform(TaskIndex, Box<TaskEffect>),
}

/// Whether an action was cut off after it began: it was cancelled, or the connection was lost. An action
/// that never began has no elapsed time.
fn is_interrupted(result: &ActionResult) -> bool {
    let connection_lost = matches!(result.exit(), Exit::Failed(_)) && !result.elapsed().is_zero();
    *result.exit() == Exit::Cancelled || connection_lost
}

/// Returns the outcome of a task for which a file could not be written.
fn failed_write(problem: String) -> TaskOutcome {
    TaskOutcome {
        status: Some(Status::Error),
        errors: vec![problem],
        ..TaskOutcome::default()
    }
}

impl Engine {
    /// Starts a step and runs it until it needs an effect or ends.
    pub(super) fn start_step(
        &mut self,
        step: StepId,
        folders: &mut dyn TaskFolders,
    ) -> Result<NextEffect, Error> {
        let (scheduler, steps) = self.schedule();
        let admission = scheduler.admission(step, &steps);
        let Some(index) = self.steps.tasks[step] else {
            self.set_state_if_admitted(step, admission);
            return Ok(NextEffect::None);
        };
        match admission {
            Admission::Runs => {}
            Admission::Blocked => {
                return self.finish_blocked_step(step, index, "the step before it failed");
            }
            Admission::NotNeeded => {
                let why = "no step has failed".to_owned();
                self.ledger.tasks[index].stage = TaskStage::PassedOver(why);
                self.finish_step(step);
                return Ok(NextEffect::None);
            }
        }
        let is_planned = matches!(self.ledger.tasks[index].stage, TaskStage::Planned);
        if is_planned && self.job_steps().is_conditional(step) {
            // A conditional step that is needed runs whether its inputs changed or not.
            drop(self.prepare_step(step));
            if self.ledger.tasks[index].is_skipped() {
                return Ok(NextEffect::None);
            }
        }
        if let Some(failed) = self.failed_before(step) {
            return self.end_after(failed, step, index);
        }
        if let Some(why) = self.kept_reason(step) {
            return self.finish_never_run(step, index, &why);
        }
        if self.is_still_unchanged(step, index) {
            self.ledger.tasks[index].stage = TaskStage::Skipped(NO_CHANGE.to_owned());
            self.finish_step(step);
            return Ok(NextEffect::None);
        }
        self.render_and_enter(step, index, folders)
    }

    /// Renders a task if necessary, and starts it if it may run.
    fn render_and_enter(
        &mut self,
        step: StepId,
        index: TaskIndex,
        folders: &mut dyn TaskFolders,
    ) -> Result<NextEffect, Error> {
        if matches!(
            self.ledger.tasks[index].stage,
            TaskStage::Planned | TaskStage::Deferred
        ) {
            if self.is_still_waiting(step, index) {
                let (scheduler, steps) = self.schedule();
                scheduler.requeue_last(step, &steps);
                return Ok(NextEffect::None);
            }
            if let Some(missing) = self.unfulfilled(step) {
                return self.finish_never_run(step, index, &missing);
            }
            if self.render_task(step, index, folders) {
                self.scheduler.requeue(step);
                return Ok(NextEffect::None);
            }
        }
        if matches!(self.ledger.tasks[index].stage, TaskStage::Unrenderable(_)) {
            let message = self.ledger.tasks[index].errors.join("; ");
            self.finish(index, TaskOutcome::refused(message))?;
            return Ok(self.close_step(step, index));
        }
        match self.decide_start(index) {
            StartDecision::Pass(why) => Ok(self.pass_over(step, index, why)),
            StartDecision::Start => self.enter_task(index),
        }
    }

    /// Ends a task that follows a failed one in its group.
    fn end_after(
        &mut self,
        failed: TaskIndex,
        step: StepId,
        index: TaskIndex,
    ) -> Result<NextEffect, Error> {
        if self.ledger.tasks[failed].was_entered()
            && let Some(reads) = self.reads_if_renderable(step, index)
        {
            self.commit_reads(index, &reads);
            return self.finish_blocked_step(step, index, "previous operation failed");
        }
        let why = "previous operation failed or could not run";
        self.finish_never_run(step, index, why)
    }

    fn set_state_if_admitted(&mut self, step: StepId, admission: Admission) {
        if let (Admission::Runs, StepActivity::SetState(word)) =
            (admission, self.plan.steps[step].activity.clone())
        {
            self.set_state_of(step, &word);
        }
        self.finish_step(step);
    }

    fn pass_over(&mut self, step: StepId, index: TaskIndex, why: String) -> NextEffect {
        let text = format!("Skipping {}: {why}", self.label(index));
        self.log(LogLevel::Info, text);
        self.ledger.tasks[index].stage = TaskStage::PassedOver(why);
        if let Some(previous) = self.reassign_final(step)
            && self.ledger.tasks[previous].finished().is_some()
        {
            self.finish_workflow(previous);
            self.emit_amended(previous);
        }
        self.finish_step(step);
        NextEffect::None
    }

    pub(super) fn enter_task(&mut self, index: TaskIndex) -> Result<NextEffect, Error> {
        let spec = &self.ledger.tasks[index].spec;
        let (target, start) = (spec.target, spec.start_state);
        if start.is_some() {
            self.topology_mut().set_state(target, start);
        }
        let entity = self.topology.entity(target);
        let entry = EntrySnapshot {
            started_at: self.context.local_context.now(),
            state: entity.state,
            status: entity.local,
        };
        let task = &mut self.ledger.tasks[index];
        let rendered = match std::mem::replace(&mut task.stage, TaskStage::Planned) {
            TaskStage::Rendered(rendered) => rendered,
            _ => RenderedTask::default(),
        };
        task.stage = TaskStage::Entered(entry, rendered);
        self.ledger.list(index);
        if let Some(reason) = self.blocking_reason(index) {
            return self.refuse(index, &reason, true);
        }
        let doubt = self.doubt_reason(index);
        if let Some(reason) = doubt.or_else(|| self.unmet_precondition(index)) {
            return self.refuse(index, &reason, false);
        }
        if let Err(reason) = self.perform_writes(index) {
            return self.refuse(index, &reason, false);
        }
        if let Some(reason) = self.declined_by_configurator(index) {
            return self.refuse(index, &reason, false);
        }
        let adopted = self.adopted_run(index);
        let task = &mut self.ledger.tasks[index];
        task.target_state = TargetState {
            status: entry.status,
            state: entry.state,
        };
        let rendered = match std::mem::replace(&mut task.stage, TaskStage::Planned) {
            TaskStage::Entered(_, rendered) => rendered,
            _ => RenderedTask::default(),
        };
        task.stage = TaskStage::Running(Box::new(RunningTask {
            entry,
            run: Some(adopted.unwrap_or_else(|| task.spec.configurator.begin(rendered))),
            role: EffectRole::default(),
            interrupted: false,
            is_announced: false,
        }));
        self.proceed(index, None)
    }

    /// Returns the reason why the target does not meet the operation's preconditions.
    ///
    /// If they are met, the values read count as read by the task.
    fn unmet_precondition(&mut self, index: TaskIndex) -> Option<String> {
        match self
            .evaluation()
            .check_preconditions(&self.ledger.tasks[index])?
        {
            PreconditionCheck::Met(reads) => {
                self.commit_reads(index, &reads);
                None
            }
            PreconditionCheck::Unmet(why) => Some(why),
        }
    }

    fn refuse(
        &mut self,
        index: TaskIndex,
        reason: &str,
        is_blocked: bool,
    ) -> Result<NextEffect, Error> {
        let message = format!("could not run: {reason}");
        let text = format!("{}: {message}", self.label(index));
        self.log(LogLevel::Verbose, text);
        let outcome = TaskOutcome::refused(message);
        if is_blocked {
            self.finish_blocked(index, outcome)?;
        } else {
            self.finish(index, outcome)?;
        }
        self.complete_task(index)
    }

    /// Continues a run until it requests an effect or ends.
    pub(super) fn proceed(
        &mut self,
        index: TaskIndex,
        last: Option<EffectResult>,
    ) -> Result<NextEffect, Error> {
        let TaskStage::Running(running) = &mut self.ledger.tasks[index].stage else {
            return Ok(NextEffect::None);
        };
        let Some(mut run) = running.run.take() else {
            return Ok(NextEffect::None);
        };
        if let Some(EffectResult::Action(result)) = &last
            && running.role == EffectRole::Primary
        {
            running.interrupted = is_interrupted(result);
        }
        let task = &self.ledger.tasks[index];
        let ((progress, failure), reads) = self.evaluation().with_view(task, true, |view| {
            (run.step(view, last), view.take_failure())
        });
        self.commit_reads(index, &reads);
        let progress = match self.perform_writes(index) {
            Ok(()) => progress,
            Err(problem) => RunStep::Done(Box::new(failed_write(problem))),
        };
        match progress {
            RunStep::Perform(mut effect) => {
                self.store_run(index, run);
                self.emit_started(index);
                self.mark_effect(index, &mut effect);
                Ok(NextEffect::Perform(index, effect))
            }
            RunStep::Subtask(subtask) => {
                self.store_run(index, run);
                // Subtasks count as actions of the task that requests them.
                self.emit_started(index);
                self.start_subtask(index, &subtask)
            }
            RunStep::Done(outcome) => {
                let failure = failure.filter(|failure| {
                    let error = failure.to_string();
                    outcome.errors.iter().any(|text| text.contains(&error))
                });
                if let Some(failure) = failure {
                    self.report_problem(index, &failure);
                }
                self.finish(index, *outcome)?;
                self.complete_task(index)
            }
        }
    }

    /// Stores a run again after it has taken a step.
    fn store_run(&mut self, index: TaskIndex, run: Box<dyn crate::task::OperationRun>) {
        if let TaskStage::Running(running) = &mut self.ledger.tasks[index].stage {
            running.run = Some(run);
        }
    }

    /// Emits the event that a task starts to act, once.
    fn emit_started(&mut self, index: TaskIndex) {
        let task = &mut self.ledger.tasks[index];
        let TaskStage::Running(running) = &mut task.stage else {
            return;
        };
        if std::mem::replace(&mut running.is_announced, true) {
            return;
        }
        let record = Arc::new(self.record_of(index));
        self.ledger.push(JobEvent::TaskStarted(record));
    }

    /// Handles the end of a task that was entered.
    pub(super) fn complete_task(&mut self, index: TaskIndex) -> Result<NextEffect, Error> {
        self.advance_state(index);
        let task = &self.ledger.tasks[index];
        if let Some(parent) = task.spec.parent {
            let outcome = task.finished().map(|finished| finished.outcome.clone());
            self.emit_finished(index);
            return self.proceed(parent, Some(EffectResult::Subtask(outcome)));
        }
        match task.spec.step {
            Some(step) => Ok(self.close_step(step, index)),
            None => Ok(NextEffect::None),
        }
    }

    fn close_step(&mut self, step: StepId, index: TaskIndex) -> NextEffect {
        self.ledger.list(index);
        let task = &self.ledger.tasks[index];
        let (is_critical, is_final) =
            (task.spec.priority == Priority::Critical, task.spec.is_final);
        let outcome = task.finished().map(|finished| &finished.outcome);
        let failed = task.has_failed()
            || outcome.is_some_and(|outcome| outcome.status == Some(Status::Error));
        if is_critical && failed {
            let label = self.label(index);
            self.ledger.aborted = Some(format!("Critical task failed: {label}"));
        }
        if is_final && self.completes_workflow(step, index) {
            self.finish_workflow(index);
        }
        if failed {
            self.mark_partial_unit(index);
        }
        self.emit_finished(index);
        self.finish_step(step);
        NextEffect::None
    }

    /// Whether a final step completes the workflow on its target.
    ///
    /// Operations of a relationship belong to the groups of both ends. The last one to end completes it.
    fn completes_workflow(&mut self, step: StepId, index: TaskIndex) -> bool {
        let task = &self.ledger.tasks[index];
        let target = task.spec.target;
        if !self.topology.entity(target).is_relationship() {
            return true;
        }
        if task.has_failed() {
            self.broken_relationships.insert(target);
        }
        let is_last = self.scheduler.is_last_final(step, &self.job_steps());
        is_last && !self.broken_relationships.contains(&target)
    }

    /// Ends a task that cannot run because an earlier task of its group has failed.
    fn finish_blocked_step(
        &mut self,
        step: StepId,
        index: TaskIndex,
        why: &str,
    ) -> Result<NextEffect, Error> {
        let outcome = TaskOutcome {
            status: Some(Status::Error),
            ..TaskOutcome::refused(why)
        };
        self.finish_blocked(index, outcome)?;
        Ok(self.close_step(step, index))
    }

    fn finish_never_run(
        &mut self,
        step: StepId,
        index: TaskIndex,
        why: &str,
    ) -> Result<NextEffect, Error> {
        let message = format!("Never ran: {why}");
        let text = format!("{}: {message}", self.label(index));
        self.log(LogLevel::Verbose, text);
        self.finish_blocked(index, TaskOutcome::refused(message))?;
        Ok(self.close_step(step, index))
    }

    /// Records the tasks that a job did not start because it was given up.
    pub fn finish_unstarted(&mut self) -> Result<(), Error> {
        let Some(why) = self.ledger.aborted.clone() else {
            return Ok(());
        };
        for step in 0..self.plan.steps.len() {
            let is_done = self.scheduler.is_done(step);
            let Some(index) = self.steps.tasks[step].filter(|_| !is_done) else {
                continue;
            };
            let stage = &self.ledger.tasks[index].stage;
            let open = !matches!(stage, TaskStage::Skipped(_) | TaskStage::Finished(_));
            if open && self.includes(index) {
                self.finish_never_run(step, index, &why)?;
            }
        }
        Ok(())
    }

    /// Ends a step that waits for itself through other steps, when none can continue.
    pub(super) fn finish_stalled(&mut self, step: StepId) -> Result<(), Error> {
        if let Some(index) = self.steps.tasks[step] {
            self.finish_never_run(step, index, "it waits for tasks that in turn wait for it")?;
        } else {
            self.finish_step(step);
        }
        Ok(())
    }

    /// Returns the first failed task in the group of a step.
    fn failed_before(&self, step: StepId) -> Option<TaskIndex> {
        let steps = self.job_steps();
        let siblings = steps.steps_of(steps.group(step)?).into_iter();
        let mut tasks = siblings.filter_map(|other| self.steps.tasks[other]);
        tasks.find(|task| self.ledger.tasks[*task].has_failed())
    }

    /// Whether none of a deferred step's awaited attributes has changed. The step then runs after all
    /// others, with the current values.
    fn is_still_waiting(&self, step: StepId, index: TaskIndex) -> bool {
        let deferred = matches!(self.ledger.tasks[index].stage, TaskStage::Deferred);
        let awaited = self.scheduler.awaited(step).unwrap_or_default();
        let may_wait = deferred && !awaited.is_empty() && self.scheduler.may_wait(step);
        may_wait
            && awaited
                .iter()
                .all(|one| self.current_attribute(one) == one.value)
    }

    fn current_attribute(&self, awaited: &AwaitedAttribute) -> Value {
        let value = self
            .evaluation()
            .evaluator()
            .attribute(awaited.of, &awaited.name);
        value.ok().flatten().unwrap_or_default()
    }

    /// Returns a message with the awaited attributes of a deferred step that working instances have not
    /// set.
    fn unfulfilled(&self, step: StepId) -> Option<String> {
        if self.options.goal.workflow != WorkflowKind::Deploy {
            return None;
        }
        let awaited = self.scheduler.awaited(step)?;
        // A released step's attributes may still be set by steps that wait for it.
        let released = self.scheduler.is_released(step) || self.waited_for_unrun(step);
        let open = awaited.iter().filter(|awaited| {
            !self.is_working(awaited.of)
                && (released || self.current_attribute(awaited) == awaited.value)
        });
        let evaluation = self.evaluation();
        let keys: Vec<_> = open
            .filter_map(|awaited| evaluation.attribute_key(awaited.of, &awaited.name))
            .collect();
        (!keys.is_empty()).then(|| format!("non-operational dependencies: {}", keys.join(", ")))
    }

    fn set_state_of(&mut self, step: StepId, word: &str) {
        let target = self.steps.targets[step];
        if word.contains("managed") {
            let created = if word == "unmanaged" {
                Some(Creator::Unmanaged)
            } else {
                self.id().ok().map(Creator::Task)
            };
            self.topology_mut().set_created(target, created);
        } else if let Some(state) = NodeState::parse(word) {
            self.topology_mut().set_state(target, Some(state));
        } else if let Some(status) = Status::parse(word) {
            self.topology_mut().set_local(target, Some(status));
        } else {
            self.log(
                LogLevel::Error,
                format!("`{word}` is neither a node state nor a status"),
            );
        }
    }
}

/// The result of checking an operation's preconditions.
pub(super) enum PreconditionCheck {
    /// The preconditions are met; checking them read these values.
    Met(Reads),
    /// The preconditions are not met, for this reason.
    Unmet(String),
}

impl Evaluation<'_> {
    /// Compares a target with the `preConditions` of a task's operation. None if there are none.
    pub(super) fn check_preconditions(&self, task: &Task) -> Option<PreconditionCheck> {
        let implementation = task.spec.operation.implementation.as_ref()?;
        let schema = implementation.pre_conditions.as_ref()?;
        let target = task.spec.target;
        let evaluator = self.evaluator_for(task);
        let attributes = match self.attributes_of(&evaluator, target) {
            Ok(attributes) => attributes,
            Err(error) => {
                let why = format!("its preConditions cannot be evaluated: {error}");
                return Some(PreconditionCheck::Unmet(why));
            }
        };
        Some(match matches_schema(&attributes, schema) {
            Ok(true) => PreconditionCheck::Met(evaluator.take_reads()),
            Ok(false) => {
                let of = &self.topology.entity(target).name;
                PreconditionCheck::Unmet(format!("`{of}` does not meet the preConditions {schema}"))
            }
            Err(why) => PreconditionCheck::Unmet(format!("invalid preConditions: {why}")),
        })
    }

    /// Returns all evaluated attributes and properties of an entity.
    fn attributes_of(
        &self,
        evaluator: &crate::expr::Evaluator,
        of: Handle,
    ) -> Result<Value, crate::expr::Error> {
        let mut attributes = Map::new();
        for name in self.topology.attribute_names(of) {
            if let Some(value) = evaluator.attribute(of, &name)? {
                attributes.insert(name, value);
            }
        }
        Ok(Value::from(attributes))
    }
}
