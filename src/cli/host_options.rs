//! The options of what runs over hosts: which hosts, how many at a time, how they are reached
//! (spec/hosts.md F63).

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use super::options::duration;
use crate::runbook::MaxFail;

/// How what runs over hosts is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum HostOutput {
    /// For people
    #[default]
    Text,
    /// For machines
    Json,
}

/// The options of what runs over hosts.
#[derive(Debug, Default, Args)]
pub(super) struct HostOptions {
    #[command(flatten)]
    pub(super) choice: HostChoice,
    #[command(flatten)]
    pub(super) order: HostOrder,
    #[command(flatten)]
    pub(super) connection: HostConnection,
    /// How to show what happens
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub(super) output: HostOutput,
}

/// Which hosts.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Hosts")]
pub(super) struct HostChoice {
    /// Hosts to run on: `[user@]host[:port]`, separated by commas
    #[arg(short = 'H', long, value_name = "HOSTS", action = ArgAction::Append)]
    pub(super) hosts: Vec<String>,
    /// Roles whose hosts to run on, separated by commas
    #[arg(short = 'R', long, value_name = "ROLES", action = ArgAction::Append)]
    pub(super) roles: Vec<String>,
    /// Hosts to leave out, separated by commas
    #[arg(short = 'x', long, value_name = "HOSTS", action = ArgAction::Append)]
    pub(super) exclude_hosts: Vec<String>,
    /// A file with hosts and their groups, which are roles; may be given more than once
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    pub(super) hosts_file: Vec<PathBuf>,
}

/// In what order, and what becomes of failures.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Order and failures")]
pub(super) struct HostOrder {
    /// Run on all hosts of a task at the same time
    #[arg(short = 'P', long)]
    pub(super) parallel: bool,
    /// The most hosts at the same time, with `--parallel`
    #[arg(short = 'z', long, value_name = "N")]
    pub(super) pool_size: Option<NonZeroUsize>,
    /// Warn where something fails, and go on
    #[arg(short = 'w', long)]
    pub(super) warn_only: bool,
    /// Pass over hosts that cannot be reached
    #[arg(long)]
    pub(super) skip_bad_hosts: bool,
    /// Begin on no further host once so many hosts of a task have failed: a number, or `10%` of
    /// them
    #[arg(long, value_name = "N|N%")]
    pub(super) max_fail: Option<MaxFail>,
    /// Begin on no further host once one has failed, in parallel too
    #[arg(long, conflicts_with = "max_fail")]
    pub(super) stop_on_first_failure: bool,
    /// How long a command may run: `10` or `10s`, `5m`, `1h`
    #[arg(short = 'T', long, value_name = "DURATION", value_parser = duration)]
    pub(super) command_timeout: Option<Duration>,
    /// Fail where something would have to be asked
    #[arg(long)]
    pub(super) abort_on_prompts: bool,
    /// Run commands as another user, root if none is named
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "root")]
    pub(super) sudo: Option<String>,
}

/// How hosts are reached.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
pub(super) struct HostConnection {
    /// The user to log in as, where the host names none
    #[arg(short = 'u', long, value_name = "NAME")]
    pub(super) user: Option<String>,
    /// The port, where the host names none
    #[arg(long, value_name = "PORT")]
    pub(super) port: Option<NonZeroU16>,
    /// A file with a private key; may be given more than once
    #[arg(short = 'i', long, value_name = "PATH", action = ArgAction::Append)]
    pub(super) identity: Vec<PathBuf>,
    /// Let what runs there use the agent of this user
    #[arg(short = 'A', long)]
    pub(super) forward_agent: bool,
    /// Do not use the agent to log in
    #[arg(short = 'a', long)]
    pub(super) no_agent: bool,
    /// Do not use the usual key files to log in
    #[arg(short = 'k', long)]
    pub(super) no_keys: bool,
    /// A host to reach all others through
    #[arg(short = 'g', long, value_name = "HOST")]
    pub(super) gateway: Option<String>,
    /// How often connecting is tried
    #[arg(short = 'n', long, value_name = "N")]
    pub(super) connection_attempts: Option<NonZeroU32>,
    /// How long an attempt to connect may take: `10` or `10s`, `1m`
    #[arg(short = 't', long, value_name = "DURATION", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// How often a host has to answer that it is still there
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) keepalive: Option<Duration>,
    /// Do not read the configuration of OpenSSH
    #[arg(long)]
    pub(super) no_ssh_config: bool,
    /// The configuration of OpenSSH to read instead of `~/.ssh/config`
    #[arg(long, value_name = "PATH", conflicts_with = "no_ssh_config")]
    pub(super) ssh_config_path: Option<PathBuf>,
    /// The keys of hosts, instead of `~/.ssh/known_hosts`
    #[arg(long, value_name = "PATH")]
    pub(super) known_hosts: Option<PathBuf>,
    /// Trust hosts that nobody knows yet, and remember their keys
    #[arg(long)]
    pub(super) accept_new_host_keys: bool,
}

/// The items of options that hold lists: separated by commas, stripped (F21); an empty one is
/// named as such.
pub(super) fn items(texts: &[String]) -> Result<Vec<String>, String> {
    let all = texts.iter().flat_map(|text| {
        text.split(',').map(move |item| match item.trim() {
            "" => Err(format!("\"{text}\" has an empty item")),
            item => Ok(item.to_owned()),
        })
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_at_commas_and_stripped() {
        let of = |text: &str| items(&[text.to_owned()]);
        assert_eq!(of("h1, h2 ,h1").unwrap(), ["h1", "h2", "h1"]);
        insta::assert_snapshot!(of("a,,b").unwrap_err(), @r#""a,,b" has an empty item"#);
    }
}
