//! Makes the commands of steps: for a host, as another user there, and for this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::failure::Failure;
use super::run::Progress;
use super::template::Rendered;
use super::{Runbook, Step, Text};
use crate::expr::{Context, quote_for_shell};
use crate::host::{
    Action, Answer, Command, DEFAULT_SHELL, Destination, Place, Program, Question, Secret,
};

/// What sudo is told to ask with, so that its question can be told from all other output.
const SUDO_PROMPT: &str = "[unfurl] sudo password: ";
/// What a shell says that waits for its text.
const TEXT_PROMPT: &str = "[unfurl] text: ";

/// A text for a shell of this machine, in the surroundings of the run.
pub(super) fn local_shell(text: &str) -> Command {
    let program = Program::Shell {
        text: text.to_owned(),
        shell: None,
        secret: false,
    };
    Command::new(program, "")
}

impl Runbook {
    /// Runs a text in a shell of the host, perhaps as another user.
    pub(super) fn run(
        &mut self,
        id: usize,
        step: &Step,
        (text, user): (&Text, Option<String>),
        scene: &Context,
    ) -> Result<Progress, Failure> {
        let text = self.text(text, scene)?;
        let what = if user.is_some() { "sudo" } else { "run" };
        self.tell(id, what, &text, step);
        let place = self.place_of(id)?;
        let command = self.command(id, step, text, scene)?;
        let command = match user {
            Some(user) => self.as_other(command, &user, &place),
            None => command,
        };
        Ok(self.submit(id, place, Action::Run(command)))
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
            None => self.envs.get(self.runs.get(id).env).shell.clone(),
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
                command.secrets.push(value.text.clone());
            }
            command.env.push((name.clone(), value.text));
        }
        if let Some(stdin) = &how.stdin {
            command.stdin = Some(self.text(stdin, scene)?.text.into_bytes());
        }
        command.secrets.extend(self.secrets.iter().cloned());
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
        let folder = &self.batches.get(self.runs.get(id).batch).task.folder;
        command.cwd = folder.join(&command.cwd);
        let own = std::mem::take(&mut command.env);
        command.env.clone_from(&self.options.variables);
        command.env.extend(own);
        Ok(command)
    }

    /// The same command, as another user. What is secret goes neither into its words nor into its
    /// environment: the shell there reads its text from its input.
    fn as_other(&self, mut command: Command, user: &str, place: &Place) -> Command {
        let Program::Shell {
            text,
            shell,
            secret,
        } = &command.program
        else {
            return command;
        };
        let hidden = *secret || (!command.secrets.is_empty() && !command.env.is_empty());
        let mut script = script_of(&command, text);
        let shell = shell.clone().unwrap_or_else(|| DEFAULT_SHELL.to_owned());
        let question = Question::Become(address_of(place, &self.options.local_user));
        let address = match &question {
            Question::Become(address) => address.as_str(),
            _ => "",
        };
        command.answers.push(Answer {
            prompt: SUDO_PROMPT.to_owned(),
            reply: self.passwords.become_other(address).cloned(),
            question,
        });
        if hidden {
            let reply = script.replace('\\', "\\\\").replace('\n', "\\n");
            command.answers.push(Answer {
                prompt: TEXT_PROMPT.to_owned(),
                reply: Some(Secret::new(reply)),
                question: Question::Prompt(TEXT_PROMPT.to_owned()),
            });
            script = format!(
                "printf '%s' '{TEXT_PROMPT}' >&2; IFS= read -r _t; \
                 _t=$(printf '%b_' \"$_t\"); _t=${{_t%_}}; eval \"unset _t; $_t\""
            );
        }
        let words = [
            "sudo",
            "-S",
            "-p",
            SUDO_PROMPT,
            "-u",
            user,
            "--",
            &shell,
            "-c",
            &script,
        ];
        command.program = Program::Argv(words.map(str::to_owned).to_vec());
        command.env.clear();
        command.cwd = PathBuf::new();
        command
    }

    /// How long a command of a step may run.
    pub(super) fn time_limit(&self, id: usize, step: &Step) -> Option<Duration> {
        let env = self.envs.get(self.runs.get(id).env);
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
        let folder = &self.batches.get(self.runs.get(id).batch).task.folder;
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
        let run = self.runs.get(id);
        let Some(host) = run.target().cloned() else {
            return Err(Failure::fault("there is no host to run on"));
        };
        let key = (host, self.envs.get(run.env).user.clone());
        if let Some(place) = self.places.get(&key) {
            return Ok(self.with_passwords(place.clone()));
        }
        let place = self.helpers.book.place(&key.0, key.1.as_deref());
        let place = place.map_err(Failure::fault)?;
        self.places.insert(key, place.clone());
        Ok(self.with_passwords(place))
    }

    /// The place, with the passwords that are known for it. What it has already is kept, unless it
    /// was asked for.
    fn with_passwords(&self, place: Place) -> Place {
        let Place::Ssh(destination) = &place else {
            return place;
        };
        let address = destination.address.to_string();
        let login = self.passwords.login(&address);
        let files = &destination.identities.files;
        let passphrase = self.passwords.passphrase(files);
        if login.is_none() && passphrase.is_none() {
            return place;
        }
        let mut known = Destination::clone(destination);
        let identities = &mut known.identities;
        identities.password = login.cloned().or(identities.password.take());
        identities.passphrase = passphrase.cloned().or(identities.passphrase.take());
        Place::Ssh(Arc::new(known))
    }
}

/// A text with the variables and the folder of its command.
fn script_of(command: &Command, text: &str) -> String {
    let export =
        |(name, value): &(String, String)| format!("export {name}={}\n", quote_for_shell(value));
    let mut script: String = command.env.iter().map(export).collect();
    if !command.cwd.as_os_str().is_empty() {
        let folder = command.cwd.to_string_lossy();
        let dash = if folder.starts_with('-') { "./" } else { "" };
        let folder = quote_for_shell(&format!("{dash}{folder}"));
        script.push_str("cd ");
        script.push_str(&folder);
        script.push_str(" || exit\n");
    }
    script + text
}

/// How a place is named in questions.
fn address_of(place: &Place, local_user: &str) -> String {
    match place {
        Place::Here => format!("{local_user}@localhost"),
        Place::Ssh(destination) => destination.address.to_string(),
        Place::Container(container) => container.name.clone(),
    }
}
