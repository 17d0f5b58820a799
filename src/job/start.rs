//! Starts a step when its turn comes, and takes it to its end.

use super::admission::Admission;
use super::engine::Engine;
use super::error::Error;
use super::event::{Event, Level};
use super::gate::Gate;
use super::schedule::STRAGGLES;
use super::task::{Stage, TaskIndex};
use super::world::Folders;
use crate::host::{ActionResult, Exit};
use crate::name::{NodeState, Priority, Status};
use crate::plan::{Activity, StepId, Workflow, find_operation};
use crate::task::{Effect, EffectResult, Outcome, Part, Progress, Subtask};
use crate::topology::Created;
use crate::value::Value;

/// How many tasks may ask for each other in a row.
const MAX_SUBTASKS: usize = 100;

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
        let admission = self.admission(step);
        let Some(index) = self.task_of[step] else {
            self.set_state_where_admitted(step, admission);
            return Ok(Next::Nothing);
        };
        match admission {
            Admission::Runs => {}
            Admission::Blocked => return self.block(step, index, "the step before it failed"),
            Admission::Dropped => {
                self.tasks[index].stage = Stage::Passed;
                self.tasks[index].note = Some("no step has failed".to_owned());
                self.finish_step(step);
                return Ok(Next::Nothing);
            }
        }
        if self.is_conditional(step) && self.tasks[index].stage == Stage::Planned {
            self.prepare(step);
            if self.tasks[index].stage == Stage::Skipped {
                return Ok(Next::Nothing);
            }
        }
        match self.failed_before(step) {
            Some(failed) if self.tasks[failed].entered && !self.lacks(step, index) => {
                return self.block(step, index, "previous operation failed");
            }
            Some(_) => {
                let why = "previous operation failed or could not run";
                return self.never_ran(step, index, why);
            }
            None => {}
        }
        if self.stays_unchanged(step, index) {
            return Ok(Next::Nothing);
        }
        if matches!(self.tasks[index].stage, Stage::Planned | Stage::Deferred) {
            if self.straggles(step, index) {
                self.queue.put_back(step);
                return Ok(Next::Nothing);
            }
            if let Some(missing) = self.unfulfilled(step) {
                return self.never_ran(step, index, &missing);
            }
            if self.render_task(step, index, folders) {
                self.queue.put_back(step);
                for on in self.waiting.get(&step).cloned().unwrap_or_default() {
                    self.queue.wait(step, on);
                }
                return Ok(Next::Nothing);
            }
        }
        if self.tasks[index].stage == Stage::Unrenderable {
            let message = self.tasks[index].errors.join("; ");
            self.finish(index, Outcome::refused(message))?;
            return Ok(self.close(step, index));
        }
        match self.entry_gate(index) {
            Gate::Pass(why) => Ok(self.pass(step, index, why)),
            Gate::Open => self.enter(index),
        }
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
        self.tasks[index].stage = Stage::Passed;
        self.tasks[index].note = Some(why);
        if let Some(previous) = self.reassign_final(step)
            && self.tasks[previous].stage == Stage::Finished
        {
            self.finish_workflow(previous);
        }
        self.finish_step(step);
        Next::Nothing
    }

    fn enter(&mut self, index: TaskIndex) -> Result<Next, Error> {
        let (target, start) = (self.tasks[index].target, self.tasks[index].start_state);
        if start.is_some() {
            self.topology_mut().set_state(target, start);
        }
        let entity = self.topology.entity(target);
        let (state, local) = (entity.state, entity.local);
        let now = self.world.now();
        self.started += 1;
        let task = &mut self.tasks[index];
        task.entered = true;
        task.before = (state, local);
        task.started = now;
        self.list(index);
        if let Some(reason) = self.blocked_by(index) {
            self.tasks[index].blocked = true;
            return self.refuse(index, &reason);
        }
        let held = self.stays_in_doubt(index);
        if let Some(reason) = held.or_else(|| self.unmet_condition(index)) {
            return self.refuse(index, &reason);
        }
        let (can, reads) = self.with_view(index, true, |view| {
            self.tasks[index].configurator.can_run(view)
        });
        self.commit_reads(index, &reads);
        if let Err(refusal) = can {
            return self.refuse(index, &format!("configurator declined: {refusal}"));
        }
        let task = &mut self.tasks[index];
        task.stage = Stage::Running;
        task.target_status = local;
        task.target_state = state;
        let rendered = task.rendered.take().unwrap_or_default();
        task.run = Some(task.configurator.begin(rendered));
        self.proceed(index, None)
    }

    fn refuse(&mut self, index: TaskIndex, reason: &str) -> Result<Next, Error> {
        let message = format!("could not run: {reason}");
        self.say(Level::Info, format!("{}: {message}", self.label(index)));
        self.finish(index, Outcome::refused(message))?;
        self.end(index)
    }

    /// Lets a run go on until it asks for an effect or ends.
    pub(super) fn proceed(
        &mut self,
        index: TaskIndex,
        last: Option<EffectResult>,
    ) -> Result<Next, Error> {
        let Some(mut run) = self.tasks[index].run.take() else {
            return Ok(Next::Nothing);
        };
        if let Some(EffectResult::Action(result)) = &last
            && self.tasks[index].part == Part::Deed
        {
            self.tasks[index].cut_off = was_cut_off(result);
        }
        let ((progress, failure), reads) = self.with_view(index, true, |view| {
            (run.step(view, last), view.take_failure())
        });
        self.commit_reads(index, &reads);
        match progress {
            Progress::Do(mut effect) => {
                self.tasks[index].run = Some(run);
                self.tell_started(index);
                self.mark(index, &mut effect);
                Ok(Next::Effect(index, effect))
            }
            Progress::Subtask(subtask) => {
                self.tasks[index].run = Some(run);
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

    /// Tells, once, that a task acts on the world.
    fn tell_started(&mut self, index: TaskIndex) {
        if std::mem::replace(&mut self.tasks[index].announced, true) {
            return;
        }
        let task = &self.tasks[index];
        self.events.push(Event::TaskStarted {
            task: index + 1,
            target: self.topology.entity(task.target).key.to_string(),
            operation: task.reference.to_string(),
            reason: task.reason.to_string(),
            state: task.start_state.map(NodeState::as_str),
        });
    }

    /// What follows the end of a task that was entered.
    fn end(&mut self, index: TaskIndex) -> Result<Next, Error> {
        self.advance(index);
        if let Some(parent) = self.tasks[index].parent {
            self.tell_finished(index);
            let outcome = self.tasks[index].outcome.clone();
            return self.proceed(parent, Some(EffectResult::Subtask(outcome)));
        }
        match self.tasks[index].step {
            Some(step) => Ok(self.close(step, index)),
            None => Ok(Next::Nothing),
        }
    }

    fn close(&mut self, step: StepId, index: TaskIndex) -> Next {
        self.list(index);
        let task = &self.tasks[index];
        let failed = task.has_failed()
            || task
                .outcome
                .as_ref()
                .is_some_and(|o| o.status == Some(Status::Error));
        if task.priority == Priority::Critical && failed {
            self.aborted = Some(format!("Critical task failed: {}", self.label(index)));
        }
        if task.is_final && self.completes(step, index) {
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
        let target = self.tasks[index].target;
        if !self.topology.entity(target).is_relationship() {
            return true;
        }
        if self.tasks[index].has_failed() {
            self.broken.insert(target);
        }
        let open = self.producers.get(&target).into_iter().flatten();
        let mut others = open.filter(|other| **other != step && !self.done[**other]);
        let is_last = !others.any(|other| self.plan.steps[*other].is_final && self.runs(*other));
        is_last && !self.broken.contains(&target)
    }

    /// Ends a task that cannot run because a task before it in its group has failed.
    fn block(&mut self, step: StepId, index: TaskIndex, why: &str) -> Result<Next, Error> {
        self.tasks[index].blocked = true;
        let outcome = Outcome {
            status: Some(Status::Error),
            ..Outcome::refused(why)
        };
        self.finish(index, outcome)?;
        Ok(self.close(step, index))
    }

    fn never_ran(&mut self, step: StepId, index: TaskIndex, why: &str) -> Result<Next, Error> {
        let message = format!("Never ran: {why}");
        self.say(Level::Info, format!("{}: {message}", self.label(index)));
        self.tasks[index].blocked = true;
        self.finish(index, Outcome::refused(message))?;
        Ok(self.close(step, index))
    }

    /// Records what a job that was given up never came to.
    pub(super) fn abandon_rest(&mut self) -> Result<(), Error> {
        let Some(why) = self.aborted.clone() else {
            return Ok(());
        };
        for step in 0..self.plan.steps.len() {
            let Some(index) = self.task_of[step].filter(|_| !self.done[step]) else {
                continue;
            };
            let open = !matches!(self.tasks[index].stage, Stage::Skipped | Stage::Finished);
            if open && self.includes(index) {
                self.never_ran(step, index, &why)?;
            }
        }
        Ok(())
    }

    /// Ends what is left when nothing can go on.
    pub(super) fn give_up(&mut self, step: StepId) -> Result<(), Error> {
        if let Some(index) = self.task_of[step] {
            self.never_ran(step, index, "it waits for tasks that wait for it")?;
        } else {
            self.finish_step(step);
        }
        Ok(())
    }

    /// The first task in the group of a step that has failed.
    fn failed_before(&self, step: StepId) -> Option<TaskIndex> {
        let group = self.plan.steps[step].group?;
        let siblings = self.plan.groups[group].items.iter();
        let tasks = siblings.filter_map(|item| match item {
            crate::plan::Item::Step(other) => self.task_of[*other],
            crate::plan::Item::Group(_) => None,
        });
        let mut failed = tasks.filter(|task| self.tasks[*task].has_failed());
        failed.next()
    }

    /// Whether a deferred step has not got what it waited for: nothing of it has changed. Then it
    /// goes on with what there is, after all others.
    fn straggles(&mut self, step: StepId, index: TaskIndex) -> bool {
        let deferred = self.tasks[index].stage == Stage::Deferred;
        let Some(awaited) = self.awaited.get(&step).filter(|all| !all.is_empty()) else {
            return false;
        };
        let alone = !self.queue.has_ready() || self.queue.rank(step) >= STRAGGLES;
        if !deferred || alone || awaited.iter().any(|one| self.value_now(one) != one.value) {
            return false;
        }
        self.queue.set_rank(step, STRAGGLES);
        if let Some(group) = self.plan.steps[step].group {
            for other in self
                .steps_of(group)
                .into_iter()
                .filter(|other| *other > step)
            {
                self.queue.set_rank(other, STRAGGLES + 1);
            }
        }
        true
    }

    fn value_now(&self, awaited: &super::render::Awaited) -> Value {
        let value = self.evaluator().attribute(awaited.of, &awaited.name);
        value.ok().flatten().unwrap_or_default()
    }

    /// The attributes a deferred step waits for that were not set by instances that work.
    fn unfulfilled(&self, step: StepId) -> Option<String> {
        if self.options.goal.workflow != Workflow::Deploy {
            return None;
        }
        let awaited = self.awaited.get(&step)?;
        // One that was released may still get other values from those that wait for it.
        let released = self.released.contains(&step) || self.waited_in_vain(step);
        let open = awaited.iter().filter(|awaited| {
            !self.works(awaited.of) && (released || self.value_now(awaited) == awaited.value)
        });
        let keys: Vec<_> = open
            .filter_map(|awaited| self.attribute_key(awaited.of, &awaited.name))
            .collect();
        (!keys.is_empty()).then(|| format!("non-operational dependencies: {}", keys.join(", ")))
    }

    fn set_state_of(&mut self, step: StepId, word: &str) {
        let target = self.targets[step];
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

    fn start_subtask(&mut self, parent: TaskIndex, subtask: &Subtask) -> Result<Next, Error> {
        let depth = self.tasks[parent].depth + 1;
        if depth > MAX_SUBTASKS {
            let message = format!("tasks ask for each other more than {MAX_SUBTASKS} deep");
            return self.refuse_subtask(parent, message);
        }
        let mut task = match self.subtask(parent, subtask) {
            Ok(task) => task,
            Err(message) => return self.refuse_subtask(parent, message),
        };
        task.parent = Some(parent);
        task.depth = depth;
        let asking = &self.tasks[parent];
        let name = format!("for {}: {}", asking.reason, asking.reference);
        task.reason = crate::plan::Reason::Subtask(name.into());
        self.set_task_variables(&mut task);
        let index = self.tasks.len();
        self.tasks.push(task);
        self.run_subtask(index)
    }

    /// Lets a task go on with a subtask that failed before it began.
    fn refuse_subtask(&mut self, parent: TaskIndex, message: String) -> Result<Next, Error> {
        let outcome = Outcome {
            errors: vec![message.clone()],
            ..Outcome::refused(message)
        };
        self.proceed(parent, Some(EffectResult::Subtask(Some(outcome))))
    }

    fn run_subtask(&mut self, index: TaskIndex) -> Result<Next, Error> {
        if self.options.goal.dry_run {
            let (can, reads) = self.with_view(index, true, |view| {
                self.tasks[index].configurator.can_dry_run(view)
            });
            self.commit_reads(index, &reads);
            if !can.unwrap_or(false) {
                self.tasks[index].stage = Stage::Skipped;
                let parent = self.tasks[index].parent.unwrap_or(index);
                return self.proceed(parent, Some(EffectResult::Subtask(None)));
            }
        }
        let (rendered, reads) = self.with_view(index, true, |view| {
            let rendered = self.tasks[index].configurator.render(view)?;
            view.environment().map(|_| rendered)
        });
        self.commit_reads(index, &reads);
        match rendered {
            Ok(rendered) => self.tasks[index].rendered = Some(rendered),
            Err(error) => {
                let error = error.hushed(&reads);
                self.tell_problem(index, &error);
                self.list(index);
                self.finish(index, Outcome::refused(error.to_string()))?;
                return self.end(index);
            }
        }
        self.enter(index)
    }

    /// The task that another asks for, or why there is none.
    fn subtask(&self, parent: TaskIndex, subtask: &Subtask) -> Result<super::task::Task, String> {
        let target = match &subtask.target {
            None => self.tasks[parent].target,
            Some(Value::Entity(handle)) if self.topology.get(*handle).is_some() => *handle,
            Some(Value::Entity(_)) => {
                let message = "an operation of another ensemble's instance cannot be delegated to";
                return Err(message.to_owned());
            }
            Some(name) => {
                let from = self.tasks[parent].target;
                let found = name.as_str().and_then(|name| self.named(from, name));
                found.ok_or_else(|| format!("there is no instance `{name}` to delegate to"))?
            }
        };
        let (interface, name) = subtask
            .operation
            .rsplit_once('.')
            .unwrap_or(("Standard", &subtask.operation));
        let operation = self.operations_of(target);
        let dry_run = self.options.goal.dry_run;
        let operation = operation.and_then(|all| find_operation(all, interface, name, dry_run));
        let Some(operation) = operation else {
            let on = &self.topology.entity(target).name;
            return Err(format!("`{on}` has no operation `{interface}.{name}`"));
        };
        // Without inputs of its own it has those of the task that asks for it.
        let own = || {
            let mut inputs = self.tasks[parent].inputs.as_ref().clone();
            inputs.retain(|name, _| !subtask.control.contains(&&**name));
            inputs
        };
        let inputs = match &subtask.inputs {
            Value::Null => own(),
            stated => stated.as_map().cloned().unwrap_or_default(),
        };
        let reference = crate::name::OperationRef::new(interface, name);
        Ok(self.make_task(target, reference, operation, Some(&inputs)))
    }

    fn named(&self, from: crate::value::Handle, name: &str) -> Option<crate::value::Handle> {
        match name {
            "SELF" => Some(from),
            "HOST" => self.topology.entity(from).parent,
            "SOURCE" => self.topology.source_of(from),
            "TARGET" => self.topology.target_of(from),
            other => self.topology.find_from(from, other),
        }
    }

    fn operations_of(
        &self,
        of: crate::value::Handle,
    ) -> Option<&std::sync::Arc<crate::tosca::Operations>> {
        match &self.topology.entity(of).kind {
            crate::topology::Kind::Node(node) => Some(&node.template.operations),
            crate::topology::Kind::Relationship { template, .. } => Some(&template.operations),
            _ => None,
        }
    }
}
