//! `stop`.

use clap::Args;

use crate::cli::args::global::Global;
use crate::cli::args::job::{AnyJob, Control, EnsembleArg, JobArgs, Narrow};
use crate::cli::commands::job::run;
use crate::cli::output::Output;
use crate::plan::Workflow;

/// The options of `stop`.
#[derive(Debug, Args)]
pub(in crate::cli) struct StopArgs {
    #[command(flatten)]
    ensemble: EnsembleArg,
    #[command(flatten)]
    any: AnyJob,
    #[command(flatten)]
    control: Control,
    #[command(flatten)]
    narrow: Narrow,
}

impl From<StopArgs> for JobArgs {
    fn from(args: StopArgs) -> Self {
        Self {
            ensemble: args.ensemble.ensemble,
            any: args.any,
            control: args.control,
            narrow: args.narrow,
            ..Self::default()
        }
    }
}

/// Stops what runs; gives the exit code.
pub(in crate::cli) fn stop(args: StopArgs, global: &Global, output: &Output) -> u8 {
    run(Workflow::Stop, &args.into(), global, output)
}
