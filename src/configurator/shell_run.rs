//! The run of a shell command: builds the command and interprets its output.

use std::path::{Path, PathBuf};

use super::result_template::{apply_done, apply_result_template, variables_of_done};
use super::template::error_outcome;
use crate::expr::Error;
use crate::host::{
    Action, ActionResult, Background, Command, DeferredOutput, Exit, Program, Question, RunOutput,
};
use crate::task::{
    EffectResult, OperationHost, OperationRun, RunStep, TaskEffect, TaskOutcome, TaskView,
};
use crate::text::{OutputFilter, parse_size, shlex_join, without_controls};
use crate::value::{Map, REDACTED, Value};

/// Returns a command as text for a shell.
pub(super) fn shell_script(command: &Value) -> String {
    match command.reveal() {
        Value::List(words) => words
            .iter()
            .map(|word| word.reveal().to_string())
            .collect::<Vec<_>>()
            .join(" "),
        other => other.to_string(),
    }
}

/// Returns the maximum size of long outputs that are kept whole: the input `capture`, or the setting of the job.
pub(super) fn capture_limit(task: &TaskView<'_>) -> Result<u64, Error> {
    let Some(text) = task.input_text("capture")? else {
        return Ok(task.settings.capture);
    };
    let limit = parse_size(&text).filter(|limit| *limit > 0);
    limit.ok_or_else(|| Error::Function {
        function: "capture".to_owned(),
        problem: format!(
            "`{text}` is not a size; write a number of bytes that is more than 0, or `64K`, `10M`, `2G`"
        ),
    })
}

/// Returns the words of a command that needs no shell.
fn argv_words(command: &Value) -> Vec<String> {
    match command.reveal() {
        Value::List(words) => words.iter().map(|word| word.reveal().to_string()).collect(),
        other => split_words(&other.to_string()),
    }
}

/// Returns the program that runs a command's words.
///
/// Secret words are passed to a shell whose text is not on the command line. Builtins such as `echo` and
/// `printf` then do not expose them in the process list.
fn program_for(words: Vec<String>, secret: bool) -> Program {
    if !secret {
        return Program::Argv(words);
    }
    // A text that is meant for a certain shell is given to that shell.
    let (text, shell) = match &words[..] {
        [shell, option, text] if option == "-c" => (text.clone(), Some(shell.clone())),
        words => (shlex_join(words), None),
    };
    let program = Program::Shell {
        text,
        shell,
        secret,
    };
    match program.variable() {
        Some(_) => program,
        // A program that takes its text only with `-c` cannot receive it another way.
        None => Program::Argv(words),
    }
}

/// The run of a command on this machine.
#[derive(Debug)]
pub(super) struct ShellRun {
    pub(super) rendered: Value,
    /// True if the task says that its output is not shown.
    pub(super) is_silent: bool,
}

impl OperationRun for ShellRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep {
        match last {
            Some(EffectResult::Action(ActionResult::Run(output))) => {
                RunStep::Done(Box::new(self.finish(task, &output)))
            }
            _ => match self.command(task, None) {
                Ok(command) => {
                    RunStep::Perform(Box::new(TaskEffect::on_local(Action::Run(command))))
                }
                Err(error) => RunStep::Done(Box::new(error_outcome(&error))),
            },
        }
    }
}

impl ShellRun {
    fn field(&self, name: &str) -> Value {
        self.rendered.get(name).cloned().unwrap_or(Value::Null)
    }

    /// Returns the command to run on this machine, or on `machine` if given.
    pub(super) fn command(
        &mut self,
        task: &TaskView<'_>,
        machine: Option<&OperationHost>,
    ) -> Result<Command, Error> {
        let shell = self.field("shell");
        let named = shell
            .as_str()
            .filter(|shell| !shell.is_empty())
            .map(str::to_owned);
        let command = self.field("command");
        let secret = command.has_sensitive();
        let program = if shell.is_truthy() {
            Program::Shell {
                text: shell_script(command.reveal()),
                shell: named,
                secret,
            }
        } else {
            program_for(argv_words(&command), secret)
        };
        let (cwd, variables) = match machine {
            None => (self.cwd(task), task.environment()?),
            Some(machine) => (self.explicit_cwd(), machine.variables.clone()),
        };
        let mut command = Command::new(program, cwd);
        command.env = variables;
        let input = task.input("input")?.filter(|input| !input.is_null());
        if let Some(input) = input {
            let text = input.reveal().to_string();
            if input.has_sensitive() {
                command.secrets.add(text.as_str());
            }
            command.stdin = Some(text.into_bytes());
        }
        command.time_limit = task.settings.time_limit;
        let echo = task.input("echo")?.filter(|echo| !echo.is_null());
        // The output of a secret command counts as secret and is not shown.
        self.is_silent = echo.as_ref().is_some_and(|echo| !echo.is_truthy());
        command.echo = !secret && echo.map_or(task.settings.echo, |echo| echo.is_truthy());
        command.background = Background::Keep;
        command.keep_whole_output(capture_limit(task)?);
        Ok(command)
    }

    fn cwd(&self, task: &TaskView<'_>) -> PathBuf {
        let base: &Path = task.settings.base_dir;
        base.join(self.explicit_cwd())
    }

    fn explicit_cwd(&self) -> PathBuf {
        self.field("cwd").as_str().unwrap_or_default().into()
    }

    /// Returns the first word of the command.
    pub(super) fn first_word(&self) -> Option<String> {
        argv_words(&self.field("command")).into_iter().next()
    }

    pub(super) fn finish(&self, task: &TaskView<'_>, output: &RunOutput) -> TaskOutcome {
        let success = output.exit == Exit::Code(0);
        let result = self.result(task, output, success);
        let mut outcome = TaskOutcome {
            success,
            ..TaskOutcome::default()
        };
        if !success {
            outcome.notes.push(self.failure_message(task, output));
        }
        if never_started(&output.exit) {
            outcome.modified = Some(false);
        }
        let result: Map = result
            .into_iter()
            .map(|(name, value)| (name, task.foreign(value)))
            .collect();
        let long_outputs = self.long_outputs(output);
        let variables = DeferredOutput::variables(&long_outputs);
        let view = task.with_variables(&variables);
        apply_result_template(&view, &result, &mut outcome);
        evaluate_outputs(&view, &result, &mut outcome);
        if !outcome.errors.is_empty() {
            outcome.success = false;
        }
        outcome.result = Some(Value::from(self.shown_result(&result)));
        if let Some(done) = task.raw_input("done") {
            let of_result = match &long_outputs[..] {
                [] => Vec::new(),
                outputs => DeferredOutput::variables_of_map("result", &result, outputs, 0),
            };
            let variables = variables_of_done(&outcome, result);
            let view = task.with_variables(&of_result);
            match view.evaluate_with(done, &variables) {
                Ok(done) => apply_done(&done, &mut outcome),
                Err(error) => return error_outcome(&error),
            }
        }
        outcome
    }

    /// Returns the result as the record has it. The output of a task that says so is left out of it.
    fn shown_result(&self, result: &Map) -> Map {
        let mut shown = result.clone();
        shown.retain(|_, value| !value.is_null());
        for name in ["stdout", "stderr"] {
            if let Some(output) = shown.get_mut(name).filter(|_| self.is_silent) {
                *output = Value::from(REDACTED);
            }
        }
        shown
    }

    /// Returns the outputs that are too long for the record. Expressions read them on demand.
    fn long_outputs(&self, output: &RunOutput) -> Vec<DeferredOutput> {
        let outputs = [("stdout", &output.stdout), ("stderr", &output.stderr)];
        let secret = self.has_secret_output(output);
        let deferred = outputs.map(|(name, captured)| {
            DeferredOutput::of_long(name, captured, move |text: &str| output_value(text, secret))
        });
        deferred.into_iter().flatten().collect()
    }

    /// Returns true if the output is secret: the command is, or a secret occurs in its output.
    fn has_secret_output(&self, output: &RunOutput) -> bool {
        self.field("command").has_sensitive() || output.is_secret()
    }

    /// Returns a message about the failure of the command.
    fn failure_message(&self, task: &TaskView<'_>, output: &RunOutput) -> String {
        let command = self.field("command");
        let secret = command.has_sensitive();
        let name = if secret {
            REDACTED.to_owned()
        } else {
            shorten(&shell_script(&command))
        };
        let why = exit_reason(task, output);
        let complaint = output.stderr.text();
        let last = complaint.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.filter(|_| !self.is_silent && !self.has_secret_output(output));
        let last = last.map(OutputFilter::plain);
        match last {
            Some(line) => format!("`{name}`: {why}: {}", line.trim()),
            None => format!("`{name}`: {why}"),
        }
    }

    /// Returns the result's fields, which are the variables of `resultTemplate` and part of the record.
    fn result(&self, task: &TaskView<'_>, output: &RunOutput, success: bool) -> Map {
        let command = self.field("command");
        let secret = command.has_sensitive();
        let shown = Value::from(shell_script(&command)).sensitive_if(secret);
        let code = return_code(&output.exit);
        let (error, limit) = match &output.exit {
            Exit::TimedOut => (Value::Null, Value::Float(limit_seconds(task, output))),
            Exit::Code(_) | Exit::Signal(_) | Exit::Cancelled => (Value::Null, Value::Null),
            exit => (Value::from(exit.to_string()), Value::Null),
        };
        let is_secret_output = self.has_secret_output(output);
        let text = |text: String| output_value(&text, is_secret_output);
        Map::from_iter([
            ("args".into(), shown.clone()),
            ("returncode".into(), code),
            ("stdout".into(), text(output.stdout.text())),
            ("stderr".into(), text(output.stderr.text())),
            ("cmd".into(), shown),
            ("timeout".into(), limit),
            ("error".into(), error),
            ("success".into(), Value::Bool(success)),
        ])
    }
}

/// Returns the end of a command as a text that follows its name.
pub(super) fn exit_reason(task: &TaskView<'_>, output: &RunOutput) -> String {
    match &output.exit {
        Exit::TimedOut => {
            let limit = limit_seconds(task, output);
            format!("ran longer than its limit of {limit} s and was ended")
        }
        exit => exit.to_string(),
    }
}

/// Returns the time limit of a command that ran too long, in seconds.
fn limit_seconds(task: &TaskView<'_>, output: &RunOutput) -> f64 {
    // An executor has its own limit, which is not known here.
    let limit = task.settings.time_limit.unwrap_or(output.elapsed);
    limit.as_secs_f64()
}

/// Returns the exit code of a command, or its signal as a negative number. Null if it has neither.
pub(super) fn return_code(exit: &Exit) -> Value {
    match exit {
        Exit::Code(code) => Value::Int(i64::from(*code)),
        Exit::Signal(signal) => Value::Int(-i64::from(*signal)),
        _ => Value::Null,
    }
}

/// Returns the text of an output without control characters.
fn output_value(text: &str, secret: bool) -> Value {
    Value::from(without_controls(text).as_ref()).sensitive_if(secret)
}

/// Whether a command certainly did not start, because login or a change of user failed.
pub(super) fn never_started(exit: &Exit) -> bool {
    match exit {
        Exit::Unreachable(_) => true,
        Exit::NeedsAnswer { question, .. } => {
            !matches!(question, Question::Prompt(_) | Question::Settled(_))
        }
        _ => false,
    }
}

fn evaluate_outputs(task: &TaskView<'_>, result: &Map, outcome: &mut TaskOutcome) {
    let Some(template) = task.raw_input("outputsTemplate") else {
        return;
    };
    match task.evaluate_with(template, result) {
        Ok(value) => outcome.outputs = value.marked_entries(),
        Err(error) => {
            outcome
                .errors
                .push(format!("error processing outputsTemplate: {error}"));
        }
    }
}

/// Splits a line into words like a shell, with quotes and backslashes.
fn split_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut open) = (Vec::new(), String::new(), false);
    let mut characters = line.chars();
    let mut quoted: Option<char> = None;
    while let Some(character) = characters.next() {
        match (quoted, character) {
            (Some(quote), c) if c == quote => quoted = None,
            (Some('"') | None, '\\') => word.extend(characters.next()),
            (None, c @ ('\'' | '"')) => {
                quoted = Some(c);
                open = true;
            }
            (None, c) if c.is_whitespace() => {
                if open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            (_, c) => word.push(c),
        }
    }
    if open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// Truncates a command to a recognisable length.
fn shorten(command: &str) -> String {
    const LENGTH: usize = 80;
    let mut short: String = command.chars().take(LENGTH).collect();
    if short.len() < command.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        assert_eq!(
            split_words(r#"a 'b c' "d \"e" f\ g '' "#),
            ["a", "b c", "d \"e", "f g", ""]
        );
    }

    #[test]
    fn secret_words_are_on_no_command_line() {
        let words = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
        let program = program_for(words("echo|it is|hunter2"), true);
        let (_, text) = program.variable().unwrap();
        assert_eq!(text, "echo 'it is' hunter2");
        assert!(!program.argv().concat().contains("hunter2"));

        let program = program_for(words("bash|-c|echo hunter2"), true);
        assert_eq!(program.name(), "bash");
        assert!(!program.argv().concat().contains("hunter2"));

        let plain = program_for(words("echo|it is"), false);
        assert_eq!(plain.argv(), ["echo", "it is"]);
    }
}
