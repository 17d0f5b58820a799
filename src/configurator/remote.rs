//! Commands on the machine that an operation names as its host (rule U-k, `Cmd`).
//!
//! A script of the ensemble is uploaded first, into a folder of its own beneath `~/.cache/unfurl` that no
//! other user can enter. The command runs in that folder, which is removed afterwards.

use std::path::Path;
use std::time::Duration;

use super::shell_run::ShellRun;
use super::template::error_outcome;
use crate::host::{
    Action, ActionResult, Command, Content, Exit, Location, Program, Put, RunOutput,
};
use crate::task::{
    EffectResult, EffectRole, OperationHost, OperationRun, RunStep, TaskEffect, TaskView,
};
use crate::text::shlex_quote;

/// The parent folder of uploaded scripts, relative to the home folder.
const SCRIPTS_FOLDER: &str = ".cache/unfurl";
/// The time limit for preparing or removing a script's folder.
const AUXILIARY_TIME_LIMIT: Duration = Duration::from_mins(1);
/// The permission bits of an uploaded script.
const SCRIPT_MODE: u32 = 0o700;

/// A run of a command on another machine.
#[derive(Debug)]
pub(super) struct RemoteCommandRun {
    shell: ShellRun,
    stage: RemoteStage,
    remote_command: Option<RemoteCommand>,
}

/// The stages of a remote command, with the effect being performed.
#[derive(Debug, Default)]
enum RemoteStage {
    #[default]
    Start,
    PrepareFolder,
    Upload,
    RunCommand,
    CleanUp(Box<RunOutput>),
}

/// The command, its machine, and its script.
#[derive(Debug)]
struct RemoteCommand {
    location: Location,
    command: Command,
    script: Option<UploadedScript>,
}

/// A script to upload: its path within the ensemble, and its folder on the machine. The folder is
/// relative to the home folder until its absolute path is known.
#[derive(Debug)]
struct UploadedScript {
    path: String,
    folder: String,
}

impl RemoteCommandRun {
    pub(super) fn new(shell: ShellRun) -> Self {
        Self {
            shell,
            stage: RemoteStage::default(),
            remote_command: None,
        }
    }

    fn begin(&mut self, task: &TaskView<'_>) -> RunStep {
        let remote_command = match self.prepare_command(task) {
            Ok(remote_command) => remote_command,
            Err(error) => return RunStep::Done(Box::new(error_outcome(&error))),
        };
        let remote_command = self.remote_command.insert(remote_command);
        let first = match &remote_command.script {
            Some(script) => script.prepare_folder_action(),
            None => return self.run(),
        };
        self.run_auxiliary(RemoteStage::PrepareFolder, first)
    }

    fn prepare_command(
        &mut self,
        task: &TaskView<'_>,
    ) -> Result<RemoteCommand, crate::expr::Error> {
        let machine = task.machine()?;
        let here = machine.location.is_local();
        let script = self.find_script(task, &machine).filter(|_| !here);
        let command = self.shell.command(task, (!here).then_some(&machine))?;
        Ok(RemoteCommand {
            location: machine.location,
            command,
            script,
        })
    }

    /// Returns the ensemble's file that the command starts with, if it is one.
    fn find_script(&self, task: &TaskView<'_>, machine: &OperationHost) -> Option<UploadedScript> {
        let word = self.shell.first_word()?;
        let path = word.strip_prefix("./").unwrap_or(&word);
        let is_plain =
            |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
        let is_within = word.contains('/') && Path::new(path).components().all(is_plain);
        let file = task.settings.base_dir.join(path);
        (is_within && task.has_file(&file)).then(|| UploadedScript {
            path: path.to_owned(),
            folder: format!("{SCRIPTS_FOLDER}/{}", machine.key),
        })
    }

    /// Returns the action that uploads the script. The output of preparing the folder contains its
    /// absolute path.
    fn upload_script(&mut self, base: &Path, output: &RunOutput) -> Option<Action> {
        let remote_command = self.remote_command.as_mut()?;
        let script = remote_command.script.as_mut()?;
        let stdout_text = output.stdout.text();
        if let Some(folder) = stdout_text
            .lines()
            .next_back()
            .filter(|it| it.starts_with('/'))
        {
            folder.clone_into(&mut script.folder);
        }
        if remote_command.command.cwd.as_os_str().is_empty() {
            remote_command.command.cwd = script.folder.clone().into();
        }
        Some(script.upload_action(base))
    }

    fn run(&mut self) -> RunStep {
        self.stage = RemoteStage::RunCommand;
        let Some(remote_command) = &self.remote_command else {
            return RunStep::Done(Box::default());
        };
        let action = Action::Run(remote_command.command.clone());
        RunStep::Perform(Box::new(TaskEffect::on(
            remote_command.location.clone(),
            action,
        )))
    }

    fn run_auxiliary(&mut self, stage: RemoteStage, action: Action) -> RunStep {
        self.stage = stage;
        let place = self
            .remote_command
            .as_ref()
            .map(|remote_command| remote_command.location.clone());
        RunStep::Perform(Box::new(TaskEffect {
            role: EffectRole::Auxiliary,
            ..TaskEffect::on(place.unwrap_or_default(), action)
        }))
    }

    fn clean_up_or_finish(&mut self, task: &TaskView<'_>, output: RunOutput) -> RunStep {
        let script = self
            .remote_command
            .as_ref()
            .and_then(|it| it.script.as_ref());
        // After a cancellation or with an unreachable machine, no clean-up is attempted.
        let is_there = matches!(
            output.exit,
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotFound(_)
        );
        match script.filter(|_| is_there) {
            Some(script) => {
                let clean_up_action = script.clean_up_action();
                self.run_auxiliary(RemoteStage::CleanUp(Box::new(output)), clean_up_action)
            }
            None => self.finish(task, &output),
        }
    }

    fn finish(&self, task: &TaskView<'_>, output: &RunOutput) -> RunStep {
        RunStep::Done(Box::new(self.shell.finish(task, output)))
    }

    /// Finishes a run whose command was not started, so nothing was changed.
    fn finish_not_started(&self, task: &TaskView<'_>, output: &RunOutput) -> RunStep {
        let mut outcome = self.shell.finish(task, output);
        outcome.modified = Some(false);
        RunStep::Done(Box::new(outcome))
    }
}

impl OperationRun for RemoteCommandRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep {
        let Some(EffectResult::Action(last)) = last else {
            return self.begin(task);
        };
        match (std::mem::take(&mut self.stage), last) {
            (RemoteStage::CleanUp(output), _) => self.finish(task, &output),
            (RemoteStage::PrepareFolder, ActionResult::Run(output)) if output.exit.is_ok() => {
                match self.upload_script(task.settings.base_dir, &output) {
                    Some(puts) => self.run_auxiliary(RemoteStage::Upload, puts),
                    None => self.run(),
                }
            }
            (RemoteStage::Upload, ActionResult::Transfer(output)) if output.exit.is_ok() => {
                self.run()
            }
            (RemoteStage::Upload, ActionResult::Transfer(output)) => {
                self.finish_not_started(task, &RunOutput::not_run(output.exit))
            }
            (RemoteStage::RunCommand, ActionResult::Run(output)) => {
                self.clean_up_or_finish(task, output)
            }
            (_, ActionResult::Run(output)) => self.finish_not_started(task, &output),
            (_, other) => self.finish(task, &RunOutput::not_run(other.exit().clone())),
        }
    }
}

impl UploadedScript {
    fn prepare_folder_action(&self) -> Action {
        let path = shlex_quote(&self.path);
        let folder = shlex_quote(&self.folder);
        // Uploads are relative to the home folder, but a shell may start elsewhere, hence the `cd`.
        auxiliary_action(format!(
            "umask 077; cd && mkdir -p -- {folder} && cd -- {folder} && \
             {{ case {path} in */*) mkdir -p -- \"$(dirname -- {path})\";; esac; }} && pwd -P"
        ))
    }

    fn upload_action(&self, base: &Path) -> Action {
        Action::Put(Put {
            source: Content::Path(base.join(&self.path)),
            target: format!("{}/{}", self.folder, self.path),
            mode: Some(SCRIPT_MODE),
            settings: crate::host::PutSettings::default(),
            time_limit: None,
        })
    }

    fn clean_up_action(&self) -> Action {
        let folder = shlex_quote(&self.folder);
        auxiliary_action(format!("cd && rm -rf -- {folder}"))
    }
}

fn auxiliary_action(text: String) -> Action {
    let mut command = Command::new(Program::shell(text), "");
    command.time_limit = Some(AUXILIARY_TIME_LIMIT);
    Action::Run(command)
}
