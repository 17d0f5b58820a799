//! Runs a task on one host: its steps in order, and the variables that their templates see.
//!
//! The methods extend [`TaskEngine`]; `step_actions` starts single steps.

use std::sync::Arc;

use super::failure::{TaskFailure, TaskFailureKind};
use super::run_state::{HostTaskRun, RegisteredResult};
use super::template::template_context;
use super::{TaskEngine, TaskStep, TemplateText};
use crate::expr::{Context, Error, Vars};
use crate::host::{DEFAULT_PORT, DeferredOutput, HostParts};
use crate::value::Value;

/// The progress of a step after it was started.
#[derive(Debug)]
pub(super) enum StepProgress {
    /// The step is done; the next one can start.
    Done,
    /// The steps of a block begin.
    Entered,
    /// The step waits for a reply.
    Pending,
}

/// The variable that holds the result of an attempt, for `until`.
const RESULT: &str = "result";

impl TaskEngine {
    /// Continues a task on a host until a step has to wait or the task ends.
    pub(super) fn advance_run(&mut self, id: usize) {
        match self.run_steps(id) {
            Ok(Some(value)) => self.end_run(id, Ok(value)),
            Ok(None) => {}
            Err(failure) => self.fail_run(id, failure),
        }
    }

    /// Runs steps until one has to wait. Returns the value of the task once it is done.
    fn run_steps(&mut self, id: usize) -> Result<Option<Value>, TaskFailure> {
        let task = Arc::clone(&self.batches[self.runs[id].batch].task);
        if !std::mem::replace(&mut self.runs[id].is_started, true) {
            if !self.is_condition_met(id, task.condition.as_ref(), "when")? {
                return Ok(Some(Value::Null));
            }
            if let Some(settings) = &task.settings {
                let outer = self.enter_settings(id, settings)?;
                self.runs[id].outer_env = Some(outer);
            }
        }
        loop {
            let current = self.runs[id].cursor.current();
            let Some((steps, index)) = current else {
                if self.end_section(id)? {
                    break;
                }
                continue;
            };
            let Some(step) = steps.get(index) else {
                break;
            };
            if self.is_interrupted() {
                return Err(TaskFailure::interrupted());
            }
            if !self.begins(id, step)? {
                self.finish_step(id);
                continue;
            }
            match self.perform_step(id, step)? {
                StepProgress::Done => self.finish_step(id),
                StepProgress::Entered => {}
                StepProgress::Pending => return Ok(None),
            }
        }
        let value = match &task.returns {
            Some(raw) => self.evaluate(id, raw).map_err(TaskFailure::invalid_task)?,
            None => Value::Null,
        };
        Ok(Some(value))
    }

    /// Returns true if a step has to be performed: it has an item, and its condition is true.
    fn begins(&mut self, id: usize, step: &TaskStep) -> Result<bool, TaskFailure> {
        // The condition was already evaluated when the step first ran: now the step only continues.
        if !self.runs[id].is_step_new() {
            return Ok(true);
        }
        Ok(self.has_item(id, step)?
            && self.is_condition_met(id, step.condition.as_ref(), "when")?)
    }

    pub(super) fn is_condition_met(
        &mut self,
        id: usize,
        condition: Option<&TemplateText>,
        key: &str,
    ) -> Result<bool, TaskFailure> {
        let Some(condition) = condition else {
            return Ok(true);
        };
        let context = self.template_context(id);
        let holds = self.renderer.is_condition_met(condition, &context);
        holds.map_err(|error| TaskFailure::invalid_task(format!("`{key}`: {error}")))
    }

    /// Evaluates a value with the variables of a task on a host.
    pub(super) fn evaluate(&mut self, id: usize, raw: &Value) -> Result<Value, Error> {
        let scene = self.template_context(id);
        self.renderer.value(raw, &scene)
    }

    /// Stores the result of a step under its `register` name.
    pub(super) fn register(
        &mut self,
        id: usize,
        name: Option<&Arc<str>>,
        result: impl Into<RegisteredResult>,
    ) {
        let mut result = result.into();
        self.secrets.gather(&result.value);
        // Output of commands and answers are never evaluated.
        result.value = result.value.data();
        if let Some(name) = name {
            let run = &mut self.runs[id];
            run.record_item(&result.value);
            run.registered.insert(Arc::clone(name), result);
        }
    }

    /// Stores a failure that only causes a warning.
    pub(super) fn record_tolerated(&mut self, id: usize, failure: TaskFailure) {
        let run = &mut self.runs[id];
        run.tolerated.get_or_insert(failure);
    }

    /// Returns the failure of a step that needs an answer if the user cannot be asked (F35, F52).
    ///
    /// None if the user can be asked.
    pub(super) fn prompt_unavailable(&mut self, id: usize, what: &str) -> Option<TaskFailure> {
        let run = &self.runs[id];
        let env = &self.envs[run.env];
        let why = if env.switches.abort_on_prompts {
            "but `--abort-on-prompts` forbids questions"
        } else if !self.batches[run.batch].may_prompt {
            "but questions are not possible while several hosts run at the same time"
        } else {
            return None;
        };
        let reason = format!("needs {what}, {why}");
        Some(TaskFailure::new(TaskFailureKind::NeedsInput, reason))
    }

    /// Returns the variables that templates see in a task on a host.
    ///
    /// In descending precedence: registered results, items of loops, arguments, facts of host and task, variables
    /// of the environment.
    pub(super) fn template_context(&mut self, id: usize) -> Context {
        let batch = self.runs[id].batch;
        let mut vars = self.shared_vars(batch, self.runs[id].env);
        let run = &self.runs[id];
        let batch = &self.batches[batch];
        let result_name: Arc<str> = RESULT.into();
        for (name, value) in self.facts(run) {
            let is_argument = |(given, _): &(Arc<str>, Value)| **given == *name;
            if !batch.arguments.named.iter().any(is_argument) {
                vars.set(name, value);
            }
        }
        for (name, item) in run.cursor.items() {
            vars.set(Arc::clone(name), item.clone());
        }
        if let Some(failure) = &run.failure {
            vars.set("failure", failure.clone());
        }
        let attempt = run.attempt.iter().map(|result| (&result_name, result));
        for (number, (name, result)) in run.registered.iter().chain(attempt).enumerate() {
            match result
                .value
                .as_map()
                .filter(|_| !result.long_outputs.is_empty())
            {
                None => vars.set(Arc::clone(name), result.value.clone()),
                Some(values) => {
                    let outputs = &result.long_outputs;
                    for (name, variable) in
                        DeferredOutput::variables_of_map(name, values, outputs, number)
                    {
                        vars.set(name, variable);
                    }
                }
            }
        }
        template_context(vars, &batch.task.folder)
    }

    /// Returns the facts of a host and its login, as templates see them.
    fn facts(&self, run: &HostTaskRun) -> Vec<(&'static str, Value)> {
        let env = &self.envs[run.env];
        let mut facts = Vec::with_capacity(5);
        if let Some(host_string) = run.target() {
            let parts = HostParts::parse(host_string);
            let login = self
                .services
                .roles
                .host_login(host_string)
                .unwrap_or_default();
            let user = parts.user.or(login.user).or_else(|| env.user.clone());
            let user = user.unwrap_or_else(|| self.options.local_user.clone());
            let port = parts.port.and_then(|port| port.parse::<u16>().ok());
            let port = port
                .or(login.port)
                .or(env.connection.port)
                .or(self.options.port)
                .unwrap_or(DEFAULT_PORT);
            let host = login.name.or(parts.host).unwrap_or_default();
            facts.push(("host_string", Value::str(Arc::clone(host_string))));
            facts.push(("host", host.into()));
            facts.push(("user", user.into()));
            facts.push(("port", i64::from(port).into()));
            if let Some(data) = self.services.roles.host_data(host_string) {
                facts.push(("data", data.data()));
            }
        } else {
            facts.push(("host_string", Value::Null));
            facts.push(("host", Value::Null));
            facts.push(("user", self.options.local_user.as_str().into()));
        }
        facts
    }

    /// Returns the variables that all hosts of a task share, from a cache if possible.
    fn shared_vars(&mut self, id: usize, env: usize) -> Vars {
        let env = Arc::clone(&self.envs[env]);
        let batch = &mut self.batches[id];
        if let Some((known, vars)) = &batch.shared_vars_cache
            && Arc::ptr_eq(known, &env)
        {
            return vars.clone();
        }
        let list =
            |names: &[Arc<str>]| Value::list(names.iter().map(|it| Value::str(Arc::clone(it))));
        let mut vars = Vars::default();
        for (name, value) in &env.vars {
            vars.set(Arc::clone(name), value.clone());
        }
        vars.set("vars", Value::from(env.vars.clone()));
        vars.set("env", env.to_value());
        vars.set("task", Value::from(&*batch.task.name));
        vars.set("all_hosts", list(&batch.list.hosts));
        vars.set("effective_roles", list(&batch.list.roles));
        vars.set("args", Value::list(batch.arguments.list.iter().cloned()));
        vars.set("kwargs", Value::from(batch.arguments.map.clone()));
        for (name, value) in &batch.arguments.named {
            vars.set(Arc::clone(name), value.clone());
        }
        batch.shared_vars_cache = Some((env, vars.clone()));
        vars
    }
}
