//! The command `add`: writes a node template for Terraform or Ansible into the ensemble.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use super::init::variables;
use crate::cli::args::format::OutputFormat;
use crate::cli::output::{Context, shown_path};
use crate::cli::request::session::session_options;
use crate::ops::Failure;
use crate::ops::add::{self, AddReport, AddRequest, AnsibleSource, NewNode};

/// Add a node template for Terraform or Ansible to the ensemble
///
/// The template has comments that say what each part does. Everything else in `ensemble.yaml` stays as it is.
#[derive(Debug, Args)]
pub(in crate::cli) struct AddArgs {
    #[command(subcommand)]
    tool: AddCommand,
}

/// The tools for which a node template can be added.
#[derive(Debug, Subcommand)]
enum AddCommand {
    /// Add a node that Terraform or OpenTofu creates
    ///
    /// With `--module`, the variables and outputs of the module become those of the node. Without it, the template has
    /// a small module as an example.
    Terraform(TerraformArgs),
    /// Add a node that Ansible sets up
    ///
    /// Without `--playbook`, the template has a task as an example.
    Ansible(AnsibleArgs),
}

/// The options for all tools.
#[derive(Debug, Args)]
struct CommonArgs {
    /// The ensemble
    #[arg(default_value = "", hide_default_value = true)]
    ensemble: String,
    /// The name of the node template; by default, that of the folder or of the file
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Set a variable of the module or of the playbook; lists and maps are written as JSON
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = clap::ArgAction::Append)]
    var: Vec<String>,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Show the template and write nothing
    #[arg(long, alias = "dry-run")]
    dryrun: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// The options of `add terraform`.
#[derive(Debug, Args)]
struct TerraformArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The folder of the module
    #[arg(long, value_name = "FOLDER")]
    module: Option<PathBuf>,
}

/// The options of `add ansible`.
#[derive(Debug, Args)]
struct AnsibleArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The playbook
    #[arg(long, value_name = "FILE")]
    playbook: Option<PathBuf>,
    /// The inventory; by default, it is generated from the model
    #[arg(long, value_name = "PATH")]
    inventory: Option<PathBuf>,
}

/// Adds a node template, and returns the exit code.
pub(in crate::cli) fn add(args: &AddArgs, cx: &Context) -> Result<u8, Failure> {
    let (common, node) = match &args.tool {
        AddCommand::Terraform(args) => {
            let module = args.module.clone();
            (&args.common, NewNode::Terraform { module })
        }
        AddCommand::Ansible(args) => {
            let source = AnsibleSource {
                playbook: args.playbook.clone(),
                inventory: args.inventory.clone(),
            };
            (&args.common, NewNode::Ansible(source))
        }
    };
    let environment = common.use_environment.as_deref();
    let report = add::add(&AddRequest {
        session: session_options(&common.ensemble, environment, cx),
        node,
        name: common.name.clone(),
        variables: variables(&common.var)?,
        dry_run: common.dryrun,
    })?;
    cx.output
        .result(common.output, || to_json(&report), || describe(&report));
    Ok(0)
}

fn describe(report: &AddReport) -> String {
    let file = shown_path(&report.file);
    let AddReport { name, line, .. } = report;
    let mut text = if report.dry_run {
        format!(
            "{}\nwould be added as `{name}` to {file}, line {line}\n",
            report.text
        )
    } else {
        format!("added `{name}` to {file}, line {line}\n")
    };
    for note in &report.notes {
        text += &format!("note: {note}\n");
    }
    if !report.dry_run {
        text += &format!("\nNext: {}\n", report.next.join("\n      "));
    }
    text
}

fn to_json(report: &AddReport) -> Json {
    json!({
        "name": report.name,
        "configurator": report.configurator,
        "file": report.file.display().to_string(),
        "line": report.line,
        "text": report.text,
        "dryrun": report.dry_run,
        "notes": report.notes,
        "next": report.next,
    })
}
