//! `run` over hosts: a command on each of them.

use std::rc::Rc;

use clap::Args;

use super::arguments::Global;
use super::host_options::{HostOptions, HostOutput};
use super::host_screen::HostScreen;
use super::output::Output;
use crate::ops::runbook::{AdHoc, RunbookRequest, perform};
use crate::ops::{Failure, FailureKind};
use crate::runbook::Tasks;
use crate::runner::watch_signals;

/// Run a command on hosts
///
/// The words of the command are joined by spaces and given to a shell of each host. Hosts are
/// named as `[user@]host[:port]`, by the name that the inventory or the ensemble has for them, or
/// by a role. They take turns unless `--parallel` is given, and the first failure ends the run
/// unless `--warn-only` is.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl run -H HOSTS [OPTIONS] -- COMMAND...")]
pub(super) struct RunHostsArgs {
    #[command(flatten)]
    hosts: HostOptions,
    /// The command and its arguments, after `--`
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command; gives the exit code.
pub(super) fn run_hosts(args: &RunHostsArgs, global: &Global, output: &Output) -> u8 {
    let done = request(args, global, output).and_then(|request| {
        let interrupts = request.interrupts.clone();
        let mut screen = HostScreen::new(output, args.hosts.output, interrupts);
        let report = perform(&request, &mut screen)?;
        screen.end(&report);
        Ok(report.exit_code)
    });
    let is_json = args.hosts.output == HostOutput::Json;
    done.unwrap_or_else(|failure| output.failure(&failure, is_json))
}

fn request(
    args: &RunHostsArgs,
    global: &Global,
    output: &Output,
) -> Result<RunbookRequest, Failure> {
    if args.command.is_empty() {
        let message = "`run` needs a command to run on the hosts";
        let help = "give it after `--`: `unfurl run -H web1,web2 -- uptime`";
        return Err(Failure::new(
            FailureKind::Usage,
            message,
            Some(help.to_owned()),
        ));
    }
    let known = args.hosts.known_hosts(global, output)?;
    let chain = args.hosts.chain(output)?;
    Ok(RunbookRequest {
        tasks: Tasks::default(),
        calls: Vec::new(),
        command: Some(AdHoc::Command {
            text: args.command.join(" "),
            // A chain that is asked for knows whether it needs another user.
            sudo: args.hosts.order.sudo.clone().filter(|_| chain.is_none()),
        }),
        options: args.hosts.options()?,
        book: Rc::clone(&known) as _,
        roles: known,
        chain,
        allowed: global.allow.clone(),
        interrupts: watch_signals(),
    })
}
