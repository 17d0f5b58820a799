//! Options of commands that run over hosts: which hosts, how many at a time, how they are reached
//! (rule F63).

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use crate::cli::args::format::{HostOutput, duration, limit_size};
use crate::cli::args::passwords::PasswordOptions;
use crate::tasks::MaxFail;

/// The options shared by commands that run over hosts.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct HostOptions {
    #[command(flatten)]
    pub(in crate::cli) choice: HostChoice,
    #[command(flatten)]
    pub(in crate::cli) order: HostOrder,
    #[command(flatten)]
    pub(in crate::cli) connection: HostConnection,
    /// Format of the progress and the results
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub(in crate::cli) output: HostOutput,
}

/// The options that choose hosts by name, role or hosts file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Hosts")]
pub(in crate::cli) struct HostChoice {
    /// Hosts to run on: `[user@]host[:port]`, separated by commas
    #[arg(short = 'H', long, value_name = "HOSTS", action = ArgAction::Append)]
    pub(in crate::cli) hosts: Vec<String>,
    /// Roles whose hosts to run on, separated by commas
    #[arg(short = 'R', long, value_name = "ROLES", action = ArgAction::Append)]
    pub(in crate::cli) roles: Vec<String>,
    /// Hosts to leave out, separated by commas
    #[arg(short = 'x', long, value_name = "HOSTS", action = ArgAction::Append)]
    pub(in crate::cli) exclude_hosts: Vec<String>,
    /// A file with hosts and their groups, which are roles; may be given more than once
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    pub(in crate::cli) hosts_file: Vec<PathBuf>,
}

/// The options that choose hosts, and the options that say how to reach them.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct HostSelectionArgs {
    #[command(flatten)]
    pub(in crate::cli) choice: HostChoice,
    #[command(flatten)]
    pub(in crate::cli) connection: HostConnection,
}

/// The order in which hosts run, and the treatment of failures.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Order and failures")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate option"
)]
pub(in crate::cli) struct HostOrder {
    /// Run on all hosts of a task at the same time
    #[arg(short = 'P', long)]
    pub(in crate::cli) parallel: bool,
    /// Maximum number of hosts at the same time, with `--parallel`
    #[arg(short = 'z', long, value_name = "N")]
    pub(in crate::cli) pool_size: Option<NonZeroUsize>,
    /// Turn failures into warnings and continue
    #[arg(short = 'w', long)]
    pub(in crate::cli) warn_only: bool,
    /// Skip hosts that cannot be reached
    #[arg(long)]
    pub(in crate::cli) skip_bad_hosts: bool,
    /// Start no further host once this many hosts of a task have failed: a number, or a percentage
    /// such as `10%`
    #[arg(long, value_name = "N|N%")]
    pub(in crate::cli) max_fail: Option<MaxFail>,
    /// Start no further host once one has failed, even with `--parallel`
    #[arg(long, conflicts_with = "max_fail")]
    pub(in crate::cli) stop_on_first_failure: bool,
    /// Time limit of each command: `10` or `10s`, `5m`, `1h`
    #[arg(short = 'T', long, value_name = "DURATION", value_parser = duration)]
    pub(in crate::cli) command_timeout: Option<Duration>,
    /// Size up to which the outputs of each command are kept whole, such as `200M`; 64M by default
    #[arg(long, env = "UNFURL_CAPTURE", value_name = "SIZE", value_parser = limit_size)]
    pub(in crate::cli) capture: Option<usize>,
    /// Fail instead of asking questions
    #[arg(long)]
    pub(in crate::cli) abort_on_prompts: bool,
    /// Run commands as another user; root if no user is given
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "root")]
    pub(in crate::cli) sudo: Option<String>,
    /// Executors that each action on a host passes through, in order, such as `[splay, direct]`:
    /// `splay`, `retry`, `timeout`, `direct`, `dryrun`, …, or programs
    #[arg(long, value_name = "NAMES")]
    pub(in crate::cli) executors: Option<String>,
    /// Options of executors, as a YAML map: `{splaytime: 30}`
    #[arg(long, value_name = "YAML")]
    pub(in crate::cli) executor_opts: Option<String>,
}

/// The options that say how hosts are reached over SSH.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Connection")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate option"
)]
pub(in crate::cli) struct HostConnection {
    /// The user to log in as, unless the host names one
    #[arg(short = 'u', long, value_name = "NAME")]
    pub(in crate::cli) user: Option<String>,
    /// The port, unless the host names one
    #[arg(long, value_name = "PORT")]
    pub(in crate::cli) port: Option<NonZeroU16>,
    /// A file with a private key; may be given more than once
    #[arg(short = 'i', long, value_name = "PATH", action = ArgAction::Append)]
    pub(in crate::cli) identity: Vec<PathBuf>,
    /// Forward the SSH agent to the hosts
    #[arg(short = 'A', long)]
    pub(in crate::cli) forward_agent: bool,
    /// Do not use the SSH agent to log in
    #[arg(short = 'a', long)]
    pub(in crate::cli) no_agent: bool,
    /// Do not use the default key files to log in
    #[arg(short = 'k', long)]
    pub(in crate::cli) no_keys: bool,
    /// Gateway: a host through which all others are reached
    #[arg(short = 'g', long, value_name = "HOST")]
    pub(in crate::cli) gateway: Option<String>,
    /// Number of attempts to connect
    #[arg(short = 'n', long, value_name = "N")]
    pub(in crate::cli) connection_attempts: Option<NonZeroU32>,
    /// Time limit of an attempt to connect and log in: `10` or `10s`, `1m`
    #[arg(short = 't', long, value_name = "DURATION", value_parser = duration)]
    pub(in crate::cli) timeout: Option<Duration>,
    /// Maximum number of hosts that log in at the same time; 20 by default
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_connecting: Option<NonZeroUsize>,
    /// Interval of keepalive messages to each host
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(in crate::cli) keepalive: Option<Duration>,
    /// Do not read the OpenSSH configuration
    #[arg(long)]
    pub(in crate::cli) no_ssh_config: bool,
    /// The OpenSSH configuration to read instead of `~/.ssh/config`
    #[arg(long, value_name = "PATH", conflicts_with = "no_ssh_config")]
    pub(in crate::cli) ssh_config_path: Option<PathBuf>,
    /// The file with host keys, instead of `~/.ssh/known_hosts`
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) known_hosts: Option<PathBuf>,
    /// Accept and store the keys of unknown hosts
    #[arg(long)]
    pub(in crate::cli) accept_new_host_keys: bool,
    #[command(flatten)]
    pub(in crate::cli) passwords: PasswordOptions,
}
