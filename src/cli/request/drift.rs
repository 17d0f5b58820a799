//! The requests for looks at ensembles.

use super::job::{JobSpec, request};
use crate::cli::args::job::JobArgs;
use crate::cli::output::Context;
use crate::ops::{Failure, JobRequest};
use crate::plan::WorkflowKind;

/// Returns the request for the checks of a whole ensemble.
pub(in crate::cli) fn check_job(
    ensemble: &str,
    use_environment: Option<String>,
    cx: &Context,
) -> Result<JobRequest, Failure> {
    let mut args = JobArgs::default();
    ensemble.clone_into(&mut args.ensemble.ensemble);
    args.any.inputs.use_environment = use_environment;
    check_request(&args, cx)
}

/// Returns the request for the checks of an ensemble.
pub(in crate::cli) fn check_request(args: &JobArgs, cx: &Context) -> Result<JobRequest, Failure> {
    let spec = JobSpec {
        save: false,
        ..JobSpec::from_workflow(WorkflowKind::Check)?
    };
    let mut request = request(spec, args, cx)?;
    request.goal.drift = true;
    request.save.check_upstream = false;
    request.run.echo = false;
    let command = format!("unfurl drift {}", args.ensemble.ensemble);
    command.trim_end().clone_into(&mut request.command);
    Ok(request)
}
