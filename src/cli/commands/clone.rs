//! The command `clone`: copies projects, and creates ensembles from templates and other ensembles.

use clap::Args;
use serde_json::json;

use crate::cli::args::format::OutputFormat;
use crate::cli::commands::init::variables;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::ops::Failure;
use crate::ops::clone::{self, CloneOptions, CloneReport, ClonedThing};
use crate::ops::init::{InitRequest, InitSource, Layout};
use crate::text::shlex_quote;

/// Clone a project, or create an ensemble from a template, an ensemble or a CSAR
///
/// In a new folder, the project of the source is cloned; if it has no ensemble, one is created. In the project of the
/// source, an ensemble is created. A clone grants no trust: neither hooks nor settings of the source have an effect.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "the options are independent")]
pub(in crate::cli) struct CloneArgs {
    /// A project, an ensemble, a template, a CSAR, or the URL of a repository: `URL#REVISION:PATH`
    source: String,
    /// The new folder; by default, it has the name of the source
    #[arg(default_value = "", hide_default_value = true)]
    destination: String,
    /// Keep the new ensemble in the repository of the project
    #[arg(long)]
    mono: bool,
    /// Add the new ensemble to the repository around the project
    #[arg(long)]
    existing: bool,
    /// Create no ensemble
    #[arg(long)]
    empty: bool,
    /// Prepare the project for work on its template, and create no ensemble
    #[arg(long)]
    design: bool,
    /// Use this environment for the new ensemble
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Use a skeleton for the new ensemble: a built-in one, or a folder
    #[arg(long, value_name = "NAME|PATH")]
    skeleton: Option<String>,
    /// Move a folder that exists aside
    #[arg(long)]
    overwrite: bool,
    /// Use this deployment blueprint for the new ensemble
    #[arg(long, value_name = "NAME")]
    use_deployment_blueprint: Option<String>,
    /// Pass a variable to the skeleton; `input_NAME` sets an input of the ensemble
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = clap::ArgAction::Append)]
    var: Vec<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Clones a source, and returns the exit code.
pub(in crate::cli) fn clone(args: &CloneArgs, cx: &Context) -> Result<u8, Failure> {
    let options = CloneOptions {
        source: args.source.clone(),
        destination: args.destination.clone(),
        overwrite: args.overwrite,
        design: args.design,
        init: InitRequest {
            session: session_options("", args.use_environment.as_deref(), cx),
            source: args
                .skeleton
                .clone()
                .map_or(InitSource::Default, InitSource::Skeleton),
            layout: if args.mono {
                Layout::Mono
            } else {
                Layout::Poly
            },
            existing: args.existing,
            empty: args.empty,
            environment: args.use_environment.clone(),
            deployment_blueprint: args.use_deployment_blueprint.clone(),
            variables: variables(&args.var)?,
            ..InitRequest::default()
        },
    };
    let report = clone::clone(&options)?;
    match args.output {
        OutputFormat::Json => cx.output.json(&to_json(&report)),
        OutputFormat::Text => {
            for line in notes(&report) {
                cx.output.print_stderr(&format!("note: {line}\n"));
            }
            cx.output.print_result(&summary(&report));
        }
        OutputFormat::None => {}
    }
    Ok(0)
}

/// Returns facts that the user should know. The last one says that the clone is not trusted.
fn notes(report: &CloneReport) -> Vec<String> {
    let mut notes = report.notes.clone();
    if !report.nested.is_empty() {
        let nested = report
            .nested
            .iter()
            .map(|path| format!("`{}`", path.display()));
        let nested: Vec<String> = nested.collect();
        notes.push(format!(
            "the repositories in it were cloned, too: {}",
            nested.join(", ")
        ));
    }
    if let Some(folder) = &report.folder {
        let folder = shlex_quote(&folder.display().to_string());
        notes.push(format!(
            "the project is not trusted; if you trust its authors, run `unfurl trust {folder}`"
        ));
    }
    notes
}

/// Returns the line that ends the text output, as Unfurl prints it.
fn summary(report: &CloneReport) -> String {
    match &report.made {
        ClonedThing::Ensemble(folder) => {
            format!("Created new ensemble at \"{}\"\n", folder.display())
        }
        ClonedThing::ProjectWithEnsembles(folder) => {
            format!(
                "Cloned project with a pre-existing ensemble(s) to {}\n",
                folder.display()
            )
        }
        ClonedThing::Project(folder) if report.folder.is_none() => {
            format!("The project exists already at {}\n", folder.display())
        }
        ClonedThing::Project(folder) => format!("Cloned project to {}\n", folder.display()),
        ClonedThing::EmptyProject(folder) => {
            format!("Cloned empty project to {}\n", folder.display())
        }
        ClonedThing::Blueprint(path) => format!("Cloned blueprint to {}\n", path.display()),
    }
}

fn to_json(report: &CloneReport) -> serde_json::Value {
    let (kind, path) = match &report.made {
        ClonedThing::Ensemble(path) => ("ensemble", path),
        ClonedThing::ProjectWithEnsembles(path) => ("project with ensembles", path),
        ClonedThing::Project(path) => ("project", path),
        ClonedThing::EmptyProject(path) => ("empty project", path),
        ClonedThing::Blueprint(path) => ("blueprint", path),
    };
    let nested: Vec<String> = report
        .nested
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    json!({
        "created": kind,
        "path": path.display().to_string(),
        "source": report.source,
        "folder": report.folder.as_ref().map(|folder| folder.display().to_string()),
        "revision": report.revision.as_ref().map(|revision| json!({
            "commit": revision.commit,
            "tree": revision.tree,
            "branch": revision.branch,
            "tag": revision.tag,
        })),
        "nested": nested,
        "notes": report.notes,
        "trusted": report.folder.as_ref().map(|_| false),
    })
}
