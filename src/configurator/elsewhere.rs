//! A command on the machine that an operation names as its host (spec/unfurl.md § (k), `Cmd`).
//!
//! A script of the ensemble goes there first: into a folder of its own beneath `~/.cache/unfurl`,
//! which nobody else may enter, in which it runs, and which is gone after it.

use std::path::Path;
use std::time::Duration;

use super::shell_run::ShellRun;
use super::template::failed;
use crate::host::{Action, ActionResult, Command, Content, Exit, Place, Program, Put, RunOutput};
use crate::task::{Effect, EffectResult, Machine, Part, Progress, Run, TaskView};
use crate::text::quote_for_shell;

/// Where the folders of scripts are, beneath the home.
const FOLDERS: &str = ".cache/unfurl";
/// How long it may take to prepare a folder, or to clear it away.
const HELP_LIMIT: Duration = Duration::from_mins(1);
/// The permission bits of a script.
const SCRIPT_MODE: u32 = 0o700;

/// Runs a command elsewhere.
#[derive(Debug)]
pub(super) struct HostRun {
    shell: ShellRun,
    stage: Stage,
    errand: Option<Errand>,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Begins,
    Prepares,
    Puts,
    Runs,
    Clears(Box<RunOutput>),
}

/// All that is done there.
#[derive(Debug)]
struct Errand {
    place: Place,
    command: Command,
    script: Option<Script>,
}

/// A script that is taken along: its path within the ensemble, and the folder it goes to, beneath
/// the home until that is known.
#[derive(Debug)]
struct Script {
    path: String,
    folder: String,
}

impl HostRun {
    pub(super) fn new(shell: ShellRun) -> Self {
        Self {
            shell,
            stage: Stage::default(),
            errand: None,
        }
    }

    fn begin(&mut self, task: &TaskView<'_>) -> Progress {
        let errand = match self.errand(task) {
            Ok(errand) => errand,
            Err(error) => return Progress::Done(Box::new(failed(&error))),
        };
        let errand = self.errand.insert(errand);
        let first = match &errand.script {
            Some(script) => script.prepares(),
            None => return self.run(),
        };
        self.help(Stage::Prepares, first)
    }

    fn errand(&mut self, task: &TaskView<'_>) -> Result<Errand, crate::expr::Error> {
        let machine = task.machine()?;
        let here = machine.place.is_here();
        let script = self.script(task, &machine).filter(|_| !here);
        let command = self.shell.command(task, (!here).then_some(&machine))?;
        Ok(Errand {
            place: machine.place,
            command,
            script,
        })
    }

    /// The file of the ensemble that the command begins with, if it is one.
    fn script(&self, task: &TaskView<'_>, machine: &Machine) -> Option<Script> {
        let word = self.shell.first_word()?;
        let path = word.strip_prefix("./").unwrap_or(&word);
        let is_plain =
            |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
        let is_within = word.contains('/') && Path::new(path).components().all(is_plain);
        let file = task.settings.base_dir.join(path);
        (is_within && task.has_file(&file)).then(|| Script {
            path: path.to_owned(),
            folder: format!("{FOLDERS}/{}", machine.key),
        })
    }

    /// What takes the script to its folder, which was told where it is.
    fn prepared(&mut self, base: &Path, output: &RunOutput) -> Option<Action> {
        let errand = self.errand.as_mut()?;
        let script = errand.script.as_mut()?;
        let said = output.stdout.text();
        if let Some(folder) = said.lines().next_back().filter(|it| it.starts_with('/')) {
            folder.clone_into(&mut script.folder);
        }
        if errand.command.cwd.as_os_str().is_empty() {
            errand.command.cwd = script.folder.clone().into();
        }
        Some(script.puts(base))
    }

    fn run(&mut self) -> Progress {
        self.stage = Stage::Runs;
        let Some(errand) = &self.errand else {
            return Progress::Done(Box::default());
        };
        let action = Action::Run(errand.command.clone());
        Progress::Do(Box::new(Effect::at(errand.place.clone(), action)))
    }

    fn help(&mut self, stage: Stage, action: Action) -> Progress {
        self.stage = stage;
        let place = self.errand.as_ref().map(|errand| errand.place.clone());
        Progress::Do(Box::new(Effect {
            part: Part::Help,
            ..Effect::at(place.unwrap_or_default(), action)
        }))
    }

    fn ran(&mut self, task: &TaskView<'_>, output: RunOutput) -> Progress {
        let script = self.errand.as_ref().and_then(|it| it.script.as_ref());
        // Where it was cancelled or the machine is gone, nothing more is done there.
        let is_there = matches!(
            output.exit,
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotFound(_)
        );
        match script.filter(|_| is_there) {
            Some(script) => {
                let clears = script.clears();
                self.help(Stage::Clears(Box::new(output)), clears)
            }
            None => self.finish(task, &output),
        }
    }

    fn finish(&self, task: &TaskView<'_>, output: &RunOutput) -> Progress {
        Progress::Done(Box::new(self.shell.finish(task, output)))
    }

    /// Nothing of what the operation is for has been done.
    fn not_begun(&self, task: &TaskView<'_>, output: &RunOutput) -> Progress {
        let mut outcome = self.shell.finish(task, output);
        outcome.modified = Some(false);
        Progress::Done(Box::new(outcome))
    }
}

impl Run for HostRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> Progress {
        let Some(EffectResult::Action(last)) = last else {
            return self.begin(task);
        };
        match (std::mem::take(&mut self.stage), last) {
            (Stage::Clears(output), _) => self.finish(task, &output),
            (Stage::Prepares, ActionResult::Run(output)) if output.exit.is_ok() => {
                match self.prepared(task.settings.base_dir, &output) {
                    Some(puts) => self.help(Stage::Puts, puts),
                    None => self.run(),
                }
            }
            (Stage::Puts, ActionResult::Transfer(output)) if output.exit.is_ok() => self.run(),
            (Stage::Puts, ActionResult::Transfer(output)) => {
                self.not_begun(task, &RunOutput::not_run(output.exit))
            }
            (Stage::Runs, ActionResult::Run(output)) => self.ran(task, output),
            (_, ActionResult::Run(output)) => self.not_begun(task, &output),
            (_, other) => self.finish(task, &RunOutput::not_run(other.exit().clone())),
        }
    }
}

impl Script {
    fn prepares(&self) -> Action {
        let path = quote_for_shell(&self.path);
        let folder = quote_for_shell(&self.folder);
        // Files are put where the home is said to be, which need not be where a shell begins.
        helping(format!(
            "umask 077; cd && mkdir -p -- {folder} && cd -- {folder} && \
             {{ case {path} in */*) mkdir -p -- \"$(dirname -- {path})\";; esac; }} && pwd -P"
        ))
    }

    fn puts(&self, base: &Path) -> Action {
        Action::Put(Put {
            source: Content::Path(base.join(&self.path)),
            target: format!("{}/{}", self.folder, self.path),
            mode: Some(SCRIPT_MODE),
            time_limit: None,
        })
    }

    fn clears(&self) -> Action {
        let folder = quote_for_shell(&self.folder);
        helping(format!("cd && rm -rf -- {folder}"))
    }
}

fn helping(text: String) -> Action {
    let mut command = Command::new(Program::shell(text), "");
    command.time_limit = Some(HELP_LIMIT);
    Action::Run(command)
}
