//! The command line: global options, commands, and the options that jobs share.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::explain::ExplainArgs;
use super::export::ExportArgs;
use super::history::HistoryArgs;

/// The words for levels of messages.
const LEVELS: [&str; 8] = [
    "trace", "debug", "verbose", "info", "warning", "warn", "error", "critical",
];

/// Bring systems to the state that a TOSCA model describes, and keep the record in git
#[derive(Debug, Parser)]
#[command(
    name = "unfurl",
    version,
    propagate_version = false,
    disable_version_flag = false
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Options that stand before the command.
#[derive(Debug, Args)]
pub(super) struct Global {
    /// Path to the home project; empty for none
    #[arg(long, env = "UNFURL_HOME", value_name = "PATH")]
    pub(super) home: Option<String>,
    /// Show more: -v verbose, -vv debug, -vvv trace
    #[arg(short, long, action = ArgAction::Count)]
    pub(super) verbose: u8,
    /// Show errors only
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// The least level shown: trace, debug, verbose, info, warning, error, critical
    #[arg(long, env = "UNFURL_LOGGING", value_name = "LEVEL", ignore_case = true, value_parser = LEVELS, hide_possible_values = true)]
    pub(super) loglevel: Option<String>,
    /// Where to keep the job's log
    #[arg(long, env = "UNFURL_LOGFILE", value_name = "PATH")]
    pub(super) logfile: Option<PathBuf>,
    /// Let the project use what goes beyond reading its files: pipe, url, python, …
    #[arg(long, global = true, value_name = "NAME", value_delimiter = ',', action = ArgAction::Append)]
    pub(super) allow: Vec<String>,
    /// Accepted and ignored: there is no other runtime
    #[arg(long, hide = true)]
    pub(super) no_runtime: bool,
    /// Do not look for newer commits of the ensemble's repositories
    #[arg(long, hide = true)]
    pub(super) skip_upstream_check: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Bring the ensemble to the state that its template describes
    Deploy(JobArgs),
    /// Remove what the ensemble has created
    #[command(alias = "undeploy")]
    Teardown(JobArgs),
    /// Stop what runs
    Stop(JobArgs),
    /// Ask each instance for its status
    Check(JobArgs),
    /// Find what exists
    Discover(JobArgs),
    /// Show what a job would do
    Plan(PlanArgs),
    Explain(ExplainArgs),
    History(HistoryArgs),
    /// Show what is recorded of the ensemble's instances
    Status(StatusArgs),
    /// Check an ensemble and report every problem
    Validate(ValidateArgs),
    Export(ExportArgs),
    /// Print the JSON Schema of a file, for editors
    Schema {
        /// Of which file
        #[arg(value_enum)]
        of: SchemaArg,
    },
    /// Look at the lock of an ensemble, or break it
    Lock {
        #[command(subcommand)]
        action: LockCommand,
    },
    /// Print the version
    Version {
        /// Only the version of Unfurl whose formats are followed
        #[arg(long)]
        semver: bool,
    },
    /// Print a script that completes commands for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemaArg {
    /// `ensemble.yaml`
    Ensemble,
    /// `unfurl.yaml`
    Project,
}

/// What to do with a lock.
#[derive(Debug, Subcommand)]
pub(super) enum LockCommand {
    /// Show who holds the lock
    Show(LockArgs),
    /// Remove the lock of a process that is gone
    Break(LockArgs),
}

/// Which lock.
#[derive(Debug, Args)]
pub(super) struct LockArgs {
    /// The ensemble
    #[arg(default_value = "")]
    pub(super) ensemble: String,
    /// Break it although its process seems to run
    #[arg(long)]
    pub(super) force: bool,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// For people
    Text,
    /// For machines
    Json,
    /// Not at all
    None,
}

/// How the problems of a check are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProblemFormat {
    /// For people
    Text,
    /// For machines
    Json,
    /// For code hosts and editors: SARIF 2.1.0
    Sarif,
    /// Not at all
    None,
}

/// From which status on a job exits with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum JobExitCode {
    /// When it is in error
    Error,
    /// When it is degraded, too
    Degraded,
    /// Never
    Never,
}

/// What is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RepairArg {
    /// Instances in error
    Error,
    /// Degraded ones, too
    Degraded,
    /// Nothing
    None,
}

/// Whether instances are compared with the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ChangeDetectionArg {
    /// No
    Skip,
    /// All of them
    Always,
    /// Those that were not customised
    Evaluate,
}

/// The options that jobs share.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that users switch on"
)]
pub(super) struct JobArgs {
    /// The ensemble: a file, a folder, an alias or a name of the project
    #[arg(default_value = "")]
    pub(super) ensemble: String,
    /// Do not ask before running
    #[arg(short, long, env = "UNFURL_APPROVE", value_parser = clap::builder::FalseyValueParser::new())]
    pub(super) approve: bool,
    /// Run without changing anything
    #[arg(long)]
    pub(super) dryrun: bool,
    /// From which status of the job on the exit code is 64
    #[arg(long, env = "UNFURL_JOBEXITCODE", value_enum, default_value = "error")]
    pub(super) jobexitcode: JobExitCode,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(super) output: OutputFormat,
    /// Only this node template and what it requires
    #[arg(long, value_name = "NAME")]
    pub(super) template: Option<String>,
    /// Only these instances
    #[arg(short, long, value_name = "NAME")]
    pub(super) instance: Vec<String>,
    /// Run operations whatever the status says
    #[arg(long)]
    pub(super) force: bool,
    /// A variable for expressions; `input_NAME` sets an input of the topology
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = ArgAction::Append)]
    pub(super) var: Vec<String>,
    /// Create no new instances
    #[arg(long)]
    pub(super) skip_new: bool,
    /// What to repair
    #[arg(long, value_enum, default_value = "error")]
    pub(super) repair: RepairArg,
    /// Whether to compare instances with the model
    #[arg(long, value_enum, default_value = "evaluate")]
    pub(super) change_detection: ChangeDetectionArg,
    /// Check new instances before creating them
    #[arg(long)]
    pub(super) check: bool,
    /// Remove instances that the model has no use for
    #[arg(long)]
    pub(super) prune: bool,
    /// Delete what this ensemble did not create, too
    #[arg(long)]
    pub(super) destroyunmanaged: bool,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    pub(super) use_environment: Option<String>,
    /// Evaluate this expression after the job
    #[arg(long, value_name = "EXPRESSION")]
    pub(super) query: Option<String>,
    /// Another workflow, built in or of the model, instead of deploy
    #[arg(long, value_name = "NAME")]
    pub(super) workflow: Option<String>,
    /// How many tasks may run at the same time; 1 runs them in upstream's order
    #[arg(long, env = "UNFURL_PARALLEL", value_name = "N")]
    pub(super) parallel: Option<NonZeroUsize>,
    /// When the job started, for reproducible ids
    #[arg(long, value_name = "TIME", hide = true)]
    pub(super) starttime: Option<String>,
}

/// The options of `plan`.
#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) job: JobArgs,
    /// With `--output json`: add to each task why it is there and what has changed
    #[arg(long)]
    pub(super) why: bool,
}

/// The options of `status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// The ensemble
    #[arg(default_value = "")]
    pub(super) ensemble: String,
    /// Evaluate this expression instead
    #[arg(long, value_name = "EXPRESSION")]
    pub(super) query: Option<String>,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    pub(super) use_environment: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(super) output: OutputFormat,
}

/// The options of `validate`.
#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    /// An ensemble, a project, a service template or a CSAR
    #[arg(default_value = "")]
    pub(super) path: String,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    pub(super) use_environment: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(super) output: ProblemFormat,
}
