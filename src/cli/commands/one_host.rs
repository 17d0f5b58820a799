//! A connection to a single host, for the commands of a person on it.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use crate::cli::args::format::HostOutput;
use crate::cli::args::host::HostConnection;
use crate::cli::output::Context;
use crate::cli::screen::hosts::HostScreen;
use crate::fleet::hosts::HostVisit;
use crate::fleet::tasks::HostsView as _;
use crate::ops::{Failure, watch_signals};

/// Which host, and how it is reached.
#[derive(Debug, Args)]
pub(in crate::cli) struct OneHost {
    /// The host: `[user@]host[:port]`, or its name in the inventory or the ensemble
    #[arg(value_name = "HOST")]
    pub(in crate::cli) host: String,
    /// A file with hosts; may be given more than once
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    hosts_file: Vec<PathBuf>,
    #[command(flatten)]
    connection: HostConnection,
}

/// Connects to the host.
pub(in crate::cli) fn visit(
    args: &OneHost,
    is_asked: bool,
    cx: &Context,
) -> Result<HostVisit, Failure> {
    let connection = &args.connection;
    let known = connection.known_hosts(&args.hosts_file, cx)?;
    let interrupts = watch_signals();
    let mut screen = HostScreen::new(&cx.output, HostOutput::Text, interrupts.clone());
    let mut ask = |question: &_| is_asked.then(|| screen.ask(question)).flatten();
    let host = (args.host.as_str(), connection.user.as_deref());
    Ok(HostVisit::begin(host, &known, &interrupts, &mut ask)?)
}
