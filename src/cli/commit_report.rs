//! What was committed and pushed, for people and machines.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::output::Output;
use crate::ensemble::CommitReport;
use crate::job::LogLevel;
use crate::ops::Failure;

/// Tells what was committed and pushed, and what was not.
pub(super) fn show_commits(commits: &CommitReport, output: &Output) {
    for warning in &commits.warnings {
        output.message(LogLevel::Warning, warning);
    }
    for made in &commits.created {
        let place = made.repository.display();
        let pushed = made.pushed.as_ref();
        let text = match (&made.id, pushed) {
            (Some(id), Some(to)) => {
                format!("committed {} to `{place}`, pushed to `{to}`", short(id))
            }
            (Some(id), None) => format!("committed {} to `{place}`", short(id)),
            (None, Some(to)) => format!("pushed `{place}` to `{to}`"),
            (None, None) => continue,
        };
        output.message(LogLevel::Info, &text);
    }
    if let Some(failure) = commits.failure.as_ref().map(Failure::from) {
        output.diagnostics(&failure.problems, &failure.sources);
    }
}

fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}

/// The commits, for machines.
pub(super) fn json(commits: &CommitReport) -> Json {
    let made = commits.created.iter().map(|made| {
        json!({
            "repository": made.repository.display().to_string(),
            "commit": made.id,
            "files": names(&made.files),
            "pushed": made.pushed,
        })
    });
    made.collect()
}

/// The paths of files.
pub(super) fn names(files: &[PathBuf]) -> Vec<String> {
    files
        .iter()
        .map(|file| file.display().to_string())
        .collect()
}

/// The exit code, where something that was to be committed is not.
pub(super) fn exit_code(commits: &CommitReport, code: u8) -> u8 {
    match commits.failure.as_ref().map(Failure::from) {
        Some(failure) if code == 0 => failure.kind.exit_code(),
        _ => code,
    }
}
