//! The options of what runs over hosts: which hosts, how many at a time, how they are reached
//! (spec/hosts.md F63).

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use crate::cli::args::job::duration;
use crate::cli::arguments::Global;
use crate::cli::commands::job::home;
use crate::cli::output::Output;
use crate::host::book::{Agent, DefaultKeys, Login};
use crate::host::ssh_config::Files;
use crate::host::{Chain, ChainSpec, HostKeys, Surroundings};
use crate::job::Level;
use crate::ops::runbook::{HostsRequest, KnownHosts};
use crate::ops::{Failure, FailureKind, SessionOptions};
use crate::runbook::{MaxFail, Options, Scope, Switches};
use crate::system::env::Env;
use crate::system::fs;
use crate::value::{Map, Value};

/// How what runs over hosts is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum HostOutput {
    /// For people
    #[default]
    Text,
    /// For machines
    Json,
}

/// The options of what runs over hosts.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct HostOptions {
    #[command(flatten)]
    pub(in crate::cli) choice: HostChoice,
    #[command(flatten)]
    pub(in crate::cli) order: HostOrder,
    #[command(flatten)]
    pub(in crate::cli) connection: HostConnection,
    /// How to show what happens
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub(in crate::cli) output: HostOutput,
}

/// Which hosts.
#[derive(Debug, Default, Args)]
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

/// In what order, and what becomes of failures.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Order and failures")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(in crate::cli) struct HostOrder {
    /// Run on all hosts of a task at the same time
    #[arg(short = 'P', long)]
    pub(in crate::cli) parallel: bool,
    /// The most hosts at the same time, with `--parallel`
    #[arg(short = 'z', long, value_name = "N")]
    pub(in crate::cli) pool_size: Option<NonZeroUsize>,
    /// Warn where something fails, and go on
    #[arg(short = 'w', long)]
    pub(in crate::cli) warn_only: bool,
    /// Pass over hosts that cannot be reached
    #[arg(long)]
    pub(in crate::cli) skip_bad_hosts: bool,
    /// Begin on no further host once so many hosts of a task have failed: a number, or `10%` of
    /// them
    #[arg(long, value_name = "N|N%")]
    pub(in crate::cli) max_fail: Option<MaxFail>,
    /// Begin on no further host once one has failed, in parallel too
    #[arg(long, conflicts_with = "max_fail")]
    pub(in crate::cli) stop_on_first_failure: bool,
    /// How long a command may run: `10` or `10s`, `5m`, `1h`
    #[arg(short = 'T', long, value_name = "DURATION", value_parser = duration)]
    pub(in crate::cli) command_timeout: Option<Duration>,
    /// Fail where something would have to be asked
    #[arg(long)]
    pub(in crate::cli) abort_on_prompts: bool,
    /// Run commands as another user, root if none is named
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "root")]
    pub(in crate::cli) sudo: Option<String>,
    /// What each action on a host goes through, in order: `splay`, `retry`, `timeout`, `direct`,
    /// `dryrun`, …, or programs; such as `[splay, direct]`
    #[arg(long, value_name = "NAMES")]
    pub(in crate::cli) executors: Option<String>,
    /// Options of executors: `{splaytime: 30}`
    #[arg(long, value_name = "YAML")]
    pub(in crate::cli) executor_opts: Option<String>,
}

/// How hosts are reached.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(in crate::cli) struct HostConnection {
    /// The user to log in as, where the host names none
    #[arg(short = 'u', long, value_name = "NAME")]
    pub(in crate::cli) user: Option<String>,
    /// The port, where the host names none
    #[arg(long, value_name = "PORT")]
    pub(in crate::cli) port: Option<NonZeroU16>,
    /// A file with a private key; may be given more than once
    #[arg(short = 'i', long, value_name = "PATH", action = ArgAction::Append)]
    pub(in crate::cli) identity: Vec<PathBuf>,
    /// Let what runs there use the agent of this user
    #[arg(short = 'A', long)]
    pub(in crate::cli) forward_agent: bool,
    /// Do not use the agent to log in
    #[arg(short = 'a', long)]
    pub(in crate::cli) no_agent: bool,
    /// Do not use the usual key files to log in
    #[arg(short = 'k', long)]
    pub(in crate::cli) no_keys: bool,
    /// A host to reach all others through
    #[arg(short = 'g', long, value_name = "HOST")]
    pub(in crate::cli) gateway: Option<String>,
    /// How often connecting is tried
    #[arg(short = 'n', long, value_name = "N")]
    pub(in crate::cli) connection_attempts: Option<NonZeroU32>,
    /// How long an attempt to connect may take: `10` or `10s`, `1m`
    #[arg(short = 't', long, value_name = "DURATION", value_parser = duration)]
    pub(in crate::cli) timeout: Option<Duration>,
    /// How often a host has to answer that it is still there
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(in crate::cli) keepalive: Option<Duration>,
    /// Do not read the configuration of OpenSSH
    #[arg(long)]
    pub(in crate::cli) no_ssh_config: bool,
    /// The configuration of OpenSSH to read instead of `~/.ssh/config`
    #[arg(long, value_name = "PATH", conflicts_with = "no_ssh_config")]
    pub(in crate::cli) ssh_config_path: Option<PathBuf>,
    /// The keys of hosts, instead of `~/.ssh/known_hosts`
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) known_hosts: Option<PathBuf>,
    /// Trust hosts that nobody knows yet, and remember their keys
    #[arg(long)]
    pub(in crate::cli) accept_new_host_keys: bool,
}

impl HostConnection {
    /// What these options say about all hosts (F46 to F48, F55 to F60).
    fn request(&self, inventories: &[PathBuf], global: &Global, output: &Output) -> HostsRequest {
        let said = self;
        let ssh_config = match &said.ssh_config_path {
            _ if said.no_ssh_config => Files::Nothing,
            Some(path) => Files::Only(path.clone()),
            None => Files::Usual,
        };
        let login = Login {
            user: said.user.clone(),
            port: said.port.map(NonZeroU16::get),
            identity_files: said.identity.clone(),
            agent: if said.no_agent {
                Agent::Ignore
            } else {
                Agent::Ask
            },
            default_keys: if said.no_keys {
                DefaultKeys::Leave
            } else {
                DefaultKeys::Try
            },
            forward_agent: said.forward_agent,
            gateway: said.gateway.clone(),
            known_hosts: said.known_hosts.clone(),
            host_keys: if said.accept_new_host_keys {
                HostKeys::AcceptNew
            } else {
                HostKeys::Strict
            },
            connect_timeout: said.timeout,
            attempts: said.connection_attempts.map(NonZeroU32::get),
            keepalive: said.keepalive,
        };
        HostsRequest {
            login,
            ssh_config,
            inventories: inventories.to_vec(),
            session: SessionOptions {
                home: home(global, output),
                allowed: global.allow.clone(),
                ..SessionOptions::default()
            },
        }
    }

    /// The hosts that can be named, and the ways to them. What is doubtful is shown.
    pub(in crate::cli) fn known_hosts(
        &self,
        inventories: &[PathBuf],
        global: &Global,
        output: &Output,
    ) -> Result<Rc<KnownHosts>, Failure> {
        let keys = &self.identity;
        if let Some(missing) = keys.iter().find(|file| !fs::is_file(file)) {
            let message = format!("there is no key file `{}`", missing.display());
            return Err(Failure::new(FailureKind::Usage, message, None));
        }
        let known = KnownHosts::read(&self.request(inventories, global, output))?;
        for (warnings, sources) in &known.warnings {
            output.diagnostics(warnings, sources);
        }
        Ok(Rc::new(known))
    }
}

impl HostOptions {
    /// What each action on a host goes through; none if nothing. What is doubtful is shown.
    pub(in crate::cli) fn chain(&self, output: &Output) -> Result<Option<Arc<Chain>>, Failure> {
        let order = &self.order;
        let (names, options) = (order.executors.as_deref(), order.executor_opts.as_deref());
        let mut configuration = ChainSpec::default();
        if let Some(user) = order.sudo.as_deref() {
            let user = Value::from(user);
            configuration.options.insert("sudo_user".into(), user);
        }
        let env = Env::of_this_process();
        let surroundings = Surroundings {
            folder: ".".into(),
            environment: env.all().clone().into_iter().collect(),
        };
        let asked = ChainSpec::parse(names, options)?;
        if asked.names.is_none() {
            return Ok(None);
        }
        let resolved = asked.resolve(&configuration, &surroundings)?;
        for warning in resolved.warnings {
            output.message(Level::Warning, &warning);
        }
        Ok(Some(Arc::new(resolved.chain)))
    }

    /// The hosts that can be named, and the ways to them. What is doubtful is shown.
    pub(in crate::cli) fn known_hosts(
        &self,
        global: &Global,
        output: &Output,
    ) -> Result<Rc<KnownHosts>, Failure> {
        let inventories = &self.choice.hosts_file;
        self.connection.known_hosts(inventories, global, output)
    }

    /// What a run over hosts is told by these options; variables and what it needs to know of this
    /// machine apart.
    pub(in crate::cli) fn options(&self) -> Result<Options, Failure> {
        let list = |option: &str, texts: &[String]| {
            let wrong = |problem: String| {
                Failure::new(FailureKind::Usage, format!("`{option}`: {problem}"), None)
            };
            items(texts).map_err(wrong)
        };
        let max_fail = if self.order.stop_on_first_failure {
            Some(MaxFail::Count(1))
        } else {
            self.order.max_fail
        };
        Ok(Options {
            scope: Scope {
                hosts: list("--hosts", &self.choice.hosts)?,
                roles: list("--roles", &self.choice.roles)?,
                exclude_hosts: list("--exclude-hosts", &self.choice.exclude_hosts)?,
            },
            switches: Switches {
                parallel: self.order.parallel,
                warn_only: self.order.warn_only,
                skip_bad_hosts: self.order.skip_bad_hosts,
                abort_on_prompts: self.order.abort_on_prompts,
                ..Switches::default()
            },
            pool_size: self.order.pool_size.map(NonZeroUsize::get),
            max_fail,
            command_timeout: self.order.command_timeout,
            user: self.connection.user.clone(),
            port: self.connection.port.map(NonZeroU16::get),
            ..Options::default()
        })
    }
}

/// The variables of `--set`: `name=value`, or `name` for true, separated by commas (F63).
pub(in crate::cli) fn set_variables(texts: &[String]) -> Result<Map, String> {
    let mut vars = Map::new();
    for item in items(texts)? {
        let (name, value) = match item.split_once('=') {
            Some((name, value)) => (name.trim(), Value::from(value)),
            None => (item.as_str(), Value::from(true)),
        };
        if name.is_empty() {
            return Err(format!("`--set`: \"{item}\" has no name"));
        }
        vars.insert(name.into(), value);
    }
    Ok(vars)
}

/// The items of options that hold lists: separated by commas, stripped (F21); an empty one is
/// named as such.
pub(in crate::cli) fn items(texts: &[String]) -> Result<Vec<String>, String> {
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
