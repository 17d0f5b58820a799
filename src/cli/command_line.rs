//! The clap definition of the command line: global options and all commands.
//!
//! Doc comments on commands and options are the help texts that users see.

use clap::{CommandFactory as _, Parser, Subcommand};

use super::args::format::{HostOutput, one_of};
use super::args::global::Global;
use super::args::job::{CheckArgs, JobArgs, StopArgs, TeardownArgs};
use super::args::state::{FactArgs, OpArgs, StateArgs};
use super::commands::add::AddArgs;
use super::commands::clone::CloneArgs;
use super::commands::commit::CommitArgs;
use super::commands::completions::CompletionsArgs;
use super::commands::doctor::DoctorArgs;
use super::commands::drift::DriftArgs;
use super::commands::explain::ExplainArgs;
use super::commands::export::ExportArgs;
use super::commands::forward::ForwardArgs;
use super::commands::git::GitArgs;
use super::commands::git::GitStatusArgs;
use super::commands::git_setup::GitSetupArgs;
use super::commands::history::HistoryArgs;
use super::commands::home::HomeArgs;
use super::commands::hosts::RebootArgs;
use super::commands::hosts::RunHostsArgs;
use super::commands::hosts::ShellArgs;
use super::commands::import::ImportArgs;
use super::commands::init::InitArgs;
use super::commands::inventory::HostsArgs;
use super::commands::lock::LockCommand;
use super::commands::man::ManArgs;
use super::commands::merge_driver::MergeDriverArgs;
use super::commands::plan::PlanArgs;
use super::commands::recover::RecoverArgs;
use super::commands::run::RunArgs;
use super::commands::schedule::ScheduleArgs;
use super::commands::secret::SecretArgs;
use super::commands::serve::ServeArgs;
use super::commands::status::StatusArgs;
use super::commands::task::TaskArgs;
use super::commands::transfer::GetArgs;
use super::commands::transfer::PutArgs;
use super::commands::trust::TrustArgs;
use super::commands::validate::ValidateArgs;
use super::help::arrange;
use super::left_out::LeftOutArgs;
use super::route::RUN_HOSTS;
use crate::ops::schema::SchemaKind;

/// Deploy systems that a TOSCA model describes, and keep the record in git
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

/// The commands of the program, one variant each.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Init(InitArgs),
    Add(AddArgs),
    Import(ImportArgs),
    Clone(CloneArgs),
    /// Deploy the ensemble: create and update the instances of its model
    Deploy(JobArgs),
    /// Remove the instances that the ensemble has created
    #[command(alias = "undeploy")]
    Teardown(TeardownArgs),
    /// Stop the instances
    Stop(StopArgs),
    /// Check the status of each instance
    Check(CheckArgs),
    Drift(Box<DriftArgs>),
    /// Discover existing resources
    Discover(CheckArgs),
    /// Show what a job would do
    Plan(PlanArgs),
    Explain(ExplainArgs),
    History(HistoryArgs),
    Run(RunArgs),
    // `route` renames `run` to this hidden command where the options choose hosts.
    #[command(name = RUN_HOSTS, hide = true)]
    RunHosts(RunHostsArgs),
    Task(TaskArgs),
    State(StateArgs),
    Op(OpArgs),
    Fact(FactArgs),
    Hosts(HostsArgs),
    Put(PutArgs),
    Get(GetArgs),
    Reboot(RebootArgs),
    Shell(ShellArgs),
    Forward(ForwardArgs),
    /// Show the recorded instances of the ensemble
    Status(StatusArgs),
    /// Check an ensemble and report every problem
    Validate(ValidateArgs),
    Doctor(DoctorArgs),
    Export(ExportArgs),
    Commit(CommitArgs),
    Git(GitArgs),
    GitStatus(GitStatusArgs),
    GitSetup(GitSetupArgs),
    MergeDriver(MergeDriverArgs),
    /// Print the JSON Schema of a file, for editors, or of an output, for programs
    Schema {
        /// The file or the output that the schema describes
        #[arg(value_parser = one_of::<SchemaKind>())]
        of: SchemaKind,
    },
    /// Show the locks of ensembles, or break one
    Lock {
        #[command(subcommand)]
        action: LockCommand,
    },
    Schedule(ScheduleArgs),
    Serve(ServeArgs),
    Secret(SecretArgs),
    Home(HomeArgs),
    Trust(TrustArgs),
    /// Record the results of a crashed job, or of a job whose record could not be saved
    Recover(RecoverArgs),
    /// Print the version
    Version {
        /// Print only the version of Unfurl that this program is compatible with
        #[arg(long)]
        semver: bool,
        /// Also say which version runs jobs: this one, because there is no other runtime
        #[arg(long)]
        remote: bool,
        /// Format of the result
        #[arg(long, value_enum, default_value = "text")]
        output: HostOutput,
    },
    /// Not supported: this program needs no runtime
    #[command(hide = true)]
    Runtime(LeftOutArgs),
    /// Not supported: this program keeps no catalogue of repositories
    #[command(hide = true)]
    Cloudmap(LeftOutArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Returns the definition of the command line, with its help arranged.
pub(super) fn definition() -> clap::Command {
    arrange(Cli::command())
}
