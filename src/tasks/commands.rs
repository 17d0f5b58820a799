//! Builds the commands of task steps.
//!
//! A command runs on a host, on a host as another user (`sudo`), or on this machine. The methods
//! extend [`TaskEngine`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::failure::TaskFailure;
use super::host_steps::StepProgress;
use super::template::RenderedText;
use super::{TaskEngine, TaskStep, TemplateText};
use crate::expr::Context;
use crate::host::{
    Action, ActionRequest, BecomeUser, ChainExecutor, Command, DEFAULT_TOTAL_CAPTURE_LIMIT,
    ExecutorChain, Location, Program, ProgramInput,
};
use crate::text::shlex_quote;

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
        let mut command = self.command(id, step, text, context)?;
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

    /// Returns the command of a step as it runs on a host.
    fn command(
        &self,
        id: usize,
        step: &TaskStep,
        text: RenderedText,
        scene: &Context,
    ) -> Result<Command, TaskFailure> {
        let options = &step.options;
        let shell = match &options.shell {
            Some(shell) => Some(self.text(shell, scene)?.text),
            None => self.envs[self.runs[id].env].shell.clone(),
        };
        let program = Program::Shell {
            secret: text.secret || options.secret,
            text: text.text,
            shell,
        };
        let cwd = match &options.cd {
            Some(folder) => self.text(folder, scene)?.text,
            None => String::new(),
        };
        let mut command = Command::new(program, cwd);
        for (name, value) in &options.env {
            let value = self.text(value, scene)?;
            if value.secret || options.secret {
                command.env.add_secret(name.as_str(), value.text);
            } else {
                command.env.add(name.as_str(), value.text);
            }
        }
        if let Some(stdin) = &options.stdin {
            command.stdin = Some(self.text(stdin, scene)?.text.into_bytes());
        }
        command.secrets.append(&self.secrets);
        command.time_limit = self.time_limit(id, step);
        command.keep_whole_output(self.capture_limit(step));
        command.echo = !options.quiet && !options.secret;
        command.pty = options.pty;
        command.raw = options.raw;
        command.program_input = options.program_input.then(|| self.program_input(id));
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

    /// Returns the command of a step as it runs on this machine, in the folder of the task.
    pub(super) fn local_command(
        &self,
        id: usize,
        step: &TaskStep,
        text: RenderedText,
        scene: &Context,
    ) -> Result<Command, TaskFailure> {
        let mut command = self.command(id, step, text, scene)?;
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

    /// Returns the time limit of a step's command.
    pub(super) fn time_limit(&self, id: usize, step: &TaskStep) -> Option<Duration> {
        let env = &self.envs[self.runs[id].env];
        step.options.time_limit.or(env.command_timeout)
    }

    /// Returns the maximum size of long outputs of a step's command that are kept whole.
    fn capture_limit(&self, step: &TaskStep) -> u64 {
        let limit = step.options.capture.or(self.options.capture);
        limit.unwrap_or(DEFAULT_TOTAL_CAPTURE_LIMIT)
    }

    /// Returns a path of this machine, relative to the folder of the task.
    pub(super) fn local_path(
        &self,
        id: usize,
        path: &TemplateText,
        scene: &Context,
    ) -> Result<PathBuf, TaskFailure> {
        let path = self.text(path, scene)?.text;
        let folder = &self.batches[self.runs[id].batch].task.folder;
        let whole = folder.join(&path);
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
        if let Some(location) = self.locations.get(&key) {
            return Ok(self.with_passwords(id, location));
        }
        let location = self.services.resolver.locate(&key.0, key.1.as_deref());
        let location = location.map_err(TaskFailure::invalid_task)?;
        let known = self.with_passwords(id, &location);
        self.locations.insert(key, location);
        Ok(known)
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
