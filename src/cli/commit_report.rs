//! Shows which commits were created and pushed, as messages and as JSON.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::output::Output;
use crate::ensemble::CommitReport;
use crate::job::LogLevel;
use crate::ops::Failure;

/// Prints created and pushed commits, warnings, and the failure if there is one.
pub(super) fn show_commits(commits: &CommitReport, output: &Output) {
    for warning in &commits.warnings {
        output.message(LogLevel::Warning, warning);
    }
    for made in &commits.created {
        let repository = made.repository.display();
        let pushed = made.pushed.as_ref();
        let text = match (&made.id, pushed) {
            (Some(id), Some(to)) => {
                format!(
                    "committed {} to `{repository}`, pushed to `{to}`",
                    short(id)
                )
            }
            (Some(id), None) => format!("committed {} to `{repository}`", short(id)),
            (None, Some(to)) => format!("pushed `{repository}` to `{to}`"),
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

/// Returns the created commits as JSON.
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

/// Returns the paths of files as strings.
pub(super) fn names(files: &[PathBuf]) -> Vec<String> {
    files
        .iter()
        .map(|file| file.display().to_string())
        .collect()
}

/// Returns the exit code of a command, or that of the commit failure if `code` is 0.
pub(super) fn exit_code(commits: &CommitReport, code: u8) -> u8 {
    match commits.failure.as_ref().map(Failure::from) {
        Some(failure) if code == 0 => failure.kind.exit_code(),
        _ => code,
    }
}
