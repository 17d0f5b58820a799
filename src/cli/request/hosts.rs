//! Builds requests for runs over hosts from the options of the command line.
//!
//! [`HostOptions`] and its parts are turned into scopes, connection settings and `TaskOptions`.

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use crate::cli::args::host::{HostChoice, HostConnection, HostOptions, HostOrder};
use crate::cli::output::{Context, Output};
use crate::cli::prompt::{self, AnswerSource, NoTerminal};
use crate::cli::request::session::home;
use crate::diagnostic::Sources;
use crate::fleet::hosts::FleetHosts;
use crate::host::resolver::{AgentUse, DefaultKeys, LoginOptions};
use crate::host::ssh_config::SshConfigFiles;
use crate::host::{
    ChainSpec, ExecutorChain, ExecutorConfiguration, ExecutorEnvironment, HostKeyPolicy,
    PoolLimits, Secret,
};
use crate::job::LogLevel;
use crate::ops::hosts::{HostsRequest, known_hosts};
use crate::ops::{Failure, SessionOptions};
use crate::system::env::Env;
use crate::system::fs;
use crate::system::signals::Interrupts;
use crate::tasks::{ConnectionSettings, HostScope, MaxFail, Switches, TaskOptions};
use crate::value::{Map, Value};

impl HostConnection {
    /// Returns the request to gather known hosts with these options (F46 to F48, F55 to F60).
    pub(in crate::cli) fn request(&self, inventories: &[PathBuf], cx: &Context) -> HostsRequest {
        let connection = self;
        let ssh_config = match &connection.ssh_config_path {
            _ if connection.no_ssh_config => SshConfigFiles::None,
            Some(path) => SshConfigFiles::Only(path.clone()),
            None => SshConfigFiles::Default,
        };
        let login = LoginOptions {
            user: connection.user.clone(),
            port: connection.port.map(NonZeroU16::get),
            identity_files: connection.identity.clone(),
            agent: if connection.no_agent {
                AgentUse::Ignore
            } else {
                AgentUse::Use
            },
            default_keys: if connection.no_keys {
                DefaultKeys::Skip
            } else {
                DefaultKeys::Try
            },
            forward_agent: connection.forward_agent,
            gateway: connection.gateway.clone(),
            known_hosts: connection.known_hosts.clone(),
            host_keys: if connection.accept_new_host_keys {
                HostKeyPolicy::AcceptNew
            } else {
                HostKeyPolicy::Strict
            },
            connect_timeout: connection.timeout,
            attempts: connection.connection_attempts.map(NonZeroU32::get),
            keepalive: connection.keepalive,
        };
        HostsRequest {
            login,
            ssh_config,
            inventories: inventories.to_vec(),
            session: SessionOptions {
                home: home(cx),
                allowed: cx.global.allow.clone(),
                ..SessionOptions::default()
            },
        }
    }

    /// Returns the limits of connections to hosts.
    pub(in crate::cli) fn pool_limits(&self) -> PoolLimits {
        let usual = PoolLimits::default();
        PoolLimits {
            handshakes: self
                .max_connecting
                .map_or(usual.handshakes, NonZeroUsize::get),
            ..usual
        }
    }

    /// Gathers the hosts that can be named and how to reach them, with the passwords that the options give.
    ///
    /// Prints warnings about the files that were read.
    pub(in crate::cli) fn fleet_hosts(
        &self,
        inventories: &[PathBuf],
        source: AnswerSource,
        cx: &Context,
    ) -> Result<Rc<FleetHosts>, Failure> {
        let keys = &self.identity;
        if let Some(missing) = keys.iter().find(|file| !fs::is_file(file)) {
            let message = format!("there is no key file `{}`", missing.display());
            return Err(Failure::usage(message));
        }
        let mut known = known_hosts(&self.request(inventories, cx))?;
        for (warnings, sources) in &known.warnings {
            cx.output.diagnostics(warnings, sources);
        }
        if cx.output.level <= LogLevel::Verbose {
            let (notes, sources) = &known.notes;
            cx.output.diagnostics(notes, sources);
        }
        // Without a terminal, the first lines of the standard input are answers.
        let mut ask = |question: &str| {
            let interrupts = Interrupts::default();
            let at_terminal = match source {
                AnswerSource::Stdin => Err(NoTerminal),
                AnswerSource::Terminal => prompt::terminal_line(question, true, &interrupts),
            };
            let on_stdin = || prompt::line(question, true, &interrupts, &cx.output);
            at_terminal
                .unwrap_or_else(|NoTerminal| on_stdin())
                .map(Secret::new)
        };
        let sources = self.passwords.sources();
        let env = Env::of_this_process();
        let (passwords, warnings) = sources.read(&env, &known.environment_passwords, &mut ask)?;
        cx.output.diagnostics(&warnings, &Sources::default());
        known.passwords = passwords;
        Ok(Rc::new(known))
    }
}

impl HostChoice {
    /// Returns the named hosts and roles, and the excluded hosts.
    pub(in crate::cli) fn scope(&self) -> Result<HostScope, Failure> {
        let list = |option: &str, texts: &[String]| {
            let wrong = |problem: String| Failure::usage(format!("`{option}`: {problem}"));
            items(texts).map_err(wrong)
        };
        Ok(HostScope {
            hosts: list("--hosts", &self.hosts)?,
            roles: list("--roles", &self.roles)?,
            exclude_hosts: list("--exclude-hosts", &self.exclude_hosts)?,
        })
    }
}

impl HostOrder {
    /// Returns the user of `--sudo` for a single step. With `--executors`, the chain itself has `sudo`.
    pub(in crate::cli) fn sudo_of_step(&self) -> Option<String> {
        self.sudo.clone().filter(|_| self.executors.is_none())
    }
}

/// The executors that the command line requests.
pub(in crate::cli) struct ExecutorRequest<'a> {
    pub(in crate::cli) names: Option<&'a str>,
    pub(in crate::cli) options: Option<&'a str>,
    /// The user of `--sudo`.
    pub(in crate::cli) sudo: Option<&'a str>,
}

impl ExecutorRequest<'_> {
    /// Builds the executor chain. See [`HostOptions::chain`].
    pub(in crate::cli) fn chain(
        &self,
        configured: &[&ExecutorConfiguration],
        output: &Output,
    ) -> Result<Option<Arc<ExecutorChain>>, Failure> {
        let mut configuration = ChainSpec::merged(configured.iter().map(|it| &it.spec));
        let requested = ChainSpec::parse(self.names, self.options)?;
        let is_configured = configuration.names.is_some()
            || configuration
                .options
                .keys()
                .any(|name| &**name == "sudo_user");
        if requested.names.is_none() && !is_configured {
            return Ok(None);
        }
        if let Some(user) = self.sudo {
            let user = Value::from(user);
            configuration.options.insert("sudo_user".into(), user);
        }
        let env = Env::of_this_process();
        let environment = ExecutorEnvironment {
            folder: ".".into(),
            other_folders: configured.iter().map(|it| it.folder.clone()).collect(),
            environment: env.all().clone().into_iter().collect(),
        };
        let resolved = requested.resolve(&configuration, &environment)?;
        for warning in resolved.warnings {
            output.message(LogLevel::Warning, &warning);
        }
        Ok(Some(Arc::new(resolved.chain)))
    }
}

impl HostOptions {
    /// Builds the executor chain that each action on a host goes through.
    ///
    /// `configured` has the configurations, the strongest first. None if neither they nor the options name executors.
    /// Prints warnings about options.
    pub(in crate::cli) fn chain(
        &self,
        configured: &[&ExecutorConfiguration],
        output: &Output,
    ) -> Result<Option<Arc<ExecutorChain>>, Failure> {
        let order = &self.order;
        let requested = ExecutorRequest {
            names: order.executors.as_deref(),
            options: order.executor_opts.as_deref(),
            sudo: order.sudo.as_deref(),
        };
        requested.chain(configured, output)
    }

    /// Gathers the hosts that can be named and how to reach them.
    ///
    /// Prints warnings about the files that were read.
    pub(in crate::cli) fn fleet_hosts(
        &self,
        source: AnswerSource,
        cx: &Context,
    ) -> Result<Rc<FleetHosts>, Failure> {
        let inventories = &self.choice.hosts_file;
        self.connection.fleet_hosts(inventories, source, cx)
    }

    /// Returns the options of a run of tasks, with the patterns of hosts and roles expanded.
    ///
    /// Variables and the facts about this machine are not set here.
    pub(in crate::cli) fn options(&self, known: &FleetHosts) -> Result<TaskOptions, Failure> {
        let max_fail = if self.order.stop_on_first_failure {
            Some(MaxFail::Count(1))
        } else {
            self.order.max_fail
        };
        Ok(TaskOptions {
            scope: known.expand(self.choice.scope()?)?,
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
            capture: self.order.capture.map(|size| size as u64),
            user: self.connection.user.clone(),
            port: self.connection.port.map(NonZeroU16::get),
            passwords: known.passwords.clone(),
            connection: ConnectionSettings {
                port: self.connection.port.map(NonZeroU16::get),
                timeout: self.connection.timeout,
                attempts: self.connection.connection_attempts.map(NonZeroU32::get),
                keepalive: self.connection.keepalive,
                ..ConnectionSettings::default()
            },
            ..TaskOptions::default()
        })
    }
}

/// Parses the variables of `--set`: `name=value`, or `name` for true, separated by commas (F63).
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

/// Splits list options at commas and trims the items (F21).
///
/// An empty item is an error that quotes the option's text.
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
