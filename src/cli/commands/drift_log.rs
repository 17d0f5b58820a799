//! The option `--log` of the command `drift`: shows the drift record, and looks at nothing.

use serde_json::json;

use crate::cli::commands::drift_output::DriftOutput;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::job::LogLevel;
use crate::ops::Failure;
use crate::ops::drift::{DriftLog, read_log};
use crate::ui::DriftLogView;

/// The number of rows that are shown without `-n`.
const DEFAULT_LIMIT: usize = 20;

/// Shows the drift records of ensembles.
pub(in crate::cli) fn show(
    ensembles: &[String],
    environment: Option<&str>,
    limit: Option<usize>,
    format: DriftOutput,
    cx: &Context,
) -> Result<u8, Failure> {
    if !matches!(format, DriftOutput::Text | DriftOutput::Json) {
        let help = "use `--output text` or `--output json`";
        return Err(Failure::usage_with("`--log` has no such format", help));
    }
    let logs = ensembles
        .iter()
        .map(|ensemble| read_log(&session_options(ensemble, environment, cx)));
    let logs: Vec<DriftLog> = logs.collect::<Result<_, Failure>>()?;
    let limit = match limit.unwrap_or(DEFAULT_LIMIT) {
        0 => usize::MAX,
        limit => limit,
    };
    let mut documents = Vec::new();
    for log in &logs {
        for problem in &log.problems {
            cx.output.message(LogLevel::Warning, problem);
        }
        let mut entries = log.entries();
        let total = entries.len();
        entries.truncate(limit);
        let name = log.name();
        let view = DriftLogView {
            name: &name,
            manifest: &log.manifest,
            entries,
            total,
            problems: &log.problems,
        };
        if format == DriftOutput::Json {
            documents.push(view.json());
            continue;
        }
        if logs.len() > 1 {
            cx.output.print_result(&format!("{name}:\n"));
        }
        cx.output.print_result(&view.text(cx.output.table_layout()));
    }
    if format == DriftOutput::Json {
        cx.output.json(&json!({ "ensembles": documents }));
    }
    Ok(0)
}
