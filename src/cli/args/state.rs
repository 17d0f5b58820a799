//! Options of the commands `state`, `op` and `fact`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::args::format::{HostOutput, one_of};
use crate::cli::args::host::HostSelectionArgs;
use crate::name::EnumWords;
use crate::states::RunOrdering;
use crate::ui::StateDetail;

/// Bring hosts to the state that state files describe
///
/// State files (`.sls`) say what a host is to be like, in the form of Salt: YAML with Jinja
/// templates. They stand in the folder `states` here, or in those of `--file-root`. Without a host
/// they hold for this machine. Hosts need neither an agent nor Python.
#[derive(Debug, Args)]
pub(in crate::cli) struct StateArgs {
    #[command(subcommand)]
    pub(in crate::cli) action: StateAction,
}

/// The subcommands of `state`, which apply state files or show them.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum StateAction {
    /// Bring hosts to the state, and show what was changed
    Apply(ApplyArgs),
    /// Show what would be changed, and change nothing
    Test(ApplyArgs),
    /// Show the states as they are declared, with what they include and extend
    ShowHigh(ShowArgs),
    /// Show each state with all its arguments
    ShowLow(ShowArgs),
    /// Show the states in the order in which they run
    ShowOrder(ShowArgs),
    /// Show the state files that the top file has for each host
    ShowTop(ShowArgs),
    /// Show what depends on what, as a graph for Graphviz
    Graph(ShowArgs),
}

/// The state files to compile and the tree that they come from.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct TreeOptions {
    /// State files, without `.sls` and with dots for slashes; those of the top file if none
    #[arg(value_name = "SLS")]
    pub(in crate::cli) sls: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) tree: StateTreeArgs,
}

/// The sources of state files and the data that they read (pillar, grains, settings).
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "States")]
pub(in crate::cli) struct StateTreeArgs {
    /// A folder with state files; may be given more than once, the first that has a file counts
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) file_root: Vec<PathBuf>,
    /// What states read as `pillar`: a YAML map, or `@FILE`, which keeps secrets off the command
    /// line
    #[arg(long, value_name = "YAML")]
    pub(in crate::cli) pillar: Option<String>,
    /// What states read as `grains` beside what hosts are like: a YAML map, or `@FILE`
    #[arg(long, value_name = "YAML")]
    pub(in crate::cli) grains: Option<String>,
    /// The name of this machine, where no host is chosen
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) id: Option<String>,
    /// A file with settings, in the form of Salt's minion configuration
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) config: Option<PathBuf>,
    /// How requisites and orders make the order of states
    #[arg(long, value_parser = one_of::<RunOrdering>())]
    pub(in crate::cli) ordering: Option<RunOrdering>,
    /// Run the states of instances of the ensemble, by their names; their properties are pillar
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(in crate::cli) instance: Vec<String>,
    /// Only these of the hosts: names of roles, or patterns such as `web*`
    #[arg(long, value_name = "PATTERN")]
    pub(in crate::cli) limit: Vec<String>,
}

/// The options of `state apply` and `state test`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ApplyArgs {
    #[command(flatten)]
    pub(in crate::cli) states: TreeOptions,
    #[command(flatten)]
    pub(in crate::cli) run: RunOptions,
    #[command(flatten)]
    pub(in crate::cli) hosts: HostSelectionArgs,
}

/// The order in which hosts run their states, and the treatment of failures.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Order and failures")]
pub(in crate::cli) struct RunOptions {
    /// Show what would be changed, with commands and differences, and change nothing
    #[arg(long, alias = "test")]
    pub(in crate::cli) dryrun: bool,
    /// One host after the other
    #[arg(long, conflicts_with = "no_wait")]
    pub(in crate::cli) serial: bool,
    /// Hosts do not wait for each other
    #[arg(long)]
    pub(in crate::cli) no_wait: bool,
    /// The most hosts at the same time; 50 if not given
    #[arg(short = 'z', long, value_name = "N")]
    pub(in crate::cli) parallel: Option<std::num::NonZeroUsize>,
    /// Stop when more than so many percent of the hosts have failed
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(in crate::cli) fail_percent: Option<u8>,
    /// Act on hosts as another user, root if none is named
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "root")]
    pub(in crate::cli) sudo: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) shown: ShownOptions,
}

/// The options that say how results are shown.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(in crate::cli) struct ShownOptions {
    /// How much of each state is shown
    #[arg(long, value_parser = one_of::<StateDetail>())]
    pub(in crate::cli) state_output: Option<StateDetail>,
    /// How to show what happens
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) output: HostOutput,
}

impl EnumWords for RunOrdering {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Classic, "classic", "As Salt does up to 3007"),
        (Self::Dag, "dag", "As Salt does from 3008"),
    ];
}

/// The options of the `state show-…` commands and of `state graph`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    #[command(flatten)]
    pub(in crate::cli) states: TreeOptions,
    #[command(flatten)]
    pub(in crate::cli) hosts: HostSelectionArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) output: HostOutput,
}

/// Bring hosts to one state, without a state file
///
/// `unfurl op pkg.installed nginx -H web1` installs a package; `unfurl op file.managed /etc/motd
/// 'contents=hello'` writes a file here. What has no `=` is the name that the state is about; values
/// are read as YAML.
#[derive(Debug, Args)]
pub(in crate::cli) struct OpArgs {
    /// The state module and its function, such as `service.running`
    #[arg(value_name = "MODULE.FUNCTION")]
    pub(in crate::cli) function: String,
    /// What it is about, and its arguments
    #[arg(value_name = "NAME|KEY=VALUE")]
    pub(in crate::cli) arguments: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) tree: StateTreeArgs,
    #[command(flatten)]
    pub(in crate::cli) run: RunOptions,
    #[command(flatten)]
    pub(in crate::cli) hosts: HostSelectionArgs,
}

/// Show what hosts are like
///
/// Without a name, all that state files read as `grains`. A name is that of a grain, such as
/// `os_family`, or of a fact, such as `server.Users` or `deb_packages`; `--list` shows the facts.
#[derive(Debug, Args)]
pub(in crate::cli) struct FactArgs {
    /// The grain or the fact
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: Option<String>,
    /// The arguments of the fact
    #[arg(value_name = "KEY=VALUE")]
    pub(in crate::cli) arguments: Vec<String>,
    /// List the facts
    #[arg(short, long)]
    pub(in crate::cli) list: bool,
    #[command(flatten)]
    pub(in crate::cli) hosts: HostSelectionArgs,
    /// Read as another user, root if none is named
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "root")]
    pub(in crate::cli) sudo: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) output: HostOutput,
}
