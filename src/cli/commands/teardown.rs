//! `teardown`.

use clap::Args;

use crate::cli::args::global::Global;
use crate::cli::args::job::{AnyJob, Control, EnsembleArg, JobArgs, Narrow, Removal};
use crate::cli::commands::job::run;
use crate::cli::output::Output;
use crate::plan::Workflow;

/// The options of `teardown`.
#[derive(Debug, Args)]
pub(in crate::cli) struct TeardownArgs {
    #[command(flatten)]
    ensemble: EnsembleArg,
    #[command(flatten)]
    any: AnyJob,
    #[command(flatten)]
    control: Control,
    #[command(flatten)]
    narrow: Narrow,
    #[command(flatten)]
    removal: Removal,
}

impl From<TeardownArgs> for JobArgs {
    fn from(args: TeardownArgs) -> Self {
        Self {
            ensemble: args.ensemble.ensemble,
            any: args.any,
            control: args.control,
            narrow: args.narrow,
            removal: args.removal,
            ..Self::default()
        }
    }
}

/// Removes what the ensemble has created; gives the exit code.
pub(in crate::cli) fn teardown(args: TeardownArgs, global: &Global, output: &Output) -> u8 {
    run(Workflow::Undeploy, &args.into(), global, output)
}
