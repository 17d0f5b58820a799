//! The commands that schedules run: this program itself, with JSON as its output and without a terminal.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value as Json;

use super::ensembles::KnownEnsemble;
use crate::schedule::{EnsembleOutcome, EnsembleResult, Overlap, ScheduleAction, ScheduleSpec};
use crate::system::process::{self, Error, Helper, Output};
use crate::system::{env, survivors};

/// The time of a command to end after the first request, and again after the second one, before it is killed.
const END_GRACE: Duration = Duration::from_secs(10);
/// The number of bytes that are kept of each output.
const MAX_OUTPUT: usize = 16 << 20;
/// The number of characters of a message in the log.
const MAX_MESSAGE: usize = 300;

/// The circumstances of the commands of a run.
#[derive(Debug, Clone)]
pub(super) struct CommandContext<'a> {
    /// The folder of the project.
    pub(super) root: &'a Path,
    pub(super) globals: &'a [String],
    /// The id of the run, by which commands are found that outlive their server.
    pub(super) run: &'a str,
    /// Set to end the command.
    pub(super) stop: &'a Arc<AtomicBool>,
}

/// Returns the words of the command for an ensemble, or for the hosts of a task or a state test.
fn words(
    spec: &ScheduleSpec,
    ensemble: Option<&KnownEnsemble>,
    remaining: Duration,
) -> Vec<String> {
    let mut words: Vec<String> = match &spec.action {
        ScheduleAction::Drift => vec!["drift".into()],
        ScheduleAction::Check => vec!["check".into()],
        ScheduleAction::Deploy => vec!["deploy".into(), "--approve".into()],
        ScheduleAction::Task(name) => vec!["task".into(), name.to_string()],
        ScheduleAction::StateTest(states) => {
            let states = states.iter().map(ToString::to_string);
            ["state".to_owned(), "test".to_owned()]
                .into_iter()
                .chain(states)
                .collect()
        }
    };
    words.extend(["--output".into(), "json".into()]);
    if !spec.hosts.is_empty() {
        words.extend(["--hosts".into(), spec.hosts.join(",")]);
    }
    if spec.action.is_per_ensemble() {
        if let Some(environment) = &spec.environment {
            words.extend(["--use-environment".into(), environment.to_string()]);
        }
        if spec.overlap == Overlap::Wait {
            let wait = format!("{}s", remaining.as_secs());
            words.extend(["--lock-timeout".into(), wait]);
        }
    }
    words.extend(ensemble.map(|ensemble| ensemble.manifest.display().to_string()));
    words
}

/// Runs the command of a schedule for one ensemble, for at most the remaining time of the run.
pub(super) fn run(
    spec: &ScheduleSpec,
    ensemble: Option<&KnownEnsemble>,
    remaining: Duration,
    cx: &CommandContext<'_>,
) -> EnsembleResult {
    let name = ensemble.map_or_else(|| spec.action.to_string().into(), |it| Arc::clone(&it.name));
    let words = words(spec, ensemble, remaining);
    let mut result = match call(words, remaining, cx) {
        Ok(output) => interpret(spec, name, &output),
        Err(error) => {
            let (outcome, message) = match error {
                Error::TimedOut { .. } => {
                    let limit = spec.time_limit.as_secs_f32();
                    let text = format!("the time limit of {limit} s was exceeded");
                    (EnsembleOutcome::TimedOut, text)
                }
                // The command was at its end when it was asked to end.
                Error::Interrupted { code: Some(0), .. } => (EnsembleOutcome::Ok, String::new()),
                Error::Interrupted { .. } => (
                    EnsembleOutcome::NotRun,
                    "a signal ended its command".to_owned(),
                ),
                error => (EnsembleOutcome::Failed, error.to_string()),
            };
            return EnsembleResult {
                name,
                outcome,
                exit: None,
                message: message.into(),
                document: Json::Null,
            };
        }
    };
    if let (EnsembleOutcome::Drifted, ScheduleAction::Drift, Some(ensemble)) =
        (result.outcome, &spec.action, ensemble)
    {
        repair(&mut result, spec, ensemble, remaining, cx);
    }
    result
}

/// Repairs the drift that policies allow to repair.
fn repair(
    result: &mut EnsembleResult,
    spec: &ScheduleSpec,
    ensemble: &KnownEnsemble,
    remaining: Duration,
    cx: &CommandContext<'_>,
) {
    /// The exit code of an invalid command line.
    const USAGE: i32 = 2;
    let mut words = words(spec, Some(ensemble), remaining);
    let options = ["--repair", "--approve", "--by-policy"].map(str::to_owned);
    words.splice(1..1, options);
    let text = match call(words, remaining, cx) {
        Ok(output) if output.code == USAGE => return,
        Ok(output) if output.is_ok() => "the repair by policy succeeded".to_owned(),
        Ok(output) => format!(
            "after the repair by policy, `drift` ended with exit code {}",
            output.code
        ),
        Err(error) => {
            result.outcome = EnsembleOutcome::Failed;
            format!("the repair by policy failed: {error}")
        }
    };
    result.message = text.into();
}

fn call(words: Vec<String>, limit: Duration, cx: &CommandContext<'_>) -> Result<Output, Error> {
    let exe = env::current_exe().map_err(|source| Error::Failed {
        program: "unfurl".to_owned(),
        source,
    })?;
    // A newer program of the same path has replaced this one.
    let exe = exe.display().to_string();
    let exe = exe.strip_suffix(" (deleted)").unwrap_or(&exe).to_owned();
    let argv = [exe]
        .into_iter()
        .chain(cx.globals.iter().cloned())
        .chain(words);
    process::run(&Helper {
        cwd: Some(cx.root.to_owned()),
        extra_env: vec![
            (
                survivors::TOKEN_VARIABLE.into(),
                survivors::token_value(cx.run, 0, None),
            ),
            ("UNFURL_PROGRESS".into(), "none".into()),
        ],
        time_limit: limit,
        max_output: MAX_OUTPUT,
        end_grace: END_GRACE,
        stop: Some(Arc::clone(cx.stop)),
        ..Helper::new(argv)
    })
}

/// Returns the result that the exit code and the JSON document of a command stand for.
fn interpret(spec: &ScheduleSpec, name: Arc<str>, output: &Output) -> EnsembleResult {
    let document: Json = serde_json::from_slice(&output.stdout).unwrap_or(Json::Null);
    let message = message_of(&document, output);
    let is_drift = spec.action == ScheduleAction::Drift;
    let problem = document
        .pointer("/ensembles/0/problem/kind")
        .and_then(Json::as_str);
    let is_locked =
        problem == Some("locked") || (output.code == 1 && message.contains("is locked by"));
    let has_errors = document
        .get("errors")
        .is_some_and(|errors| !errors.is_null());
    let outcome = match output.code {
        _ if is_locked => EnsembleOutcome::Locked,
        0 if has_changes(spec, &document) => EnsembleOutcome::Drifted,
        0 => EnsembleOutcome::Ok,
        3 if is_drift => EnsembleOutcome::Drifted,
        1 if is_drift && !has_errors && !document.is_null() => EnsembleOutcome::CannotTell,
        _ => EnsembleOutcome::Failed,
    };
    let is_well = matches!(outcome, EnsembleOutcome::Ok | EnsembleOutcome::Drifted);
    EnsembleResult {
        name,
        outcome,
        exit: Some(output.code),
        message: if is_well { "".into() } else { message.into() },
        document,
    }
}

/// Returns true if a state test would change something.
fn has_changes(spec: &ScheduleSpec, document: &Json) -> bool {
    fn pending(json: &Json) -> bool {
        match json {
            Json::Object(map) => {
                let result = map.get("result");
                let is_state = map.contains_key("changes") && result.is_some_and(Json::is_null);
                is_state || map.values().any(pending)
            }
            Json::Array(items) => items.iter().any(pending),
            _ => false,
        }
    }
    matches!(spec.action, ScheduleAction::StateTest(_)) && pending(document)
}

/// Returns the message of a command about its failure: that of the document, or else the last line of the error output.
fn message_of(document: &Json, output: &Output) -> String {
    let places = ["/errors/0/message", "/ensembles/0/problem/message"];
    let of_host = || {
        let hosts = document.get("hosts")?.as_object()?;
        hosts.values().find_map(|host| host.get("error")?.as_str())
    };
    let found = places
        .iter()
        .find_map(|place| document.pointer(place)?.as_str())
        .or_else(of_host);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let line = || {
        let line = stderr.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(line.strip_prefix("error: ").unwrap_or(line))
    };
    let text = found.or_else(line).unwrap_or_default().trim();
    let text = if text.is_empty() && !output.is_ok() {
        format!("the command ended with exit code {}", output.code)
    } else {
        text.to_owned()
    };
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
