//! The command `recover`: adds to the record what an interrupted job could not save.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::args::format::OutputFormat;
use crate::cli::output::Context;
use crate::cli::request::session::home;
use crate::ops::{self, Failure, SessionOptions};

/// The options of the command `recover`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RecoverArgs {
    /// The ensemble
    #[arg(default_value = "")]
    ensemble: String,
    /// The rescue file that the job named; by default, those found next to the ensemble, in the
    /// folder for temporary files and in the home folder
    file: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Adopts the rescue file of a job and returns the exit code.
pub(in crate::cli) fn recover(args: &RecoverArgs, cx: &Context) -> Result<u8, Failure> {
    // A single argument that ends with `.rescue` is a rescue file of the ensemble in the current
    // folder.
    let is_file = args.file.is_none() && args.ensemble.ends_with(".rescue");
    let (ensemble, file) = if is_file {
        (String::new(), Some(PathBuf::from(&args.ensemble)))
    } else {
        (args.ensemble.clone(), args.file.clone())
    };
    let options = SessionOptions {
        ensemble,
        home: home(cx),
        ..SessionOptions::default()
    };
    let messages = ops::rescue::recover(&options, file.as_deref(), "unfurl recover")?;
    match args.output {
        OutputFormat::Json => cx.output.json(&json!({
            "recovered": !messages.is_empty(),
            "messages": messages,
        })),
        OutputFormat::Text if messages.is_empty() => {
            cx.output.print_result("There is nothing to recover.\n");
        }
        OutputFormat::Text => {
            let lines = messages.iter().map(|line| format!("{line}\n"));
            cx.output.print_result(&lines.collect::<String>());
        }
        OutputFormat::None => {}
    }
    Ok(0)
}
