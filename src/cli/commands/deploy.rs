//! `deploy`.

use clap::Args;

use crate::cli::args::global::Global;
use crate::cli::args::job::{
    AnyJob, Compare, Control, EnsembleArg, JobArgs, Narrow, Reach, Removal, WorkflowArg,
};
use crate::cli::commands::job::run;
use crate::cli::output::Output;
use crate::plan::Workflow;

/// The options of `deploy`.
#[derive(Debug, Args)]
pub(in crate::cli) struct DeployArgs {
    #[command(flatten)]
    ensemble: EnsembleArg,
    #[command(flatten)]
    any: AnyJob,
    #[command(flatten)]
    control: Control,
    #[command(flatten)]
    narrow: Narrow,
    #[command(flatten)]
    compare: Compare,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    removal: Removal,
    #[command(flatten)]
    workflow: WorkflowArg,
}

impl From<DeployArgs> for JobArgs {
    fn from(args: DeployArgs) -> Self {
        Self {
            ensemble: args.ensemble.ensemble,
            any: args.any,
            control: args.control,
            narrow: args.narrow,
            compare: args.compare,
            reach: args.reach,
            removal: args.removal,
            workflow: args.workflow.workflow,
        }
    }
}

/// Brings the ensemble to the state that its template describes; gives the exit code.
pub(in crate::cli) fn deploy(args: DeployArgs, global: &Global, output: &Output) -> u8 {
    run(Workflow::Deploy, &args.into(), global, output)
}
