//! `check`.

use crate::cli::args::global::Global;
use crate::cli::args::job::LookArgs;
use crate::cli::commands::job::run;
use crate::cli::output::Output;
use crate::plan::Workflow;

/// Asks each instance for its status; gives the exit code.
pub(in crate::cli) fn check(args: LookArgs, global: &Global, output: &Output) -> u8 {
    run(Workflow::Check, &args.into(), global, output)
}
