//! Task: a task of `tasks.yaml` as an operation, one action after the other (spec/hosts.md F).

use std::collections::VecDeque;
use std::path::Path;

use super::result::apply_result_template;
use super::shell_run::never_began;
use super::task_file::TaskFile;
use super::template::failed;
use crate::expr::{Error, LocalContext};
use crate::host::{Action, ActionResult, Exit, Request};
use crate::runbook::{Call, Do, Event, HostEnd, HostOutcome, Options, Runbook, Scope, State};
use crate::system::user;
use crate::task::{Configurator, Effect, EffectResult, Outcome, Progress, Rendered, Run, TaskView};
use crate::value::{Map, Value};

/// The input that stands for the texts of the tasks.
const FILES: &str = "task_files";
/// The inputs that say where a task runs.
const SCOPE: [&str; 3] = ["hosts", "roles", "exclude_hosts"];

/// Runs `task`, a task of `tasks.yaml`.
#[derive(Debug)]
pub(super) struct NamedTask;

impl Configurator for NamedTask {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.task.TaskConfigurator"
    }

    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &["resultTemplate"]
    }

    fn add_inputs(&self, inputs: &mut Map, world: &dyn LocalContext, base_dir: &Path) {
        inputs.shift_remove(FILES);
        // What is wrong with the file is said when the task is rendered.
        if let Ok(file) = TaskFile::read(stated_file(inputs), world, base_dir) {
            inputs.insert(FILES.into(), Value::from(file.digests));
        }
    }

    fn can_dry_run(&self, _task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(false)
    }

    fn render(&self, task: &TaskView<'_>) -> Result<Rendered, Error> {
        let order = Order::of(task)?;
        // Where a host has no address yet, the task waits for it.
        task.helpers(&order.call.scope.hosts)?;
        let file = file_of(task).map_err(wrong)?;
        if file.tasks.find(&order.call.task, "").is_none() {
            let hint = file.tasks.hint(&order.call.task);
            let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
            let name = &order.call.task;
            return Err(wrong(format!("there is no task `{name}`{hint}")));
        }
        task.input(FILES)?;
        Ok(Rendered::default())
    }

    fn begin(&self, _rendered: Rendered) -> Box<dyn Run> {
        Box::new(TaskRun::default())
    }
}

fn stated_file(inputs: &Map) -> Option<&Value> {
    inputs.get("file").filter(|file| !file.is_null())
}

fn file_of(task: &TaskView<'_>) -> Result<TaskFile, String> {
    let base = task.settings.base_dir;
    TaskFile::read(stated_file(task.inputs), task.world(), base)
}

fn wrong(problem: impl Into<String>) -> Error {
    Error::Function {
        function: "Task".to_owned(),
        problem: problem.into(),
    }
}

/// What an operation asks for: a task, where, and with what.
#[derive(Debug)]
struct Order {
    call: Call,
    args: Vec<Value>,
    kwargs: Map,
}

impl Order {
    fn of(task: &TaskView<'_>) -> Result<Self, Error> {
        let text = task.input("task")?.unwrap_or_default();
        if text.has_sensitive() {
            return Err(wrong(
                "`task` must not be a secret, which `arguments` may be",
            ));
        }
        let text = text.as_str().unwrap_or_default().to_owned();
        let mut call = Call::parse(&text).map_err(|error| wrong(error.to_string()))?;
        task.input("file")?;
        let [hosts, roles, excluded] = SCOPE;
        let Scope {
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
                *list = texts(name, &value)?;
            }
        }
        let (mut args, mut kwargs) = (Vec::new(), Map::new());
        match task.input("arguments")?.unwrap_or_default() {
            Value::Null => {}
            Value::List(list) => args = list.to_vec(),
            Value::Map(map) => kwargs.clone_from(&map),
            other => {
                let kind = other.kind();
                return Err(wrong(format!(
                    "`arguments` must be a map or a list, not {kind}"
                )));
            }
        }
        Ok(Self { call, args, kwargs })
    }
}

/// The host strings or roles of an input: a text with semicolons, or a list.
fn texts(name: &str, value: &Value) -> Result<Vec<String>, Error> {
    let items: Vec<String> = match value.reveal() {
        Value::Str(text) => text.split(';').map(str::to_owned).collect(),
        Value::List(list) => {
            let texts = list
                .iter()
                .map(|item| Some(item.reveal().as_str()?.to_owned()));
            let texts: Option<_> = texts.collect();
            texts.ok_or_else(|| wrong(format!("`{name}` must be a list of texts")))?
        }
        other => {
            let kind = other.kind();
            return Err(wrong(format!(
                "`{name}` must be a text or a list, not {kind}"
            )));
        }
    };
    let items: Vec<String> = items.iter().map(|item| item.trim().to_owned()).collect();
    if items.iter().any(String::is_empty) {
        return Err(wrong(format!("`{name}` has an empty item")));
    }
    Ok(items)
}

/// One run of the operation.
#[derive(Debug, Default)]
struct TaskRun {
    going: Option<Box<Going>>,
}

impl Run for TaskRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> Progress {
        if let (Some(going), Some(EffectResult::Action(result))) = (&mut self.going, &last) {
            going.heard(result);
            return going.go_on(task);
        }
        match Going::begin(task) {
            Ok(going) => self.going.insert(Box::new(going)).go_on(task),
            Err(error) => {
                let mut outcome = failed(&error);
                outcome.modified = Some(false);
                Progress::Done(Box::new(outcome))
            }
        }
    }
}

/// A task that is under way.
#[derive(Debug)]
struct Going {
    name: String,
    runbook: Runbook,
    /// What is to be performed: hosts that run at the same time take turns here.
    waiting: VecDeque<(u64, Box<Request>)>,
    /// The number of what is performed now.
    current: Option<u64>,
    /// Whether anything was begun on any host.
    acted: bool,
    ends: Vec<HostEnd>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

impl Going {
    fn begin(task: &TaskView<'_>) -> Result<Self, Error> {
        let order = Order::of(task)?;
        let file = file_of(task).map_err(wrong)?;
        if task.input(FILES)? != Some(Value::from(file.digests)) {
            return Err(wrong(
                "the file with the task has changed since the job began",
            ));
        }
        let helpers = task.helpers(&order.call.scope.hosts)?;
        let variables = task.environment()?;
        let user = ["LOGNAME", "USER"].iter().find_map(|name| {
            let found = variables.get(name).filter(|user| !user.is_empty());
            found.map(str::to_owned)
        });
        let options = Options {
            command_timeout: task.settings.time_limit,
            local_user: user.unwrap_or_else(user::name),
            variables,
            folder: task.settings.base_dir.to_owned(),
            ..Options::default()
        };
        let found = file.tasks.find(&order.call.task, "");
        let name = found.map_or_else(|| order.call.task.clone(), |task| task.name.to_string());
        let runbook = Runbook::new(file.tasks, &[], options, helpers);
        let mut runbook = runbook.map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            wrong(problems.join("; "))
        })?;
        let called = runbook.call(&order.call, order.args, order.kwargs);
        called.map_err(|problem| wrong(problem.to_string()))?;
        Ok(Self {
            name,
            runbook,
            waiting: VecDeque::new(),
            current: None,
            acted: false,
            ends: Vec::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
        })
    }

    /// Takes the result of what was performed.
    fn heard(&mut self, result: &ActionResult) {
        let Some(id) = self.current.take() else {
            return;
        };
        self.acted |= !never_began(result.exit());
        if *result.exit() == Exit::Cancelled {
            self.runbook.interrupt();
            // Who asks for an end does not wait for those whose turn has not come.
            for (id, request) in std::mem::take(&mut self.waiting) {
                let none = ActionResult::not_performed(&request.action, Exit::Cancelled);
                self.runbook.heard(id, &none);
            }
        }
        self.runbook.heard(id, result);
    }

    /// Goes on until something is to be performed, or to the end.
    fn go_on(&mut self, task: &TaskView<'_>) -> Progress {
        loop {
            let todo = self.runbook.next();
            self.listen();
            let is_idle = todo.is_empty();
            for one in todo {
                match one {
                    Do::Perform { id, request, .. } => self.waiting.push_back((id, request)),
                    // There is nobody to ask (F52).
                    Do::Ask { id, .. } => self.runbook.answered(id, None),
                    Do::Prompt { id, .. } => self.runbook.prompted(id, None),
                }
            }
            if let Some((id, request)) = self.waiting.pop_front() {
                self.current = Some(id);
                return Progress::Do(Box::new(effect(*request, task)));
            }
            if is_idle {
                return Progress::Done(Box::new(self.finish(task)));
            }
        }
    }

    /// Keeps what is worth telling of what has happened.
    fn listen(&mut self) {
        for event in self.runbook.take_events() {
            match event {
                Event::HostEnds(end) if *end.task == *self.name => self.ends.push(end),
                Event::Warning(text) => self.warnings.push(text),
                Event::Error(text) => self.errors.push(text),
                _ => {}
            }
        }
    }

    fn finish(&self, task: &TaskView<'_>) -> Outcome {
        let success = self.runbook.state() == State::Done;
        let mut outcome = Outcome {
            success,
            ..Outcome::default()
        };
        if !self.acted {
            outcome.modified = Some(false);
        }
        if !success {
            outcome.notes.extend(self.errors.iter().cloned());
            outcome.notes.extend(self.ends.iter().filter_map(complaint));
        }
        let texts = |texts: &[String]| Value::list(texts.iter().map(|it| it.as_str().into()));
        let mut result = Map::from_iter([
            ("task".into(), Value::from(self.name.as_str())),
            ("success".into(), Value::from(success)),
            ("results".into(), Value::from(self.results())),
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

    /// What the task gave on each host; `ok` where it returns nothing.
    fn results(&self) -> Map {
        let mut results = self.runbook.results().clone();
        for value in results.values_mut().filter(|value| value.is_null()) {
            *value = "ok".into();
        }
        results
    }
}

/// What a run of tasks asks for, as an operation does.
fn effect(request: Request, task: &TaskView<'_>) -> Effect {
    let mut action = request.action;
    if let Action::Run(command) = &mut action {
        command.echo &= task.settings.echo;
    }
    Effect {
        chain: request.chain,
        host: request.host,
        ..Effect::at(request.place, action)
    }
}

/// Why a task failed on a host, in words.
fn complaint(end: &HostEnd) -> Option<String> {
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
