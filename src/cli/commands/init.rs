//! The command `init`: creates projects and ensembles.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::output::{Context, shown_path};
use crate::cli::request::session::session_options;
use crate::ops::Failure;
use crate::ops::init::{self, InitReport, InitRequest, InitSource, Layout, Made, SecretsChoice};
use crate::text::shlex_quote;

/// Create a project, or an ensemble if the folder is in a project
///
/// Without options, the folder becomes a project with one ensemble, as in Unfurl. `--template NAME` copies an example
/// instead, and `--bare` writes the fewest files that deploy. Nothing that exists is overwritten.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
#[derive(Debug, Args)]
pub(in crate::cli) struct InitArgs {
    /// The folder of the project; by default, the current one
    #[arg(default_value = "", hide_default_value = true)]
    folder: String,
    /// The folder of the ensemble in the project
    ensemble: Option<String>,
    /// Copy an example: hello, states, tasks, webapp
    #[arg(long, value_name = "NAME", conflicts_with_all = ["bare", "skeleton"])]
    template: Option<String>,
    /// Write the fewest files that deploy
    #[arg(long, conflicts_with = "skeleton")]
    bare: bool,
    /// Keep the ensemble in the repository of the project
    #[arg(long, conflicts_with = "submodule")]
    mono: bool,
    /// Make the repository of the ensemble a submodule of the project
    #[arg(long)]
    submodule: bool,
    /// Add the project to the repository around it, by default in the folder `.unfurl`
    #[arg(long, conflicts_with = "submodule")]
    existing: bool,
    /// Create no ensemble
    #[arg(long)]
    empty: bool,
    /// Use a skeleton: home, aws, azure, digitalocean, gcp, k8s, dashboard, or a folder
    #[arg(long, value_name = "NAME|PATH")]
    skeleton: Option<String>,
    /// Pass a variable to the skeleton; `input_NAME` sets an input of the ensemble
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = clap::ArgAction::Append)]
    var: Vec<String>,
    /// Use this environment for the ensemble
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Use this deployment blueprint for the ensemble
    #[arg(long, value_name = "NAME")]
    use_deployment_blueprint: Option<String>,
    /// Create an environment with the name of the project, whose ensembles are created in the project
    #[arg(
        long,
        visible_alias = "as-shared-home",
        alias = "create-environment",
        conflicts_with = "submodule"
    )]
    as_shared_environment: bool,
    /// Create the ensemble in this repository, which another project has
    #[arg(long, value_name = "PATH", conflicts_with_all = ["mono", "submodule", "empty", "as_shared_environment"])]
    shared_repository: Option<PathBuf>,
    /// Encrypt secrets with the password of a vault, or with age for readers that a file names
    #[arg(long, value_name = "vault|age", value_parser = parse_secrets)]
    secrets: Option<SecretsChoice>,
    /// Prepare the project for work on its model
    #[arg(long)]
    design: bool,
    /// Leave the files uncommitted
    #[arg(long)]
    render: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Creates a project or an ensemble, and returns the exit code.
pub(in crate::cli) fn init(args: &InitArgs, cx: &Context) -> Result<u8, Failure> {
    let request = InitRequest {
        session: session_options("", args.use_environment.as_deref(), cx),
        folder: args.folder.clone(),
        ensemble: args.ensemble.clone().filter(|name| !name.is_empty()),
        source: source(args),
        layout: match (args.mono, args.submodule) {
            (true, _) => Layout::Mono,
            (_, true) => Layout::Submodule,
            _ => Layout::Poly,
        },
        existing: args.existing,
        empty: args.empty,
        render: args.render,
        design: args.design,
        as_shared: args.as_shared_environment,
        shared_repository: args.shared_repository.clone(),
        environment: args.use_environment.clone(),
        deployment_blueprint: args.use_deployment_blueprint.clone(),
        secrets: args.secrets,
        variables: variables(&args.var)?,
        ..InitRequest::default()
    };
    let report = init::init(&request)?;
    match args.output {
        OutputFormat::Json => cx.output.json(&to_json(&report)),
        OutputFormat::Text if cx.output.quiet => cx.output.print_result(&summary(&report)),
        OutputFormat::Text => cx.output.print_result(&describe(&report)),
        OutputFormat::None => {}
    }
    Ok(0)
}

fn parse_secrets(word: &str) -> Result<SecretsChoice, String> {
    SecretsChoice::parse(word).ok_or_else(|| "write `vault` or `age`".to_owned())
}

fn source(args: &InitArgs) -> InitSource {
    match (&args.template, &args.skeleton) {
        (Some(name), _) => InitSource::Example(name.clone()),
        (None, _) if args.bare => InitSource::Bare,
        (None, Some(name)) => InitSource::Skeleton(name.clone()),
        (None, None) => InitSource::Default,
    }
}

/// Returns the pairs of `--var`. Each name may occur once.
pub(super) fn variables(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in words.chunks_exact(2) {
        if pairs.iter().any(|(name, _)| *name == pair[0]) {
            let message = format!("`--var` sets `{}` twice", pair[0]);
            return Err(Failure::usage_with(message, "leave out one of the two"));
        }
        pairs.push((pair[0].clone(), pair[1].clone()));
    }
    Ok(pairs)
}

/// Returns the line that ends the text output, as Unfurl prints it.
fn summary(report: &InitReport) -> String {
    match &report.made {
        Made::Project(file) => format!("Unfurl project created at {}\n", file.display()),
        Made::Ensemble(folder) => format!("Created new ensemble at \"{}\"\n", folder.display()),
        Made::Folder(folder) => format!("Created \"{}\"\n", folder.display()),
    }
}

fn describe(report: &InitReport) -> String {
    let mut text = describe_files(report) + &summary(report);
    for note in notes(report) {
        text += &format!("note: {note}\n");
    }
    text + &format!("\nNext: {}\n", next(report))
}

/// Returns lines about the files and repositories that were made.
pub(super) fn describe_files(report: &InitReport) -> String {
    let mut text = String::new();
    let paths: Vec<String> = report
        .files
        .iter()
        .map(|file| shown_path(&file.path))
        .collect();
    let width = paths
        .iter()
        .map(|path| path.chars().count())
        .max()
        .unwrap_or(0);
    for (file, path) in report.files.iter().zip(&paths) {
        let verb = if file.is_change { "changed" } else { "wrote  " };
        text += &format!("{verb} {path:width$}  {}\n", file.purpose);
    }
    for repository in &report.repositories {
        let folder = shown_folder(&repository.folder);
        let verb = if repository.is_new {
            "created the repository"
        } else {
            "used the repository"
        };
        let commits = match repository.commits.len() {
            0 => "no commits".to_owned(),
            1 => "1 commit".to_owned(),
            count => format!("{count} commits"),
        };
        text += &format!("{verb} {folder} ({commits})\n");
    }
    text
}

/// Returns facts that the user should know.
fn notes(report: &InitReport) -> Vec<String> {
    let mut notes = report.notes.clone();
    if let Some((reason, _)) = &report.uncommitted {
        let commands = commit_commands(report).join("\n  ");
        notes.push(format!(
            "nothing is committed, because {reason}. To commit later:\n  {commands}"
        ));
    }
    notes
}

/// Returns the commands that commit the files later.
fn commit_commands(report: &InitReport) -> Vec<String> {
    let Some((_, folders)) = &report.uncommitted else {
        return Vec::new();
    };
    let identity = ["user.name 'YOUR NAME'", "user.email YOU@EXAMPLE.COM"];
    let mut commands: Vec<String> = identity
        .iter()
        .map(|setting| format!("git config --global {setting}"))
        .collect();
    for folder in folders.iter().rev() {
        let folder = argument(folder);
        commands.push(format!(
            "git -C {folder} add -A && git -C {folder} commit -m 'Create the project'"
        ));
    }
    commands
}

/// Returns the command to run next, as a line of shell.
fn next(report: &InitReport) -> String {
    let (folder, command) = &report.next;
    let is_here = crate::system::env::current_dir().is_ok_and(|here| {
        here == *folder || crate::system::fs::canonicalize(&here).is_ok_and(|here| here == *folder)
    });
    if is_here {
        return (*command).to_owned();
    }
    format!("cd {} && {command}", argument(folder))
}

/// Returns a folder as a word of a shell command.
fn argument(folder: &Path) -> String {
    let shown = shown_folder(folder);
    let shown = if shown.starts_with('-') {
        format!("./{shown}")
    } else {
        shown
    };
    shlex_quote(&shown)
}

fn shown_folder(folder: &Path) -> String {
    let shown = shown_path(folder);
    if shown.is_empty() {
        ".".to_owned()
    } else {
        shown
    }
}

fn to_json(report: &InitReport) -> Json {
    let text = |path: &PathBuf| path.display().to_string();
    let (kind, path) = match &report.made {
        Made::Project(path) => ("project", path),
        Made::Ensemble(path) => ("ensemble", path),
        Made::Folder(path) => ("folder", path),
    };
    let files: Vec<Json> = report
        .files
        .iter()
        .map(|file| {
            json!({
                "path": text(&file.path),
                "purpose": file.purpose,
                "changed": file.is_change,
            })
        })
        .collect();
    let repositories: Vec<Json> = report
        .repositories
        .iter()
        .map(|repository| {
            json!({
                "folder": text(&repository.folder),
                "created": repository.is_new,
                "commits": repository.commits,
            })
        })
        .collect();
    json!({
        "created": kind,
        "path": text(path),
        "files": files,
        "repositories": repositories,
        "uncommitted": report.uncommitted.as_ref().map(|(reason, _)| json!({
            "reason": reason,
            "commands": commit_commands(report),
        })),
        "notes": report.notes,
        "next": next(report),
    })
}
