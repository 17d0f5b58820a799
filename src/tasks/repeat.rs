//! Loops over items, repetitions until a condition is true, and blocks.
//!
//! The methods extend [`TaskEngine`]; the place of a run in its steps is a `StepCursor`.

use std::sync::Arc;
use std::time::Duration;

use super::Until;
use super::control::loop_items;
use super::engine::{EngineRequest, PendingReply, ReadyItem};
use super::failure::{TaskFailure, TaskFailureKind};
use super::host_steps::StepProgress;
use super::run_state::{HostTaskRun, RegisteredResult};
use super::step_cursor::{FailureEffect, SectionEnd};
use super::task_env::TaskEnv;
use super::{Block, EnvSettings, HostEvent, OutputKinds, TaskEngine, TaskStep};
use crate::host::{Action, ActionRequest, AttemptCounter, Command, Program};
use crate::value::{Map, Value};

/// The state of a step with `until` after an attempt.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    /// The step has ended, with this failure if it has failed.
    Ended(Option<TaskFailure>),
    /// The next attempt follows after a pause.
    Repeated,
}

impl TaskEngine {
    /// Evaluates the items of a loop before the first one. Returns false if no item is left.
    pub(super) fn has_item(&mut self, id: usize, step: &TaskStep) -> Result<bool, TaskFailure> {
        let Some(for_each) = &step.for_each else {
            return Ok(true);
        };
        let repetition = self.runs[id].cursor.repetition();
        let known = repetition.and_then(|it| it.items.clone());
        let items = if let Some(items) = known {
            items
        } else {
            let value = self.evaluate(id, &for_each.items);
            let value =
                value.map_err(|error| TaskFailure::invalid_task(format!("`for_each`: {error}")))?;
            let items: Arc<[Value]> = loop_items(&value)
                .map_err(TaskFailure::invalid_task)?
                .into();
            if let Some(repetition) = self.runs[id].cursor.repetition() {
                repetition.items = Some(Arc::clone(&items));
            }
            items
        };
        let index = self.runs[id].cursor.repetition().map_or(0, |it| it.index);
        Ok(index < items.len())
    }

    /// Marks the current step as done for its item, and moves to the next item or step.
    pub(super) fn finish_step(&mut self, id: usize) {
        let run = &mut self.runs[id];
        run.begin_step();
        let Some((steps, index)) = run.cursor.current() else {
            return;
        };
        let name = steps.get(index).and_then(|step| step.register.as_ref());
        if let Some(repetition) = run.cursor.repetition()
            && let Some(items) = &repetition.items
            && repetition.index + 1 >= items.len()
            && let Some(name) = name
        {
            let results = loop_result(std::mem::take(&mut repetition.results));
            run.registered.insert(Arc::clone(name), results.into());
        }
        run.cursor.advance();
    }

    /// Enters a block, with its settings.
    pub(super) fn enter_block(
        &mut self,
        id: usize,
        block: &Block,
    ) -> Result<StepProgress, TaskFailure> {
        let outer_env = match &block.settings {
            Some(settings) => Some(self.enter_settings(id, settings)?),
            None => None,
        };
        self.runs[id].cursor.enter(block, outer_env);
        Ok(StepProgress::Entered)
    }

    /// Makes an environment with more settings that of a run. Returns the environment to restore.
    pub(super) fn enter_settings(
        &mut self,
        id: usize,
        settings: &EnvSettings,
    ) -> Result<usize, TaskFailure> {
        let context = self.template_context(id);
        let outer = self.runs[id].env;
        let mut env = TaskEnv::clone(&self.envs[outer]);
        env.apply(settings, &self.renderer, &context)
            .map_err(|error| TaskFailure::invalid_task(format!("`settings`: {error}")))?;
        for value in env.vars.values() {
            self.secrets.gather(value);
        }
        self.runs[id].env = self.envs.insert(Arc::new(env));
        Ok(outer)
    }

    fn restore_env(&mut self, id: usize, outer: Option<usize>) {
        if let Some(outer) = outer {
            self.envs.remove(self.runs[id].env);
            self.runs[id].env = outer;
        }
    }

    /// Removes the environments of the settings of a run that has ended.
    pub(super) fn remove_settings(&mut self, run: &mut HostTaskRun) {
        let mut outer_envs = run.cursor.leave_all();
        outer_envs.extend(run.outer_env.take());
        for outer in outer_envs {
            self.envs.remove(run.env);
            run.env = outer;
        }
    }

    /// Ends a list of steps. Returns true at the end of the task.
    pub(super) fn end_section(&mut self, id: usize) -> Result<bool, TaskFailure> {
        match self.runs[id].cursor.end_section() {
            SectionEnd::Task => Ok(true),
            SectionEnd::Always => Ok(false),
            SectionEnd::Block { env, failure } => {
                self.restore_env(id, env);
                match failure {
                    Some(failure) => Err(failure),
                    None => {
                        self.finish_step(id);
                        Ok(false)
                    }
                }
            }
        }
    }

    /// Takes a failure of the current step: a block around it handles it, or the task ends on the host.
    pub(super) fn fail_run(&mut self, id: usize, failure: TaskFailure) {
        while failure.is_followed_by_always() && self.runs.contains(id) {
            match self.runs[id].cursor.fail(&failure) {
                FailureEffect::Handled { is_rescue } => {
                    let run = &mut self.runs[id];
                    run.begin_step();
                    run.failure = Some(failure.to_value());
                    if is_rescue {
                        self.warn_of_rescue(id, &failure);
                    }
                    self.ready.push_back(ReadyItem::Run(id));
                    return;
                }
                FailureEffect::Left { env } => self.restore_env(id, env),
                FailureEffect::Unhandled => break,
            }
        }
        self.end_run(id, Err(failure));
    }

    fn warn_of_rescue(&mut self, id: usize, failure: &TaskFailure) {
        let run = &self.runs[id];
        let task = &self.batches[run.batch].task;
        let host = run.host_prefix();
        let reason = &failure.reason;
        let message = format!(
            "{host}task `{}` continues with `rescue`: {reason}",
            task.name
        );
        let options = run.cursor.options(&task.options);
        if !super::command_options::OptionStack(&options)
            .hidden()
            .has(OutputKinds::WARNINGS)
        {
            self.events.push(HostEvent::Warning(message));
        }
    }

    /// Judges an attempt of a step with `until`, and requests a pause if it must be repeated.
    ///
    /// `failure` is that of the attempt itself.
    pub(super) fn end_attempt(
        &mut self,
        id: usize,
        until: &Until,
        result: &RegisteredResult,
        failure: Option<TaskFailure>,
    ) -> Result<AttemptEnd, TaskFailure> {
        let is_met = match &until.condition {
            None => failure.is_none(),
            condition => {
                let mut result = result.clone();
                self.secrets.gather(&result.value);
                result.value = result.value.data();
                self.runs[id].attempt = Some(result);
                self.is_condition_met(id, condition.as_ref(), "until")?
            }
        };
        if is_met {
            return Ok(AttemptEnd::Ended(None));
        }
        let run = &mut self.runs[id];
        run.tries = AttemptCounter::default();
        let attempts = run.cursor.repetition().map_or(0, |repetition| {
            repetition.attempts += 1;
            repetition.attempts
        });
        if attempts > until.retries {
            let mut failure = failure.unwrap_or_else(|| {
                TaskFailure::new(TaskFailureKind::Step, "the condition of `until` is false")
            });
            failure.reason = format!("{} after {attempts} attempts", failure.reason);
            return Ok(AttemptEnd::Ended(Some(failure)));
        }
        self.pause(id, until.delay);
        Ok(AttemptEnd::Repeated)
    }

    /// Requests a pause before the current step is performed again.
    fn pause(&mut self, run: usize, time: Duration) {
        if time.is_zero() {
            self.ready.push_back(ReadyItem::Run(run));
            return;
        }
        let words = ["sleep".to_owned(), time.as_secs_f64().to_string()];
        let mut command = Command::new(Program::Argv(words.to_vec()), "/");
        command.env.clone_from(&self.options.variables);
        let id = self.register_pending(PendingReply::Pause(run));
        let request = Box::new(ActionRequest::local(Action::Run(command)));
        let host = self.runs[run].target().cloned();
        self.requests
            .push(EngineRequest::Perform { id, host, request });
    }
}

/// Returns the result of a loop: the results of its items in order, and whether all of them succeeded.
fn loop_result(results: Vec<Value>) -> Value {
    let is_failed = |result: &Value| {
        let failed = result.as_map().and_then(|map| map.get("failed"));
        failed.and_then(Value::as_bool) == Some(true)
    };
    let failed = results.iter().any(is_failed);
    let entries: Map = [
        ("results".into(), Value::list(results)),
        ("ok".into(), (!failed).into()),
        ("succeeded".into(), (!failed).into()),
        ("failed".into(), failed.into()),
    ]
    .into_iter()
    .collect();
    Value::from(entries)
}
