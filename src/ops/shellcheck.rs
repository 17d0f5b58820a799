//! Runs `shellcheck`, if it is installed, on the commands of a model.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::check::{ShellText, shell_texts};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity, Sources};
use crate::system::env::Env;
use crate::system::fs::find_program;
use crate::system::process::{self, Helper};
use crate::tosca::TopologyTemplate;

/// The time for all commands together.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The maximum number of commands that are checked. Each one starts the program once.
const MAX_COMMANDS: usize = 500;

/// Returns the warnings of `shellcheck` about the commands of a model. Settings of the project have no effect. Without the program there
/// are none.
pub(super) fn shellcheck(topology: &TopologyTemplate, sources: &Sources, env: &Env) -> Diagnostics {
    let mut found = Diagnostics::default();
    let folders = env.get("PATH").unwrap_or_default();
    let Some(program) = find_program("shellcheck", folders.split(':')) else {
        return found;
    };
    let program = program.display().to_string();
    let texts = shell_texts(topology);
    let end = Instant::now() + TIME_LIMIT;
    let mut seen = HashSet::new();
    for (index, text) in texts.iter().enumerate() {
        let script = text.script();
        if !seen.insert(script.clone()) {
            continue;
        }
        if Instant::now() >= end || seen.len() > MAX_COMMANDS {
            let left = texts.len() - index;
            let message = format!("commands that were not checked with `shellcheck`: {left}");
            let mut note = Diagnostic::warning(message);
            note.severity = Severity::Note;
            found.push(note);
            break;
        }
        // Variables come from the environment of the operation, and other commands use them.
        let options = [
            "--exclude=SC2034,SC2154",
            "--norc",
            "--shell=bash",
            "--severity=warning",
            "--format=json1",
            "-",
        ];
        let helper = Helper {
            stdin: script.into_bytes(),
            time_limit: TIME_LIMIT,
            ..Helper::new(std::iter::once(program.as_str()).chain(options))
        };
        let Ok(output) = process::run(&helper) else {
            continue;
        };
        let answer: Json = serde_json::from_slice(&output.stdout).unwrap_or_default();
        for comment in answer["comments"].as_array().into_iter().flatten() {
            found.push(finding(text, sources, comment));
        }
    }
    found
}

fn finding(text: &ShellText, sources: &Sources, comment: &Json) -> Diagnostic {
    let number = |key: &str| {
        let number = comment[key].as_u64().unwrap_or(1);
        usize::try_from(number).unwrap_or(1)
    };
    let message = comment["message"].as_str().unwrap_or_default();
    let message = message.trim_end_matches('.');
    let code = number("code");
    let message = format!("shellcheck SC{code}: {message}");
    let help = format!("see https://www.shellcheck.net/wiki/SC{code}");
    text.finding(sources, number("line"), number("column"), &message)
        .help(help)
}
