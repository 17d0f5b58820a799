//! Resolves a host string to a location with all settings that a connection needs.
//!
//! [`LocationResolver`] looks up the host in `ssh_config`, adds the options of the command line and
//! resolves the jump hosts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::target::Error;
use super::target::{AgentUse, DefaultKeys, LoginOptions};
use super::target::{HostTarget, TargetRoute};
use crate::host::ssh_config::{
    ConfigContext, ForwardAgent, HostQuery, Jump, LocalConfigContext, LocalUser, LookupError,
    OfflineContext, Proxy, SshConfig, SshOptions, Strictness, TokenError, Tokens,
};
use crate::host::{
    Address, AddressError, AlgorithmSettings, Container, DEFAULT_PORT, Destination, DialSettings,
    HostKeyPolicy, HostParts, Identities, Location, LoginMethod, PASSWORD_VARIABLES, Route,
    check_host_name, check_user_name,
};
use crate::text::Glob;

/// The private keys that are tried if none are configured, as in OpenSSH.
const DEFAULT_KEYS: [&str; 5] = [
    "~/.ssh/id_rsa",
    "~/.ssh/id_ecdsa",
    "~/.ssh/id_ecdsa_sk",
    "~/.ssh/id_ed25519",
    "~/.ssh/id_ed25519_sk",
];
/// The known hosts files of the user if none are configured.
const USER_KNOWN_HOSTS: [&str; 2] = ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"];
const GLOBAL_KNOWN_HOSTS: [&str; 2] = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"];
/// The file that replaces the user's known hosts files if there are none.
const NO_FILE: &str = "/dev/null";
/// The maximum number of hosts on the route to another.
const MAX_JUMPS: usize = 16;
/// The default time limit of an attempt to connect (F44).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A resolver of host strings, for one user and one configuration.
#[derive(Debug)]
pub struct LocationResolver {
    config: SshConfig,
    login: LoginOptions,
    local: LocalUser,
    context: Box<dyn ConfigContext + Send>,
}

/// The role of a host on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HopRole {
    Target,
    /// The gateway of the option `-g`.
    Gateway,
    /// A jump host from the configuration or the inventory, which may have a route of its own.
    Jump,
    /// A jump host that is reached from the one before it. Its own route is ignored.
    Chained,
}

impl LocationResolver {
    /// Creates a resolver for the local user.
    pub fn new(config: SshConfig, login: LoginOptions, local: LocalUser) -> Self {
        let context = Box::new(LocalConfigContext::new(&local.env));
        Self {
            config,
            login,
            local,
            context,
        }
    }

    /// Makes the resolver run no command of the configuration and look up no name.
    #[must_use]
    pub fn offline(mut self) -> Self {
        self.context = Box::new(OfflineContext);
        self
    }

    /// Returns the location that a host string names.
    ///
    /// `@local` is the local machine; `@docker/NAME` and `@podman/NAME` are containers on it; any
    /// other host string is a host reached over SSH.
    pub fn locate(&self, host_string: &str) -> Result<Location, Error> {
        let text = host_string.trim();
        if text == "@local" {
            return Ok(Location::Local);
        }
        for engine in ["docker", "podman"] {
            let prefix = text
                .strip_prefix('@')
                .and_then(|rest| rest.strip_prefix(engine));
            if let Some(name) = prefix.and_then(|rest| rest.strip_prefix('/')) {
                return container(engine, name).ok_or_else(|| Error::Container(text.to_owned()));
            }
        }
        if text.starts_with('@') && text.contains('/') {
            return Err(Error::Container(text.to_owned()));
        }
        self.locate_target(&HostTarget::parse(text)?)
    }

    /// Returns the location of a host with more settings than its host string has.
    pub fn locate_target(&self, target: &HostTarget) -> Result<Location, Error> {
        let destination = self.resolve(target, HopRole::Target, &mut Vec::new())?;
        Ok(Location::Ssh(Arc::new(destination)))
    }

    fn resolve(
        &self,
        target: &HostTarget,
        part: HopRole,
        path: &mut Vec<String>,
    ) -> Result<Destination, Error> {
        let refused = |source: LookupError| Error::Config {
            host: target.name.clone(),
            source,
        };
        let default_user = match part {
            HopRole::Target | HopRole::Gateway => self.login.user.as_deref(),
            HopRole::Jump | HopRole::Chained => None,
        };
        let port = self.login.port.filter(|_| part == HopRole::Target);
        let query = HostQuery {
            host: &target.host,
            user: target.user.as_deref().or(default_user),
            port: target.port.or(port),
        };
        // `Match exec` runs during the look-up, so the names must be checked before.
        check_query(query)?;
        let options = self
            .config
            .lookup(query, &self.local, self.context.as_ref());
        let options = options.map_err(refused)?;
        let address = self.address(&options)?;
        let tokens = Tokens {
            local: &self.local,
            host: &address.host,
            original: &target.host,
            port: address.port,
            user: &address.user,
            key_alias: options.host_key_alias.as_deref().unwrap_or(&target.host),
            jumps: &format_jumps(&options),
        };
        let mut destination = Destination::new(&target.name, address.clone());
        self.build_destination(&mut destination, target, &options, &tokens)
            .map_err(|error| refused(error.into()))?;
        if part == HopRole::Chained {
            return Ok(destination);
        }
        let proxy_route = match &target.route {
            Some(TargetRoute::Jumps(hosts)) => {
                let hosts = hosts.iter().map(|text| HostTarget::parse(text));
                ProxyRoute::Jumps(hosts.collect::<Result<_, _>>()?)
            }
            _ => proxy_route(target, &options, &tokens).map_err(|error| refused(error.into()))?,
        };
        push_hop(path, address.to_string())?;
        destination.route = self.route(proxy_route, part, &address, path)?;
        path.pop();
        Ok(destination)
    }

    fn address(&self, options: &SshOptions) -> Result<Address, Error> {
        let parts = HostParts {
            host: Some(options.host.clone()),
            user: options.user.clone(),
            port: None,
        };
        let port = options.port.unwrap_or(DEFAULT_PORT);
        let shown = match &options.user {
            Some(user) => format!("{user}@{}", options.host),
            None => options.host.clone(),
        };
        Ok(parts.address(&shown, &self.local.user, port)?)
    }

    /// Sets all properties of a destination except its route.
    fn build_destination(
        &self,
        destination: &mut Destination,
        target: &HostTarget,
        options: &SshOptions,
        tokens: &Tokens<'_>,
    ) -> Result<(), TokenError> {
        let login = &self.login;
        destination
            .host_key_alias
            .clone_from(&options.host_key_alias);
        destination
            .host_key_algorithms
            .clone_from(&options.host_key_algorithms);
        let is_lenient = matches!(
            options.strict_host_keys,
            Some(Strictness::AcceptNew | Strictness::No)
        );
        destination.host_key_policy = if is_lenient {
            HostKeyPolicy::AcceptNew
        } else {
            login.host_keys
        };
        destination.algorithms = AlgorithmSettings {
            kex: options.kex_algorithms.clone(),
            ciphers: options.ciphers.clone(),
            macs: options.macs.clone(),
            pubkey: options.pubkey_algorithms.clone(),
        };
        let command = options.known_hosts_command.as_deref();
        let command = command.filter(|text| !text.eq_ignore_ascii_case("none"));
        if let Some(command) = command {
            destination.known_hosts_command = tokens.known_hosts_command(command)?;
        }
        destination.environment = self.environment(options);
        destination.dial = DialSettings {
            family: options.address_family.unwrap_or_default(),
            bind_address: options.bind_address.clone(),
            bind_interface: options.bind_interface.clone(),
        };
        if let Some(max) = options.server_alive_count_max {
            destination.keepalive_max = usize::try_from(max).unwrap_or(usize::MAX);
        }
        destination.known_hosts = self.known_hosts(options, tokens)?;
        destination.identities = self.identities(target, options, tokens)?;
        destination.sudo_password.clone_from(&target.sudo_password);
        let is_forwarded = !matches!(options.forward_agent, None | Some(ForwardAgent::No));
        destination.forward_agent = login.forward_agent || is_forwarded;
        destination.raw = target.raw;
        let some = |time: &Duration| !time.is_zero();
        let limit = login.connect_timeout.or(options.connect_timeout);
        destination.connect_timeout = limit.filter(some).unwrap_or(CONNECT_TIMEOUT);
        let attempts = login.attempts.or(options.connection_attempts);
        destination.attempts = attempts.unwrap_or(1).max(1);
        let alive = login.keepalive.or(options.server_alive_interval);
        destination.keepalive = alive.filter(some);
        Ok(())
    }

    /// Returns the variables that the host gets: those of this machine that `SendEnv` names, then those of `SetEnv`.
    fn environment(&self, options: &SshOptions) -> Vec<(String, String)> {
        let patterns: Vec<Glob> = options
            .send_env
            .iter()
            .map(|it| Glob::without_brackets(it))
            .collect();
        let all = self.local.env.all().iter().filter(|(name, _)| {
            !PASSWORD_VARIABLES.contains(&name.as_str())
                && patterns.iter().any(|pattern| pattern.matches(name))
        });
        let sent = all.map(|(name, value)| (name.clone(), value.clone()));
        sent.chain(options.set_env.clone().unwrap_or_default())
            .collect()
    }

    fn known_hosts(
        &self,
        options: &SshOptions,
        tokens: &Tokens<'_>,
    ) -> Result<Vec<PathBuf>, TokenError> {
        let usual = |files: [&str; 2]| files.map(str::to_owned).to_vec();
        let mut files = match (&self.login.known_hosts, &options.user_known_hosts) {
            (Some(file), _) => vec![file.clone()],
            (None, files) => {
                let files = files.clone().unwrap_or_else(|| usual(USER_KNOWN_HOSTS));
                let paths = files.iter().map(|file| tokens.path(file));
                paths.collect::<Result<Vec<_>, _>>()?
            }
        };
        // New keys go into the first file, which must not be the system-wide one.
        if files.is_empty() {
            files.push(NO_FILE.into());
        }
        let global = options.global_known_hosts.clone();
        let global = global.unwrap_or_else(|| usual(GLOBAL_KNOWN_HOSTS));
        files.extend(global.into_iter().map(PathBuf::from));
        Ok(files)
    }

    fn identities(
        &self,
        target: &HostTarget,
        options: &SshOptions,
        tokens: &Tokens<'_>,
    ) -> Result<Identities, TokenError> {
        let mut files = self.login.identity_files.clone();
        let named = target.identity_files.iter().chain(&options.identity_files);
        let mut is_any_named = !files.is_empty();
        for file in named {
            is_any_named = true;
            if !file.eq_ignore_ascii_case("none") {
                files.push(tokens.path(file)?);
            }
        }
        if !is_any_named && self.login.default_keys == DefaultKeys::Try {
            for file in DEFAULT_KEYS {
                files.push(tokens.path(file)?);
            }
        }
        let mut certificates = Vec::new();
        for file in &options.certificate_files {
            if !file.eq_ignore_ascii_case("none") {
                certificates.push(tokens.path(file)?);
            }
        }
        Ok(Identities {
            methods: login_methods(options),
            is_batch: options.batch_mode == Some(true),
            password_prompts: options
                .password_prompts
                .unwrap_or(Identities::PASSWORD_PROMPTS),
            refusals: 0,
            agent: self.agent(options, tokens)?,
            only_listed: options.identities_only == Some(true),
            files,
            certificates,
            passphrase: target.passphrase.clone(),
            password: target.password.clone(),
        })
    }

    fn agent(
        &self,
        options: &SshOptions,
        tokens: &Tokens<'_>,
    ) -> Result<Option<PathBuf>, TokenError> {
        if self.login.agent == AgentUse::Ignore {
            return Ok(None);
        }
        let variable = |name: &str| self.local.env.non_empty(name).map(PathBuf::from);
        Ok(match options.identity_agent.as_deref() {
            None | Some("SSH_AUTH_SOCK") => variable("SSH_AUTH_SOCK"),
            Some("none") => None,
            Some(text) => match text.strip_prefix('$') {
                Some(name) if !name.starts_with('{') => variable(name),
                _ => Some(tokens.path(text)?),
            },
        })
    }

    /// Returns the route for a proxy setting, with the gateway in front.
    fn route(
        &self,
        proxy_route: ProxyRoute,
        part: HopRole,
        own: &Address,
        path: &mut Vec<String>,
    ) -> Result<Route, Error> {
        let mut hops = match &self.login.gateway {
            Some(gateway) if part != HopRole::Gateway => {
                let gateway = self.resolve(
                    &HostTarget::parse(gateway)?,
                    HopRole::Gateway,
                    &mut Vec::new(),
                )?;
                // The gateway itself needs no gateway. A jump host needs none either, as the
                // gateway comes before all of the jumps.
                if gateway.address == *own || part == HopRole::Jump {
                    Vec::new()
                } else {
                    flatten_jumps(gateway)
                }
            }
            _ => Vec::new(),
        };
        let targets = match proxy_route {
            ProxyRoute::Command(command) if hops.is_empty() => return Ok(Route::Command(command)),
            // A gateway on the command line overrides a `ProxyCommand` of the configuration.
            ProxyRoute::Direct | ProxyRoute::Command(_) => Vec::new(),
            ProxyRoute::Jumps(targets) => targets,
        };
        let has_gateway = !hops.is_empty();
        for (at, target) in targets.iter().enumerate() {
            let part = if at == 0 {
                HopRole::Jump
            } else {
                HopRole::Chained
            };
            let hop = self.resolve(target, part, path)?;
            for mut hop in flatten_jumps(hop) {
                if has_gateway && hops.iter().any(|before| before.address == hop.address) {
                    continue;
                }
                if !hops.is_empty() {
                    hop.route = Route::Direct;
                }
                hops.push(hop);
            }
        }
        Ok(if hops.is_empty() {
            Route::Direct
        } else {
            Route::Jumps(hops.into_iter().map(Arc::new).collect())
        })
    }
}

/// Returns the methods of the login in the order of `PreferredAuthentications`, without those that are switched off.
fn login_methods(options: &SshOptions) -> Vec<LoginMethod> {
    let is_on = |method: &LoginMethod| {
        let switch = match method {
            LoginMethod::PublicKey => options.pubkey_authentication,
            LoginMethod::Password => options.password_authentication,
            LoginMethod::KeyboardInteractive => options.keyboard_interactive_authentication,
        };
        switch != Some(false)
    };
    let Some(preferred) = &options.preferred_authentications else {
        return LoginMethod::ALL.into_iter().filter(is_on).collect();
    };
    let named = |name: &str| {
        LoginMethod::ALL
            .into_iter()
            .find(|method| method.name() == name)
    };
    preferred
        .split(',')
        .filter_map(named)
        .filter(is_on)
        .collect()
}

/// The proxy setting of a host.
enum ProxyRoute {
    Direct,
    Jumps(Vec<HostTarget>),
    Command(String),
}

/// Returns the proxy setting of the target or, if it has none, of `ssh_config`.
fn proxy_route(
    target: &HostTarget,
    options: &SshOptions,
    tokens: &Tokens<'_>,
) -> Result<ProxyRoute, TokenError> {
    let command = match (&target.route, &options.proxy) {
        (Some(TargetRoute::Command(command)), _) | (None, Some(Proxy::Command(command))) => command,
        (None, Some(Proxy::Jumps(jumps))) => {
            let targets = jumps.iter().map(|jump| jump_target(jump, tokens));
            return targets.collect::<Result<_, _>>().map(ProxyRoute::Jumps);
        }
        (Some(TargetRoute::Jumps(_)), _) | (None, Some(Proxy::None) | None) => {
            return Ok(ProxyRoute::Direct);
        }
    };
    tokens.proxy_command(command).map(ProxyRoute::Command)
}

fn jump_target(jump: &Jump, tokens: &Tokens<'_>) -> Result<HostTarget, TokenError> {
    let host = tokens.proxy_jump(&jump.host)?;
    let user = jump.user.as_deref().map(|user| tokens.proxy_jump(user));
    Ok(HostTarget {
        name: host.clone(),
        host,
        user: user.transpose()?,
        port: jump.port,
        ..HostTarget::default()
    })
}

/// Flattens a host and its jump hosts into one list, each reached from the one before.
fn flatten_jumps(mut hop: Destination) -> Vec<Destination> {
    let before = match &hop.route {
        Route::Jumps(hosts) => hosts.iter().map(|host| host.as_ref().clone()).collect(),
        Route::Direct | Route::Command(_) => Vec::new(),
    };
    if !before.is_empty() {
        hop.route = Route::Direct;
    }
    before.into_iter().chain([hop]).collect()
}

fn format_jumps(options: &SshOptions) -> String {
    let Some(Proxy::Jumps(jumps)) = &options.proxy else {
        return String::new();
    };
    let jumps: Vec<String> = jumps.iter().map(ToString::to_string).collect();
    jumps.join(",")
}

/// Checks the names of a look-up.
fn check_query(query: HostQuery<'_>) -> Result<(), AddressError> {
    let user = query.user.map_or(Ok(()), check_user_name);
    user.and_then(|()| check_host_name(query.host))
        .map_err(|problem| AddressError::Name {
            text: match query.user {
                Some(user) => format!("{user}@{}", query.host),
                None => query.host.to_owned(),
            },
            problem,
        })
}

/// Returns a container of the local machine. None if the name cannot be that of a container.
fn container(engine: &str, name: &str) -> Option<Location> {
    check_host_name(name).ok()?;
    Some(Location::Container(Arc::new(Container {
        name: name.to_owned(),
        engine: engine.to_owned(),
        location: Location::Local,
    })))
}

/// Adds a host to the route that is being resolved.
///
/// Fails if the host is already on it, or if the route becomes too long.
fn push_hop(path: &mut Vec<String>, place: String) -> Result<(), Error> {
    let is_circle = path.contains(&place);
    path.push(place);
    if is_circle {
        return Err(Error::Cycle {
            path: std::mem::take(path),
        });
    }
    if path.len() > MAX_JUMPS {
        return Err(Error::TooManyJumps {
            host: path.swap_remove(0),
            max: MAX_JUMPS,
        });
    }
    Ok(())
}
