//! The run of the tool as a state machine: open the private folder, put the state there, initialise, run the tool, and
//! keep the state.

use std::path::PathBuf;

use super::command_line::{
    BACKUP, ORIGIN, PLAN, RunFiles, STATE, STREAM, command, init_command, make_cache, stop_timeout,
    user_settings,
};
use super::differences::{differences, differences_of_output};
use super::judgement::{Judged, init_failure, judge, unusable_tool};
use super::module_files::GENERATED_FILES;
use super::recovered::{PrivateOrigin, newer_state, sealed_state};
use super::rendered::RenderedRun;
use super::settings::{Goal, StateLocation, tool_words};
use super::state_file::ToolState;
use super::stream::{ToolOutput, progress_of};
use crate::configurator::template::error_outcome;
use crate::expr::Error;
use crate::host::fact::FactReading;
use crate::host::{
    Action, ActionResult, Command, Exit, PrivateOutput, PrivateStep, PrivateWork, RunOutput,
};
use crate::task::{
    EffectResult, EffectRole, OperationRun, RunProgress, RunStep, TaskEffect, TaskOutcome, TaskView,
};
use crate::value::{Secrets, Value};

/// The file with the digest of what was initialised, in the data folder of the tool.
const STAMP: &str = "unfurl-init";
/// The file with the versions of providers.
pub(super) const LOCK_FILE: &str = ".terraform.lock.hcl";
/// The file into which the tool writes a state that it could not save.
const ERRORED_STATE: &str = "errored.tfstate";
/// The permission bits of files that others may read.
const OPEN_MODE: u32 = 0o644;
const SECRET_MODE: u32 = 0o600;

/// The step whose result the run waits for.
#[derive(Debug)]
enum Stage {
    Begin,
    Open,
    Write,
    ReadSettings,
    MakeCache,
    Init,
    Run,
    Show,
    Collect,
    Close(Box<TaskOutcome>),
}

/// A run of the tool.
#[derive(Debug)]
pub(super) struct TerraformRun {
    rendered: RenderedRun,
    stage: Stage,
    goal: Goal,
    location: StateLocation,
    tool: Vec<String>,
    files: RunFiles,
    private: String,
    instance: String,
    /// The state before the run, in clear text.
    before: Option<Vec<u8>>,
    /// True after the folder was initialised by this run.
    is_initialised: bool,
    /// The digest of what the working folder was initialised for.
    stamp: Option<String>,
    /// The user's own settings of the tool.
    user_settings: Vec<u8>,
    output: ToolOutput,
    run: Option<RunOutput>,
    differences: Vec<String>,
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

fn done(outcome: TaskOutcome) -> RunStep {
    RunStep::Done(Box::new(outcome))
}

fn auxiliary(action: Action) -> RunStep {
    let mut effect = TaskEffect::on_local(action);
    effect.role = EffectRole::Auxiliary;
    RunStep::Perform(Box::new(effect))
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
                let found = found.and_then(|plan| differences(&plan));
                let found = found.unwrap_or_else(|| differences_of_output(&self.output));
                let secrets = self.secrets();
                self.differences = found.iter().map(|text| secrets.redact(text)).collect();
                Ok(self.collect(task))
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

    fn work(&self, task: &TaskView<'_>, steps: Vec<PrivateStep>) -> RunStep {
        auxiliary(Action::Private(PrivateWork {
            folder: self.private.clone(),
            base: task.settings.base_dir.to_path_buf(),
            steps,
        }))
    }

    /// Returns the file of the state between jobs, relative to the ensemble.
    fn state_file(&self) -> Option<PathBuf> {
        self.location.file(&self.instance, "active")
    }

    fn local(&self, name: &str) -> PathBuf {
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
        steps.extend(self.state_file().map(|path| PrivateStep::Load { path }));
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
    fn inside(&self, task: &TaskView<'_>, name: &str) -> Option<PathBuf> {
        let cwd = PathBuf::from(&self.rendered.cwd);
        let inside = cwd.strip_prefix(task.settings.base_dir).ok()?;
        Some(inside.join(name))
    }

    /// Returns the steps that remove the files which the run itself writes, those of a killed run too.
    fn drop_own_files(&self, task: &TaskView<'_>) -> Vec<PrivateStep> {
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
        };
        let mut contents = output.contents.into_iter();
        let stamp = contents.next().flatten();
        self.stamp = stamp.and_then(|stamp| String::from_utf8(stamp).ok());
        let mut steps = Vec::new();
        let sealed = contents.next().flatten();
        if let Some(problem) = self.missing_state(task, sealed.is_some()) {
            return Ok(self.give_up(task, TaskOutcome::refused(problem)));
        }
        if let (Some(path), Some(sealed)) = (self.state_file(), sealed) {
            match task.tool().cipher().open(&path, &sealed) {
                Ok(clear) => {
                    steps.push(PrivateStep::Write {
                        file: STATE.to_owned(),
                        bytes: clear.clone(),
                    });
                    self.before = Some(clear);
                }
                Err(problem) => return Ok(self.give_up(task, TaskOutcome::refused(problem))),
            }
        }
        if let Some((file, content)) = &self.rendered.secret {
            steps.push(PrivateStep::Write {
                file: file.clone(),
                bytes: content.reveal().to_string().into_bytes(),
            });
        }
        if steps.is_empty() {
            return self.prepare(task);
        }
        self.stage = Stage::Write;
        Ok(self.work(task, steps))
    }

    /// Returns a message if the state of an instance that exists is missing. The tool would take everything for missing,
    /// create it again, and destroy nothing.
    fn missing_state(&self, task: &TaskView<'_>, has_state: bool) -> Option<String> {
        let path = self
            .state_file()
            .filter(|_| !has_state && task.tool().was_applied())?;
        Some(format!(
            "the state `{}` is missing, although an earlier job has applied the configuration; restore the file, for example \
             with `git restore` of its encrypted copy below `.secrets`, or copy it from the clone that has it; if nothing of it exists any \
             more, write `{{\"version\": 4}}` into the file",
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

    fn stamp_text(&self) -> String {
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
        Ok(auxiliary(Action::Run(self.with_secrets(command))))
    }

    fn initialised(&mut self, task: &TaskView<'_>, output: &RunOutput) -> Result<RunStep, Error> {
        if output.exit.is_ok() {
            return self.run_tool(task);
        }
        let outcome = init_failure(task, &self.tool, output);
        Ok(self.give_up(task, outcome))
    }

    /// Adds the secret variables to the texts that no output shows.
    fn with_secrets(&self, mut command: Command) -> Command {
        command.secrets.append(&self.secrets());
        command
    }

    /// Returns the values of the secret variables.
    fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        if let Some((_, content)) = &self.rendered.secret {
            let parsed = serde_json::from_str(&content.reveal().to_string());
            let parsed: Option<serde_json::Value> = parsed.ok();
            if let Some(parsed) = parsed {
                secrets.gather(&Value::from(parsed).sensitive());
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
        let is_different = output.exit == Exit::Code(2) && self.goal == Goal::Check;
        let has_changes = self
            .output
            .plan_counts
            .is_some_and(|counts| !counts.is_none());
        self.run = Some(output);
        if is_different && has_changes {
            let plan = self.files.private.join(PLAN).display().to_string();
            let mut words = self.tool.clone();
            words.extend(["show", "-json", "-no-color"].map(str::to_owned));
            words.push(plan);
            let command = command(task, &self.files, words)?;
            self.stage = Stage::Show;
            return Ok(auxiliary(Action::Run(command)));
        }
        Ok(self.collect(task))
    }

    /// Reads what the tool has left.
    fn collect(&mut self, task: &TaskView<'_>) -> RunStep {
        let mut steps = Vec::new();
        for file in [STATE, BACKUP] {
            steps.push(PrivateStep::Read {
                file: file.to_owned(),
            });
        }
        for name in [ERRORED_STATE, LOCK_FILE] {
            let path = self.inside(task, name);
            steps.extend(path.map(|path| PrivateStep::Load { path }));
        }
        self.stage = Stage::Collect;
        self.work(task, steps)
    }

    fn collected(&mut self, task: &TaskView<'_>, left: &PrivateOutput) -> RunStep {
        if !left.exit.is_ok() {
            let mut outcome = self.outcome(task, None);
            outcome.success = false;
            outcome
                .errors
                .push(self.kept_message(&left.exit.to_string()));
            return done(outcome);
        }
        let content = |place: usize| left.contents.get(place).cloned().flatten();
        let candidates = [content(0), content(1), content(2)];
        let has_errored = candidates[2].is_some();
        let state = candidates.into_iter().flatten().reduce(newer_state);
        let mut steps = Vec::new();
        let mut warning = None;
        let after = state.filter(|_| self.goal.changes() && self.files.has_state);
        if let Some(state) = after
            .as_ref()
            .filter(|state| self.before.as_ref() != Some(*state))
        {
            match self.keep_state(task, state) {
                Ok((step, text)) => {
                    steps.extend(step);
                    warning = text;
                }
                Err(problem) => {
                    let problem = self.kept_message(&problem);
                    let mut outcome = self.outcome(task, after.as_deref());
                    outcome.success = false;
                    outcome.errors.push(problem);
                    return done(outcome);
                }
            }
        }
        if self.is_initialised {
            steps.extend(self.keep_initialised(content(3)));
        }
        if has_errored {
            let path = self.inside(task, ERRORED_STATE);
            steps.extend(path.map(|path| PrivateStep::Drop { path }));
        }
        steps.extend(self.drop_own_files(task));
        steps.push(PrivateStep::Remove);
        let mut outcome = self.outcome(task, after.as_deref());
        outcome.warnings.extend(warning);
        self.stage = Stage::Close(Box::new(outcome));
        self.work(task, steps)
    }

    fn outcome(&self, task: &TaskView<'_>, state: Option<&[u8]>) -> TaskOutcome {
        let Some(run) = &self.run else {
            return TaskOutcome::refused("the tool was not run");
        };
        let judged = Judged {
            goal: self.goal,
            tool: &self.tool,
            run,
            output: &self.output,
            before: self.before.as_deref().and_then(ToolState::read),
            state: state.and_then(ToolState::read),
            differences: &self.differences,
        };
        judge(task, &judged)
    }

    fn kept_message(&self, problem: &str) -> String {
        format!(
            "the state cannot be kept: {problem}; it stays in clear text in `{}`, and the next job takes it from there",
            self.files.private.display()
        )
    }

    /// Returns the step that keeps a state, encrypted, with a warning.
    fn keep_state(
        &self,
        task: &TaskView<'_>,
        state: &[u8],
    ) -> Result<(Option<PrivateStep>, Option<String>), String> {
        let is_for_real = !task.settings.dry_run;
        let root = if is_for_real { "active" } else { "planned" };
        let Some(path) = self.location.file(&self.instance, root) else {
            return Ok((None, None));
        };
        let cipher = task.tool().cipher();
        let (text, warning) = sealed_state(cipher, self.location.as_str(), state)?;
        let mode = match self.location {
            StateLocation::Artifacts => OPEN_MODE,
            _ => SECRET_MODE,
        };
        let bytes = text.into_bytes();
        Ok((Some(PrivateStep::Keep { path, bytes, mode }), warning))
    }

    /// Returns the steps that keep the lock file and note what was initialised.
    fn keep_initialised(&self, lock_file: Option<Vec<u8>>) -> Vec<PrivateStep> {
        let artifacts = PathBuf::from("active/artifacts").join(&self.instance);
        let lock = lock_file.map(|bytes| PrivateStep::Keep {
            path: artifacts.join(LOCK_FILE),
            bytes,
            mode: OPEN_MODE,
        });
        let stamp = PrivateStep::Keep {
            path: self.local(STAMP),
            bytes: self.stamp_text().into_bytes(),
            mode: OPEN_MODE,
        };
        lock.into_iter().chain([stamp]).collect()
    }

    /// Ends the run. The private folder is removed, if it has nothing that is not kept.
    fn give_up(&mut self, task: &TaskView<'_>, outcome: TaskOutcome) -> RunStep {
        let is_open = !self.files.private.as_os_str().is_empty();
        let may_have_changed = self.run.is_some() && self.goal.changes();
        if !is_open || may_have_changed {
            return done(outcome);
        }
        self.files.private = PathBuf::new();
        self.stage = Stage::Close(Box::new(outcome));
        let mut steps = self.drop_own_files(task);
        steps.push(PrivateStep::Remove);
        self.work(task, steps)
    }
}

/// Ends the run after the private folder was closed.
fn closed(mut outcome: TaskOutcome, result: Option<ActionResult>) -> RunStep {
    let exit = result.map(|result| result.exit().clone());
    if let Some(exit) = exit.filter(|exit| !exit.is_ok()) {
        outcome.success = false;
        outcome.errors.push(format!(
            "the state cannot be kept: {exit}; it stays in the private folder, and the next job takes it from there"
        ));
    }
    done(outcome)
}
