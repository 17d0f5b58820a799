//! The command `run`: runs a command or an operation on instances, or a workflow by its name.

use clap::Args;

use crate::cli::args::job::{CommonJobArgs, ControlArgs, EnsembleArg, JobArgs};
use crate::cli::commands::job;
use crate::cli::output::Context;
use crate::cli::request::job::JobSpec;
use crate::name::InstanceName;
use crate::ops::Failure;
use crate::plan::{AdHoc, WorkflowKind, parse_operation_name};

/// Run a command or an operation on instances, or a workflow by its name
///
/// The command runs in the folder of the ensemble, once for each `--instance`, or with `--host` on
/// the machine of an instance. Its words are templates in the context of that instance:
/// `unfurl run -i web -- curl "http://{{ SELF.host }}"`.
/// An operation without `--instance` runs on all instances that have it.
/// With `--module`, a module of Ansible runs on the machine of the instance, with the words of the command as its
/// arguments: `unfurl run -i web --module ansible.builtin.service -- name=nginx state=restarted`.
#[derive(Debug, Args)]
#[command(
    override_usage = "unfurl run [OPTIONS] -- COMMAND...\n       unfurl run [OPTIONS] --operation OPERATION\n       unfurl run [OPTIONS] --module MODULE -- ARGUMENTS...\n       unfurl run -H HOSTS [OPTIONS] -- COMMAND..."
)]
pub(in crate::cli) struct RunArgs {
    /// The ensemble: a file, a folder, an alias or a name of the project
    #[arg(long, value_name = "PATH", default_value = "")]
    ensemble: String,
    /// The operation to run: `Interface.name`, or only the name if a single interface has it
    #[arg(long, value_name = "OPERATION")]
    operation: Option<String>,
    /// The workflow to run: a built-in one or one of the model; its record is saved
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Save the run and its changes in the job history
    #[arg(long)]
    save: bool,
    #[command(flatten)]
    any: CommonJobArgs,
    #[command(flatten)]
    control: ControlArgs,
    /// The instance on whose machine the command runs; also the target, unless `--instance` names
    /// others
    #[arg(long, value_name = "NAME")]
    host: Option<InstanceName>,
    /// The module of Ansible to run, with `ansible-playbook`
    #[arg(long, value_name = "MODULE")]
    module: Option<String>,
    /// Arguments for the module, such as `name=nginx state=started`
    #[arg(long, value_name = "ARGUMENTS", requires = "module")]
    args: Option<String>,
    /// The command and its arguments, after `--`
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command, operation or workflow, and returns the exit code.
pub(in crate::cli) fn run(args: RunArgs, cx: &Context) -> Result<u8, Failure> {
    let job_spec = job_spec(&args)?;
    let args = JobArgs {
        ensemble: EnsembleArg {
            ensemble: args.ensemble,
        },
        any: args.any,
        control: args.control,
        ..JobArgs::default()
    };
    job::run_job(job_spec, &args, cx)
}

/// Builds the job from the options.
///
/// Exactly one of `--operation`, `--workflow` and a command must be given.
fn job_spec(args: &RunArgs) -> Result<JobSpec, Failure> {
    let runs_command = args.module.is_none() && !args.command.is_empty();
    let requested = [
        args.operation.as_ref().map(|_| "`--operation`"),
        args.workflow.as_ref().map(|_| "`--workflow`"),
        args.module.as_ref().map(|_| "`--module`"),
        runs_command.then_some("a command"),
    ];
    let requested: Vec<&str> = requested.into_iter().flatten().collect();
    match requested[..] {
        [_] => {}
        [] => {
            return Err(Failure::usage_with(
                "`run` needs a command, an operation or a workflow",
                "give a command after `--`, such as `unfurl run -- uptime`, or use `--operation` or \
                 `--workflow`",
            ));
        }
        _ => {
            let message = format!("{} cannot be used together", requested.join(" and "));
            return Err(Failure::usage_with(&message, "use only one of them"));
        }
    }
    if args.host.is_some() && args.module.is_none() && args.command.is_empty() {
        return Err(Failure::usage_with(
            "`--host` can only be used with a command or a module",
            "the implementation of an operation sets its machine with `operation_host`",
        ));
    }
    if let Some(name) = &args.workflow {
        return JobSpec::from_workflow(WorkflowKind::parse(name));
    }
    Ok(JobSpec {
        workflow: WorkflowKind::Run,
        ad_hoc: AdHoc {
            operation: args.operation.as_deref().map(parse_operation_name),
            command: args.args.iter().chain(&args.command).cloned().collect(),
            module: args.module.clone(),
            host: args.host.clone(),
        },
        save: args.save,
    })
}
