//! Options of the commands `state`, `op` and `fact`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::args::format::{HostOutput, one_of};
use crate::cli::args::host::HostSelectionArgs;
use crate::name::EnumWords;
use crate::states::RunOrdering;
use crate::ui::StateDetail;

/// Apply Salt state files to hosts
///
/// State files (`.sls`) describe the desired state of a host in the format of Salt: YAML with Jinja
/// templates. They are read from the folder `states` in the current folder, or from the folders of
/// `--file-root`. Hosts need neither an agent nor Python. `apply` changes hosts, so its hosts must be
/// named: `-H @local` is this machine. Without a host, all other commands work on this machine.
#[derive(Debug, Args)]
pub(in crate::cli) struct StateArgs {
    #[command(subcommand)]
    pub(in crate::cli) action: StateAction,
}

/// The subcommands of `state`, which apply state files or show them.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum StateAction {
    /// Apply the states and show the changes
    Apply(ApplyArgs),
    /// Show what would be changed, without changing anything
    Test(ApplyArgs),
    /// Show the states as they are declared, with `include` and `extend` resolved
    ShowHigh(ShowArgs),
    /// Show each state with all its arguments
    ShowLow(ShowArgs),
    /// Show the states in the order in which they run
    ShowOrder(ShowArgs),
    /// Show the state files that the top file assigns to each host
    ShowTop(ShowArgs),
    /// Show the dependencies of the states as a graph for Graphviz
    Graph(ShowArgs),
    /// Describe states and their arguments, and the functions, filters and grains of templates
    Doc(DocArgs),
}

/// The options of `state doc`.
#[derive(Debug, Args)]
pub(in crate::cli) struct DocArgs {
    /// A state module or a state function such as `file.managed`, or `functions`, `filters` or `grains`
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) output: HostOutput,
}

/// The state files to compile and the tree that they come from.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct TreeOptions {
    /// State files, without `.sls` and with dots for slashes; by default, those of the top file
    #[arg(value_name = "SLS")]
    pub(in crate::cli) sls: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) tree: StateTreeArgs,
}

/// The sources of state files and the data that they read (pillar, grains, settings).
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "States")]
pub(in crate::cli) struct StateTreeArgs {
    /// A folder with state files of an environment, or of `base`; may be given more than once; the first that has
    /// a file is used
    #[arg(long, value_name = "[ENV=]DIR")]
    pub(in crate::cli) file_root: Vec<PathBuf>,
    /// The environment whose state files are used; by default, all environments of the top file, or `base`
    #[arg(long, value_name = "ENV")]
    pub(in crate::cli) saltenv: Option<String>,
    /// Pillar data: a YAML map, or `@FILE`, which keeps secrets off the command line
    #[arg(long, value_name = "YAML")]
    pub(in crate::cli) pillar: Option<String>,
    /// Grains added to those of the hosts: a YAML map, or `@FILE`
    #[arg(long, value_name = "YAML")]
    pub(in crate::cli) grains: Option<String>,
    /// The minion id of this machine, if no host is chosen
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) id: Option<String>,
    /// A file with settings, in the format of Salt's minion configuration
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) config: Option<PathBuf>,
    /// How requisites and `order` determine the order of states
    #[arg(long, value_parser = one_of::<RunOrdering>())]
    pub(in crate::cli) ordering: Option<RunOrdering>,
    /// Run the states of these instances of the ensemble; their properties are pillar data
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(in crate::cli) instance: Vec<String>,
    /// Limit the hosts to these roles or patterns, such as `web*`
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate option"
)]
pub(in crate::cli) struct RunOptions {
    /// Show what would be changed, with commands and differences, without changing anything
    #[arg(long, alias = "test")]
    pub(in crate::cli) dryrun: bool,
    /// Do not ask before running; needed where nobody can be asked
    #[arg(long, env = "UNFURL_APPROVE", value_parser = clap::builder::BoolishValueParser::new())]
    pub(in crate::cli) approve: bool,
    /// Run one host after the other
    #[arg(long, conflicts_with = "no_wait")]
    pub(in crate::cli) serial: bool,
    /// Run hosts without waiting for each other
    #[arg(long)]
    pub(in crate::cli) no_wait: bool,
    /// Maximum number of hosts at the same time; 50 by default
    #[arg(short = 'z', long, value_name = "N")]
    pub(in crate::cli) parallel: Option<std::num::NonZeroUsize>,
    /// Stop when more than this percentage of the hosts has failed
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(in crate::cli) fail_percent: Option<u8>,
    /// Executors that each action on a host passes through, in order, such as `[splay, direct]`
    #[arg(long, value_name = "NAMES")]
    pub(in crate::cli) executors: Option<String>,
    /// Options of executors, as a YAML map: `{splaytime: 30}`
    #[arg(long, value_name = "YAML")]
    pub(in crate::cli) executor_opts: Option<String>,
    /// Apply states as another user; root if no user is given
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "root")]
    pub(in crate::cli) sudo: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) shown: ShownOptions,
}

/// The options that say how results are shown.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(in crate::cli) struct ShownOptions {
    /// How much of each state to show
    #[arg(long, value_parser = one_of::<StateDetail>())]
    pub(in crate::cli) state_output: Option<StateDetail>,
    /// Format of the progress and the results
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) output: HostOutput,
}

impl EnumWords for RunOrdering {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Classic, "classic", "Like Salt up to 3007"),
        (Self::Dag, "dag", "Like Salt from 3008"),
    ];
}

/// The options of the `state show-…` commands and of `state graph`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    #[command(flatten)]
    pub(in crate::cli) states: TreeOptions,
    #[command(flatten)]
    pub(in crate::cli) hosts: HostSelectionArgs,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) output: HostOutput,
}

/// Apply a single Salt state to hosts, without a state file
///
/// `unfurl op pkg.installed nginx -H web1` installs a package; `unfurl op file.managed /etc/motd
/// 'contents=hello' -H @local` writes a file on this machine. The hosts must be named, except for
/// `--dryrun`, which looks at this machine then. An argument without `=` is the name of the managed
/// object. Values are read as YAML.
#[derive(Debug, Args)]
pub(in crate::cli) struct OpArgs {
    /// The state module and its function, such as `service.running`
    #[arg(value_name = "MODULE.FUNCTION")]
    pub(in crate::cli) function: String,
    /// The name of the managed object, and arguments
    #[arg(value_name = "NAME|KEY=VALUE")]
    pub(in crate::cli) arguments: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) tree: StateTreeArgs,
    #[command(flatten)]
    pub(in crate::cli) run: RunOptions,
    #[command(flatten)]
    pub(in crate::cli) hosts: HostSelectionArgs,
}

/// Show facts of hosts
///
/// Without a name, shows all grains, which state files read as `grains`. A name is that of a grain,
/// such as `os_family`, or of a fact, such as `server.Users` or `deb_packages`. `--list` lists the
/// facts.
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
    /// Read facts as another user; root if no user is given
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "root")]
    pub(in crate::cli) sudo: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) output: HostOutput,
}
