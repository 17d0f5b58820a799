//! The command `hosts`: lists the hosts of inventories and of the ensemble, with their groups and variables.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use crate::cli::args::format::HostOutput;
use crate::cli::args::host::HostConnection;
use crate::cli::output::Context;
use crate::cli::request::hosts::items;
use crate::job::LogLevel;
use crate::ops::Failure;
use crate::ops::hosts::host_inventory;
use crate::ui::HostInventoryView;

/// List the hosts of hosts files and of the ensemble
///
/// A hosts file is an Ansible inventory (INI, YAML, TOML, a folder, or a program that prints JSON) or has the own format
/// of this program. The variables of `group_vars/` and `host_vars/` beside it count. Passwords and encrypted values are
/// never shown.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl hosts [PATTERN] [OPTIONS]")]
pub(in crate::cli) struct HostsArgs {
    /// The hosts to list: names, groups and patterns of Ansible, such as `web:&db:!old`, `web*`, `web[0:2]` or `~web.*`
    #[arg(value_name = "PATTERN")]
    pattern: Vec<String>,
    /// A file with hosts; may be given more than once
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    hosts_file: Vec<PathBuf>,
    /// Show the variables of each host
    #[arg(long)]
    vars: bool,
    /// Show the tree of groups
    #[arg(long, conflicts_with = "output")]
    graph: bool,
    /// Format of the list; JSON has the form of `ansible-inventory --list`
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    output: HostOutput,
}

/// Lists the hosts and returns the exit code.
pub(in crate::cli) fn list_hosts(args: &HostsArgs, cx: &Context) -> Result<u8, Failure> {
    let request = HostConnection::default().request(&args.hosts_file, cx);
    let gathered = host_inventory(&request)?;
    cx.output.diagnostics(&gathered.warnings, &gathered.sources);
    let inventory = &gathered.inventory;
    let patterns = items(&args.pattern).map_err(Failure::usage)?;
    let hosts = if patterns.is_empty() {
        inventory.hosts().cloned().collect()
    } else {
        let chosen = inventory.select_hosts(&patterns, &[]);
        chosen.map_err(|error| match error.hint() {
            Some(hint) => Failure::usage_with(error, &hint),
            None => Failure::usage(error),
        })?
    };
    let view = HostInventoryView {
        inventory,
        hosts: &hosts,
        with_variables: args.vars,
    };
    if args.output == HostOutput::Json {
        cx.output.json(&view.json());
        return Ok(0);
    }
    if hosts.is_empty() {
        let message = "there are no hosts: name a file with `--hosts-file`, or run the command in the folder of an ensemble";
        cx.output.message(LogLevel::Warning, message);
    } else if args.graph {
        cx.output.print_result(&view.graph());
    } else {
        cx.output.print_result(&view.text(cx.output.table_layout()));
    }
    Ok(0)
}
