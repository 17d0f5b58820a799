//! Options of jobs, in groups (rule U-a).
//!
//! Each command takes the groups that make sense for it and converts them to [`JobArgs`], which
//! holds all groups.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use crate::cli::args::format::{OutputFormat, TextFormatArg, one_of};
use crate::cli::args::format::{duration, limit_size};
use crate::name::{InstanceName, TemplateName};
use crate::plan::{ChangeDetection, Repair};

/// The least bad job status with which the command exits with an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum JobExitCode {
    /// If the job ends in error
    #[default]
    Error,
    /// If the job ends in error or degraded
    Degraded,
    /// Never
    Never,
}

/// The treatment of repositories with uncommitted changes before a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum DirtyArg {
    /// Refuse the job
    Abort,
    /// Run the job
    Ok,
    /// Run the job unless its record is to be committed
    #[default]
    Auto,
}

/// The argument that names an ensemble.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct EnsembleArg {
    /// The ensemble: a file, a folder, an alias or a name of the project
    #[arg(default_value = "")]
    pub(in crate::cli) ensemble: String,
}

/// The inputs of planning, both for jobs that run and for jobs that are only explained.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct PlanInputs {
    /// Leave out this instance or node template and everything nested in it; may be given more than
    /// once
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) exclude: Vec<InstanceName>,
    /// A variable for expressions; `input_NAME` sets an input of the topology. `@FILE` takes the text of a
    /// file, `-` the standard input, and `@@` begins a text with `@`. `NAME=VALUE` can be one word
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = ArgAction::Append)]
    pub(in crate::cli) var: Vec<String>,
    /// A YAML or JSON file with values of inputs, `-` for the standard input; may be given more than
    /// once, and later files win
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) var_file: Vec<PathBuf>,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) use_environment: Option<String>,
    /// Refuse repositories that have other commits than those in `lock` of the ensemble
    #[arg(long)]
    pub(in crate::cli) locked: bool,
}

/// The options that every job takes.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct CommonJobArgs {
    /// Run without changing anything
    #[arg(long)]
    pub(in crate::cli) dryrun: bool,
    /// Select this instance only; may be given more than once
    #[arg(short, long, value_name = "NAME")]
    pub(in crate::cli) instance: Vec<InstanceName>,
    #[command(flatten)]
    pub(in crate::cli) inputs: PlanInputs,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) output: OutputFormat,
    #[command(flatten)]
    pub(in crate::cli) text: TextFormatArg,
    /// Show all instances, values and differences of the plan in full
    #[arg(long)]
    pub(in crate::cli) detail: bool,
    /// Print this output although it is a secret, to the standard output only; may be given more than
    /// once
    #[arg(long, value_name = "OUTPUT")]
    pub(in crate::cli) reveal: Vec<String>,
    /// Evaluate this expression after the job
    #[arg(long, value_name = "EXPRESSION")]
    pub(in crate::cli) query: Option<String>,
    /// Print the attributes that the query reads: 1 those it names, 2 also those they are computed
    /// from
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(in crate::cli) trace: u8,
    /// Maximum number of tasks at the same time; 1 runs them in Unfurl's order
    #[arg(long, env = "UNFURL_PARALLEL", value_name = "N")]
    pub(in crate::cli) parallel: Option<NonZeroUsize>,
    /// Start time of the job, for reproducible ids: `2020-03-04-05-06-07-000008`, a time of ISO 8601,
    /// or an hour of 2020-01-01
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) starttime: Option<String>,
}

/// The options for approval, locking, interruption and recovery of a job.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct ControlArgs {
    /// Do not ask before running
    #[arg(short, long, env = "UNFURL_APPROVE", value_parser = clap::builder::BoolishValueParser::new())]
    pub(in crate::cli) approve: bool,
    /// Time to wait for the ensemble's lock if another job holds it: `10` or `10s`, `5m`, `1h`
    #[arg(long, env = "UNFURL_LOCK_TIMEOUT", value_name = "DURATION", value_parser = duration, default_value = "0")]
    pub(in crate::cli) lock_timeout: Duration,
    /// Time that running tasks get after the first Ctrl-C or TERM; the second kills them
    #[arg(long, env = "UNFURL_GRACE", value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub(in crate::cli) grace: Duration,
    /// Size up to which the outputs of each command are kept whole, such as `200M`; 64M by default
    #[arg(long, env = "UNFURL_CAPTURE", value_name = "SIZE", value_parser = limit_size)]
    pub(in crate::cli) capture: Option<usize>,
    /// When the exit code is 64
    #[arg(long, env = "UNFURL_JOBEXITCODE", value_enum, default_value = "error")]
    pub(in crate::cli) jobexitcode: JobExitCode,
    /// How to handle uncommitted changes in repositories other than that of the ensemble
    #[arg(long, value_enum, default_value = "auto")]
    pub(in crate::cli) dirty: DirtyArg,
    /// Continue the last job if it was interrupted or crashed: run the rest of its plan
    #[arg(long)]
    pub(in crate::cli) resume: bool,
    /// Repeat tasks of a crashed job that may already have completed
    #[arg(long)]
    pub(in crate::cli) redo_in_doubt: bool,
    /// Executors that commands of operations pass through, in order, such as `[splay, direct]`:
    /// `splay`, `timeout`, `retry`, `direct`, `sudo`, `su`, `container`, `chroot`, `dryrun`, or
    /// programs
    #[arg(long, value_name = "NAMES")]
    pub(in crate::cli) executors: Option<String>,
    /// Options of executors, as a YAML map: `{splaytime: 30}`
    #[arg(long, value_name = "YAML")]
    pub(in crate::cli) executor_opts: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) keep: CommitRecordArgs,
}

/// The options that keep what a job was given and has done: in the ensemble, and with git.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct CommitRecordArgs {
    /// Keep the values of inputs that this command gives in `spec.inputs` of the ensemble
    #[arg(long)]
    pub(in crate::cli) save_inputs: bool,
    /// Commit the record of the job, and nothing else
    #[arg(long)]
    pub(in crate::cli) commit: bool,
    /// Commit the record of the job and push it
    #[arg(long)]
    pub(in crate::cli) push: bool,
    /// The message of the commit
    #[arg(short, long, value_name = "TEXT")]
    pub(in crate::cli) message: Option<String>,
}

/// The part of the ensemble to which a workflow applies.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct ScopeArgs {
    /// Select only this node template and its requirements
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) template: Option<TemplateName>,
    /// Run operations regardless of the status
    ///
    /// A deploy runs `create`, `configure` and `start` also of instances that need no change. Of those that have all
    /// three it runs only `create` and `start`, as Unfurl does. A teardown also removes what others need.
    #[arg(long)]
    pub(in crate::cli) force: bool,
}

/// The options that decide which instances are compared with the model.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct CompareArgs {
    /// Create no new instances
    #[arg(long)]
    pub(in crate::cli) skip_new: bool,
    /// Whether to compare instances with the model
    #[arg(long, value_parser = one_of::<ChangeDetection>(), default_value = "evaluate")]
    pub(in crate::cli) change_detection: ChangeDetection,
}

/// The options that decide how much a deployment repairs, checks and upgrades.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct ReachArgs {
    /// Which instances to repair
    #[arg(long, value_parser = one_of::<Repair>(), default_value = "error")]
    pub(in crate::cli) repair: Repair,
    /// Check new instances before creating them
    #[arg(long)]
    pub(in crate::cli) check: bool,
    /// Reconfigure instances whose properties differ from the model, even if they are customised
    #[arg(long)]
    pub(in crate::cli) upgrade: bool,
}

/// The options that decide which instances are removed.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct RemovalArgs {
    /// Remove instances that the model does not need
    #[arg(long)]
    pub(in crate::cli) prune: bool,
    /// Also delete instances that this ensemble did not create
    #[arg(long)]
    pub(in crate::cli) destroyunmanaged: bool,
}

/// The option that decides when a plan ends with an exit code.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct PlanExitArgs {
    /// When the exit code is 64: if a task cannot be rendered, or never
    #[arg(long, env = "UNFURL_JOBEXITCODE", value_enum, default_value = "error")]
    pub(in crate::cli) jobexitcode: JobExitCode,
}

/// The option that replaces the workflow by another one.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct WorkflowArg {
    /// Run another workflow instead of deploy: a built-in one or one of the model
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) workflow: Option<String>,
}

/// The options of any job, all groups together. Groups that a command does not take keep their
/// defaults.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct JobArgs {
    #[command(flatten)]
    pub(in crate::cli) ensemble: EnsembleArg,
    #[command(flatten)]
    pub(in crate::cli) any: CommonJobArgs,
    #[command(flatten)]
    pub(in crate::cli) control: ControlArgs,
    #[command(flatten)]
    pub(in crate::cli) narrow: ScopeArgs,
    #[command(flatten)]
    pub(in crate::cli) compare: CompareArgs,
    #[command(flatten)]
    pub(in crate::cli) reach: ReachArgs,
    #[command(flatten)]
    pub(in crate::cli) removal: RemovalArgs,
    #[command(flatten)]
    pub(in crate::cli) workflow: WorkflowArg,
}

/// Declares the options of commands that take some of the groups of [`JobArgs`].
macro_rules! some_job_options {
    ($($(#[$about:meta])* $name:ident { $($group:ident: $kind:ident),* })*) => { $(
        $(#[$about])*
        #[derive(Debug, Args)]
        pub(in crate::cli) struct $name {
            $(#[command(flatten)] $group: $kind,)*
        }

        impl From<$name> for JobArgs {
            fn from(args: $name) -> Self {
                Self { $($group: args.$group,)* ..Self::default() }
            }
        }
    )* };
}

some_job_options! {
    /// The options of the commands `check` and `discover`.
    CheckArgs {
        ensemble: EnsembleArg, any: CommonJobArgs, control: ControlArgs, narrow: ScopeArgs, compare: CompareArgs
    }
    /// The options of `plan`, without those for the output.
    PlanJobArgs {
        ensemble: EnsembleArg, any: CommonJobArgs, narrow: ScopeArgs, compare: CompareArgs, reach: ReachArgs,
        removal: RemovalArgs, workflow: WorkflowArg
    }
    /// The options of the command `stop`, converted to [`JobArgs`].
    StopArgs { ensemble: EnsembleArg, any: CommonJobArgs, control: ControlArgs, narrow: ScopeArgs }
    /// The options of the command `teardown`, converted to [`JobArgs`].
    TeardownArgs {
        ensemble: EnsembleArg, any: CommonJobArgs, control: ControlArgs, narrow: ScopeArgs, removal: RemovalArgs
    }
}
