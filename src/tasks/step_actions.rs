//! Starts the steps of a task on a host.
//!
//! Renders the templates of a step and submits its request. The methods extend [`TaskEngine`];
//! `replies` takes the results.

use std::path::{Component, Path};
use std::sync::Arc;

use super::arguments::TaskArguments;
use super::engine::{EngineRequest, PendingReply};
use super::failure::{TaskFailure, TaskFailureKind};
use super::host_steps::StepProgress;
use super::repeat::AttemptEnd;
use super::run_state::PlannedTask;
use super::task_env::{TaskEnv, render_scope};
use super::template::RenderedText;
use super::{
    Download, EnvSettings, Execute, HostEvent, OutputKinds, StepAction, TaskEngine, TaskStep,
    TemplateText, Transfer,
};
use crate::expr::Context;
use crate::host::{Action, ActionRequest, Content, FunctionCall, Get, Location, Put};
use crate::system::fs::SECRET_MODE;
use crate::value::{Map, REDACTED, Value};

/// The text that replaces a secret step in messages.
const HIDDEN: &str = REDACTED;

impl TaskEngine {
    /// Starts a step, or performs it at once if it needs no reply.
    pub(super) fn perform_step(
        &mut self,
        id: usize,
        step: &TaskStep,
    ) -> Result<StepProgress, TaskFailure> {
        if self.request_missing_host(id, &step.action)? {
            return Ok(StepProgress::Pending);
        }
        let context = self.template_context(id);
        match &step.action {
            StepAction::Run(text) => self.run_command(id, step, text, None, &context),
            StepAction::Sudo { text, user } => {
                let user = match user {
                    Some(user) => self.text(user, &context)?.text,
                    None => "root".to_owned(),
                };
                self.run_command(id, step, text, Some(user), &context)
            }
            StepAction::Local(text) => {
                let text = self.text(text, &context)?;
                self.announce_step(id, "local", &text, step);
                let command = self.local_command(id, text, &context)?;
                Ok(self.submit_action(id, Location::Local, Action::Run(command)))
            }
            StepAction::Put(transfer) => {
                let source = self.local_path(id, &transfer.source, &context)?;
                let (source, mode) = (Content::Path(source), transfer.mode);
                self.put(id, step, transfer, (source, mode), &context)
            }
            StepAction::Template(transfer) => self.put_rendered(id, step, transfer, &context),
            StepAction::Get(download) => self.get(id, step, download, &context),
            StepAction::Fetch { .. } => self.fetch(id, step),
            StepAction::Prompt { text, default, .. } => {
                self.prompt(id, text, default.as_ref(), &context)
            }
            StepAction::Call(call) => self.call_function(id, step, call),
            StepAction::Set(settings) => self.set(id, settings, &context),
            StepAction::Execute(execute) => self.execute(id, step, execute, &context),
            StepAction::Abort(text) => {
                let text = self.text(text, &context)?;
                let reason = self.secrets.redact(&text.text);
                Err(TaskFailure::new(TaskFailureKind::Abort, reason))
            }
            StepAction::Echo(text) => {
                let text = self.text(text, &context)?;
                let host = self.runs[id].host.clone();
                let text = self.secrets.redact(&text.text);
                if !self.hidden_kinds(id).has(OutputKinds::USER) {
                    self.events.push(HostEvent::Message { host, text });
                }
                Ok(StepProgress::Done)
            }
            StepAction::Block(block) => self.enter_block(id, block),
        }
    }

    /// Renders a text. An undefined name is an error of the task.
    pub(super) fn text(
        &self,
        text: &TemplateText,
        context: &Context,
    ) -> Result<RenderedText, TaskFailure> {
        self.renderer
            .text(text, context)
            .map_err(TaskFailure::invalid_task)
    }

    /// Asks the user for a host if the step needs one and the task has none (F52).
    ///
    /// Returns whether the user was asked.
    fn request_missing_host(
        &mut self,
        id: usize,
        action: &StepAction,
    ) -> Result<bool, TaskFailure> {
        let is_remote = matches!(
            action,
            StepAction::Run(_)
                | StepAction::Sudo { .. }
                | StepAction::Put(_)
                | StepAction::Get(_)
                | StepAction::Fetch { .. }
                | StepAction::Template(_)
                | StepAction::Call(_)
        );
        if !is_remote || self.runs[id].target().is_some() {
            return Ok(false);
        }
        if let Some(failure) = self.prompt_unavailable(id, "a host to run on") {
            return Err(failure);
        }
        let task = &self.batches[self.runs[id].batch].task.name;
        let text = format!("Host for task `{task}`");
        let id = self.register_pending(PendingReply::Host(id));
        self.requests.push(EngineRequest::Prompt {
            id,
            host: None,
            text,
            default: None,
            secret: false,
        });
        Ok(true)
    }

    /// Emits the event for a step.
    ///
    /// A text with secrets is shown as written, before rendering; a secret step is not shown at
    /// all.
    pub(super) fn announce_step(
        &mut self,
        id: usize,
        what: &str,
        text: &RenderedText,
        step: &TaskStep,
    ) {
        let run = &self.runs[id];
        if !run.tries.is_zero() || self.hidden_kinds(id).has(OutputKinds::RUNNING) {
            return;
        }
        let shown = match &step.action {
            _ if self.is_secret(id) => HIDDEN,
            _ if !text.secret => text.text.as_str(),
            StepAction::Run(text) | StepAction::Sudo { text, .. } | StepAction::Local(text) => {
                text.as_str()
            }
            _ => HIDDEN,
        };
        let host = run.target().cloned();
        let text = format!("{what}: {}", self.secrets.redact(shown));
        self.events.push(HostEvent::Step { host, text });
    }

    /// Submits an action for the host of a run.
    pub(super) fn submit_action(
        &mut self,
        run: usize,
        location: Location,
        action: Action,
    ) -> StepProgress {
        self.submit_request(run, ActionRequest::new(location, action))
    }

    /// Submits a request for the host of a run, whose name the executors use.
    pub(super) fn submit_request(
        &mut self,
        run: usize,
        mut request: ActionRequest,
    ) -> StepProgress {
        let host = self.runs[run].target().cloned();
        request.host = host.as_deref().map(str::to_owned);
        let id = self.register_pending(PendingReply::Action(run));
        let request = Box::new(request);
        self.requests
            .push(EngineRequest::Perform { id, host, request });
        StepProgress::Pending
    }

    /// Uploads a rendered template. The file is private if it holds a secret and no mode is given.
    fn put_rendered(
        &mut self,
        id: usize,
        step: &TaskStep,
        transfer: &Transfer,
        scene: &Context,
    ) -> Result<StepProgress, TaskFailure> {
        let source = self.local_path(id, &transfer.source, scene)?;
        let file = self.renderer.file(&source, scene);
        let bytes = file.map_err(TaskFailure::invalid_task)?;
        let is_secret = self.secrets.occur_in_bytes(&bytes);
        let mode = transfer.mode.or(is_secret.then_some(SECRET_MODE));
        self.put(id, step, transfer, (Content::Bytes(bytes), mode), scene)
    }

    fn put(
        &mut self,
        id: usize,
        step: &TaskStep,
        transfer: &Transfer,
        (source, mode): (Content, Option<u32>),
        scene: &Context,
    ) -> Result<StepProgress, TaskFailure> {
        let target = self.text(&transfer.target, scene)?;
        let shown = RenderedText {
            text: format!("{} -> {}", transfer.source.as_str(), target.text),
            secret: target.secret,
        };
        self.announce_step(id, "put", &shown, step);
        let put = Put {
            source,
            target: target.text,
            mode,
            settings: transfer.settings.clone(),
            time_limit: self.time_limit(id),
        };
        let user = self.transfer_user(transfer.sudo.as_ref(), scene)?;
        self.submit_transfer(id, Action::Put(put), user)
    }

    fn get(
        &mut self,
        id: usize,
        step: &TaskStep,
        download: &Download,
        scene: &Context,
    ) -> Result<StepProgress, TaskFailure> {
        let source = self.text(&download.source, scene)?;
        let target = if let Some(target) = &download.target {
            self.local_path(id, target, scene)?
        } else {
            let folder = self.local_folder(id, scene)?;
            let host = self.runs[id].target().map_or("", |host| host);
            default_download_path(&folder, host, &source.text)
        };
        self.announce_step(id, "get", &source, step);
        let get = Get {
            source: source.text,
            target,
            max_bytes: download.max_bytes,
            settings: download.settings.clone(),
            time_limit: self.time_limit(id),
        };
        let user = self.transfer_user(download.sudo.as_ref(), scene)?;
        self.submit_transfer(id, Action::Get(get), user)
    }

    /// Returns the user who transfers files on the host. None for the one who logs in.
    fn transfer_user(
        &self,
        sudo: Option<&TemplateText>,
        scene: &Context,
    ) -> Result<Option<String>, TaskFailure> {
        sudo.map(|user| Ok(self.text(user, scene)?.text))
            .transpose()
    }

    /// Submits a transfer, as another user of the host if the step or the inventory names one.
    fn submit_transfer(
        &mut self,
        id: usize,
        action: Action,
        user: Option<String>,
    ) -> Result<StepProgress, TaskFailure> {
        let location = self.location_of(id)?;
        let user = user.or_else(|| self.become_user(id));
        let chain = user.map(|user| self.sudo_chain(id, user, &location));
        let request = ActionRequest {
            chain,
            ..ActionRequest::new(location, action)
        };
        Ok(self.submit_request(id, request))
    }

    /// Fetches a file or folder to the path of a pattern.
    fn fetch(&mut self, id: usize, step: &TaskStep) -> Result<StepProgress, TaskFailure> {
        let StepAction::Fetch {
            source,
            target,
            max_bytes,
            settings,
            sudo,
        } = &step.action
        else {
            return Ok(StepProgress::Done);
        };
        let run = &self.runs[id];
        let host = run.target().map_or("", |host| host);
        let batch = &self.batches[run.batch];
        let location = target.expand(host, source, batch.list.hosts.len() > 1);
        let target = batch.task.folder.join(location);
        let shown = RenderedText {
            text: format!("{source} -> {}", target.display()),
            secret: false,
        };
        self.announce_step(id, "get", &shown, step);
        let get = Get {
            source: source.to_owned(),
            target,
            max_bytes: *max_bytes,
            settings: settings.clone(),
            time_limit: self.time_limit(id),
        };
        self.submit_transfer(id, Action::Get(get), sudo.clone())
    }

    /// Passes a function to the executors. Its arguments may be secret, so they are not shown.
    fn call_function(
        &mut self,
        id: usize,
        step: &TaskStep,
        call: &FunctionCall,
    ) -> Result<StepProgress, TaskFailure> {
        let shown = RenderedText {
            text: call.function.clone(),
            secret: false,
        };
        self.announce_step(id, "call", &shown, step);
        let location = self.location_of(id)?;
        Ok(self.submit_action(id, location, Action::Call(call.clone())))
    }

    fn prompt(
        &mut self,
        id: usize,
        text: &TemplateText,
        default: Option<&TemplateText>,
        scene: &Context,
    ) -> Result<StepProgress, TaskFailure> {
        let text = self.text(text, scene)?.text;
        let default = match default {
            Some(default) => Some(self.text(default, scene)?.text),
            None => None,
        };
        if let Some(failure) =
            self.prompt_unavailable(id, &format!("an answer to `{}`", text.trim()))
        {
            return Err(failure);
        }
        let host = self.runs[id].target().cloned();
        let secret = self.is_secret(id);
        let id = self.register_pending(PendingReply::Prompt(id));
        self.requests.push(EngineRequest::Prompt {
            id,
            host,
            text,
            default,
            secret,
        });
        Ok(StepProgress::Pending)
    }

    fn set(
        &mut self,
        id: usize,
        settings: &EnvSettings,
        scene: &Context,
    ) -> Result<StepProgress, TaskFailure> {
        let run = &self.runs[id];
        let own = [run.env];
        // The changes outlast the blocks around the step.
        let envs: Vec<usize> = run
            .outer_env
            .into_iter()
            .chain(run.cursor.outer_envs())
            .chain(own)
            .collect();
        for location in envs {
            let mut env = TaskEnv::clone(&self.envs[location]);
            env.apply(settings, &self.renderer, scene)
                .map_err(|error| TaskFailure::invalid_task(format!("`set`: {error}")))?;
            for value in env.vars.values() {
                self.secrets.gather(value);
            }
            self.envs[location] = Arc::new(env);
        }
        Ok(StepProgress::Done)
    }

    /// Starts another task, or takes its result once it has ended (F23, F25, F26).
    fn execute(
        &mut self,
        id: usize,
        step: &TaskStep,
        execute: &Execute,
        scene: &Context,
    ) -> Result<StepProgress, TaskFailure> {
        if let Some(result) = self.runs[id].execute_result.take() {
            return self.complete_executed(id, step, result);
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
                self.warn(format!("{message}; the call is skipped"));
                self.register(id, step.register.as_ref(), Value::Null);
                return Ok(StepProgress::Done);
            }
            return Err(TaskFailure::new(TaskFailureKind::Abort, message));
        };
        let mut list = Vec::with_capacity(execute.args.len());
        for raw in &execute.args {
            list.push(self.evaluate(id, raw).map_err(TaskFailure::invalid_task)?);
        }
        let mut map = Map::new();
        for (name, raw) in &execute.kwargs {
            let value = self.evaluate(id, raw).map_err(TaskFailure::invalid_task)?;
            map.insert(Arc::clone(name), value);
        }
        let arguments = TaskArguments::bind(&task, list, map).map_err(TaskFailure::invalid_task)?;
        let scope = render_scope(&execute.scope, &self.renderer, scene)
            .map_err(TaskFailure::invalid_task)?;
        self.begin_task(PlannedTask {
            task,
            arguments: Arc::new(arguments),
            scope,
            parent: Some(id),
        });
        Ok(StepProgress::Pending)
    }
}

impl TaskEngine {
    /// Takes the result of the task that a step executed.
    fn complete_executed(
        &mut self,
        id: usize,
        step: &TaskStep,
        result: Result<Value, TaskFailure>,
    ) -> Result<StepProgress, TaskFailure> {
        let (value, mut failure) = match result {
            Ok(value) => (value, None),
            Err(failure) if failure.is_final() => return Err(failure),
            Err(failure) => (failed_value(&failure), Some(failure)),
        };
        if let Some(until) = &step.until {
            match self.end_attempt(id, until, &value.clone().into(), failure)? {
                AttemptEnd::Ended(end) => failure = end,
                AttemptEnd::Repeated => return Ok(StepProgress::Pending),
            }
        }
        match failure {
            Some(failure) if step.warn_only => self.warn(failure.reason),
            Some(failure) => return Err(failure),
            None => {}
        }
        self.register(id, step.register.as_ref(), value);
        Ok(StepProgress::Done)
    }
}

/// Returns the value that stands for the result of a task that failed.
fn failed_value(failure: &TaskFailure) -> Value {
    Value::map([
        ("failed", Value::from(true)),
        ("ok", false.into()),
        ("succeeded", false.into()),
        ("reason", failure.reason.as_str().into()),
    ])
}

/// Returns the local path of a download without a stated target: below a folder with the name of
/// the host.
///
/// Neither the host name nor the path can leave the folder of the task.
fn default_download_path(folder: &Path, host: &str, source: &str) -> std::path::PathBuf {
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
