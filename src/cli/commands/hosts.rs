//! Commands for hosts: `run` over hosts, `shell` and `reboot`.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use clap::{ArgAction, Args};

use crate::cli::args::format::{HostOutput, duration};
use crate::cli::args::host::{HostConnection, HostOptions};
use crate::cli::commands::ad_hoc::run_ad_hoc;
use crate::cli::output::Context;
use crate::cli::prompt::AnswerSource;
use crate::cli::screen::hosts::HostScreen;
use crate::fleet::hosts::{FleetHosts, HostSession, local_shell};
use crate::fleet::tasks::{AdHocTask, HostsView as _};
use crate::ops::{Failure, FailureKind, watch_signals};
use crate::system::process::become_program;
use crate::tasks::{CommandOptions, StepAction, TemplateText};

/// The options of commands that connect to a single host.
#[derive(Debug, Args)]
pub(in crate::cli) struct SingleHostArgs {
    /// The host: `[user@]host[:port]`, or its name in the inventory or the ensemble
    #[arg(value_name = "HOST")]
    pub(in crate::cli) host: String,
    /// A file with hosts; may be given more than once
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    hosts_file: Vec<PathBuf>,
    #[command(flatten)]
    connection: HostConnection,
}

impl SingleHostArgs {
    /// Returns the hosts that the options name.
    pub(in crate::cli) fn fleet_hosts(
        &self,
        source: AnswerSource,
        cx: &Context,
    ) -> Result<Rc<FleetHosts>, Failure> {
        self.connection.fleet_hosts(&self.hosts_file, source, cx)
    }
}

/// Connects to the host, which is one of the known hosts or an address.
///
/// `source` gives the answers to questions.
pub(in crate::cli) fn open_session(
    args: &SingleHostArgs,
    known: &FleetHosts,
    source: AnswerSource,
    cx: &Context,
) -> Result<HostSession, Failure> {
    let interrupts = watch_signals();
    let screen = HostScreen::new(&cx.output, HostOutput::Text, interrupts.clone());
    let mut screen = screen.answered_from(source);
    let mut ask = |question: &_| screen.prompt_secret(question);
    let user = args.connection.user.as_deref();
    Ok(HostSession::open(
        &args.host,
        user,
        known,
        &interrupts,
        known.passwords.clone(),
        &mut ask,
    )?)
}

/// Open a shell on a host
///
/// If the input is a terminal, the shell gets a terminal too. Otherwise, the shell runs the commands
/// from the standard input. `@local` is this machine, and `@docker/NAME` a container on it. The exit
/// code is that of the shell, or 1 if the host could not be reached.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShellArgs {
    #[command(flatten)]
    host: SingleHostArgs,
}

/// Opens a shell on the host and returns its exit code.
pub(in crate::cli) fn shell(args: &ShellArgs, cx: &Context) -> Result<u8, Failure> {
    // Piped input belongs to the shell, so it must not be read as the answer to a password prompt.
    let has_terminal = std::io::stdin().is_terminal();
    let source = if has_terminal {
        AnswerSource::Stdin
    } else {
        AnswerSource::Terminal
    };
    let known = args.host.fleet_hosts(source, cx)?;
    let shell = cx.output.variable("SHELL").filter(|name| !name.is_empty());
    if let Some(words) = local_shell(
        &args.host.host,
        &known,
        shell.unwrap_or("/bin/sh"),
        has_terminal,
    )? {
        let problem = become_program(&words);
        return Err(Failure::new(FailureKind::Refused, problem, None));
    }
    let kind = cx.output.variable("TERM").filter(|kind| !kind.is_empty());
    let session = open_session(&args.host, &known, source, cx)?;
    Ok(session.shell(kind.unwrap_or("dumb"), has_terminal)?)
}

/// Restart hosts and wait until they are up again
///
/// A host is up again once a login succeeds and its boot id has changed. A host that does not come
/// up in time has failed.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl reboot -H HOSTS [OPTIONS]")]
pub(in crate::cli) struct RebootArgs {
    /// The command that restarts a host
    #[arg(long, value_name = "COMMAND", default_value = "reboot")]
    command: String,
    /// Time limit for a host to come up again: `10` or `10s`, `5m`, `1h`
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    hosts: HostOptions,
}

/// Restarts the hosts, waits until they are up again, and returns the exit code.
pub(in crate::cli) fn reboot(args: &RebootArgs, cx: &Context) -> Result<u8, Failure> {
    let text = TemplateText::plain(args.command.as_str());
    let action = match &args.hosts.order.sudo {
        None => StepAction::Run(text),
        Some(user) => StepAction::Sudo {
            text,
            user: Some(TemplateText::plain(user.as_str())),
        },
    };
    let step = AdHocTask::Step {
        name: "reboot",
        action,
        options: Box::new(CommandOptions {
            restart: Some(args.wait),
            ..CommandOptions::default()
        }),
    };
    run_ad_hoc(step, &args.hosts, cx)
}

/// The options that say how a command reaches a host.
#[derive(Debug, Args)]
#[command(next_help_heading = "Command")]
struct DeliveryArgs {
    /// Send the command to the SSH server as it is, for hosts without a POSIX shell, such as switches
    #[arg(long, conflicts_with_all = ["sudo", "executors"])]
    raw: bool,
    /// Give the command a terminal on the host. A terminal merges its outputs
    #[arg(long)]
    pty: bool,
    /// Do not pass the standard input of this program to the command. Answers to questions are read from it instead
    #[arg(long)]
    no_stdin: bool,
}

impl DeliveryArgs {
    /// Returns the options of the command. A terminal is not passed on, as it belongs to this program.
    fn options(&self) -> CommandOptions {
        CommandOptions {
            program_input: !self.no_stdin && !std::io::stdin().is_terminal(),
            pty: self.pty,
            raw: self.raw,
            ..CommandOptions::default()
        }
    }
}

/// Run a command on hosts
///
/// The words of the command are joined by spaces and passed to a shell on each host. Hosts are
/// given as `[user@]host[:port]`, by their name in the inventory or the ensemble, or by a role. The
/// command runs on one host after the other unless `--parallel` is given. The first failure ends
/// the run unless `--warn-only` is given. Input from a file or a pipe goes to the command; several hosts get a copy
/// each. `unfurl run --help` has the other form of `run`: without `-H` and
/// `-R`, a command or an operation runs on instances of an ensemble.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl run -H HOSTS [OPTIONS] -- COMMAND...")]
pub(in crate::cli) struct RunHostsArgs {
    #[command(flatten)]
    hosts: HostOptions,
    #[command(flatten)]
    delivery: DeliveryArgs,
    /// The command and its arguments, after `--`
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs a command on the chosen hosts and returns the exit code.
pub(in crate::cli) fn run_hosts(args: &RunHostsArgs, cx: &Context) -> Result<u8, Failure> {
    run_ad_hoc(command(args)?, &args.hosts, cx)
}

fn command(args: &RunHostsArgs) -> Result<AdHocTask, Failure> {
    if args.command.is_empty() {
        let message = "`run` needs a command to run on the hosts";
        let help = "give it after `--`: `unfurl run -H web1,web2 -- uptime`";
        return Err(Failure::usage_with(message, help));
    }
    let order = &args.hosts.order;
    Ok(AdHocTask::Command {
        text: args.command.join(" "),
        sudo: order.sudo_of_step(),
        options: Box::new(args.delivery.options()),
    })
}
