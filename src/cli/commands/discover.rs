//! `discover`.

use crate::cli::args::global::Global;
use crate::cli::args::job::LookArgs;
use crate::cli::commands::job::run;
use crate::cli::output::Output;
use crate::plan::Workflow;

/// Finds what exists; gives the exit code.
pub(in crate::cli) fn discover(args: LookArgs, global: &Global, output: &Output) -> u8 {
    run(Workflow::Discover, &args.into(), global, output)
}
