//! `git-status`.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::commits::names;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::ops::git::GitStatus;
use crate::ops::{self, Failure};

/// Show what is not committed in the repositories of an ensemble or project
#[derive(Debug, Args)]
pub(in crate::cli) struct GitStatusArgs {
    /// The ensemble or project
    #[arg(default_value = ".")]
    path: String,
    /// Only where something is changed
    #[arg(long)]
    dirty: bool,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Shows what is not committed.
pub(in crate::cli) fn git_status(args: &GitStatusArgs, cx: &Context) -> Result<u8, Failure> {
    let environment = args.use_environment.as_deref();
    let options = session_options(&args.path, environment, cx);
    let statuses = ops::git::status(&options, args.dirty)?;
    match args.output {
        OutputFormat::Json => {
            let all: Vec<Json> = statuses
                .iter()
                .map(|status| {
                    json!({
                        "name": status.name,
                        "path": status.place,
                        "dirty": !status.changes.is_empty(),
                        "changes": names(&status.changes),
                    })
                })
                .collect();
            cx.output.json(&Json::from(all));
        }
        OutputFormat::Text if statuses.is_empty() => cx.output.answer("No status to display.\n"),
        OutputFormat::Text => {
            let text: String = statuses.iter().map(status_text).collect();
            cx.output.answer(&text);
        }
        OutputFormat::None => {}
    }
    Ok(0)
}

fn status_text(status: &GitStatus) -> String {
    let of = if status.name.is_empty() {
        status.place.clone()
    } else {
        format!("{} at {}", status.name, status.place)
    };
    format!("Status for {of}:\n{}\n\n", status.text)
}
