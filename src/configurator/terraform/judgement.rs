//! The outcome of a run of the tool: its success, what it changed, the status, and the messages.

use std::collections::HashSet;
use std::path::Path;

use super::recovered::lost_of;
use super::settings::Goal;
use super::state_file::ToolState;
use super::stream::{ToolDiagnostic, ToolOutput};
use super::version::ToolVersion;
use crate::configurator::result_template::{apply_done, apply_result_template, variables_of_done};
use crate::configurator::shell_run::{exit_reason, return_code};
use crate::configurator::template::error_outcome;
use crate::host::{Exit, RunOutput};
use crate::name::Status;
use crate::task::{TaskOutcome, TaskView};
use crate::text::{OutputFilter, shlex_join, without_controls};
use crate::value::{Map, Secrets, Value};

/// The maximum number of errors in a message.
const MAX_ERRORS: usize = 20;
/// The number of last lines that a message has if the tool reports no error.
const LAST_LINES: usize = 5;

/// The output and the states of a run.
#[derive(Debug)]
pub(super) struct Judged<'a> {
    pub(super) goal: Goal,
    /// The words that start the tool.
    pub(super) tool: &'a [String],
    pub(super) run: &'a RunOutput,
    pub(super) output: &'a ToolOutput,
    pub(super) before: Option<ToolState>,
    /// The state after the run, if the run could change it.
    pub(super) state: Option<ToolState>,
    /// The differences that a check found.
    pub(super) differences: &'a [String],
    /// The version, if the tool was asked for it.
    pub(super) version: Option<&'a ToolVersion>,
    /// The secrets that the tool got. It may return them in any form.
    pub(super) secrets: &'a Secrets,
    /// The command without its secrets.
    pub(super) command: &'a str,
}

/// Returns the outcome of a run.
pub(super) fn judge(task: &TaskView<'_>, judged: &Judged<'_>) -> TaskOutcome {
    let problem = judged.problem(task);
    let mut outcome = TaskOutcome {
        success: problem.is_none(),
        modified: judged.modified(problem.is_some()),
        is_cut_off: judged.is_cut_off(),
        ..TaskOutcome::default()
    };
    outcome.notes.extend(problem);
    outcome.notes.extend(judged.lost_resources());
    if outcome.success {
        outcome.status = judged.status(task);
    }
    let mut result = judged.result(outcome.success, outcome.modified);
    judged.add_outputs(task, &mut outcome, &mut result);
    if !outcome.errors.is_empty() {
        outcome.success = false;
    }
    outcome.result = Some(Value::from(shown_result(&result)));
    if let Some(done) = task.raw_input("done") {
        let variables = variables_of_done(&outcome, result);
        match task.evaluate_with(done, &variables) {
            Ok(done) => apply_done(&done, &mut outcome),
            Err(error) => return error_outcome(&error),
        }
    }
    outcome
}

/// Returns the outcome of an initialisation that failed. Nothing was changed.
pub(super) fn init_failure(
    task: &TaskView<'_>,
    tool: &[String],
    run: &RunOutput,
    version: Option<&ToolVersion>,
    command: &str,
) -> TaskOutcome {
    let name = named(
        &format!("{} init", tool.join(" ")),
        version.map(ToolVersion::text),
    );
    let mut text = match &run.exit {
        Exit::NotFound(_) => missing_tool(tool),
        _ => format!("{name} failed: {}", exit_text(task, run)),
    };
    if !matches!(run.exit, Exit::NotFound(_)) {
        if let Some(hint) = version.and_then(ToolVersion::hint) {
            text.push_str(&format!("; {hint}"));
        }
        let said = error_lines(run);
        if !said.is_empty() {
            text.push_str(&format!(":\n{said}"));
        }
        text.push_str(&format!("\nthe command was: {command}"));
    }
    TaskOutcome {
        modified: Some(false),
        result: Some(Value::from(text.as_str())),
        notes: vec![text],
        ..TaskOutcome::default()
    }
}

/// Returns a command with the version of the tool, for messages.
fn named(command: &str, version: Option<String>) -> String {
    version.map_or_else(
        || format!("`{command}`"),
        |version| format!("`{command}` ({version})"),
    )
}

/// Returns the message about a tool that cannot be run. None if its program exists.
pub(super) fn unusable_tool(task: &TaskView<'_>, tool: &[String]) -> Option<String> {
    let name = tool.first()?;
    let path = Path::new(name);
    let is_found = if name.contains('/') {
        !path.is_absolute() || task.local_context().exists(path)
    } else {
        task.has_program(name)
    };
    (!is_found).then(|| missing_tool(tool))
}

/// Returns the message about a tool that is not installed.
fn missing_tool(tool: &[String]) -> String {
    let name = tool.first().map_or("terraform", String::as_str);
    if name == "terraform" {
        return "neither `terraform` nor `tofu` is on PATH; install Terraform 1.4 or OpenTofu 1.6 or a later version, or \
                name the program with the input `command`"
            .to_owned();
    }
    let place = if name.contains('/') {
        "does not exist"
    } else {
        "was not found on PATH"
    };
    format!("the program `{name}` of the input `command` {place}; install it, or name another one")
}

/// Returns the lines of the standard error that say something, without the frame around them.
fn error_lines(run: &RunOutput) -> String {
    let text = run.stderr.text() + "\n" + &run.stdout.text();
    let lines = text.lines().map(|line| {
        let line = OutputFilter::plain(line);
        line.trim_start_matches(['│', '╷', '╵', ' '])
            .trim_end()
            .to_owned()
    });
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let from = lines.iter().position(|line| line.starts_with("Error"));
    let kept = match from {
        Some(from) => &lines[from..lines.len().min(from + MAX_ERRORS)],
        None => &lines[lines.len().saturating_sub(LAST_LINES)..],
    };
    kept.join("\n")
}

/// Returns the end of the tool as a clause.
fn exit_text(task: &TaskView<'_>, run: &RunOutput) -> String {
    let reason = exit_reason(task, run);
    match run.exit {
        Exit::TimedOut => format!("it {reason}"),
        _ => reason,
    }
}

impl Judged<'_> {
    fn is_expected(&self) -> bool {
        let differs = self.run.exit == Exit::Code(2) && !self.goal.changes();
        self.run.exit.is_ok() || differs
    }

    /// Returns the message about the failure of the run. None if it succeeded.
    fn problem(&self, task: &TaskView<'_>) -> Option<String> {
        if matches!(self.run.exit, Exit::NotFound(_)) {
            return Some(missing_tool(self.tool));
        }
        let errors: Vec<String> = self.output.errors().map(ToolDiagnostic::text).collect();
        let name = self.name();
        let says = |text: &str| {
            if text.is_empty() {
                return String::new();
            }
            format!(":\n{text}")
        };
        if !self.is_expected() {
            let why = exit_text(task, self.run);
            if !errors.is_empty() {
                return Some(format!("{name} failed: {why}{}", says(&listed(&errors))));
            }
            let hint = self.version_hint();
            return Some(format!("{name} failed: {why}{hint}{}", self.last_words()));
        }
        if !errors.is_empty() {
            let text = listed(&errors);
            return Some(format!(
                "{name} reports errors although it ended with {}{}",
                self.run.exit,
                says(&text)
            ));
        }
        let has_summary = if self.goal.changes() {
            self.output.done_counts.is_some()
        } else {
            self.output.plan_counts.is_some()
        };
        if !has_summary {
            return Some(format!(
                "{name} ended with {}, but printed no summary in JSON, so its effect is not known{}{}",
                self.run.exit,
                self.version_hint(),
                self.last_words()
            ));
        }
        None
    }

    /// Returns the command with the version of the tool, for messages.
    fn name(&self) -> String {
        let command = format!("{} {}", self.tool.join(" "), self.goal.subcommand());
        let said = self.output.version.as_ref();
        let said = said.map(|version| format!("version {version}"));
        named(
            &command,
            said.or_else(|| self.version.map(ToolVersion::text)),
        )
    }

    /// Returns a hint about the version of a tool that prints no JSON.
    fn version_hint(&self) -> String {
        if self.output.is_understood() {
            return String::new();
        }
        let hint = self.version.and_then(ToolVersion::hint);
        let hint = hint.unwrap_or_else(|| {
            "it printed no JSON, which Terraform 1.4, OpenTofu 1.6 and later versions do".to_owned()
        });
        format!("; {hint}")
    }

    /// Returns the last lines of the tool and its command, for the message about a failure that it does not explain.
    fn last_words(&self) -> String {
        let lines = match self.output.other_lines.as_slice() {
            [] => &self.output.messages[..],
            other => other,
        };
        let from = lines.len().saturating_sub(LAST_LINES);
        let mut text = String::from(":");
        for line in &lines[from..] {
            text.push('\n');
            text.push_str(&OutputFilter::plain(line));
        }
        text.push_str(&format!("\nthe command was: {}", self.command));
        text
    }

    /// Returns true if the run may have changed something that nobody knows of.
    fn is_cut_off(&self) -> bool {
        self.goal.changes() && matches!(self.run.exit, Exit::Signal(_))
    }

    fn modified(&self, has_failed: bool) -> Option<bool> {
        if !self.goal.changes() || matches!(self.run.exit, Exit::NotFound(_)) {
            return Some(false);
        }
        if !self.output.started.is_empty() {
            return if self.is_cut_off() { None } else { Some(true) };
        }
        let is_known = self.output.is_understood() && matches!(self.run.exit, Exit::Code(_));
        let reports = self.output.errors().next().is_some() || !has_failed;
        (is_known && reports).then_some(false)
    }

    fn status(&self, task: &TaskView<'_>) -> Option<Status> {
        let found = task.settings.target_status;
        let is_bad = matches!(
            found,
            Some(Status::Degraded | Status::Error | Status::Unknown)
        );
        match self.goal {
            // After a successful run, what exists is what the configuration says.
            Goal::Apply => is_bad.then_some(Status::Ok),
            Goal::Check => Some(self.found_status()),
            Goal::Preview { .. } if self.run.exit == Exit::Code(2) => Some(Status::Ok),
            _ => None,
        }
    }

    /// Returns the status that a check found.
    fn found_status(&self) -> Status {
        let counts = self.output.plan_counts.unwrap_or_default();
        if self.run.exit != Exit::Code(2) || counts.is_none() {
            return Status::Ok;
        }
        let gone: HashSet<&str> = self
            .output
            .drifted
            .iter()
            .filter(|it| it.action == "delete")
            .map(|it| it.address.as_str())
            .collect();
        let known = self.before.as_ref().map(ToolState::addresses);
        let known = known.unwrap_or_default();
        let is_all_gone = known.iter().all(|address| gone.contains(address.as_str()));
        if counts.change == 0 && counts.remove == 0 && is_all_gone {
            Status::Absent
        } else {
            Status::Degraded
        }
    }

    /// Returns a message that lists the resources which a killed tool has created and its state lacks.
    fn lost_resources(&self) -> Option<String> {
        let Exit::Signal(_) = self.run.exit else {
            return None;
        };
        let known = self.state.as_ref().map(ToolState::addresses);
        let lost = lost_of(self.output, &known.unwrap_or_default());
        if lost.is_empty() {
            return None;
        }
        let tool = self.tool.join(" ");
        let lines: Vec<String> = lost.iter().map(|it| it.text(&tool)).collect();
        Some(format!(
            "these resources exist, but the state lacks them, because the tool was killed:\n{}",
            lines.join("\n")
        ))
    }

    /// Returns the result's fields, which are the variables of `resultTemplate` and part of the record.
    fn result(&self, success: bool, modified: Option<bool>) -> Map {
        let command = shlex_join([self.tool, &[self.goal.subcommand().to_owned()]].concat());
        let is_secret = self.run.is_secret();
        let text =
            |text: &str| Value::from(without_controls(text).as_ref()).sensitive_if(is_secret);
        let code = return_code(&self.run.exit);
        let error = match &self.run.exit {
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => Value::Null,
            exit => Value::from(exit.to_string()),
        };
        let mut result = Map::from_iter([
            ("cmd".into(), Value::from(command.as_str())),
            ("args".into(), Value::from(command)),
            ("returncode".into(), code),
            ("stdout".into(), text(&self.output.messages.join("\n"))),
            ("stderr".into(), text(&self.output.other_lines.join("\n"))),
            ("error".into(), error),
            ("success".into(), Value::Bool(success)),
            ("modified".into(), Value::from(modified)),
        ]);
        if !self.differences.is_empty() {
            let message = text(&self.differences.join("\n"));
            result.insert("message".into(), message);
        }
        result
    }

    /// Adds the outputs to the outcome, and evaluates the template for results.
    fn add_outputs(&self, task: &TaskView<'_>, outcome: &mut TaskOutcome, result: &mut Map) {
        let foreign = |values: Map| -> Map {
            let values = values.into_iter();
            values
                .map(|(name, value)| (name, task.foreign(self.secrets.mark(value))))
                .collect()
        };
        for (name, value) in result.iter_mut() {
            if matches!(&**name, "stdout" | "stderr" | "message") {
                *value = task.foreign(std::mem::take(value));
            }
        }
        match self.goal {
            Goal::Check => return,
            Goal::Preview { .. } => {
                let Ok(Some(outputs)) = task.input("dryrun_outputs") else {
                    return;
                };
                let variables = Map::from_iter([
                    ("outputs".into(), outputs.clone()),
                    ("success".into(), Value::Bool(outcome.success)),
                    ("modified".into(), Value::from(outcome.modified)),
                ]);
                outcome.outputs = outputs.marked_entries();
                apply_result_template(task, &variables, outcome);
                return;
            }
            Goal::Apply | Goal::Destroy => {}
        }
        let outputs = match &self.state {
            Some(state) => foreign(state.outputs()),
            None => foreign(self.output.outputs.clone()),
        };
        let mut variables = self
            .state
            .as_ref()
            .map(ToolState::marked)
            .unwrap_or_default();
        variables = foreign(variables);
        variables.extend(result.clone());
        variables.insert("outputs".into(), Value::from(outputs.clone()));
        if self.state.is_some() || self.run.exit.is_ok() {
            apply_result_template(task, &variables, outcome);
        }
        if !outputs.is_empty() {
            outcome.outputs = Some(outputs);
        }
    }
}

fn listed(errors: &[String]) -> String {
    let mut text = errors[..errors.len().min(MAX_ERRORS)].join("\n");
    if errors.len() > MAX_ERRORS {
        text.push_str(&format!("\nand {} more errors", errors.len() - MAX_ERRORS));
    }
    text
}

/// Returns the result as the record has it, without empty fields.
fn shown_result(result: &Map) -> Map {
    let mut shown = result.clone();
    shown.retain(|name, value| {
        let is_empty = value.is_null() || value.as_str() == Some("");
        !is_empty && !matches!(&**name, "cmd" | "modified")
    });
    shown
}
