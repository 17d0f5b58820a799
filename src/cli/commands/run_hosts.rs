//! `run` over hosts: a command on each of them.

use clap::Args;

use crate::cli::args::host::HostOptions;
use crate::cli::commands::ad_hoc::run_ad_hoc;
use crate::cli::output::Context;
use crate::fleet::tasks::AdHoc;
use crate::ops::Failure;

/// Run a command on hosts
///
/// The words of the command are joined by spaces and given to a shell of each host. Hosts are
/// named as `[user@]host[:port]`, by the name that the inventory or the ensemble has for them, or
/// by a role. They take turns unless `--parallel` is given, and the first failure ends the run
/// unless `--warn-only` is.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl run -H HOSTS [OPTIONS] -- COMMAND...")]
pub(in crate::cli) struct RunHostsArgs {
    #[command(flatten)]
    hosts: HostOptions,
    /// The command and its arguments, after `--`
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command; gives the exit code.
pub(in crate::cli) fn run_hosts(args: &RunHostsArgs, cx: &Context) -> Result<u8, Failure> {
    run_ad_hoc(command(args)?, &args.hosts, cx)
}

fn command(args: &RunHostsArgs) -> Result<AdHoc, Failure> {
    if args.command.is_empty() {
        let message = "`run` needs a command to run on the hosts";
        let help = "give it after `--`: `unfurl run -H web1,web2 -- uptime`";
        return Err(Failure::usage_with(message, help));
    }
    let order = &args.hosts.order;
    Ok(AdHoc::Command {
        text: args.command.join(" "),
        // A chain that is asked for knows whether it needs another user.
        sudo: order.sudo.clone().filter(|_| order.executors.is_none()),
    })
}
