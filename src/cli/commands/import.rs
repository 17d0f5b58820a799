//! The command `import`: takes over what Terraform has deployed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value as Json, json};

use super::init::variables;
use crate::cli::args::format::OutputFormat;
use crate::cli::output::{Context, shown_path};
use crate::cli::request::session::session_options;
use crate::ops::Failure;
use crate::ops::terraform_import::{self, ImportReport, ImportRequest, PartKind, PartNode};
use crate::system::signals::Interrupts;

/// Take over what Terraform has deployed, as instances of the ensemble
///
/// Nothing is deployed: the instances are recorded as they are, and the next plan has nothing to do.
#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    #[command(subcommand)]
    tool: ImportCommand,
}

/// The tools whose resources can be taken over.
#[derive(Debug, Subcommand)]
enum ImportCommand {
    /// Take over the resources in the state of Terraform or OpenTofu
    ///
    /// The folder becomes a node template, with a node for each of its modules. The state is copied, encrypted, to
    /// `active/secrets`. The folder and its state stay as they are.
    Terraform(TerraformArgs),
}

/// The parts of a state that get an instance of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Extent {
    /// The folder, and each module in it
    Module,
    /// Each resource as well
    Resource,
}

/// The options of `import terraform`.
#[derive(Debug, Args)]
struct TerraformArgs {
    /// The folder in which Terraform has run
    folder: PathBuf,
    /// The ensemble
    #[arg(default_value = "", hide_default_value = true)]
    ensemble: String,
    /// The name of the node template; by default, that of the folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The parts that get an instance of their own
    #[arg(long, value_enum, default_value = "module")]
    per: Extent,
    /// Set a variable of the module; lists and maps are written as JSON
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = clap::ArgAction::Append)]
    var: Vec<String>,
    /// Read variables from a `.tfvars` file; those that Terraform finds by itself are read anyway
    #[arg(long, value_name = "FILE")]
    var_file: Vec<PathBuf>,
    /// The program that reads the state from a backend
    #[arg(long, value_name = "PROGRAM", default_value = "terraform")]
    command: String,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Show the templates and write nothing
    #[arg(long, alias = "dry-run")]
    dryrun: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Imports resources, and returns the exit code.
pub(in crate::cli) fn import(args: &ImportArgs, cx: &Context) -> Result<u8, Failure> {
    let ImportCommand::Terraform(args) = &args.tool;
    let report = terraform_import::import(&ImportRequest {
        session: session_options(&args.ensemble, args.use_environment.as_deref(), cx),
        folder: args.folder.clone(),
        name: args.name.clone(),
        with_resources: args.per == Extent::Resource,
        variables: variables(&args.var)?,
        variable_files: args.var_file.clone(),
        program: args.command.clone(),
        dry_run: args.dryrun,
        command: "unfurl import terraform".to_owned(),
        lock_timeout: Duration::ZERO,
        interrupts: Interrupts::default(),
    })?;
    cx.output
        .result(args.output, || to_json(&report), || describe(&report));
    Ok(0)
}

fn describe(report: &ImportReport) -> String {
    let resources = match report.resources {
        1 => "1 resource".to_owned(),
        count => format!("{count} resources"),
    };
    let state = shown_path(&report.state_file);
    let mut text = if report.dry_run {
        format!(
            "{}\nwould be added to {}, line {}\nthe state of {} with {resources} would be copied to {state}\n",
            report.text,
            shown_path(&report.manifest),
            report.line,
            report.origin
        )
    } else {
        format!(
            "imported `{}` with {resources} from {}\n{}copied the state, encrypted, to {state}\n",
            report.name,
            report.origin,
            describe_parts(&report.parts)
        )
    };
    for note in &report.notes {
        text += &format!("note: {note}\n");
    }
    if !report.dry_run {
        text += "\nNext: unfurl plan, which has nothing to do; unfurl check compares the resources with the module\n";
    }
    text
}

fn describe_parts(parts: &[PartNode]) -> String {
    let lines = parts
        .iter()
        .map(|part| format!("  {}  {}\n", part.name, part.address));
    lines.collect()
}

fn to_json(report: &ImportReport) -> Json {
    let kind = |part: &PartNode| match part.kind {
        PartKind::Module => "module",
        PartKind::Resource(_) => "resource",
    };
    let parts = report.parts.iter().map(|part| {
        json!({"name": part.name, "host": part.host, "address": part.address, "kind": kind(part)})
    });
    json!({
        "name": report.name,
        "origin": report.origin,
        "state": report.state_file.display().to_string(),
        "file": report.manifest.display().to_string(),
        "line": report.line,
        "text": report.text,
        "resources": report.resources,
        "parts": parts.collect::<Vec<_>>(),
        "job": report.job,
        "dryrun": report.dry_run,
        "notes": report.notes,
    })
}
