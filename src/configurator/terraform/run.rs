//! The run of the tool as a state machine: open the private folder, put the state there, initialise, and run the tool.
//! `ending` keeps what it leaves.

use std::path::PathBuf;

use super::command_line::{
    ORIGIN, PLAN, RunFiles, STATE, STREAM, command, init_command, make_cache, stop_timeout,
    user_settings,
};
use super::differences::{differences, differences_of_output};
use super::judgement::{init_failure, unusable_tool};
use super::module_files::GENERATED_FILES;
use super::recovered::{PrivateOrigin, newer_state};
use super::rendered::RenderedRun;
use super::settings::{Goal, StateLocation, tool_words};
use super::steps::{auxiliary, closed, done};
use super::stream::{ToolOutput, progress_of};
use super::variables::quoted_texts;
use super::version::{ToolVersion, version_command};
use crate::configurator::template::error_outcome;
use crate::expr::Error;
use crate::host::fact::FactReading;
use crate::host::{
    Action, ActionResult, Command, Exit, PrivateOutput, PrivateStep, PrivateWork, RunOutput,
};
use crate::task::{
    EffectResult, OperationRun, RunProgress, RunStep, TaskEffect, TaskOutcome, TaskView,
};
use crate::text::shlex_join;
use crate::value::{Secrets, Value};

/// The file with the digest of what was initialised, in the data folder of the tool.
pub(super) const STAMP: &str = "unfurl-init";
/// The file with the versions of providers.
pub(super) const LOCK_FILE: &str = ".terraform.lock.hcl";
/// The file into which the tool writes a state that it could not save.
pub(super) const ERRORED_STATE: &str = "errored.tfstate";
/// The permission bits of files that others may read.
pub(super) const OPEN_MODE: u32 = 0o644;
pub(super) const SECRET_MODE: u32 = 0o600;

/// The step whose result the run waits for.
#[derive(Debug)]
pub(super) enum Stage {
    Begin,
    Open,
    Write,
    ReadSettings,
    MakeCache,
    Init,
    Run,
    Show,
    /// The run or an initialisation has failed, and the version of the tool is asked for the message.
    AskVersion(Option<Box<RunOutput>>),
    Collect,
    Close(Box<TaskOutcome>),
}

/// A run of the tool.
#[derive(Debug)]
pub(super) struct TerraformRun {
    pub(super) rendered: RenderedRun,
    pub(super) stage: Stage,
    pub(super) goal: Goal,
    pub(super) location: StateLocation,
    pub(super) tool: Vec<String>,
    pub(super) files: RunFiles,
    private: String,
    pub(super) instance: String,
    /// The state before the run, in clear text.
    pub(super) before: Option<Vec<u8>>,
    /// True after the folder was initialised by this run.
    pub(super) is_initialised: bool,
    /// The digest of what the working folder was initialised for.
    stamp: Option<String>,
    /// The user's own settings of the tool.
    user_settings: Vec<u8>,
    /// The last command, without its secrets.
    pub(super) command_text: String,
    /// A warning that the plan of an earlier task was not applied.
    pub(super) refused_plan: Option<String>,
    pub(super) output: ToolOutput,
    pub(super) version: Option<ToolVersion>,
    pub(super) run: Option<RunOutput>,
    pub(super) differences: Vec<String>,
}

impl TerraformRun {
    pub(super) fn new(rendered: &Value) -> Self {
        Self {
            rendered: RenderedRun::of_value(rendered),
            stage: Stage::Begin,
            goal: Goal::Check,
            location: StateLocation::Secrets,
            tool: Vec::new(),
            files: RunFiles::default(),
            private: String::new(),
            instance: String::new(),
            before: None,
            is_initialised: false,
            stamp: None,
            user_settings: Vec::new(),
            command_text: String::new(),
            refused_plan: None,
            version: None,
            output: ToolOutput::default(),
            run: None,
            differences: Vec::new(),
        }
    }
}

impl OperationRun for TerraformRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep {
        let result = match last {
            Some(EffectResult::Action(result)) => Some(result),
            _ => None,
        };
        match self.advance(task, result) {
            Ok(step) => step,
            Err(error) => self.give_up(task, error_outcome(&error)),
        }
    }

    fn progress(&mut self, line: &str) -> Option<RunProgress> {
        progress_of(line)
    }
}

impl TerraformRun {
    fn advance(
        &mut self,
        task: &TaskView<'_>,
        result: Option<ActionResult>,
    ) -> Result<RunStep, Error> {
        let stage = std::mem::replace(&mut self.stage, Stage::Begin);
        match (stage, result) {
            (Stage::Begin, _) => self.begin(task),
            (Stage::Open, Some(ActionResult::Private(output))) => self.opened(task, output),
            (Stage::Write, Some(ActionResult::Private(output))) => match &output.exit {
                exit if exit.is_ok() => self.prepare(task),
                exit => Ok(self.give_up(task, TaskOutcome::refused(exit.to_string()))),
            },
            (Stage::ReadSettings, Some(ActionResult::Read(output))) => {
                if let Some(FactReading::Content(bytes)) = output.readings.into_iter().next() {
                    self.user_settings = bytes;
                }
                self.init(task)
            }
            (Stage::MakeCache, Some(_)) => self.run_init(task),
            (Stage::Init, Some(ActionResult::Run(output))) => self.initialised(task, &output),
            (Stage::Run, Some(ActionResult::Run(output))) => self.ran(task, output),
            (Stage::Show, Some(ActionResult::Run(output))) => {
                let plan = output.stdout.whole().ok();
                let found = plan.filter(|_| output.exit.is_ok());
                let found = found.and_then(|plan| differences(&plan, &self.secrets()));
                let found = found.unwrap_or_else(|| differences_of_output(&self.output));
                self.note_differences(&found);
                Ok(self.collect(task))
            }
            (Stage::AskVersion(init), result) => {
                if let Some(ActionResult::Run(answer)) = &result {
                    self.version = Some(ToolVersion::of(answer));
                }
                Ok(match init {
                    Some(output) => self.give_up_init(task, &output),
                    None => self.collect(task),
                })
            }
            (Stage::Collect, Some(ActionResult::Private(output))) => {
                Ok(self.collected(task, &output))
            }
            (Stage::Close(outcome), result) => Ok(closed(*outcome, result)),
            (_, result) => {
                let exit = result.map_or(Exit::Cancelled, |result| result.exit().clone());
                let outcome = TaskOutcome::refused(format!("the tool was not run: {exit}"));
                Ok(self.give_up(task, outcome))
            }
        }
    }

    pub(super) fn work(&self, task: &TaskView<'_>, steps: Vec<PrivateStep>) -> RunStep {
        auxiliary(Action::Private(PrivateWork {
            folder: self.private.clone(),
            base: task.settings.base_dir.to_path_buf(),
            steps,
        }))
    }

    /// Returns the file of the state between jobs, relative to the ensemble.
    pub(super) fn state_file(&self) -> Option<PathBuf> {
        self.location.file(&self.instance, "active")
    }

    pub(super) fn local(&self, name: &str) -> PathBuf {
        let folder = PathBuf::from("active/local").join(&self.instance);
        folder.join("terraform").join(name)
    }

    fn begin(&mut self, task: &TaskView<'_>) -> Result<RunStep, Error> {
        self.goal = Goal::of(task)?;
        self.location = StateLocation::parse(&self.rendered.location)?;
        self.tool = tool_words(task)?;
        if let Some(problem) = unusable_tool(task, &self.tool) {
            return Ok(done(TaskOutcome::refused(problem)));
        }
        let places = task.tool().facts();
        self.private = places.private;
        self.instance = places.instance;
        let origin = PrivateOrigin {
            ensemble: task.settings.base_dir.to_path_buf(),
            instance: self.instance.clone(),
            state: self.state_file(),
            location: self.location.as_str().to_owned(),
            tool: self.tool.join(" "),
        };
        let mut steps = vec![
            PrivateStep::Create,
            PrivateStep::Write {
                file: ORIGIN.to_owned(),
                bytes: origin.to_bytes(),
            },
            PrivateStep::Load {
                path: self.local(STAMP),
            },
            PrivateStep::Folder {
                path: self.local(""),
            },
        ];
        let places = self.state_places(task).into_iter();
        steps.extend(places.map(|path| PrivateStep::Load { path }));
        steps.extend(self.drop_own_files(task));
        for (name, content) in &self.rendered.own_files {
            steps.extend(self.inside(task, name).map(|path| PrivateStep::Keep {
                path,
                bytes: content.clone().into_bytes(),
                mode: OPEN_MODE,
            }));
        }
        self.stage = Stage::Open;
        Ok(self.work(task, steps))
    }

    /// Returns the path of a file of the working folder, relative to the ensemble. None if the folder is elsewhere.
    pub(super) fn inside(&self, task: &TaskView<'_>, name: &str) -> Option<PathBuf> {
        let cwd = PathBuf::from(&self.rendered.cwd);
        let inside = cwd.strip_prefix(task.settings.base_dir).ok()?;
        Some(inside.join(name))
    }

    /// Returns the steps that remove the files which the run itself writes, those of a killed run too.
    pub(super) fn drop_own_files(&self, task: &TaskView<'_>) -> Vec<PrivateStep> {
        if self.rendered.own_files.is_empty() {
            return Vec::new();
        }
        let paths = GENERATED_FILES
            .iter()
            .filter_map(|name| self.inside(task, name));
        paths.map(|path| PrivateStep::Drop { path }).collect()
    }

    /// Puts the state and the secret variables into the private folder.
    fn opened(&mut self, task: &TaskView<'_>, output: PrivateOutput) -> Result<RunStep, Error> {
        if !output.exit.is_ok() {
            // Nothing is removed: the folder may be that of another run.
            return Ok(done(TaskOutcome::refused(output.exit.to_string())));
        }
        self.files = RunFiles {
            cwd: PathBuf::from(&self.rendered.cwd),
            private: output.folder,
            data: task.settings.base_dir.join(self.local("")),
            variables: self.rendered.variables.clone(),
            secret_variables: self.rendered.secret.as_ref().map(|(name, _)| name.clone()),
            has_state: self.location != StateLocation::Remote,
            applies_plan: false,
        };
        let mut contents = output.contents.into_iter();
        let stamp = contents.next().flatten();
        self.stamp = stamp.and_then(|stamp| String::from_utf8(stamp).ok());
        let mut steps = Vec::new();
        let stored = self.stored_state(task, contents);
        let has_state = !matches!(stored, Ok(None));
        if let Some(problem) = self.missing_state(task, has_state) {
            return Ok(self.give_up(task, TaskOutcome::refused(problem)));
        }
        match stored {
            Ok(None) => {}
            Ok(Some(clear)) => {
                steps.push(PrivateStep::Write {
                    file: STATE.to_owned(),
                    bytes: clear.clone(),
                });
                self.before = Some(clear);
            }
            Err(problem) => return Ok(self.give_up(task, TaskOutcome::refused(problem))),
        }
        if let Some((file, content)) = &self.rendered.secret {
            steps.push(PrivateStep::Write {
                file: file.clone(),
                bytes: content.reveal().to_string().into_bytes(),
            });
        }
        if let Some(plan) = self.saved_plan(task)? {
            steps.push(PrivateStep::Write {
                file: PLAN.to_owned(),
                bytes: plan,
            });
            self.files.applies_plan = true;
        }
        if steps.is_empty() {
            return self.prepare(task);
        }
        self.stage = Stage::Write;
        Ok(self.work(task, steps))
    }

    /// Returns the plan that the check just before this task has made of the same files and values.
    fn saved_plan(&self, task: &TaskView<'_>) -> Result<Option<Vec<u8>>, Error> {
        let Some(plan) = task
            .tool()
            .saved_plan()
            .filter(|_| self.goal == Goal::Apply)
        else {
            return Ok(None);
        };
        let is_same = plan.basis == self.plan_basis(task)?;
        Ok(is_same.then(|| plan.bytes.to_vec()))
    }

    /// Returns the files that may have the state. Jobs have restored theirs from the committed copy; others only read it.
    fn state_places(&self, task: &TaskView<'_>) -> Vec<PathBuf> {
        let only_looks = task.settings.dry_run || !task.tool().facts().writes_files;
        let copy = self.location.committed_copy(&self.instance);
        let copy = copy.filter(|_| only_looks);
        self.state_file().into_iter().chain(copy).collect()
    }

    /// Returns the newest state of these files, in clear text. None if there is none.
    fn stored_state(
        &self,
        task: &TaskView<'_>,
        contents: impl Iterator<Item = Option<Vec<u8>>>,
    ) -> Result<Option<Vec<u8>>, String> {
        let mut newest = None;
        for (path, sealed) in self.state_places(task).iter().zip(contents) {
            let Some(sealed) = sealed else {
                continue;
            };
            match (task.tool().cipher().open(path, &sealed), newest.take()) {
                (Ok(clear), None) => newest = Some(clear),
                (Ok(clear), Some(known)) => newest = Some(newer_state(known, clear)),
                (Err(problem), None) => return Err(problem),
                (Err(_), known) => newest = known,
            }
        }
        Ok(newest)
    }

    /// Returns a message if the state of an instance that exists is missing, and the configuration can have resources. The
    /// tool would take everything for missing, create it again, and destroy nothing.
    fn missing_state(&self, task: &TaskView<'_>, has_state: bool) -> Option<String> {
        let is_needed = self.rendered.may_have_resources && task.tool().was_applied();
        let path = self.state_file().filter(|_| !has_state && is_needed)?;
        let folder = self.location.as_str();
        Some(format!(
            "the state `{}` is missing, although an earlier job has applied the configuration; copy the file from another \
             clone, or restore it with git: commits have its encrypted copy in `active/.{folder}`; if nothing that it \
             describes exists any more, write `{{\"version\": 4}}` into the file",
            path.display()
        ))
    }

    /// Initialises the working folder, unless that was done for the same configuration.
    fn prepare(&mut self, task: &TaskView<'_>) -> Result<RunStep, Error> {
        if self.stamp.as_deref() == Some(&*self.stamp_text()) {
            return self.run_tool(task);
        }
        match user_settings(task)? {
            Some(fact) => {
                self.stage = Stage::ReadSettings;
                Ok(auxiliary(Action::Read(vec![fact])))
            }
            None => self.init(task),
        }
    }

    pub(super) fn stamp_text(&self) -> String {
        format!("{}\n{}\n", self.rendered.digest, self.tool.join(" "))
    }

    fn init(&mut self, task: &TaskView<'_>) -> Result<RunStep, Error> {
        let (_, cache) = init_command(task, &self.files, &self.tool, &self.user_settings)?;
        match cache {
            Some(cache) => {
                self.stage = Stage::MakeCache;
                Ok(auxiliary(Action::Change(vec![make_cache(&cache)])))
            }
            None => self.run_init(task),
        }
    }

    fn run_init(&mut self, task: &TaskView<'_>) -> Result<RunStep, Error> {
        self.is_initialised = true;
        self.stage = Stage::Init;
        let (command, _) = init_command(task, &self.files, &self.tool, &self.user_settings)?;
        let command = self.with_secrets(command);
        self.note_command(&command);
        Ok(auxiliary(Action::Run(command)))
    }

    fn initialised(&mut self, task: &TaskView<'_>, output: &RunOutput) -> Result<RunStep, Error> {
        if output.exit.is_ok() {
            return self.run_tool(task);
        }
        if matches!(output.exit, Exit::NotFound(_) | Exit::Cancelled) {
            return Ok(self.give_up_init(task, output));
        }
        self.ask_version(task, Some(output.clone()))
    }

    fn give_up_init(&mut self, task: &TaskView<'_>, output: &RunOutput) -> RunStep {
        let (version, command) = (self.version.as_ref(), self.command_text.as_str());
        let outcome = init_failure(task, &self.tool, output, version, command);
        self.give_up(task, outcome)
    }

    /// Asks the tool for its version. `init` is the output of an initialisation that failed.
    fn ask_version(
        &mut self,
        task: &TaskView<'_>,
        init: Option<RunOutput>,
    ) -> Result<RunStep, Error> {
        let command = version_command(task, &self.files, &self.tool)?;
        self.stage = Stage::AskVersion(init.map(Box::new));
        Ok(auxiliary(Action::Run(self.with_secrets(command))))
    }

    /// Keeps the differences of a check, without secrets.
    fn note_differences(&mut self, found: &[String]) {
        let secrets = self.secrets();
        self.differences = found.iter().map(|text| secrets.redact(text)).collect();
    }

    /// Keeps the text of a command for messages.
    fn note_command(&mut self, command: &Command) {
        if let crate::host::Program::Argv(words) = &command.program {
            self.command_text = command.hidden().redact(&shlex_join(words));
        }
    }

    /// Adds the secret variables to the texts that no output shows.
    fn with_secrets(&self, mut command: Command) -> Command {
        command.secrets.append(&self.secrets());
        command
    }

    /// Returns the values of the secret variables.
    pub(super) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        if let Some((_, content)) = &self.rendered.secret {
            let text = content.reveal().to_string();
            match serde_json::from_str::<serde_json::Value>(&text) {
                Ok(parsed) => secrets.gather(&Value::from(parsed).sensitive()),
                // A text of assignments: each of its texts may be a secret.
                Err(_) => quoted_texts(&text).for_each(|text| secrets.add(text)),
            }
        }
        secrets
    }

    fn run_tool(&mut self, task: &TaskView<'_>) -> Result<RunStep, Error> {
        let mut words = self.tool.clone();
        words.extend(self.files.words(self.goal));
        let mut command = self.with_secrets(command(task, &self.files, words)?);
        if self.goal.changes() {
            command.interrupt_grace = Some(stop_timeout(task)?);
            command.stdout_file = Some(self.files.private.join(STREAM));
            command.reports_lines = true;
        }
        self.note_command(&command);
        self.stage = Stage::Run;
        Ok(RunStep::Perform(Box::new(TaskEffect::on_local(
            Action::Run(command),
        ))))
    }

    fn ran(&mut self, task: &TaskView<'_>, output: RunOutput) -> Result<RunStep, Error> {
        self.output = ToolOutput::read(&output.stdout.text());
        for line in output.stderr.text().lines() {
            self.output.add_line(line);
        }
        let has_failed = !output.exit.is_ok() && output.exit != Exit::Code(2);
        if has_failed && !self.is_initialised && self.output.needs_init() {
            self.stamp = None;
            self.stage = Stage::Write;
            let steps = vec![PrivateStep::Discard {
                file: STREAM.to_owned(),
            }];
            return Ok(self.work(task, steps));
        }
        if self.files.applies_plan && has_failed && self.output.refuses_plan() {
            return Ok(self.plan_again(task));
        }
        let is_asked = !matches!(output.exit, Exit::NotFound(_) | Exit::Cancelled);
        let counts = self.output.plan_counts.unwrap_or_default();
        let is_different =
            output.exit == Exit::Code(2) && self.goal == Goal::Check && !counts.is_none();
        self.run = Some(output);
        if self.output.version.is_none() && is_asked {
            return self.ask_version(task, None);
        }
        // The output alone says everything about a resource that does not exist.
        if is_different && self.output.planned.iter().any(|it| it.action != "create") {
            let plan = self.files.private.join(PLAN).display().to_string();
            let mut words = self.tool.clone();
            words.extend(["show", "-json", "-no-color"].map(str::to_owned));
            words.push(plan);
            let command = command(task, &self.files, words)?;
            self.stage = Stage::Show;
            return Ok(auxiliary(Action::Run(command)));
        }
        if is_different {
            self.note_differences(&differences_of_output(&self.output));
        }
        Ok(self.collect(task))
    }

    /// Runs the tool again without the plan of the check, which it has refused before it changed anything.
    fn plan_again(&mut self, task: &TaskView<'_>) -> RunStep {
        let reasons: Vec<String> = self.output.errors().map(|it| it.summary.clone()).collect();
        self.refused_plan = Some(format!(
            "the plan of the check was not applied, and a new one was made: {}",
            self.secrets().redact(&reasons.join("; "))
        ));
        self.files.applies_plan = false;
        self.stage = Stage::Write;
        let files = [STREAM, PLAN].map(str::to_owned);
        let steps = files.map(|file| PrivateStep::Discard { file });
        self.work(task, steps.to_vec())
    }
}
