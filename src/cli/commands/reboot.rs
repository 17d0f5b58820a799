//! `reboot`: restarts hosts and waits until they are there again.

use std::time::Duration;

use clap::Args;

use crate::cli::args::format::duration;
use crate::cli::args::host::HostOptions;
use crate::cli::commands::ad_hoc::run_ad_hoc;
use crate::cli::output::Context;
use crate::fleet::tasks::AdHoc;
use crate::ops::Failure;
use crate::runbook::{Deed, How, Text};

/// Restart hosts and wait until they are there again
///
/// A host is there again once it lets this user in and its kernel says that it has started anew.
/// One that is not in time has failed.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl reboot -H HOSTS [OPTIONS]")]
pub(in crate::cli) struct RebootArgs {
    /// The command that restarts a host
    #[arg(long, value_name = "COMMAND", default_value = "reboot")]
    command: String,
    /// How long a host may take until it is there again: `10` or `10s`, `5m`, `1h`
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    hosts: HostOptions,
}

/// Restarts the hosts; gives the exit code.
pub(in crate::cli) fn reboot(args: &RebootArgs, cx: &Context) -> Result<u8, Failure> {
    let text = Text::plain(args.command.as_str());
    let deed = match &args.hosts.order.sudo {
        None => Deed::Run(text),
        Some(user) => Deed::Sudo {
            text,
            user: Some(Text::plain(user.as_str())),
        },
    };
    let step = AdHoc::Step {
        name: "reboot",
        deed,
        how: Box::new(How {
            restart: Some(args.wait),
            ..How::default()
        }),
    };
    run_ad_hoc(step, &args.hosts, cx)
}
