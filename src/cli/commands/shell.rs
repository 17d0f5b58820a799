//! `shell`.

use std::io::IsTerminal as _;

use clap::Args;

use crate::cli::args::global::Global;
use crate::cli::commands::one_host::{OneHost, visit};
use crate::cli::output::Output;

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
pub(in crate::cli) fn shell(args: &ShellArgs, global: &Global, output: &Output) -> u8 {
    // What is piped in is for the shell, and answers nothing.
    let is_asked = std::io::stdin().is_terminal();
    let kind = output.variable("TERM").filter(|kind| !kind.is_empty());
    let done = visit(&args.host, is_asked, global, output)
        .and_then(|visit| Ok(visit.shell(kind.unwrap_or("dumb"))?));
    done.unwrap_or_else(|failure| output.failure(&failure, false))
}
