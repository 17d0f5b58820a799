//! The command line: global options, commands, and the options that jobs share.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::route::RUN_HOSTS;
use crate::cli::args::job::{DeployArgs, LookArgs, OutputFormat, PlanArgs, StopArgs, TeardownArgs};
use crate::cli::args::state::{FactArgs, OpArgs, StateArgs};
use crate::cli::commands::explain::ExplainArgs;
use crate::cli::commands::export::ExportArgs;
use crate::cli::commands::git::{CommitArgs, GitArgs, GitStatusArgs, MergeDriverArgs};
use crate::cli::commands::history::HistoryArgs;
use crate::cli::commands::host_files::{GetArgs, PutArgs};
use crate::cli::commands::reboot::RebootArgs;
use crate::cli::commands::run::RunArgs;
use crate::cli::commands::run_hosts::RunHostsArgs;
use crate::cli::commands::task::TaskArgs;
use crate::cli::commands::visit::{ForwardArgs, ShellArgs};

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
    #[command(flatten)]
    pub(super) upstream: UpstreamArgs,
}

/// Whether remotes are asked for newer commits.
#[derive(Debug, Args)]
pub(super) struct UpstreamArgs {
    /// Do not look for newer commits of the ensemble's repositories before a job
    #[arg(long, global = true, env = "UNFURL_SKIP_UPSTREAM_CHECK", value_parser = clap::builder::FalseyValueParser::new())]
    pub(super) skip_upstream_check: bool,
    /// Look for them although `UNFURL_SKIP_UPSTREAM_CHECK` is set
    #[arg(long, global = true, hide = true, env = "UNFURL_CHECK_UPSTREAM", value_parser = clap::builder::FalseyValueParser::new())]
    pub(super) check_upstream: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Bring the ensemble to the state that its template describes
    Deploy(DeployArgs),
    /// Remove what the ensemble has created
    #[command(alias = "undeploy")]
    Teardown(TeardownArgs),
    /// Stop what runs
    Stop(StopArgs),
    /// Ask each instance for its status
    Check(LookArgs),
    /// Find what exists
    Discover(LookArgs),
    /// Show what a job would do
    Plan(PlanArgs),
    Explain(ExplainArgs),
    History(HistoryArgs),
    Run(RunArgs),
    // `route` calls `run` so where it chooses hosts.
    #[command(name = RUN_HOSTS, hide = true)]
    RunHosts(RunHostsArgs),
    Task(TaskArgs),
    State(StateArgs),
    Op(OpArgs),
    Fact(FactArgs),
    Put(PutArgs),
    Get(GetArgs),
    Reboot(RebootArgs),
    Shell(ShellArgs),
    Forward(ForwardArgs),
    /// Show what is recorded of the ensemble's instances
    Status(StatusArgs),
    /// Check an ensemble and report every problem
    Validate(ValidateArgs),
    Export(ExportArgs),
    Commit(CommitArgs),
    Git(GitArgs),
    GitStatus(GitStatusArgs),
    MergeDriver(MergeDriverArgs),
    /// Print the JSON Schema of a file, for editors
    Schema {
        /// Of which file
        #[arg(value_enum)]
        of: SchemaArg,
    },
    /// Look at the locks of ensembles, or break one
    Lock {
        #[command(subcommand)]
        action: LockCommand,
    },
    /// Put on record what a job did that was cut off or whose record could not be saved
    Recover(RecoverArgs),
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
    /// `tasks.yaml`
    Tasks,
}

/// What to do with a lock.
#[derive(Debug, Subcommand)]
pub(super) enum LockCommand {
    /// Show who holds the locks of the project's ensembles
    #[command(visible_alias = "show")]
    List(LockListArgs),
    /// Remove the lock of a process that is gone
    Break(LockBreakArgs),
}

/// Which locks to show.
#[derive(Debug, Args)]
pub(super) struct LockListArgs {
    /// The ensemble; all of the project if none is named
    #[arg(default_value = "")]
    pub(super) ensemble: String,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(super) output: OutputFormat,
}

/// Which lock to break.
#[derive(Debug, Args)]
pub(super) struct LockBreakArgs {
    /// The ensemble
    #[arg(default_value = "")]
    pub(super) ensemble: String,
    /// Break it although its process seems to run
    #[arg(long)]
    pub(super) force: bool,
}

/// The options of `recover`.
#[derive(Debug, Args)]
pub(super) struct RecoverArgs {
    /// The ensemble
    #[arg(default_value = "")]
    pub(super) ensemble: String,
    /// The rescue file that a job named; without it, those that are found beside the ensemble, in
    /// the folder for temporary files and at home
    pub(super) file: Option<PathBuf>,
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
