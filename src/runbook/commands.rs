//! Makes the commands of steps: for a host, as another user there, and for this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::failure::Failure;
use super::run::Progress;
use super::template::Rendered;
use super::{Runbook, Step, Text};
use crate::expr::Context;
use crate::host::{
    Action, Address, Become, Chain, Command, DEFAULT_PORT, Executor, Passwords, Place, Program,
    Request,
};
use crate::text::quote_for_shell;

/// A text for a shell of this machine, in the surroundings of the run.
pub(super) fn local_shell(text: &str) -> Command {
    Command::new(Program::shell(text), "")
}

impl Runbook {
    /// Runs a text in a shell of the host, perhaps as another user.
    pub(super) fn run(
        &mut self,
        id: usize,
        step: &Step,
        text: &Text,
        user: Option<String>,
        scene: &Context,
    ) -> Result<Progress, Failure> {
        let text = self.text(text, scene)?;
        let what = if user.is_some() { "sudo" } else { "run" };
        self.tell(id, what, &text, step);
        let place = self.place_of(id)?;
        let mut command = self.command(id, step, text, scene)?;
        let chain = match user {
            Some(user) => {
                enter_later(&mut command);
                Some(self.as_other(user, &place))
            }
            None => None,
        };
        let request = Request {
            chain,
            restart: step.how.restart,
            ..Request::at(place, Action::Run(command))
        };
        Ok(self.ask_for(id, request))
    }

    /// A command of a step, as it runs on a host.
    fn command(
        &self,
        id: usize,
        step: &Step,
        text: Rendered,
        scene: &Context,
    ) -> Result<Command, Failure> {
        let how = &step.how;
        let shell = match &how.shell {
            Some(shell) => Some(self.text(shell, scene)?.text),
            None => self.envs[self.runs[id].env].shell.clone(),
        };
        let program = Program::Shell {
            secret: text.secret || how.secret,
            text: text.text,
            shell,
        };
        let cwd = match &how.cd {
            Some(folder) => self.text(folder, scene)?.text,
            None => String::new(),
        };
        let mut command = Command::new(program, cwd);
        for (name, value) in &how.env {
            let value = self.text(value, scene)?;
            if value.secret || how.secret {
                command.env.add_secret(name.as_str(), value.text);
            } else {
                command.env.add(name.as_str(), value.text);
            }
        }
        if let Some(stdin) = &how.stdin {
            command.stdin = Some(self.text(stdin, scene)?.text.into_bytes());
        }
        command.secrets.append(&self.secrets);
        command.time_limit = self.time_limit(id, step);
        command.echo = !how.quiet && !how.secret;
        command.pty = how.pty;
        Ok(command)
    }

    /// A command of a step, as it runs on this machine: in the folder of the task.
    pub(super) fn local_command(
        &self,
        id: usize,
        step: &Step,
        text: Rendered,
        scene: &Context,
    ) -> Result<Command, Failure> {
        let mut command = self.command(id, step, text, scene)?;
        let folder = &self.batches[self.runs[id].batch].task.folder;
        command.cwd = folder.join(&command.cwd);
        let own = std::mem::take(&mut command.env);
        command.env.clone_from(&self.options.variables);
        command.env.append(own);
        Ok(command)
    }

    /// The executors that perform a command as another user (F51).
    fn as_other(&self, user: String, place: &Place) -> Arc<Chain> {
        let password = match place {
            Place::Ssh(destination) => self.passwords.sudo(&destination.address),
            Place::Here | Place::Container(_) => self.passwords.sudo(&Address {
                user: self.options.local_user.clone(),
                host: place.to_string(),
                port: DEFAULT_PORT,
            }),
        };
        let password = password.cloned();
        let sudo = Executor::Sudo(Become { user, password });
        Arc::new(Chain::new(vec![sudo]))
    }

    /// How long a command of a step may run.
    pub(super) fn time_limit(&self, id: usize, step: &Step) -> Option<Duration> {
        let env = &self.envs[self.runs[id].env];
        step.how.time_limit.or(env.command_timeout)
    }

    /// A path of this machine, from the folder of the task.
    pub(super) fn local_path(
        &self,
        id: usize,
        path: &Text,
        scene: &Context,
    ) -> Result<PathBuf, Failure> {
        let path = self.text(path, scene)?.text;
        let folder = &self.batches[self.runs[id].batch].task.folder;
        let whole = folder.join(&path);
        // A path that ends with a slash means a folder.
        Ok(if path.ends_with('/') && !path.is_empty() {
            whole.join("")
        } else {
            whole
        })
    }

    /// Where the host of a run leads, with the passwords that are known for it.
    pub(super) fn place_of(&mut self, id: usize) -> Result<Place, Failure> {
        let run = &self.runs[id];
        let Some(host) = run.target().cloned() else {
            return Err(Failure::fault("there is no host to run on"));
        };
        let key = (host, self.envs[run.env].user.clone());
        if let Some(place) = self.places.get(&key) {
            return Ok(self.with_passwords(place.clone()));
        }
        let place = self.helpers.book.place(&key.0, key.1.as_deref());
        let place = place.map_err(Failure::fault)?;
        self.places.insert(key, place.clone());
        Ok(self.with_passwords(place))
    }

    /// The place, with the passwords that are known for it and for the hosts on the way.
    fn with_passwords(&self, place: Place) -> Place {
        match &place {
            Place::Ssh(destination) if self.passwords != Passwords::default() => {
                Place::Ssh(Arc::new(self.passwords.apply(destination)))
            }
            _ => place,
        }
    }
}

/// Lets a command enter its folder as the user that it runs as: who logs in may not be allowed to.
fn enter_later(command: &mut Command) {
    let Program::Shell { text, .. } = &mut command.program else {
        return;
    };
    if !command.cwd.as_os_str().is_empty() {
        let folder = command.cwd.to_string_lossy();
        let dash = if folder.starts_with('-') { "./" } else { "" };
        let folder = quote_for_shell(&format!("{dash}{folder}"));
        *text = format!("cd {folder} || exit\n{text}");
        command.cwd = PathBuf::new();
    }
}
