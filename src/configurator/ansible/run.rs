//! The run of a playbook: starts `ansible-playbook`, reads its report, and makes the outcome.

use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

use super::configurator::own_vault_id;
use super::failure::FailedRun;
use super::invocation::{ProgramInput, add_settings, with_vaults};
use super::report::{HostChange, PlaybookReport};
use crate::configurator::result_template::apply_result_template;
use crate::configurator::shell_run::never_started;
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

/// A playbook that was rendered: the command without the passwords of vaults.
#[derive(Debug, Default)]
pub(super) struct RenderedPlaybook {
    /// The words of the command before those about vaults.
    pub(super) words: Vec<String>,
    /// The path of the playbook that runs.
    pub(super) playbook: String,
    /// The file that the input `playbook` names.
    pub(super) playbook_file: Option<PathBuf>,
    /// The password of the file with secret variables.
    pub(super) password: Option<Zeroizing<String>>,
    /// The values of the secret variables.
    pub(super) secrets: Value,
}

impl RenderedPlaybook {
    /// Returns the playbook as the data of a rendered task.
    pub(super) fn to_value(&self) -> Value {
        let words = self.words.iter().map(|word| Value::str(word.as_str()));
        let file = self.playbook_file.as_ref();
        let password = self.password.as_ref().map(|it| Value::str(it.as_str()));
        Value::map([
            ("words", Value::list(words)),
            ("playbook", Value::str(self.playbook.as_str())),
            (
                "playbook_file",
                Value::from(file.map(|path| path.display().to_string())),
            ),
            ("password", password.unwrap_or_default().sensitive()),
            ("secrets", self.secrets.clone().sensitive()),
        ])
    }

    /// Returns the playbook from the data of a rendered task.
    pub(super) fn of_value(data: &Value) -> Self {
        let field = |name: &str| data.get(name).map(Value::reveal);
        let text = |name: &str| field(name).and_then(Value::as_str).map(str::to_owned);
        let words = field("words").and_then(Value::as_list);
        Self {
            words: words.into_iter().flatten().map(Value::to_string).collect(),
            playbook: text("playbook").unwrap_or_default(),
            playbook_file: text("playbook_file").map(PathBuf::from),
            password: text("password").map(Zeroizing::new),
            secrets: field("secrets").cloned().unwrap_or_default(),
        }
    }

    /// Returns all words of the command, for messages.
    fn shown_words(&self) -> Vec<String> {
        let words = self.words.iter().cloned();
        words
            .chain(std::iter::once(self.playbook.clone()))
            .collect()
    }
}

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
    /// The playbook failed, and the version of the program is asked for the message.
    AskVersion(Box<RunOutput>),
}

impl OperationRun for PlaybookRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep {
        let result = match last {
            Some(EffectResult::Action(ActionResult::Run(output))) => Some(output),
            _ => None,
        };
        match (std::mem::take(&mut self.stage), result) {
            (RunStage::RunPlaybook, Some(output)) => self.end(task, output),
            (RunStage::AskVersion(output), version) => {
                let version = version.map(|version| version.stdout.text());
                let line = version.as_deref().and_then(|text| text.lines().next());
                RunStep::Done(Box::new(self.finish(task, &output, line)))
            }
            _ => match self.command(task) {
                Ok(command) => {
                    self.stage = RunStage::RunPlaybook;
                    RunStep::Perform(Box::new(TaskEffect::on_local(Action::Run(command))))
                }
                Err(error) => RunStep::Done(Box::new(TaskOutcome {
                    modified: Some(false),
                    ..error_outcome(&error)
                })),
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

    fn command(&mut self, task: &TaskView<'_>) -> Result<Command, Error> {
        let base = task.settings.base_dir;
        let context = task.local_context();
        let own = self
            .rendered
            .password
            .as_ref()
            .map(|password| VaultPassword {
                id: own_vault_id().to_owned(),
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
        if !(failed && has_run && self.report.version.is_none()) {
            return RunStep::Done(Box::new(self.finish(task, &output, None)));
        }
        let Some(program) = self.rendered.words.first().cloned() else {
            return RunStep::Done(Box::new(self.finish(task, &output, None)));
        };
        let words = vec![program, "--version".to_owned()];
        let mut command = Command::new(Program::Argv(words), task.settings.base_dir);
        command.env = task.environment().unwrap_or_default();
        command.time_limit = Some(VERSION_TIME_LIMIT);
        self.stage = RunStage::AskVersion(Box::new(output));
        let mut effect = TaskEffect::on_local(Action::Run(command));
        effect.role = EffectRole::Auxiliary;
        RunStep::Perform(Box::new(effect))
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
                report,
                version,
                secrets: &self.secrets,
            };
            outcome.notes = failed.messages();
            outcome.status = report.has_failed_change.then_some(Status::Error);
        }
        let outputs = self.marked(task, Value::from(report.facts.clone()));
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
            || (self.report.version.is_some() && !self.report.has_begun)
            || (matches!(output.exit, Exit::Code(1..)) && !self.report.has_begun);
        (is_whole || is_unbegun).then_some(false)
    }

    /// Returns the values of the results under the names that `resultTemplate` and the record have.
    fn result(&self, task: &TaskView<'_>) -> Map {
        let mut result = self.report.values.clone();
        if self.report.results > 0 {
            let ignored = Value::list(self.report.ignored.iter().cloned());
            result.insert("ignored".into(), ignored);
        }
        let marked = self.marked(task, Value::from(result));
        marked.as_map().cloned().unwrap_or_default()
    }

    /// Returns values of the report, marked as data and where they contain secrets.
    fn marked(&self, task: &TaskView<'_>, value: Value) -> Value {
        let entries = value.as_map().into_iter().flatten();
        let marked = entries.map(|(name, value)| {
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
    }
}

/// Returns the text for a change that a task would make, with its difference.
fn describe_change(change: &HostChange) -> String {
    let HostChange { host, task, diff } = change;
    let Some(diff) = diff else {
        return format!("{host}: task `{task}` would change something");
    };
    let is_header = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
    let lines = diff.lines().filter(|line| !is_header(line));
    let lines: Vec<&str> = lines.collect();
    format!("{host}: task `{task}`:\n{}", lines.join("\n"))
}

/// Returns the names of the values that the callback plugin reports, as JSON.
fn wanted_values(task: &TaskView<'_>) -> Result<String, Error> {
    let keys = super::input::words(task, "resultKeys")?;
    let facts = task.settings.outputs.keys().map(|name| Value::str(&**name));
    let keys = keys.iter().map(|key| Value::str(key.as_str()));
    let wanted = Value::map([("keys", Value::list(keys)), ("facts", Value::list(facts))]);
    Ok(serde_json::to_string(&wanted).unwrap_or_default())
}
