//! Builds the commands of task steps.
//!
//! A command runs on a host, on a host as another user (`sudo`), or on this machine. The methods
//! extend [`TaskEngine`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::command_options::OptionStack;
use super::engine::PendingReply;
use super::failure::TaskFailure;
use super::host_steps::StepProgress;
use super::template::RenderedText;
use super::{ConnectionSettings, OutputKinds, TaskEngine, TaskStep, TemplateText};
use crate::expr::Context;
use crate::host::{
    Action, ActionRequest, BecomeUser, ChainExecutor, Command, DEFAULT_TOTAL_CAPTURE_LIMIT,
    Destination, ExecutorChain, HostParts, Location, Program, ProgramInput, PromptAnswer, Question,
    Secret, Stream,
};
use crate::text::shlex_quote;
use crate::value::{Map, Value};

/// Returns a command for a shell of this machine, in the folder of the run.
pub(super) fn local_shell(text: &str) -> Command {
    Command::new(Program::shell(text), "")
}

impl TaskEngine {
    /// Runs a text in a shell of the host, as another user if one is given.
    pub(super) fn run_command(
        &mut self,
        id: usize,
        step: &TaskStep,
        text: &TemplateText,
        user: Option<String>,
        context: &Context,
    ) -> Result<StepProgress, TaskFailure> {
        let user = user.or_else(|| self.become_user(id));
        let text = self.text(text, context)?;
        let verb = if user.is_some() { "sudo" } else { "run" };
        self.announce_step(id, verb, &text, step);
        let location = self.location_of(id)?;
        let mut command = self.command(id, Some(&user), text, context)?;
        let chain = match user {
            Some(user) => {
                defer_cd(&mut command);
                Some(self.sudo_chain(id, user, &location))
            }
            None => None,
        };
        let request = ActionRequest {
            chain,
            restart: step.options.restart,
            ..ActionRequest::new(location, Action::Run(command))
        };
        Ok(self.submit_request(id, request))
    }

    /// Returns the command of a step as it runs on a host, or on this machine without `user`.
    fn command(
        &mut self,
        id: usize,
        user: Option<&Option<String>>,
        text: RenderedText,
        scene: &Context,
    ) -> Result<Command, TaskFailure> {
        self.runs[id].command = Some(text.clone());
        let run = &self.runs[id];
        let env = &self.envs[run.env];
        let task = &self.batches[run.batch].task;
        let levels = run.cursor.options(&task.options);
        let options = OptionStack(&levels);
        let is_secret = options.any(|it| it.secret);
        let shell = match options.innermost(|it| it.shell.as_ref()) {
            Some(shell) => Some(self.text(shell, scene)?.text),
            None => env.shell.clone(),
        };
        let text = self.with_prefixes(options, text, scene)?;
        let program = Program::Shell {
            secret: text.secret || is_secret,
            text: text.text,
            shell,
        };
        let own = options.0.len().saturating_sub(1);
        let levels = options.0.iter().enumerate();
        let folders = levels.filter_map(|(level, it)| match user {
            Some(_) => it.cd.as_ref(),
            // `cd` of a local step is its own folder. `cd` of a block around it is one of the host.
            None => it
                .lcd
                .as_ref()
                .or_else(|| it.cd.as_ref().filter(|_| level == own)),
        });
        let cwd = self.joined_folders(folders, scene)?;
        let mut command = Command::new(program, cwd);
        for (name, value) in options.all(|it| &it.env) {
            let value = self.text(value, scene)?;
            if value.secret || is_secret {
                command.env.add_secret(name.as_str(), value.text);
            } else {
                command.env.add(name.as_str(), value.text);
            }
        }
        if let Some(stdin) = options.innermost(|it| it.stdin.as_ref()) {
            command.stdin = Some(self.text(stdin, scene)?.text.into_bytes());
        } else if user.is_none_or(Option::is_none) {
            command.answers = prompt_answers(&env.prompts);
        }
        command.secrets.append(&self.secrets);
        command.time_limit = self.time_limit(id);
        command.keep_whole_output(self.capture_limit(options));
        command.echo = !is_secret && !options.hidden().has(OutputKinds::OUTPUT);
        command.pty = options.any(|it| it.pty);
        command.raw = options.any(|it| it.raw);
        let reads_input = options.any(|it| it.program_input);
        command.program_input = reads_input.then(|| self.program_input(id));
        Ok(command)
    }

    /// Returns the part of a host in the input of this program: a copy if other hosts read it, too.
    fn program_input(&self, id: usize) -> ProgramInput {
        let batch = &self.batches[self.runs[id].batch];
        if batch.list.hosts.len() > 1 {
            ProgramInput::Copy
        } else {
            ProgramInput::Alone
        }
    }

    /// Puts the changes of `PATH` and the commands of `prefix` before a command.
    fn with_prefixes(
        &self,
        options: OptionStack<'_>,
        text: RenderedText,
        scene: &Context,
    ) -> Result<RenderedText, TaskFailure> {
        let mut lines = Vec::new();
        let mut secret = text.secret;
        let mut rendered = |text: &TemplateText| -> Result<String, TaskFailure> {
            let text = self.text(text, scene)?;
            secret |= text.secret;
            Ok(text.text)
        };
        for level in options.0 {
            let path = &level.path;
            let mut folders = |folders: &[TemplateText]| -> Result<String, TaskFailure> {
                let quoted = folders
                    .iter()
                    .map(|folder| rendered(folder).map(|folder| shlex_quote(&folder)));
                Ok(quoted.collect::<Result<Vec<_>, _>>()?.join(":"))
            };
            if let Some(all) = &path.replace {
                lines.push(format!("export PATH={}", folders(all)?));
            }
            if !path.prepend.is_empty() {
                lines.push(format!("export PATH={}:\"$PATH\"", folders(&path.prepend)?));
            }
            if !path.append.is_empty() {
                lines.push(format!("export PATH=\"$PATH\":{}", folders(&path.append)?));
            }
        }
        for prefix in options.all(|it| &it.prefix) {
            lines.push(rendered(prefix)?);
        }
        if lines.is_empty() {
            return Ok(text);
        }
        let prefixes = lines.join(" && ");
        let text = format!("{prefixes} && {{\n{}\n}}", text.text);
        Ok(RenderedText { text, secret })
    }

    /// Joins folders, outermost first. An absolute folder, or one that starts with `~`, replaces those before it.
    fn joined_folders<'a>(
        &self,
        folders: impl Iterator<Item = &'a TemplateText>,
        scene: &Context,
    ) -> Result<String, TaskFailure> {
        let mut joined = PathBuf::new();
        for folder in folders {
            let folder = self.text(folder, scene)?.text;
            if folder.starts_with('~') {
                joined = folder.into();
            } else {
                joined.push(folder);
            }
        }
        Ok(joined.to_string_lossy().into_owned())
    }

    /// Returns the command of a step as it runs on this machine, in the folder of the task.
    pub(super) fn local_command(
        &mut self,
        id: usize,
        text: RenderedText,
        scene: &Context,
    ) -> Result<Command, TaskFailure> {
        let mut command = self.command(id, None, text, scene)?;
        let folder = &self.batches[self.runs[id].batch].task.folder;
        command.cwd = folder.join(&command.cwd);
        let own = std::mem::take(&mut command.env);
        command.env.clone_from(&self.options.variables);
        command.env.append(own);
        Ok(command)
    }

    /// Returns the user that the inventory sets for the host of a run, with `become`.
    pub(super) fn become_user(&self, id: usize) -> Option<String> {
        let host = self.runs[id].target()?;
        self.services.roles.host_login(host)?.become_user
    }

    /// Returns the kinds of output that are hidden in the current step.
    pub(super) fn hidden_kinds(&self, id: usize) -> OutputKinds {
        let run = &self.runs[id];
        let task = &self.batches[run.batch].task;
        OptionStack(&run.cursor.options(&task.options)).hidden()
    }

    /// Returns true if an output of an action is not shown.
    pub fn hides_output(&self, action: u64, stream: Stream) -> bool {
        let Some(PendingReply::Action(run)) = self.pending.get(&action) else {
            return false;
        };
        self.hidden_kinds(*run).has(match stream {
            Stream::Stdout => OutputKinds::STDOUT,
            Stream::Stderr => OutputKinds::STDERR,
        })
    }

    /// Returns true if the current step is hidden, with its result.
    pub(super) fn is_secret(&self, id: usize) -> bool {
        let run = &self.runs[id];
        let task = &self.batches[run.batch].task;
        OptionStack(&run.cursor.options(&task.options)).any(|it| it.secret)
    }

    /// Returns the executor chain that runs a command as another user (F51).
    pub(super) fn sudo_chain(
        &self,
        id: usize,
        user: String,
        location: &Location,
    ) -> Arc<ExecutorChain> {
        let password = match location {
            Location::Ssh(destination) => destination.sudo_password.clone(),
            Location::Local | Location::Container(_) => {
                let run = &self.runs[id];
                let known = self.passwords.local_sudo(&self.envs[run.env].passwords);
                run.trials.sudo().or(known).cloned()
            }
        };
        let sudo = ChainExecutor::Sudo(BecomeUser { user, password });
        Arc::new(ExecutorChain::new(vec![sudo]))
    }

    /// Returns the time limit of the current step's command.
    pub(super) fn time_limit(&self, id: usize) -> Option<Duration> {
        let run = &self.runs[id];
        let task = &self.batches[run.batch].task;
        let options = run.cursor.options(&task.options);
        let limit = OptionStack(&options).innermost(|it| it.time_limit);
        limit.or(self.envs[run.env].command_timeout)
    }

    /// Returns the maximum size of long outputs of a command that are kept whole.
    fn capture_limit(&self, options: OptionStack<'_>) -> u64 {
        let limit = options.innermost(|it| it.capture).or(self.options.capture);
        limit.unwrap_or(DEFAULT_TOTAL_CAPTURE_LIMIT)
    }

    /// Returns the folder of this machine that relative paths of the current step start at.
    pub(super) fn local_folder(&self, id: usize, scene: &Context) -> Result<PathBuf, TaskFailure> {
        let run = &self.runs[id];
        let task = &self.batches[run.batch].task;
        let options = run.cursor.options(&task.options);
        let folders = options.iter().filter_map(|it| it.lcd.as_ref());
        let folder = self.joined_folders(folders, scene)?;
        Ok(task.folder.join(folder))
    }

    /// Returns a path of this machine, relative to the folder of the task or to that of `lcd`.
    pub(super) fn local_path(
        &self,
        id: usize,
        path: &TemplateText,
        scene: &Context,
    ) -> Result<PathBuf, TaskFailure> {
        let path = self.text(path, scene)?.text;
        let whole = self.local_folder(id, scene)?.join(&path);
        // A trailing slash means a folder; `join` would drop it.
        Ok(if path.ends_with('/') && !path.is_empty() {
            whole.join("")
        } else {
            whole
        })
    }

    /// Returns the location of the host of a run, with the known passwords.
    pub(super) fn location_of(&mut self, id: usize) -> Result<Location, TaskFailure> {
        let run = &self.runs[id];
        let Some(host) = run.target().cloned() else {
            return Err(TaskFailure::invalid_task("there is no host to run on"));
        };
        let key = (host, self.envs[run.env].user.clone());
        let settings = self.envs[run.env].connection.clone();
        let location = if let Some(location) = self.locations.get(&key) {
            location.clone()
        } else {
            let location = self.services.resolver.locate(&key.0, key.1.as_deref());
            let location = location.map_err(TaskFailure::invalid_task)?;
            self.locations.insert(key.clone(), location.clone());
            location
        };
        let location = self.with_connection_settings(&key.0, location, &settings);
        Ok(self.with_passwords(id, &location))
    }

    /// Applies the connection settings of an environment to a location.
    fn with_connection_settings(
        &self,
        host: &Arc<str>,
        location: Location,
        settings: &ConnectionSettings,
    ) -> Location {
        let Location::Ssh(destination) = &location else {
            return location;
        };
        if *settings == ConnectionSettings::default() {
            return location;
        }
        let mut destination = Destination::clone(destination);
        let names_port = HostParts::parse(host).port.is_some();
        // A host of an inventory has its own port.
        if !names_port && self.services.roles.host_data(host).is_none() {
            destination.address.port = settings.port.unwrap_or(destination.address.port);
        }
        let home = self.options.variables.get("HOME").unwrap_or("~");
        let own = settings
            .key_files
            .iter()
            .map(|file| match file.strip_prefix("~") {
                Ok(rest) => Path::new(home).join(rest),
                Err(_) => file.clone(),
            });
        let mut files: Vec<PathBuf> = own.collect();
        files.append(&mut destination.identities.files);
        destination.identities.files = files;
        destination.connect_timeout = settings.timeout.unwrap_or(destination.connect_timeout);
        destination.attempts = settings.attempts.unwrap_or(destination.attempts);
        destination.keepalive = settings.keepalive.or(destination.keepalive);
        destination.forward_agent = settings.forward_agent.unwrap_or(destination.forward_agent);
        Location::Ssh(Arc::new(destination))
    }

    /// Adds the known passwords to a location and to the gateways on the way.
    fn with_passwords(&self, id: usize, location: &Location) -> Location {
        let run = &self.runs[id];
        let stated = &self.envs[run.env].passwords;
        match location {
            Location::Ssh(destination) => Location::Ssh(Arc::new(self.passwords.apply(
                destination,
                stated,
                &run.trials,
            ))),
            _ => location.clone(),
        }
    }
}

/// Returns the answers to prompts that the environment knows.
fn prompt_answers(prompts: &Map) -> Vec<PromptAnswer> {
    let answer = |(prompt, answer): (&Arc<str>, &Value)| PromptAnswer {
        prompt: prompt.to_string(),
        reply: Some(Secret::new(answer.reveal().to_string())),
        question: Question::Settled(prompt.to_string()),
        ends_login: false,
    };
    prompts.iter().map(answer).collect()
}

/// Lets the command itself change to its folder.
///
/// The user who logs in may not be allowed to enter a folder of the user that the command runs as.
fn defer_cd(command: &mut Command) {
    let Program::Shell { text, .. } = &mut command.program else {
        return;
    };
    if !command.cwd.as_os_str().is_empty() {
        let folder = command.cwd.to_string_lossy();
        let dash = if folder.starts_with('-') { "./" } else { "" };
        let folder = shlex_quote(&format!("{dash}{folder}"));
        *text = format!("cd {folder} || exit\n{text}");
        command.cwd = PathBuf::new();
    }
}
