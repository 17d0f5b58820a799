//! `commit`, `git`, `git-status` and `merge-driver`, and what jobs tell of their commits.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::job::{Keep, OutputFormat};
use crate::cli::arguments::Global;
use crate::cli::commands::job::session_options;
use crate::cli::output::Output;
use crate::job::Level;
use crate::ops::commit::CommitOptions;
use crate::ops::git::GitStatus;
use crate::ops::merge_driver::MergeFiles;
use crate::ops::{self, CommitRequest, Commits, Failure, FailureKind};
use crate::system::{fs, process};

/// What stands above the part of a message that people do not write.
const MARKER: &str = "# Everything below is ignored";

/// Commit what is changed in an ensemble, or in a project
///
/// The files of the ensemble's folder are committed, whether staged or not; for the folder of a
/// project, all of the project's and of its ensemble's. What is staged elsewhere stays staged.
#[derive(Debug, Args)]
pub(in crate::cli) struct CommitArgs {
    /// The ensemble or project
    #[arg(default_value = ".")]
    path: String,
    /// The message; without it, the editor asks for one
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Take the message that names the last job, without asking
    #[arg(long)]
    no_edit: bool,
    #[command(flatten)]
    scope: Scope,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Push as well
    #[arg(long)]
    push: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// What is committed.
#[derive(Debug, Args)]
struct Scope {
    /// Commit only what is staged
    #[arg(long)]
    skip_add: bool,
    /// Commit to every repository that the ensemble uses
    #[arg(long)]
    all_repositories: bool,
}

/// Run git in every repository of an ensemble or project
#[derive(Debug, Args)]
pub(in crate::cli) struct GitArgs {
    /// The ensemble or project
    #[arg(long, default_value = ".", value_name = "PATH")]
    dir: String,
    /// Git's command and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    words: Vec<String>,
}

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

/// Merge two people's records of one ensemble, for git: `unfurl merge-driver %O %A %B %P`
#[derive(Debug, Args)]
pub(in crate::cli) struct MergeDriverArgs {
    /// The version before both; git's `%O`
    base: PathBuf,
    /// This side's version, which takes the result; git's `%A`
    ours: PathBuf,
    /// The other side's version; git's `%B`
    theirs: PathBuf,
    /// Which file it is; git's `%P`
    path: Option<PathBuf>,
}

impl Keep {
    /// What is asked for; pushing means committing.
    pub(in crate::cli) fn request(&self) -> Option<CommitRequest> {
        (self.commit || self.push).then(|| CommitRequest {
            message: self
                .message
                .clone()
                .filter(|message| !message.trim().is_empty()),
            push: self.push,
        })
    }
}

/// Commits.
pub(in crate::cli) fn commit(args: &CommitArgs, global: &Global, output: &Output) -> u8 {
    let json = args.output == OutputFormat::Json;
    let environment = args.use_environment.as_deref();
    let asks = !args.no_edit && !json && std::io::stdin().is_terminal();
    let options = CommitOptions {
        session: session_options(&args.path, environment, global, output),
        message: args.message.clone(),
        staged_only: args.scope.skip_add,
        all_repositories: args.scope.all_repositories,
        push: args.push,
        command: "unfurl commit".to_owned(),
    };
    let mut ask = |default: &str, statuses: &str| {
        if asks {
            edited(default, statuses)
        } else {
            Ok(Some(default.to_owned()))
        }
    };
    match ops::commit::commit(&options, &mut ask) {
        Ok(Some(commits)) => {
            tell_commits(args.output, &commits, output);
            exit_code(&commits, 0)
        }
        Ok(None) => {
            output.answer("Aborted commit\n");
            1
        }
        Err(failure) => output.failure(&failure, json),
    }
}

fn tell_commits(format: OutputFormat, commits: &Commits, output: &Output) {
    told(commits, output);
    match format {
        OutputFormat::Json => {
            let mut answer = json!({ "commits": json(commits) });
            if let Some(failure) = &commits.failure {
                answer["errors"] = output.json_of(&failure.problems, &failure.sources).into();
            }
            output.json(&answer);
        }
        OutputFormat::Text if commits.made.is_empty() => {
            if commits.failure.is_none() {
                output.answer("Nothing to commit!\n");
            }
        }
        OutputFormat::Text => {
            let count = commits.made.iter().filter(|made| made.id.is_some()).count();
            output.answer(&format!("Committed to {count} repositories.\n"));
        }
        OutputFormat::None => {}
    }
}

/// Tells what was committed and pushed, and what was not.
pub(in crate::cli) fn told(commits: &Commits, output: &Output) {
    for warning in &commits.warnings {
        output.message(Level::Warning, warning);
    }
    for made in &commits.made {
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
        output.message(Level::Info, &text);
    }
    if let Some(failure) = &commits.failure {
        output.diagnostics(&failure.problems, &failure.sources);
    }
}

fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}

/// The commits, for machines.
pub(in crate::cli) fn json(commits: &Commits) -> Json {
    let made = commits.made.iter().map(|made| {
        json!({
            "repository": made.repository.display().to_string(),
            "commit": made.id,
            "files": names(&made.files),
            "pushed": made.pushed,
        })
    });
    made.collect()
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files
        .iter()
        .map(|file| file.display().to_string())
        .collect()
}

/// The exit code, where something that was to be committed is not.
pub(in crate::cli) fn exit_code(commits: &Commits, code: u8) -> u8 {
    match &commits.failure {
        Some(failure) if code == 0 => failure.kind.exit_code(),
        _ => code,
    }
}

/// The message that a person makes of the default one; none if it is left empty.
fn edited(default: &str, statuses: &str) -> Result<Option<String>, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        let help = "say `-m TEXT`, or `--no-edit` for the usual message".to_owned();
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
    process::edit(&file).map_err(|error| failed(&error))?;
    let text = fs::read_to_string(&file).map_err(|error| failed(&error))?;
    let message = text.split(MARKER).next().unwrap_or_default().trim();
    Ok((!message.is_empty()).then(|| message.to_owned()))
}

/// Runs git; gives the last exit code that is not 0.
pub(in crate::cli) fn git(args: &GitArgs, global: &Global, output: &Output) -> u8 {
    let options = session_options(&args.dir, None, global, output);
    let runs = match ops::git::run(&options, &args.words) {
        Ok(runs) => runs,
        Err(failure) => return output.failure(&failure, false),
    };
    if runs.is_empty() {
        output.answer("Can't run git command, no repositories found\n");
    }
    let mut code = 0;
    for run in runs {
        let place = run.place.display().to_string();
        let place = if place == "." {
            place
        } else {
            format!("./{place}")
        };
        let words = args.words.join(" ");
        output.answer(&format!("*** Running 'git {words}' in '{place}'\n"));
        output.answer(&format!("{}\n\n", run.output.text()));
        let complaint = String::from_utf8_lossy(&run.output.stderr).into_owned();
        if !complaint.trim().is_empty() {
            output.complain(&format!("{}\n\n", complaint.trim_end()));
        }
        if !run.output.is_ok() {
            code = u8::try_from(run.output.code).unwrap_or(1);
        }
    }
    code
}

/// Shows what is not committed.
pub(in crate::cli) fn git_status(args: &GitStatusArgs, global: &Global, output: &Output) -> u8 {
    let environment = args.use_environment.as_deref();
    let options = session_options(&args.path, environment, global, output);
    let statuses = match ops::git::status(&options, args.dirty) {
        Ok(statuses) => statuses,
        Err(failure) => return output.failure(&failure, args.output == OutputFormat::Json),
    };
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
            output.json(&Json::from(all));
        }
        OutputFormat::Text if statuses.is_empty() => output.answer("No status to display.\n"),
        OutputFormat::Text => {
            let text: String = statuses.iter().map(status_text).collect();
            output.answer(&text);
        }
        OutputFormat::None => {}
    }
    0
}

fn status_text(status: &GitStatus) -> String {
    let of = if status.name.is_empty() {
        status.place.clone()
    } else {
        format!("{} at {}", status.name, status.place)
    };
    format!("Status for {of}:\n{}\n\n", status.text)
}

/// Merges for git, which wants 1 for a conflict.
pub(in crate::cli) fn merge_driver(args: &MergeDriverArgs, output: &Output) -> u8 {
    let files = MergeFiles {
        base: &args.base,
        ours: &args.ours,
        theirs: &args.theirs,
    };
    match ops::merge_driver::merge(&files) {
        Ok(conflicts) if conflicts.is_empty() => 0,
        Ok(conflicts) => {
            let path = args.path.as_ref().unwrap_or(&args.ours).display();
            output.complain(&format!(
                "error: both sides have changed {} in `{path}`\n",
                conflicts.join(", ")
            ));
            1
        }
        Err(failure) => output.failure(&failure, false),
    }
}
