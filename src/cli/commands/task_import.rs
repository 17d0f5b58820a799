//! The command `task import`: translates a fabfile of Fabric to a `tasks.yaml`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::output::{Context, shown_path};
use crate::ops::Failure;
use crate::ops::fabfile::{TranslatedFabfile, translate, write};

/// Translate a fabfile of Fabric 1 or 2 to a tasks file
///
/// `python3` parses the fabfile, and no part of it runs. A part without a counterpart becomes a comment with its file
/// and line. An existing tasks file is never replaced.
#[derive(Debug, Args)]
pub(in crate::cli) struct TaskImportArgs {
    /// The fabfile
    #[arg(value_name = "FABFILE")]
    file: PathBuf,
    /// The tasks file to write; by default `tasks.yaml` beside the fabfile
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// Print the tasks and write nothing
    #[arg(long, alias = "dry-run")]
    dryrun: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Translates the fabfile and returns the exit code.
pub(in crate::cli) fn import(args: &TaskImportArgs, cx: &Context) -> Result<u8, Failure> {
    let translated = translate(&args.file)?;
    let target = args.to.clone().unwrap_or_else(|| {
        let folder = args.file.parent().unwrap_or(Path::new(""));
        folder.join("tasks.yaml")
    });
    if !args.dryrun {
        write(&target, &translated)?;
    }
    cx.output.result(
        args.output,
        || to_json(args, &target, &translated),
        || describe(args, &target, &translated),
    );
    Ok(0)
}

fn describe(args: &TaskImportArgs, target: &Path, translated: &TranslatedFabfile) -> String {
    let mut text = String::new();
    if args.dryrun {
        text.push_str(&translated.text);
        return text;
    }
    let TranslatedFabfile {
        tasks,
        translated: count,
        marked,
        ..
    } = translated;
    text += &format!(
        "{}: {tasks} tasks, {count} statements translated, {} not\n",
        shown_path(target),
        marked.len()
    );
    let file = shown_path(&args.file);
    for mark in marked {
        text += &format!("  {file}:{}: {}\n", mark.line, mark.text);
    }
    text
}

fn to_json(args: &TaskImportArgs, target: &Path, translated: &TranslatedFabfile) -> Json {
    let marked = translated.marked.iter();
    let marked = marked.map(|mark| json!({"line": mark.line, "reason": mark.text}));
    json!({
        "file": args.file.display().to_string(),
        "target": target.display().to_string(),
        "dryrun": args.dryrun,
        "tasks": translated.tasks,
        "translated": translated.translated,
        "marked": marked.collect::<Vec<_>>(),
        "text": translated.text,
    })
}
