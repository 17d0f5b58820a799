//! The run of a playbook: starts `ansible-playbook`, reads its report, and makes the outcome.

use std::time::Duration;

use super::failure::FailedRun;
use super::invocation::{ProgramInput, VAULT_ID, add_settings, with_vaults};
use super::rendered::RenderedPlaybook;
use super::report::{HostChange, PlaybookReport};
use crate::configurator::result_template::apply_result_template;
use crate::configurator::shell_run::{exit_reason, never_started};
use crate::configurator::template::error_outcome;
use crate::expr::{Error, VaultPassword};
use crate::host::{Action, ActionResult, Background, Command, Exit, Program, RunOutput};
use crate::name::Status;
use crate::task::{
    EffectResult, EffectRole, OperationRun, RunProgress, RunStep, TaskEffect, TaskOutcome, TaskView,
};
use crate::value::{Map, Secrets, Value};

/// The time limit for asking the version.
const VERSION_TIME_LIMIT: Duration = Duration::from_secs(30);
/// The number of bytes of a report that are kept.
const MAX_REPORT_BYTES: usize = 64 << 20;
/// The time in which an interrupted playbook ends its processes and those on hosts.
const INTERRUPT_GRACE: Duration = Duration::from_secs(10);

/// The run of a playbook.
#[derive(Debug)]
pub(super) struct PlaybookRun {
    rendered: RenderedPlaybook,
    stage: RunStage,
    report: PlaybookReport,
    /// The report as far as it was read while the playbook runs. Secrets in it are redacted.
    live_report: PlaybookReport,
    secrets: Secrets,
}

/// The stages of a run, with the effect being performed.
#[derive(Debug, Default)]
enum RunStage {
    #[default]
    Start,
    RunPlaybook,
    /// The files of the run are written into a folder of its own.
    WriteFiles,
    /// The playbook failed, and the version of the program is asked for the message.
    AskVersion(Box<RunOutput>),
    /// The folder of the run is removed.
    RemoveFiles(Box<TaskOutcome>),
}

impl OperationRun for PlaybookRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep {
        let (output, changed) = match last {
            Some(EffectResult::Action(ActionResult::Run(output))) => (Some(output), None),
            Some(EffectResult::Action(ActionResult::Change(output))) => (None, Some(output.exit)),
            _ => (None, None),
        };
        match (std::mem::take(&mut self.stage), output, changed) {
            (RunStage::RunPlaybook, Some(output), _) => self.end(task, output),
            (RunStage::AskVersion(output), version, _) => {
                let version = version.map(|version| version.stdout.text());
                let line = version.as_deref().and_then(|text| text.lines().next());
                let outcome = self.finish(task, &output, line);
                self.clean_up(outcome)
            }
            (RunStage::RemoveFiles(outcome), ..) => RunStep::Done(outcome),
            (RunStage::WriteFiles, _, Some(exit)) if !exit.is_ok() => {
                let outcome = TaskOutcome::refused(format!("cannot write the playbook: {exit}"));
                self.clean_up(outcome)
            }
            (RunStage::WriteFiles, ..) => self.start(task),
            _ => match &self.rendered.private_files {
                Some(files) => {
                    let changes = files.writes();
                    self.stage = RunStage::WriteFiles;
                    auxiliary(Action::Change(changes))
                }
                None => self.start(task),
            },
        }
    }

    fn progress(&mut self, line: &str) -> Option<RunProgress> {
        let progress = self.live_report.read_line(line)?;
        Some(RunProgress {
            message: progress.text,
            is_detail: false,
            is_durable: progress.is_failure,
        })
    }
}

impl PlaybookRun {
    pub(super) fn new(rendered: RenderedPlaybook) -> Self {
        Self {
            rendered,
            stage: RunStage::default(),
            report: PlaybookReport::default(),
            live_report: PlaybookReport::default(),
            secrets: Secrets::default(),
        }
    }

    /// Starts the playbook.
    fn start(&mut self, task: &TaskView<'_>) -> RunStep {
        match self.command(task) {
            Ok(command) => {
                self.stage = RunStage::RunPlaybook;
                RunStep::Perform(Box::new(TaskEffect::on_local(Action::Run(command))))
            }
            Err(error) => self.clean_up(TaskOutcome {
                modified: Some(false),
                ..error_outcome(&error)
            }),
        }
    }

    /// Ends the run, after its own files are removed.
    fn clean_up(&mut self, outcome: TaskOutcome) -> RunStep {
        let outcome = Box::new(outcome);
        match &self.rendered.private_files {
            None => RunStep::Done(outcome),
            Some(files) => {
                let changes = files.removal();
                self.stage = RunStage::RemoveFiles(outcome);
                auxiliary(Action::Change(changes))
            }
        }
    }

    fn command(&mut self, task: &TaskView<'_>) -> Result<Command, Error> {
        let base = task.settings.base_dir;
        let context = task.local_context();
        let own = self
            .rendered
            .password
            .as_ref()
            .map(|password| VaultPassword {
                id: VAULT_ID.to_owned(),
                password: password.clone(),
            });
        let vaults: Vec<VaultPassword> = own.into_iter().chain(context.vault_passwords()).collect();
        let tail = vec![self.rendered.playbook.clone()];
        let ProgramInput { program, stdin } =
            with_vaults(self.rendered.words.clone(), tail, &vaults);
        let mut command = Command::new(program, base);
        command.env = task.environment()?;
        let playbook = self.rendered.playbook_file.as_deref();
        add_settings(&mut command.env, playbook, context, base);
        command
            .env
            .add("UNFURL_ANSIBLE_REPORT", wanted_values(task)?);
        command.stdin = stdin;
        for vault in &vaults {
            command.secrets.add(vault.password.as_str());
        }
        command
            .secrets
            .gather(&self.rendered.secrets.clone().sensitive());
        command.time_limit = task.settings.time_limit;
        command.background = Background::Keep;
        command.capture_limit = MAX_REPORT_BYTES;
        command.interrupt_grace = Some(INTERRUPT_GRACE);
        command.reports_lines = true;
        self.secrets = command.hidden();
        Ok(command)
    }

    /// Ends the run, or asks for the version of a program that failed without a report.
    fn end(&mut self, task: &TaskView<'_>, output: RunOutput) -> RunStep {
        for line in output.stdout.text().lines() {
            self.report.read_line(line);
        }
        let has_run = matches!(output.exit, Exit::Code(_) | Exit::Signal(_));
        let failed = output.exit != Exit::Code(0) || !self.report.is_success();
        let program = self.rendered.words.first().cloned();
        let asks = failed && has_run && self.report.version.is_none();
        let Some(program) = program.filter(|_| asks) else {
            let outcome = self.finish(task, &output, None);
            return self.clean_up(outcome);
        };
        let words = vec![program, "--version".to_owned()];
        let mut command = Command::new(Program::Argv(words), task.settings.base_dir);
        command.env = task.environment().unwrap_or_default();
        command.time_limit = Some(VERSION_TIME_LIMIT);
        self.stage = RunStage::AskVersion(Box::new(output));
        auxiliary(Action::Run(command))
    }

    fn finish(
        &self,
        task: &TaskView<'_>,
        output: &RunOutput,
        version: Option<&str>,
    ) -> TaskOutcome {
        let report = &self.report;
        let success = output.exit == Exit::Code(0) && report.is_success();
        let mut outcome = TaskOutcome {
            success,
            modified: self.modified(output, success),
            ..TaskOutcome::default()
        };
        if !success {
            let failed = FailedRun {
                words: &self.rendered.shown_words(),
                output,
                exit_reason: exit_reason(task, output),
                report,
                version,
                secrets: &self.secrets,
            };
            outcome.notes = failed.messages();
            outcome.status = report.has_failed_change.then_some(Status::Error);
        }
        let outputs = self.marked(task, &report.facts);
        let outputs = outputs.marked_entries().unwrap_or_default();
        let mut result = self.result(task);
        if success && !(result.is_empty() && outputs.is_empty()) {
            let mut variables = result.clone();
            variables.insert("success".into(), Value::Bool(success));
            variables.insert("outputs".into(), Value::from(outputs.clone()));
            apply_result_template(task, &variables, &mut outcome);
        }
        if task.settings.check_only {
            self.compare(task, &mut outcome, &mut result);
        }
        if !outcome.errors.is_empty() {
            outcome.success = false;
        }
        outcome.outputs = Some(outputs);
        outcome.result = Some(Value::from(result));
        outcome
    }

    /// Returns whether the playbook changed anything. None if nobody knows.
    fn modified(&self, output: &RunOutput, success: bool) -> Option<bool> {
        if self.report.changed > 0 {
            return Some(true);
        }
        // A task that was cut off may have changed something.
        let is_whole = success || self.report.end.is_some();
        let is_unbegun = never_started(&output.exit)
            || matches!(output.exit, Exit::NotFound(_))
            || (self.report.version.is_some() && !self.report.has_started)
            || (matches!(output.exit, Exit::Code(1..)) && !self.report.has_started);
        (is_whole || is_unbegun).then_some(false)
    }

    /// Returns the values of the results under the names that `resultTemplate` and the record have.
    fn result(&self, task: &TaskView<'_>) -> Map {
        let mut result = self.report.values.clone();
        if self.report.results > 0 {
            let ignored = Value::list(self.report.ignored.iter().cloned());
            result.insert("ignored".into(), ignored);
        }
        let marked = self.marked(task, &result);
        marked.as_map().cloned().unwrap_or_default()
    }

    /// Returns values of the report, marked as data and where they contain secrets.
    fn marked(&self, task: &TaskView<'_>, values: &Map) -> Value {
        let marked = values.iter().map(|(name, value)| {
            let value = self.secrets.mark(value.clone());
            (name.clone(), task.foreign(value))
        });
        Value::from(marked.collect::<Map>())
    }

    /// Reports the differences that a check found.
    fn compare(&self, task: &TaskView<'_>, outcome: &mut TaskOutcome, result: &mut Map) {
        outcome.status = Some(match (outcome.success, self.report.changed) {
            (false, _) => Status::Error,
            (true, 0) => Status::Ok,
            (true, _) => Status::Degraded,
        });
        let differences = self.report.changes.iter().map(describe_change);
        let differences: Vec<String> = differences.collect();
        if !differences.is_empty() {
            let message = Value::from(self.secrets.redact(&differences.join("\n")));
            result.insert("message".into(), task.foreign(message));
        }
        let differences = self.report.changes.iter().map(|change| {
            let name = format!("{}: {}", change.host, change.task);
            let lines = change.diff.as_deref().map(without_header);
            let lines = lines.map(|lines| self.secrets.redact(&lines));
            Value::map([("name", Value::from(name)), ("lines", Value::from(lines))])
        });
        let differences = Value::list(differences.collect::<Vec<_>>());
        result.insert("differences".into(), task.foreign(differences));
    }
}

/// Returns the step for an action that prepares a run or cleans up after it.
fn auxiliary(action: Action) -> RunStep {
    let mut effect = TaskEffect::on_local(action);
    effect.role = EffectRole::Auxiliary;
    RunStep::Perform(Box::new(effect))
}

/// Returns the text for a change that a task would make, with its difference.
fn describe_change(change: &HostChange) -> String {
    let HostChange { host, task, diff } = change;
    let Some(diff) = diff else {
        return format!("{host}: task `{task}` would change something");
    };
    format!("{host}: task `{task}`:\n{}", without_header(diff))
}

/// Returns the lines of a difference without those that name the files, which may be temporary ones.
fn without_header(diff: &str) -> String {
    let is_header = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
    let lines: Vec<&str> = diff.lines().filter(|line| !is_header(line)).collect();
    lines.join("\n")
}

/// Returns the names of the values that the callback plugin reports, as JSON.
fn wanted_values(task: &TaskView<'_>) -> Result<String, Error> {
    let keys = super::input::words(task, "resultKeys")?;
    let facts = task.settings.outputs.keys().map(|name| Value::str(&**name));
    let keys = keys.iter().map(|key| Value::str(key.as_str()));
    let wanted = Value::map([("keys", Value::list(keys)), ("facts", Value::list(facts))]);
    Ok(serde_json::to_string(&wanted).unwrap_or_default())
}
