//! Starts a step when its turn comes, and takes it to its end.

use std::sync::Arc;

use super::engine::Engine;
use super::evaluation::Evaluation;
use super::event::Error;
use super::event::{Event, Level};
use super::gate::Gate;
use super::render::NO_CHANGE;
use super::schedule::{Admission, Awaited, Steps as _};
use super::stage::{Entry, Running, Stage};
use super::task::{TargetState, Task, TaskIndex};
use super::world::Folders;
use crate::expr::{Reads, Scope as _, admits};
use crate::host::{ActionResult, Exit};
use crate::name::{NodeState, Priority, Status};
use crate::plan::{Activity, StepId, Workflow};
use crate::task::{Effect, EffectResult, Outcome, Part, Progress, Rendered};
use crate::topology::Created;
use crate::value::{Handle, Map, Value};

/// What a step asks for after it was started or continued.
#[derive(Debug)]
pub(super) enum Next {
    /// Nothing: it has ended, was passed over or put back.
    Nothing,
    /// An effect of a task.
    Effect(TaskIndex, Box<Effect>),
}

/// Whether nobody has seen how an action ended that had begun: it was cancelled, or the connection
/// to its machine was lost. One that never began took no time.
fn was_cut_off(result: &ActionResult) -> bool {
    let lost = matches!(result.exit(), Exit::Failed(_)) && !result.elapsed().is_zero();
    *result.exit() == Exit::Cancelled || lost
}

impl Engine {
    /// Takes a step from the queue as far as it goes without the world.
    pub(super) fn start_step(
        &mut self,
        step: StepId,
        folders: &mut dyn Folders,
    ) -> Result<Next, Error> {
        let (scheduler, steps) = self.schedule();
        let admission = scheduler.admission(step, &steps);
        let Some(index) = self.steps.tasks[step] else {
            self.set_state_where_admitted(step, admission);
            return Ok(Next::Nothing);
        };
        match admission {
            Admission::Runs => {}
            Admission::Blocked => return self.block(step, index, "the step before it failed"),
            Admission::Dropped => {
                let why = "no step has failed".to_owned();
                self.ledger.tasks[index].stage = Stage::Passed(why);
                self.finish_step(step);
                return Ok(Next::Nothing);
            }
        }
        let is_planned = matches!(self.ledger.tasks[index].stage, Stage::Planned);
        if is_planned && self.job_steps().is_conditional(step) {
            // A step that is needed now runs, changed or not.
            drop(self.prepare(step));
            if self.ledger.tasks[index].is_skipped() {
                return Ok(Next::Nothing);
            }
        }
        if let Some(failed) = self.failed_before(step) {
            return self.end_after(failed, step, index);
        }
        if self.compare_again(step, index) {
            self.ledger.tasks[index].stage = Stage::Skipped(NO_CHANGE.to_owned());
            self.finish_step(step);
            return Ok(Next::Nothing);
        }
        self.render_and_enter(step, index, folders)
    }

    /// Renders a task unless it is rendered, and lets it in if it may run.
    fn render_and_enter(
        &mut self,
        step: StepId,
        index: TaskIndex,
        folders: &mut dyn Folders,
    ) -> Result<Next, Error> {
        if matches!(
            self.ledger.tasks[index].stage,
            Stage::Planned | Stage::Deferred
        ) {
            if self.must_wait_longer(step, index) {
                let (scheduler, steps) = self.schedule();
                scheduler.put_back_last(step, &steps);
                return Ok(Next::Nothing);
            }
            if let Some(missing) = self.unfulfilled(step) {
                return self.never_ran(step, index, &missing);
            }
            if self.render_task(step, index, folders) {
                self.scheduler.put_back(step);
                return Ok(Next::Nothing);
            }
        }
        if matches!(self.ledger.tasks[index].stage, Stage::Unrenderable) {
            let message = self.ledger.tasks[index].errors.join("; ");
            self.finish(index, Outcome::refused(message))?;
            return Ok(self.close(step, index));
        }
        match self.entry_gate(index) {
            Gate::Pass(why) => Ok(self.pass(step, index, why)),
            Gate::Open => self.enter(index),
        }
    }

    /// Ends a task that comes after a failed one of its group.
    fn end_after(
        &mut self,
        failed: TaskIndex,
        step: StepId,
        index: TaskIndex,
    ) -> Result<Next, Error> {
        if self.ledger.tasks[failed].was_entered()
            && let Some(reads) = self.reads_if_renderable(step, index)
        {
            self.commit_reads(index, &reads);
            return self.block(step, index, "previous operation failed");
        }
        let why = "previous operation failed or could not run";
        self.never_ran(step, index, why)
    }

    fn set_state_where_admitted(&mut self, step: StepId, admission: Admission) {
        if let (Admission::Runs, Activity::SetState(word)) =
            (admission, self.plan.steps[step].activity.clone())
        {
            self.set_state_of(step, &word);
        }
        self.finish_step(step);
    }

    fn pass(&mut self, step: StepId, index: TaskIndex, why: String) -> Next {
        let text = format!("Skipping {}: {why}", self.label(index));
        self.say(Level::Info, text);
        self.ledger.tasks[index].stage = Stage::Passed(why);
        if let Some(previous) = self.reassign_final(step)
            && self.ledger.tasks[previous].finished().is_some()
        {
            self.finish_workflow(previous);
            self.tell_amended(previous);
        }
        self.finish_step(step);
        Next::Nothing
    }

    pub(super) fn enter(&mut self, index: TaskIndex) -> Result<Next, Error> {
        let spec = &self.ledger.tasks[index].spec;
        let (target, start) = (spec.target, spec.start_state);
        if start.is_some() {
            self.topology_mut().set_state(target, start);
        }
        let entity = self.topology.entity(target);
        let entry = Entry {
            started: self.surroundings.world.now(),
            state: entity.state,
            status: entity.local,
        };
        let task = &mut self.ledger.tasks[index];
        let rendered = match std::mem::replace(&mut task.stage, Stage::Planned) {
            Stage::Rendered(rendered) => rendered,
            _ => Rendered::default(),
        };
        task.stage = Stage::Entered(entry, rendered);
        self.ledger.list(index);
        if let Some(reason) = self.blocked_by(index) {
            return self.refuse(index, &reason, true);
        }
        let held = self.stays_in_doubt(index);
        if let Some(reason) = held.or_else(|| self.unmet_condition(index)) {
            return self.refuse(index, &reason, false);
        }
        let task = &self.ledger.tasks[index];
        let configurator = &task.spec.configurator;
        let look = self
            .evaluation()
            .with_view(task, true, |view| configurator.can_run(view));
        let (can, reads) = look;
        self.commit_reads(index, &reads);
        if let Err(refusal) = can {
            let reason = format!("configurator declined: {refusal}");
            return self.refuse(index, &reason, false);
        }
        let task = &mut self.ledger.tasks[index];
        task.target_state = TargetState {
            status: entry.status,
            state: entry.state,
        };
        let rendered = match std::mem::replace(&mut task.stage, Stage::Planned) {
            Stage::Entered(_, rendered) => rendered,
            _ => Rendered::default(),
        };
        task.stage = Stage::Running(Box::new(Running {
            entry,
            run: Some(task.spec.configurator.begin(rendered)),
            part: Part::default(),
            cut_off: false,
            announced: false,
        }));
        self.proceed(index, None)
    }

    /// Whether the target of a task does not meet the conditions of the operation, and why. What
    /// they look at counts as read by the task if they are met.
    fn unmet_condition(&mut self, index: TaskIndex) -> Option<String> {
        match self.evaluation().condition(&self.ledger.tasks[index])? {
            Condition::Met(reads) => {
                self.commit_reads(index, &reads);
                None
            }
            Condition::Unmet(why) => Some(why),
        }
    }

    fn refuse(&mut self, index: TaskIndex, reason: &str, is_blocked: bool) -> Result<Next, Error> {
        let message = format!("could not run: {reason}");
        self.say(Level::Info, format!("{}: {message}", self.label(index)));
        let outcome = Outcome::refused(message);
        if is_blocked {
            self.finish_blocked(index, outcome)?;
        } else {
            self.finish(index, outcome)?;
        }
        self.end(index)
    }

    /// Lets a run go on until it asks for an effect or ends.
    pub(super) fn proceed(
        &mut self,
        index: TaskIndex,
        last: Option<EffectResult>,
    ) -> Result<Next, Error> {
        let Stage::Running(running) = &mut self.ledger.tasks[index].stage else {
            return Ok(Next::Nothing);
        };
        let Some(mut run) = running.run.take() else {
            return Ok(Next::Nothing);
        };
        if let Some(EffectResult::Action(result)) = &last
            && running.part == Part::Deed
        {
            running.cut_off = was_cut_off(result);
        }
        let task = &self.ledger.tasks[index];
        let ((progress, failure), reads) = self.evaluation().with_view(task, true, |view| {
            (run.step(view, last), view.take_failure())
        });
        self.commit_reads(index, &reads);
        match progress {
            Progress::Do(mut effect) => {
                self.keep_run(index, run);
                self.tell_started(index);
                self.mark(index, &mut effect);
                Ok(Next::Effect(index, effect))
            }
            Progress::Subtask(subtask) => {
                self.keep_run(index, run);
                // What it asks for is its doing, too.
                self.tell_started(index);
                self.start_subtask(index, &subtask)
            }
            Progress::Done(outcome) => {
                let failure = failure.filter(|failure| {
                    let error = failure.to_string();
                    outcome.errors.iter().any(|text| text.contains(&error))
                });
                if let Some(failure) = failure {
                    self.tell_problem(index, &failure);
                }
                self.finish(index, *outcome)?;
                self.end(index)
            }
        }
    }

    /// Puts a run back that has taken a step and goes on later.
    fn keep_run(&mut self, index: TaskIndex, run: Box<dyn crate::task::Run>) {
        if let Stage::Running(running) = &mut self.ledger.tasks[index].stage {
            running.run = Some(run);
        }
    }

    /// Tells, once, that a task acts on the world.
    fn tell_started(&mut self, index: TaskIndex) {
        let task = &mut self.ledger.tasks[index];
        let Stage::Running(running) = &mut task.stage else {
            return;
        };
        if std::mem::replace(&mut running.announced, true) {
            return;
        }
        let record = Arc::new(self.record_of(index));
        self.ledger.push(Event::TaskStarted(record));
    }

    /// What follows the end of a task that was entered.
    pub(super) fn end(&mut self, index: TaskIndex) -> Result<Next, Error> {
        self.advance(index);
        let task = &self.ledger.tasks[index];
        if let Some(parent) = task.spec.parent {
            let outcome = task.finished().map(|finished| finished.outcome.clone());
            self.tell_finished(index);
            return self.proceed(parent, Some(EffectResult::Subtask(outcome)));
        }
        match task.spec.step {
            Some(step) => Ok(self.close(step, index)),
            None => Ok(Next::Nothing),
        }
    }

    fn close(&mut self, step: StepId, index: TaskIndex) -> Next {
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
        if is_final && self.completes(step, index) {
            self.finish_workflow(index);
        }
        if failed {
            self.note_half_done(index);
        }
        self.tell_finished(index);
        self.finish_step(step);
        Next::Nothing
    }

    /// Whether a step that may complete what is done to its target does so: operations of a
    /// relationship are part of the turns of both its ends, and the last one to end completes it.
    fn completes(&mut self, step: StepId, index: TaskIndex) -> bool {
        let task = &self.ledger.tasks[index];
        let target = task.spec.target;
        if !self.topology.entity(target).is_relationship() {
            return true;
        }
        if task.has_failed() {
            self.broken.insert(target);
        }
        let is_last = self.scheduler.is_last_final(step, &self.job_steps());
        is_last && !self.broken.contains(&target)
    }

    /// Ends a task that cannot run because a task before it in its group has failed.
    fn block(&mut self, step: StepId, index: TaskIndex, why: &str) -> Result<Next, Error> {
        let outcome = Outcome {
            status: Some(Status::Error),
            ..Outcome::refused(why)
        };
        self.finish_blocked(index, outcome)?;
        Ok(self.close(step, index))
    }

    fn never_ran(&mut self, step: StepId, index: TaskIndex, why: &str) -> Result<Next, Error> {
        let message = format!("Never ran: {why}");
        self.say(Level::Info, format!("{}: {message}", self.label(index)));
        self.finish_blocked(index, Outcome::refused(message))?;
        Ok(self.close(step, index))
    }

    /// Records what a job that was given up never came to.
    pub fn abandon_rest(&mut self) -> Result<(), Error> {
        let Some(why) = self.ledger.aborted.clone() else {
            return Ok(());
        };
        for step in 0..self.plan.steps.len() {
            let is_done = self.scheduler.is_done(step);
            let Some(index) = self.steps.tasks[step].filter(|_| !is_done) else {
                continue;
            };
            let stage = &self.ledger.tasks[index].stage;
            let open = !matches!(stage, Stage::Skipped(_) | Stage::Finished(_));
            if open && self.includes(index) {
                self.never_ran(step, index, &why)?;
            }
        }
        Ok(())
    }

    /// Ends what is left when nothing can go on.
    pub(super) fn give_up(&mut self, step: StepId) -> Result<(), Error> {
        if let Some(index) = self.steps.tasks[step] {
            self.never_ran(step, index, "it waits for tasks that wait for it")?;
        } else {
            self.finish_step(step);
        }
        Ok(())
    }

    /// The first task in the group of a step that has failed.
    fn failed_before(&self, step: StepId) -> Option<TaskIndex> {
        let steps = self.job_steps();
        let siblings = steps.steps_of(steps.group(step)?).into_iter();
        let mut tasks = siblings.filter_map(|other| self.steps.tasks[other]);
        tasks.find(|task| self.ledger.tasks[*task].has_failed())
    }

    /// Whether a deferred step has not got what it waited for: nothing of it has changed. Then it
    /// goes on with what there is, after all others.
    fn must_wait_longer(&self, step: StepId, index: TaskIndex) -> bool {
        let deferred = matches!(self.ledger.tasks[index].stage, Stage::Deferred);
        let awaited = self.scheduler.awaited(step).unwrap_or_default();
        let may_wait = deferred && !awaited.is_empty() && self.scheduler.may_wait(step);
        may_wait && awaited.iter().all(|one| self.value_now(one) == one.value)
    }

    fn value_now(&self, awaited: &Awaited) -> Value {
        let value = self
            .evaluation()
            .evaluator()
            .attribute(awaited.of, &awaited.name);
        value.ok().flatten().unwrap_or_default()
    }

    /// The attributes a deferred step waits for that were not set by instances that work.
    fn unfulfilled(&self, step: StepId) -> Option<String> {
        if self.options.goal.workflow != Workflow::Deploy {
            return None;
        }
        let awaited = self.scheduler.awaited(step)?;
        // One that was released may still get other values from those that wait for it.
        let released = self.scheduler.is_released(step) || self.waited_in_vain(step);
        let open = awaited.iter().filter(|awaited| {
            !self.works(awaited.of) && (released || self.value_now(awaited) == awaited.value)
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
                Some(Created::No)
            } else {
                self.id().ok().map(Created::By)
            };
            self.topology_mut().set_created(target, created);
        } else if let Some(state) = NodeState::parse(word) {
            self.topology_mut().set_state(target, Some(state));
        } else if let Some(status) = Status::parse(word) {
            self.topology_mut().set_local(target, Some(status));
        } else {
            self.say(
                Level::Error,
                format!("`{word}` is neither a node state nor a status"),
            );
        }
    }
}

/// Whether a target meets the conditions of an operation.
pub(super) enum Condition {
    /// It does; these were read.
    Met(Reads),
    /// It does not, and why.
    Unmet(String),
}

impl Evaluation<'_> {
    /// Compares a target with the `preConditions` of a task's operation; none if it has none.
    pub(super) fn condition(&self, task: &Task) -> Option<Condition> {
        let implementation = task.spec.operation.implementation.as_ref()?;
        let schema = implementation.pre_conditions.as_ref()?;
        let target = task.spec.target;
        let evaluator = self.evaluator_for(task);
        let attributes = match self.attributes_of(&evaluator, target) {
            Ok(attributes) => attributes,
            Err(error) => {
                let why = format!("its preConditions cannot be looked at: {error}");
                return Some(Condition::Unmet(why));
            }
        };
        Some(match admits(&attributes, schema) {
            Ok(true) => Condition::Met(evaluator.take_reads()),
            Ok(false) => {
                let of = &self.topology.entity(target).name;
                Condition::Unmet(format!("`{of}` does not meet the preConditions {schema}"))
            }
            Err(why) => Condition::Unmet(format!("invalid preConditions: {why}")),
        })
    }

    /// All attributes and properties of an entity, evaluated.
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
