//! The Task configurator: runs a task of `tasks.yaml` as an operation, one action after the other (rules
//! F).
//!
//! It drives the [`TaskEngine`] of `tasks`, which also serves command-line runs, and passes its requests
//! to the job as effects.

use std::collections::VecDeque;
use std::path::Path;

use super::result_template::apply_result_template;
use super::shell_run::never_started;
use super::task_file::{TaskFile, describe_first_problem};
use super::template::error_outcome;
use crate::expr::{Error, LocalContext};
use crate::host::{Action, ActionRequest, ActionResult, Exit};
use crate::system::user;
use crate::task::{
    Configurator, EffectResult, OperationRun, RenderedTask, RunStep, TaskEffect, TaskOutcome,
    TaskView, TaskWork, WorkInputs,
};
use crate::tasks::{
    EngineRequest, HostEnd, HostEvent, HostOutcome, HostScope, RunState, TaskCall, TaskEngine,
    TaskOptions,
};
use crate::value::{Map, Value};

/// The input that holds the digests of the task files.
const FILES_INPUT: &str = "task_files";
/// The inputs that determine on which hosts a task runs.
const SCOPE_INPUTS: [&str; 3] = ["hosts", "roles", "exclude_hosts"];

/// Runs a task of `tasks.yaml`, named by the input `task`.
#[derive(Debug)]
pub(super) struct TaskConfigurator;

impl Configurator for TaskConfigurator {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.task.TaskConfigurator"
    }

    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &["resultTemplate"]
    }

    fn add_inputs(&self, inputs: &mut Map, local_context: &dyn LocalContext, base_dir: &Path) {
        inputs.shift_remove(FILES_INPUT);
        // Errors in the file are reported when the task is rendered.
        if let Ok(file) = TaskFile::read(explicit_file(inputs), local_context, base_dir) {
            inputs.insert(FILES_INPUT.into(), Value::from(file.digests));
        }
    }

    fn can_dry_run(&self, _task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(false)
    }

    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error> {
        let invocation = TaskInvocation::from_inputs(task)?;
        // If a host has no address yet, the task waits for it.
        task.host_services(&invocation.call.scope.hosts)?;
        let file = read_task_file(task).map_err(input_error)?;
        if file.tasks.find(&invocation.call.task, "").is_none() {
            let hint = file.tasks.hint(&invocation.call.task);
            let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
            let name = &invocation.call.task;
            return Err(input_error(format!("there is no task `{name}`{hint}")));
        }
        task.input(FILES_INPUT)?;
        Ok(RenderedTask::default())
    }

    fn work(&self, inputs: &WorkInputs<'_>, _rendered: Option<&Value>) -> TaskWork {
        TaskWork::Task(inputs.get("task").map(Value::redacted).unwrap_or_default())
    }

    fn begin(&self, _rendered: RenderedTask) -> Box<dyn OperationRun> {
        Box::new(TaskRun::default())
    }
}

fn explicit_file(inputs: &Map) -> Option<&Value> {
    inputs.get("file").filter(|file| !file.is_null())
}

fn read_task_file(task: &TaskView<'_>) -> Result<TaskFile, String> {
    let base = task.settings.base_dir;
    TaskFile::read(explicit_file(task.inputs), task.local_context(), base)
}

fn input_error(problem: impl Into<String>) -> Error {
    Error::Function {
        function: "Task".to_owned(),
        problem: problem.into(),
    }
}

/// The invocation that an operation describes: a task, its hosts, and its arguments.
#[derive(Debug)]
struct TaskInvocation {
    call: TaskCall,
    args: Vec<Value>,
    kwargs: Map,
}

impl TaskInvocation {
    fn from_inputs(task: &TaskView<'_>) -> Result<Self, Error> {
        let text = task.input("task")?.unwrap_or_default();
        if text.has_sensitive() {
            return Err(input_error(
                "`task` must not be a secret; pass secrets in `arguments`",
            ));
        }
        let text = text.as_str().unwrap_or_default().to_owned();
        let mut call = TaskCall::parse(&text).map_err(|error| input_error(error.to_string()))?;
        task.input("file")?;
        let [hosts, roles, excluded] = SCOPE_INPUTS;
        let HostScope {
            hosts: own_hosts,
            roles: own_roles,
            exclude_hosts,
        } = &mut call.scope;
        let lists = [
            (hosts, own_hosts),
            (roles, own_roles),
            (excluded, exclude_hosts),
        ];
        for (name, list) in lists {
            if let Some(value) = task.input(name)?.filter(|value| !value.is_null()) {
                *list = parse_hosts(name, &value)?;
            }
        }
        let (mut args, mut kwargs) = (Vec::new(), Map::new());
        let arguments = task.input("arguments")?.unwrap_or_default();
        match (arguments.marked_items(), arguments.marked_entries()) {
            (Some(list), _) => args = list,
            (None, Some(map)) => kwargs = map,
            (None, None) if arguments.is_null() => {}
            (None, None) => {
                let kind = arguments.kind();
                return Err(input_error(format!(
                    "`arguments` must be a map or a list, not {kind}"
                )));
            }
        }
        Ok(Self { call, args, kwargs })
    }
}

/// Parses the hosts or roles of an input: a list, or a text with semicolons.
fn parse_hosts(name: &str, value: &Value) -> Result<Vec<String>, Error> {
    let items: Vec<String> = match value.reveal() {
        Value::Str(text) => text.split(';').map(str::to_owned).collect(),
        Value::List(list) => {
            let texts = list
                .iter()
                .map(|item| Some(item.reveal().as_str()?.to_owned()));
            let texts: Option<_> = texts.collect();
            texts.ok_or_else(|| input_error(format!("`{name}` must be a list of texts")))?
        }
        other => {
            let kind = other.kind();
            return Err(input_error(format!(
                "`{name}` must be a text or a list, not {kind}"
            )));
        }
    };
    let items: Vec<String> = items.iter().map(|item| item.trim().to_owned()).collect();
    if items.iter().any(String::is_empty) {
        return Err(input_error(format!("`{name}` has an empty item")));
    }
    Ok(items)
}

/// A run of the Task configurator.
#[derive(Debug, Default)]
struct TaskRun {
    execution: Option<Box<TaskExecution>>,
}

impl OperationRun for TaskRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep {
        if let (Some(execution), Some(EffectResult::Action(result))) = (&mut self.execution, &last)
        {
            execution.receive_result(result);
            return execution.advance(task);
        }
        match TaskExecution::begin(task) {
            Ok(execution) => self.execution.insert(Box::new(execution)).advance(task),
            Err(error) => {
                let mut outcome = error_outcome(&error);
                outcome.modified = Some(false);
                RunStep::Done(Box::new(outcome))
            }
        }
    }
}

/// The execution of a task on its hosts.
#[derive(Debug)]
struct TaskExecution {
    name: String,
    engine: TaskEngine,
    /// Requests of hosts that run at the same time. They are performed one after the other.
    pending: VecDeque<(u64, Box<ActionRequest>)>,
    /// The id of the request being performed.
    current: Option<u64>,
    /// Whether any action was started on any host.
    acted: bool,
    host_ends: Vec<HostEnd>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

impl TaskExecution {
    fn begin(task: &TaskView<'_>) -> Result<Self, Error> {
        let invocation = TaskInvocation::from_inputs(task)?;
        let file = read_task_file(task).map_err(input_error)?;
        if task.input(FILES_INPUT)? != Some(Value::from(file.digests)) {
            return Err(input_error(
                "the file with the task has changed since the job began",
            ));
        }
        let services = task.host_services(&invocation.call.scope.hosts)?;
        let variables = task.environment()?;
        let user = ["LOGNAME", "USER"].iter().find_map(|name| {
            let found = variables.get(name).filter(|user| !user.is_empty());
            found.map(str::to_owned)
        });
        let options = TaskOptions {
            command_timeout: task.settings.time_limit,
            capture: Some(task.settings.capture),
            local_user: user.unwrap_or_else(user::name),
            variables,
            folder: task.settings.base_dir.to_owned(),
            ..TaskOptions::default()
        };
        let found = file.tasks.find(&invocation.call.task, "");
        let name = found.map_or_else(
            || invocation.call.task.clone(),
            |task| task.name.to_string(),
        );
        let engine = TaskEngine::new(file.tasks, &[], options, services);
        let mut engine = engine.map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            input_error(problems.join("; "))
        })?;
        let called = engine.add_call(&invocation.call, invocation.args, invocation.kwargs);
        called.map_err(|problem| input_error(problem.to_string()))?;
        let problems = engine.check();
        if problems.has_errors() {
            let why = describe_first_problem(&problems, &file.sources, &file.path);
            return Err(input_error(why));
        }
        Ok(Self {
            name,
            engine,
            pending: VecDeque::new(),
            current: None,
            acted: false,
            host_ends: Vec::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
        })
    }

    /// Handles the result of the current request.
    fn receive_result(&mut self, result: &ActionResult) {
        let Some(id) = self.current.take() else {
            return;
        };
        self.acted |= !never_started(result.exit());
        if *result.exit() == Exit::Cancelled {
            self.engine.interrupt();
            // After a cancellation, requests that are still pending are not performed.
            for (id, request) in std::mem::take(&mut self.pending) {
                let none = ActionResult::not_performed(&request.action, Exit::Cancelled);
                self.engine.complete_action(id, &none);
            }
        }
        self.engine.complete_action(id, result);
    }

    /// Continues until a request is to be performed or the task ends.
    fn advance(&mut self, task: &TaskView<'_>) -> RunStep {
        loop {
            let todo = self.engine.next();
            self.collect_events();
            let is_idle = todo.is_empty();
            for request_kind in todo {
                match request_kind {
                    EngineRequest::Perform { id, request, .. } => {
                        self.pending.push_back((id, request));
                    }
                    // A job is not interactive, so prompts get no answer (F52).
                    EngineRequest::PromptSecret { id, .. } => self.engine.answer_secret(id, None),
                    EngineRequest::Prompt { id, .. } => self.engine.answer_prompt(id, None),
                }
            }
            if let Some((id, request)) = self.pending.pop_front() {
                self.current = Some(id);
                return RunStep::Perform(Box::new(effect(*request, task)));
            }
            if is_idle {
                return RunStep::Done(Box::new(self.finish(task)));
            }
        }
    }

    /// Keeps the events that are relevant for the outcome.
    fn collect_events(&mut self) {
        for event in self.engine.take_events() {
            match event {
                HostEvent::HostFinished(end) if *end.task == *self.name => self.host_ends.push(end),
                HostEvent::Warning(text) => self.warnings.push(text),
                HostEvent::Error(text) => self.errors.push(text),
                _ => {}
            }
        }
    }

    fn finish(&self, task: &TaskView<'_>) -> TaskOutcome {
        let success = self.engine.state() == RunState::Done;
        let mut outcome = TaskOutcome {
            success,
            ..TaskOutcome::default()
        };
        if !self.acted {
            outcome.modified = Some(false);
        }
        if !success {
            outcome.notes.extend(self.errors.iter().cloned());
            outcome
                .notes
                .extend(self.host_ends.iter().filter_map(describe_failure));
        }
        let texts = |texts: &[String]| Value::list(texts.iter().map(|it| it.as_str().into()));
        let mut result = Map::from_iter([
            ("task".into(), Value::from(self.name.as_str())),
            ("success".into(), Value::from(success)),
            ("results".into(), task.foreign(Value::from(self.results()))),
        ]);
        apply_result_template(task, &result, &mut outcome);
        if !outcome.errors.is_empty() {
            outcome.success = false;
        }
        for (name, list) in [("warnings", &self.warnings), ("errors", &self.errors)] {
            if !list.is_empty() {
                result.insert(name.into(), texts(list));
            }
        }
        outcome.result = Some(Value::from(result));
        outcome
    }

    /// Returns the task's result on each host, or `ok` if it returned none.
    fn results(&self) -> Map {
        let mut results = self.engine.results().clone();
        for value in results.values_mut().filter(|value| value.is_null()) {
            *value = "ok".into();
        }
        results
    }
}

/// Converts a request of a task run to an effect.
fn effect(request: ActionRequest, task: &TaskView<'_>) -> TaskEffect {
    let mut action = request.action;
    if let Action::Run(command) = &mut action {
        command.echo &= task.settings.echo;
    }
    TaskEffect {
        chain: request.chain,
        host: request.host,
        ..TaskEffect::on(request.location, action)
    }
}

/// Returns a message about the failure of a task on a host.
fn describe_failure(end: &HostEnd) -> Option<String> {
    let (reason, line) = match &end.outcome {
        HostOutcome::Failed {
            reason,
            last_line,
            tolerated: false,
        } => (reason, last_line.as_deref()),
        HostOutcome::Unreachable {
            reason,
            tolerated: false,
        } => (reason, None),
        _ => return None,
    };
    let on = end.host.as_ref();
    let on = on.map_or(String::new(), |host| format!(" on `{host}`"));
    let line = line.map_or(String::new(), |line| format!(": {line}"));
    Some(format!("task `{}`{on}: {reason}{line}", end.task))
}
