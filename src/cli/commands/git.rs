//! The commands `git` (runs git in the repositories of a project) and `git-status` (shows
//! uncommitted changes).

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::commit_report::names;
use crate::cli::output::{Context, Output};
use crate::cli::request::session::session_options;
use crate::diagnostic::Sources;
use crate::ops::git::{GitRun, GitStatus};
use crate::ops::{self, Failure, FailureKind};

/// Run git in every repository of an ensemble or project
#[derive(Debug, Args)]
pub(in crate::cli) struct GitArgs {
    /// The ensemble or project
    #[arg(long, default_value = ".", value_name = "PATH")]
    dir: String,
    /// Format of the result; stands before the git command
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
    /// The git command and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    words: Vec<String>,
}

/// Runs git in each repository and returns the last exit code that is not 0.
pub(in crate::cli) fn git(args: &GitArgs, cx: &Context) -> Result<u8, Failure> {
    let options = session_options(&args.dir, None, cx);
    let runs = ops::git::run(&options, &args.words, &mut |warnings| {
        cx.output.diagnostics(warnings, &Sources::default());
    })?;
    if runs.is_empty() {
        let message = format!("`{}` has no git repository, so git was not run", args.dir);
        let hint = "`git init` creates a repository; `--dir PATH` names another folder";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.into()),
        ));
    }
    match args.output {
        OutputFormat::Json => cx.output.json(&runs.iter().map(run_json).collect()),
        OutputFormat::Text => {
            for run in &runs {
                show_run(run, &args.words, &cx.output);
            }
        }
        OutputFormat::None => {}
    }
    let failed = runs.iter().rev().find(|run| !run.output.is_ok());
    Ok(failed.map_or(0, |run| u8::try_from(run.output.code).unwrap_or(1)))
}

/// Prints the output of git in one repository.
fn show_run(run: &GitRun, words: &[String], output: &Output) {
    let folder = run.folder.display().to_string();
    let place = if folder == "." {
        folder
    } else {
        format!("./{folder}")
    };
    let words = words.join(" ");
    output.print_result(&format!("*** Running 'git {words}' in '{place}'\n"));
    output.print_result(&format!("{}\n\n", run.output.text()));
    let complaint = String::from_utf8_lossy(&run.output.stderr).into_owned();
    if !complaint.trim().is_empty() {
        output.print_stderr(&format!("{}\n\n", complaint.trim_end()));
    }
}

fn run_json(run: &GitRun) -> Json {
    json!({
        "path": run.folder.display().to_string(),
        "exitCode": run.output.code,
        "stdout": String::from_utf8_lossy(&run.output.stdout),
        "stderr": String::from_utf8_lossy(&run.output.stderr),
    })
}

/// Show uncommitted changes in the repositories of an ensemble or project
#[derive(Debug, Args)]
pub(in crate::cli) struct GitStatusArgs {
    /// The ensemble or project
    #[arg(default_value = ".")]
    path: String,
    /// Show only repositories with uncommitted changes
    #[arg(long)]
    dirty: bool,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Shows the uncommitted changes of each repository and returns the exit code.
pub(in crate::cli) fn git_status(args: &GitStatusArgs, cx: &Context) -> Result<u8, Failure> {
    let environment = args.use_environment.as_deref();
    let options = session_options(&args.path, environment, cx);
    let statuses = ops::git::status(&options, args.dirty, &mut |warnings| {
        cx.output.diagnostics(warnings, &Sources::default());
    })?;
    match args.output {
        OutputFormat::Json => {
            let all: Vec<Json> = statuses
                .iter()
                .map(|status| {
                    json!({
                        "name": status.name,
                        "path": status.folder,
                        "dirty": !status.changes.is_empty(),
                        "changes": names(&status.changes),
                    })
                })
                .collect();
            cx.output.json(&Json::from(all));
        }
        OutputFormat::Text if statuses.is_empty() => {
            cx.output.print_result("No status to display.\n");
        }
        OutputFormat::Text => {
            let text: String = statuses.iter().map(status_text).collect();
            cx.output.print_result(&text);
        }
        OutputFormat::None => {}
    }
    Ok(0)
}

fn status_text(status: &GitStatus) -> String {
    let of = if status.name.is_empty() {
        status.folder.clone()
    } else {
        format!("{} at {}", status.name, status.folder)
    };
    format!("Status for {of}:\n{}\n\n", status.text)
}
