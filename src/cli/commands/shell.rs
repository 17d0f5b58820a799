//! `shell`.

use std::io::IsTerminal as _;

use clap::Args;

use crate::cli::commands::one_host::{OneHost, visit};
use crate::cli::output::Context;
use crate::ops::Failure;

/// Open a shell on a host
///
/// Where the input is a terminal, the shell has one too. Else it reads what this command reads, and
/// runs it. The exit code is that of the shell, or 1 if the host could not be reached.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShellArgs {
    #[command(flatten)]
    host: OneHost,
}

/// Opens a shell; gives the exit code.
pub(in crate::cli) fn shell(args: &ShellArgs, cx: &Context) -> Result<u8, Failure> {
    // What is piped in is for the shell, and answers nothing.
    let is_asked = std::io::stdin().is_terminal();
    let kind = cx.output.variable("TERM").filter(|kind| !kind.is_empty());
    visit(&args.host, is_asked, cx).and_then(|visit| Ok(visit.shell(kind.unwrap_or("dumb"))?))
}
