//! The command `commit`: commits the changes of an ensemble or project.

use std::io::IsTerminal as _;

use clap::Args;
use serde_json::json;

use crate::cli::args::format::OutputFormat;
use crate::cli::commit_report;
use crate::cli::output::{Context, Output};
use crate::cli::request::session::session_options;
use crate::ensemble::CommitReport;
use crate::job::LogLevel;
use crate::ops::commit::{CommitOptions, SavedSecrets};
use crate::ops::{self, Failure, FailureKind};
use crate::system::{fs, process};

/// The line that separates the message from the generated status lines below it.
///
/// Text from this line on is not part of the message.
const MARKER: &str = "# Everything below is ignored";

/// Commit the changes of an ensemble or a project
///
/// The files in the folder of the ensemble are committed, whether staged or not. For the folder of a
/// project, the files of the project and of its ensembles are committed. Files that are staged
/// elsewhere stay staged. Changed files in folders `secrets` are encrypted into `.secrets` first.
#[derive(Debug, Args)]
pub(in crate::cli) struct CommitArgs {
    /// The ensemble or project
    #[arg(default_value = ".")]
    path: String,
    /// The commit message; without it, an editor is opened
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Use the default message, which names the last job, without opening an editor
    #[arg(long)]
    no_edit: bool,
    #[command(flatten)]
    scope: CommitScope,
    /// Only encrypt the changed files of `secrets` into `.secrets`, and commit nothing
    #[arg(long)]
    save_secrets_only: bool,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Also push the commits
    #[arg(long)]
    push: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// The options that choose which files and repositories are committed.
#[derive(Debug, Args)]
struct CommitScope {
    /// Commit only what is staged
    #[arg(long)]
    skip_add: bool,
    /// Commit to every repository that the ensemble uses
    #[arg(long)]
    all_repositories: bool,
}

/// Runs the command `commit` and returns the exit code.
pub(in crate::cli) fn commit(args: &CommitArgs, cx: &Context) -> Result<u8, Failure> {
    let json = args.output == OutputFormat::Json;
    let environment = args.use_environment.as_deref();
    let asks = !args.no_edit && !json && std::io::stdin().is_terminal();
    let options = CommitOptions {
        session: session_options(&args.path, environment, cx),
        message: args.message.clone(),
        staged_only: args.scope.skip_add,
        all_repositories: args.scope.all_repositories,
        push: args.push,
        command: "unfurl commit".to_owned(),
    };
    if args.save_secrets_only {
        let saved = ops::commit::save_secrets(&options)?;
        show_saved(args.output, &saved, &cx.output);
        return Ok(0);
    }
    let mut ask = |default: &str, statuses: &str| {
        if asks {
            edit_message(default, statuses)
        } else {
            Ok(Some(default.to_owned()))
        }
    };
    let Some(commits) = ops::commit::commit(&options, &mut ask)? else {
        cx.output.print_result("Aborted commit\n");
        return Ok(1);
    };
    show_commits(args.output, &commits, &cx.output);
    Ok(commit_report::exit_code(&commits, 0))
}

fn show_saved(format: OutputFormat, saved: &SavedSecrets, output: &Output) {
    for warning in &saved.warnings {
        output.message(LogLevel::Warning, warning);
    }
    match format {
        OutputFormat::Json => {
            let files = saved.files.iter();
            let files: Vec<_> = files.map(|file| file.display().to_string()).collect();
            output.json(&json!({ "secrets": files }));
        }
        OutputFormat::Text => {
            let count = saved.files.len();
            output.print_result(&format!("Updated {count} secret files.\n"));
        }
        OutputFormat::None => {}
    }
}

fn show_commits(format: OutputFormat, commits: &CommitReport, output: &Output) {
    commit_report::show_commits(commits, output);
    match format {
        OutputFormat::Json => {
            let mut answer = json!({ "commits": commit_report::json(commits) });
            if let Some(failure) = commits.failure.as_ref().map(Failure::from) {
                answer["errors"] = output.json_of(&failure.problems, &failure.sources).into();
            }
            output.json(&answer);
        }
        OutputFormat::Text if commits.created.is_empty() => {
            if commits.failure.is_none() {
                output.print_result("Nothing to commit!\n");
            }
        }
        OutputFormat::Text => {
            let count = commits
                .created
                .iter()
                .filter(|made| made.id.is_some())
                .count();
            output.print_result(&format!("Committed to {count} repositories.\n"));
        }
        OutputFormat::None => {}
    }
}

/// Opens an editor with the default message and returns the edited message.
///
/// None if the message is left empty.
fn edit_message(default: &str, statuses: &str) -> Result<Option<String>, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        let help = "use `-m TEXT`, or `--no-edit` for the default message".to_owned();
        let message = format!("the message could not be edited: {error}");
        Failure::new(FailureKind::Refused, message, Some(help))
    };
    let parent = crate::system::env::temporary_dir();
    let folder = fs::TemporaryDir::create_in(&parent, "unfurl-");
    let folder = folder.map_err(|error| failed(&error))?;
    let file = folder.path().join("COMMIT_EDITMSG");
    let mut text = format!("{default}\n\n{MARKER}\n");
    for line in statuses.lines() {
        text.push_str(format!("# {line}").trim_end());
        text.push('\n');
    }
    fs::write_plain(&file, text.as_bytes(), None).map_err(|error| failed(&error))?;
    process::run_editor(&file).map_err(|error| failed(&error))?;
    let text = fs::read_to_string(&file).map_err(|error| failed(&error))?;
    let message = text.split(MARKER).next().unwrap_or_default().trim();
    Ok((!message.is_empty()).then(|| message.to_owned()))
}
