//! Begins the steps of a task on a host.

use std::path::{Component, Path};
use std::sync::Arc;

use super::arguments::Arguments;
use super::engine::{Do, Waiting};
use super::env::{Env, scope};
use super::failure::{Failure, FailureKind};
use super::run::Progress;
use super::running::Planned;
use super::template::Rendered;
use super::{Deed, Event, Execute, LocalPattern, Runbook, Settings, Step, Text, Transfer};
use crate::expr::Context;
use crate::host::{Action, Content, Get, Place, Put, Request};
use crate::value::{Map, REDACTED, Value};

/// What stands in the text of a step that is nobody's business.
const HIDDEN: &str = REDACTED;

impl Runbook {
    /// Begins a step, or does it at once.
    pub(super) fn perform(&mut self, id: usize, step: &Step) -> Result<Progress, Failure> {
        if self.needs_host(id, &step.deed)? {
            return Ok(Progress::Waits);
        }
        let scene = self.scene(id);
        match &step.deed {
            Deed::Run(text) => self.run(id, step, text, None, &scene),
            Deed::Sudo { text, user } => {
                let user = match user {
                    Some(user) => self.text(user, &scene)?.text,
                    None => "root".to_owned(),
                };
                self.run(id, step, text, Some(user), &scene)
            }
            Deed::Local(text) => {
                let text = self.text(text, &scene)?;
                self.tell(id, "local", &text, step);
                let command = self.local_command(id, step, text, &scene)?;
                Ok(self.submit(id, Place::Here, Action::Run(command)))
            }
            Deed::Put(transfer) => {
                let source = self.local_path(id, &transfer.source, &scene)?;
                self.put(id, step, transfer, Content::Path(source), &scene)
            }
            Deed::Template(transfer) => {
                let source = self.local_path(id, &transfer.source, &scene)?;
                let file = self.renderer.file(&source, &scene);
                let bytes = file.map_err(Failure::fault)?;
                self.put(id, step, transfer, Content::Bytes(bytes), &scene)
            }
            Deed::Get { source, target } => self.get(id, step, source, target.as_ref(), &scene),
            Deed::Fetch { source, target } => self.fetch(id, step, source, target),
            Deed::Prompt { text, default, .. } => {
                self.prompt(id, step, text, default.as_ref(), &scene)
            }
            Deed::Set(settings) => self.set(id, settings, &scene),
            Deed::Execute(execute) => self.execute(id, step, execute, &scene),
            Deed::Abort(text) => {
                let text = self.text(text, &scene)?;
                let reason = self.secrets.redact(&text.text);
                Err(Failure::new(FailureKind::Abort, reason))
            }
            Deed::Echo(text) => {
                let text = self.text(text, &scene)?;
                let host = self.runs[id].host.clone();
                let text = self.secrets.redact(&text.text);
                self.events.push(Event::Message { host, text });
                Ok(Progress::Next)
            }
        }
    }

    /// A text, rendered; a name that is not defined is the fault of the task.
    pub(super) fn text(&self, text: &Text, scene: &Context) -> Result<Rendered, Failure> {
        self.renderer.text(text, scene).map_err(Failure::fault)
    }

    /// Asks for a host where a step needs one and the task has none (F52).
    fn needs_host(&mut self, id: usize, deed: &Deed) -> Result<bool, Failure> {
        let is_remote = matches!(
            deed,
            Deed::Run(_)
                | Deed::Sudo { .. }
                | Deed::Put(_)
                | Deed::Get { .. }
                | Deed::Fetch { .. }
                | Deed::Template(_)
        );
        if !is_remote || self.runs[id].target().is_some() {
            return Ok(false);
        }
        if let Some(failure) = self.nobody_to_ask(id, "a host to run on") {
            return Err(failure);
        }
        let task = &self.batches[self.runs[id].batch].task.name;
        let text = format!("Host for task `{task}`");
        let id = self.wait_for(Waiting::Host(id));
        self.todo.push(Do::Prompt {
            id,
            host: None,
            text,
            default: None,
            secret: false,
        });
        Ok(true)
    }

    /// Says what a step does: as it is written where secrets are in it, and not at all where it is
    /// secret itself.
    pub(super) fn tell(&mut self, id: usize, what: &str, text: &Rendered, step: &Step) {
        let run = &self.runs[id];
        if !run.tries.are_none() {
            return;
        }
        let shown = match &step.deed {
            _ if step.how.secret => HIDDEN,
            _ if !text.secret => text.text.as_str(),
            Deed::Run(text) | Deed::Sudo { text, .. } | Deed::Local(text) => text.as_str(),
            _ => HIDDEN,
        };
        let host = run.target().cloned();
        let text = format!("{what}: {}", self.secrets.redact(shown));
        self.events.push(Event::Step { host, text });
    }

    /// Asks for an action to be performed.
    pub(super) fn submit(&mut self, run: usize, place: Place, action: Action) -> Progress {
        self.ask_for(run, Request::at(place, action))
    }

    /// Asks for what a request says; it goes through its executors as that of its host.
    pub(super) fn ask_for(&mut self, run: usize, mut request: Request) -> Progress {
        let host = self.runs[run].target().cloned();
        request.host = host.as_deref().map(str::to_owned);
        let id = self.wait_for(Waiting::Action(run));
        let request = Box::new(request);
        self.todo.push(Do::Perform { id, host, request });
        Progress::Waits
    }

    fn put(
        &mut self,
        id: usize,
        step: &Step,
        transfer: &Transfer,
        source: Content,
        scene: &Context,
    ) -> Result<Progress, Failure> {
        let target = self.text(&transfer.target, scene)?;
        let shown = Rendered {
            text: format!("{} -> {}", transfer.source.as_str(), target.text),
            secret: target.secret,
        };
        self.tell(id, "put", &shown, step);
        let place = self.place_of(id)?;
        let put = Put {
            source,
            target: target.text,
            mode: transfer.mode,
            time_limit: self.time_limit(id, step),
        };
        Ok(self.submit(id, place, Action::Put(put)))
    }

    fn get(
        &mut self,
        id: usize,
        step: &Step,
        source: &Text,
        target: Option<&Text>,
        scene: &Context,
    ) -> Result<Progress, Failure> {
        let source = self.text(source, scene)?;
        let target = if let Some(target) = target {
            self.local_path(id, target, scene)?
        } else {
            let host = self.runs[id].target().map_or("", |host| host);
            let folder = &self.batches[self.runs[id].batch].task.folder;
            below(folder, host, &source.text)
        };
        self.tell(id, "get", &source, step);
        let place = self.place_of(id)?;
        let get = Get {
            source: source.text,
            target,
            time_limit: self.time_limit(id, step),
        };
        Ok(self.submit(id, place, Action::Get(get)))
    }

    fn fetch(
        &mut self,
        id: usize,
        step: &Step,
        source: &str,
        target: &LocalPattern,
    ) -> Result<Progress, Failure> {
        let run = &self.runs[id];
        let host = run.target().map_or("", |host| host);
        let batch = &self.batches[run.batch];
        let place = target.place(host, source, batch.list.hosts.len() > 1);
        let target = batch.task.folder.join(place);
        let shown = Rendered {
            text: format!("{source} -> {}", target.display()),
            secret: false,
        };
        self.tell(id, "get", &shown, step);
        let place = self.place_of(id)?;
        let get = Get {
            source: source.to_owned(),
            target,
            time_limit: self.time_limit(id, step),
        };
        Ok(self.submit(id, place, Action::Get(get)))
    }

    fn prompt(
        &mut self,
        id: usize,
        step: &Step,
        text: &Text,
        default: Option<&Text>,
        scene: &Context,
    ) -> Result<Progress, Failure> {
        let text = self.text(text, scene)?.text;
        let default = match default {
            Some(default) => Some(self.text(default, scene)?.text),
            None => None,
        };
        if let Some(failure) = self.nobody_to_ask(id, &format!("an answer to `{}`", text.trim())) {
            return Err(failure);
        }
        let host = self.runs[id].target().cloned();
        let id = self.wait_for(Waiting::Prompt(id));
        self.todo.push(Do::Prompt {
            id,
            host,
            text,
            default,
            secret: step.how.secret,
        });
        Ok(Progress::Waits)
    }

    fn set(
        &mut self,
        id: usize,
        settings: &Settings,
        scene: &Context,
    ) -> Result<Progress, Failure> {
        let place = self.runs[id].env;
        let mut env = Env::clone(&self.envs[place]);
        env.apply(settings, &self.renderer, scene)
            .map_err(|error| Failure::fault(format!("`set`: {error}")))?;
        for value in env.vars.values() {
            self.secrets.gather(value);
        }
        self.envs[place] = Arc::new(env);
        Ok(Progress::Next)
    }

    /// Runs another task, or takes what it gave (F23, F25, F26).
    fn execute(
        &mut self,
        id: usize,
        step: &Step,
        execute: &Execute,
        scene: &Context,
    ) -> Result<Progress, Failure> {
        if let Some(result) = self.runs[id].executed.take() {
            let value = match result {
                Ok(value) => value,
                Err(failure) if step.warn_only && !failure.is_final() => {
                    self.warn(failure.reason.clone());
                    Value::map([
                        ("failed", Value::from(true)),
                        ("ok", false.into()),
                        ("reason", failure.reason.into()),
                    ])
                }
                Err(failure) => return Err(failure),
            };
            self.register(id, step.register.as_ref(), value);
            return Ok(Progress::Next);
        }
        let name = match &execute.task {
            Some(name) => self.text(name, scene)?.text,
            None => String::new(),
        };
        let run = &self.runs[id];
        let namespace = Arc::clone(&self.batches[run.batch].task.namespace);
        let Some(task) = self.tasks.find(&name, &namespace).cloned() else {
            let hint = self.tasks.hint(&name);
            let hint = hint.map_or(String::new(), |hint| format!(" ({hint})"));
            let message = format!("there is no task `{name}`{hint}");
            if self.envs[run.env].switches.skip_unknown_tasks {
                self.warn(format!("{message}; it is passed over"));
                self.register(id, step.register.as_ref(), Value::Null);
                return Ok(Progress::Next);
            }
            return Err(Failure::new(FailureKind::Abort, message));
        };
        let mut list = Vec::with_capacity(execute.args.len());
        for raw in &execute.args {
            list.push(self.value(id, raw).map_err(Failure::fault)?);
        }
        let mut map = Map::new();
        for (name, raw) in &execute.kwargs {
            let value = self.value(id, raw).map_err(Failure::fault)?;
            map.insert(Arc::clone(name), value);
        }
        let arguments = Arguments::bind(&task, list, map).map_err(Failure::fault)?;
        let scope = scope(&execute.scope, &self.renderer, scene).map_err(Failure::fault)?;
        self.begin(Planned {
            task,
            arguments: Arc::new(arguments),
            scope,
            parent: Some(id),
        });
        Ok(Progress::Waits)
    }
}

/// Where what is brought from a host goes if nobody says it: below a folder with its name. Neither
/// the name nor the path leads out of there.
fn below(folder: &Path, host: &str, source: &str) -> std::path::PathBuf {
    let name: String = host
        .chars()
        .map(|c| if c == '/' { '_' } else { c })
        .collect();
    let name = if name.chars().all(|c| c == '.') {
        "_".to_owned()
    } else {
        name
    };
    let parts = Path::new(source).components();
    let parts = parts.filter(|part| matches!(part, Component::Normal(_)));
    folder
        .join(name)
        .join(parts.collect::<std::path::PathBuf>())
}
