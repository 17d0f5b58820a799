//! Runs the script that translates a fabfile, and checks and saves its result.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::diagnostic::{Diagnostic, Sources, Span};
use crate::ops::{Failure, FailureKind};
use crate::project::FolderKeys;
use crate::system::env::Env;
use crate::system::fs;
use crate::system::process::{self, Helper};
use crate::tasks::read_tasks;

/// The source of the script. Each file uses those before it.
const SCRIPT: &str = concat!(
    include_str!("translator/names.py"),
    include_str!("translator/values.py"),
    include_str!("translator/contrib.py"),
    include_str!("translator/module.py"),
    include_str!("translator/tasks.py"),
    include_str!("translator/steps.py"),
    include_str!("translator/blocks.py"),
    include_str!("translator/scope.py"),
    include_str!("translator/yaml_text.py"),
    include_str!("translator/main.py"),
);

/// The time limit of the script.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// The maximum size of the script's answer, in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// A fabfile as a `tasks.yaml`.
#[derive(Debug, Deserialize)]
pub struct TranslatedFabfile {
    /// The text of the `tasks.yaml`, with a comment for each part that has no translation.
    pub text: String,
    /// The number of tasks.
    pub tasks: usize,
    /// The number of statements that were translated.
    pub translated: usize,
    /// The parts that have no translation.
    pub marked: Vec<Mark>,
}

/// A part of a fabfile that has no translation.
#[derive(Debug, Deserialize)]
pub struct Mark {
    /// The line, counted from 1.
    pub line: usize,
    /// The reason.
    pub text: String,
}

/// The answer of the script.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Answer {
    Translated(TranslatedFabfile),
    Refused {
        error: String,
        line: usize,
        column: usize,
    },
}

/// Translates a fabfile.
///
/// # Errors
///
/// The file cannot be read, there is no `python3`, or the file is not Python.
pub fn translate(file: &Path) -> Result<TranslatedFabfile, Failure> {
    let text = fs::read_to_string(file).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, hint)
    })?;
    let name = file.file_name().unwrap_or(file.as_os_str());
    let name = name.to_string_lossy().into_owned();
    match ask_python(&name, &text)? {
        Answer::Translated(translated) => {
            check(file, &translated)?;
            Ok(translated)
        }
        Answer::Refused {
            error,
            line,
            column,
        } => Err(syntax_error(file, text, &error, (line, column))),
    }
}

/// Runs the script on the text of a fabfile.
fn ask_python(name: &str, text: &str) -> Result<Answer, Failure> {
    let env = Env::of_this_process();
    let folders = env.get("PATH").unwrap_or_default().split(':');
    let python = fs::find_program("python3", folders.filter(|folder| folder.starts_with('/')));
    let Some(python) = python else {
        let message = "there is no `python3` on the `PATH`, which parses the fabfile";
        let help = "install Python 3; the fabfile itself does not run, and Fabric is not needed";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(help.to_owned()),
        ));
    };
    let python = python.display().to_string();
    let helper = Helper {
        stdin: text.as_bytes().to_vec(),
        time_limit: TIME_LIMIT,
        max_output: MAX_ANSWER_BYTES,
        ..Helper::new([&*python, "-I", "-B", "-c", SCRIPT, name])
    };
    let failed = |message: String| Failure::new(FailureKind::Refused, message, None);
    let output = process::run(&helper).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
        failed(format!("`python3` could not parse the fabfile{last}"))
    })
}

fn syntax_error(
    file: &Path,
    text: String,
    problem: &str,
    (line, column): (usize, usize),
) -> Failure {
    let mut sources = Sources::default();
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let own = text.get(start..).and_then(|rest| rest.lines().next());
    let own = own.unwrap_or_default();
    let offset = own.char_indices().nth(column.saturating_sub(1));
    let start = start + offset.map_or(0, |(at, _)| at);
    let source = sources.add(file, text, None);
    let start = u32::try_from(start).unwrap_or(u32::MAX);
    let span = Span::new(source, start, start);
    let message = format!("the fabfile is not valid Python 3: {problem}");
    let help = "Python 2 code needs `2to3` first";
    let diagnostic = Diagnostic::error(message).label(span, "").help(help);
    Failure::with_sources(FailureKind::Refused, diagnostic, sources)
}

/// Checks that the result is a tasks file.
fn check(file: &Path, translated: &TranslatedFabfile) -> Result<(), Failure> {
    let mut sources = Sources::default();
    let folder = file.parent().unwrap_or(Path::new(""));
    let name = folder.join("tasks.yaml");
    let read = |_: &Path| Ok(translated.text.clone());
    let keys = FolderKeys::new(folder, None);
    let result = read_tasks(&name, &mut sources, &read, &keys);
    let problems = result.err().unwrap_or_default();
    if problems.has_errors() {
        return Err(Failure::with_sources(
            FailureKind::Refused,
            problems,
            sources,
        ));
    }
    Ok(())
}

/// Writes the tasks to a file that does not exist.
pub fn write(target: &Path, translated: &TranslatedFabfile) -> Result<(), Failure> {
    if fs::exists(target) {
        let message = format!("there is a file `{}` already", target.display());
        let help = "name another file with `--to`, or print the tasks with `--dryrun`";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(help.to_owned()),
        ));
    }
    fs::write_atomic(target, translated.text.as_bytes(), None).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, hint)
    })
}
