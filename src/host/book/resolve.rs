//! Decides everything about a host that a connection needs to know.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::target::Error;
use super::target::{Agent, DefaultKeys, Login};
use super::target::{Target, Via};
use crate::host::ssh_config::{
    Config, ForwardAgent, Jump, Local, LookupError, Machine, Options, Proxy, Query, TokenError,
    Tokens, World,
};
use crate::host::{
    Address, Container, DEFAULT_PORT, Destination, HostParts, Identities, Place, Route,
};

/// The keys that are tried where no file is named, as OpenSSH does.
const DEFAULT_KEYS: [&str; 5] = [
    "~/.ssh/id_rsa",
    "~/.ssh/id_ecdsa",
    "~/.ssh/id_ecdsa_sk",
    "~/.ssh/id_ed25519",
    "~/.ssh/id_ed25519_sk",
];
/// The files of known hosts where none is named.
const USER_KNOWN_HOSTS: [&str; 2] = ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"];
const GLOBAL_KNOWN_HOSTS: [&str; 2] = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"];
/// What takes the place of the user's file of known hosts where there is none.
const NO_FILE: &str = "/dev/null";
/// How many hosts may be passed on the way to another.
const MOST_JUMPS: usize = 16;
/// How long an attempt to connect may take where nobody says (F44).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Knows how each host is reached.
#[derive(Debug)]
pub struct Book {
    config: Config,
    login: Login,
    local: Local,
    world: Box<dyn World + Send>,
}

/// What a host is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Where it leads.
    End,
    /// The host of `-g`.
    Gateway,
    /// Passed, for the configuration or the inventory says so.
    Jump,
    /// Passed, and reached from the one before it: its own way does not count.
    Next,
}

impl Book {
    /// A book for this user on this machine.
    pub fn new(config: Config, login: Login, local: Local) -> Self {
        let world = Box::new(Machine::new(&local.env));
        Self {
            config,
            login,
            local,
            world,
        }
    }

    /// The place that a host string names: `@local` is this machine, `@docker/NAME` and
    /// `@podman/NAME` are containers on it, all else is a host that is reached over SSH.
    pub fn place(&self, host_string: &str) -> Result<Place, Error> {
        let text = host_string.trim();
        if text == "@local" {
            return Ok(Place::Here);
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
        self.place_of(&Target::of(text)?)
    }

    /// The place of a host of which more is known than its string.
    pub fn place_of(&self, target: &Target) -> Result<Place, Error> {
        let destination = self.resolve(target, Part::End, &mut Vec::new())?;
        Ok(Place::Ssh(Arc::new(destination)))
    }

    fn resolve(
        &self,
        target: &Target,
        part: Part,
        path: &mut Vec<String>,
    ) -> Result<Destination, Error> {
        let refused = |source: LookupError| Error::Config {
            host: target.name.clone(),
            source,
        };
        let given = match part {
            Part::End | Part::Gateway => self.login.user.as_deref(),
            Part::Jump | Part::Next => None,
        };
        let port = self.login.port.filter(|_| part == Part::End);
        let query = Query {
            host: &target.host,
            user: target.user.as_deref().or(given),
            port: target.port.or(port),
        };
        let options = self.config.lookup(query, &self.local, self.world.as_ref());
        let options = options.map_err(refused)?;
        let address = self.address(&options)?;
        let tokens = Tokens {
            local: &self.local,
            host: &address.host,
            original: &target.host,
            port: address.port,
            user: &address.user,
            key_alias: options.host_key_alias.as_deref().unwrap_or(&target.host),
            jumps: &jumps_shown(&options),
        };
        let mut destination = Destination::new(&target.name, address.clone());
        self.fill(&mut destination, target, &options, &tokens)
            .map_err(|error| refused(error.into()))?;
        if part == Part::Next {
            return Ok(destination);
        }
        let way = match &target.via {
            Some(Via::Jumps(hosts)) => {
                let hosts = hosts.iter().map(|text| Target::of(text));
                Way::Jumps(hosts.collect::<Result<_, _>>()?)
            }
            _ => way(target, &options, &tokens).map_err(|error| refused(error.into()))?,
        };
        go_on(path, address.to_string())?;
        destination.route = self.route(way, part, &address, path)?;
        path.pop();
        Ok(destination)
    }

    fn address(&self, options: &Options) -> Result<Address, Error> {
        let parts = HostParts {
            host: Some(options.host.clone()),
            user: options.user.clone(),
            port: None,
        };
        let port = options.port.unwrap_or(DEFAULT_PORT);
        Ok(parts.address(&options.host, &self.local.user, port)?)
    }

    /// Everything but the way.
    fn fill(
        &self,
        destination: &mut Destination,
        target: &Target,
        options: &Options,
        tokens: &Tokens<'_>,
    ) -> Result<(), TokenError> {
        let login = &self.login;
        destination
            .host_key_alias
            .clone_from(&options.host_key_alias);
        destination.host_keys = login.host_keys;
        destination.known_hosts = self.known_hosts(options, tokens)?;
        destination.identities = self.identities(target, options, tokens)?;
        let is_forwarded = !matches!(options.forward_agent, None | Some(ForwardAgent::No));
        destination.forward_agent = login.forward_agent || is_forwarded;
        let some = |time: &Duration| !time.is_zero();
        let limit = login.connect_timeout.or(options.connect_timeout);
        destination.connect_timeout = limit.filter(some).unwrap_or(CONNECT_TIMEOUT);
        let attempts = login.attempts.or(options.connection_attempts);
        destination.attempts = attempts.unwrap_or(1).max(1);
        let alive = login.keepalive.or(options.server_alive_interval);
        destination.keepalive = alive.filter(some);
        Ok(())
    }

    fn known_hosts(
        &self,
        options: &Options,
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
        // The first one is written to, and that must not be one of all users.
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
        target: &Target,
        options: &Options,
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
            agent: self.agent(options, tokens)?,
            only_files: options.identities_only == Some(true),
            files,
            certificates,
            passphrase: None,
            password: target.password.clone(),
        })
    }

    fn agent(&self, options: &Options, tokens: &Tokens<'_>) -> Result<Option<PathBuf>, TokenError> {
        if self.login.agent == Agent::Ignore {
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

    /// The route of a way, with the gateway before it.
    fn route(
        &self,
        way: Way,
        part: Part,
        own: &Address,
        path: &mut Vec<String>,
    ) -> Result<Route, Error> {
        let mut hops = match &self.login.gateway {
            Some(gateway) if part != Part::Gateway => {
                let gateway =
                    self.resolve(&Target::of(gateway)?, Part::Gateway, &mut Vec::new())?;
                // Nobody passes the gateway to reach the gateway, and it is passed first.
                if gateway.address == *own || part == Part::Jump {
                    Vec::new()
                } else {
                    flat(gateway)
                }
            }
            _ => Vec::new(),
        };
        let targets = match way {
            Way::Command(command) if hops.is_empty() => return Ok(Route::Command(command)),
            // What the command line says goes before the command of the configuration.
            Way::Straight | Way::Command(_) => Vec::new(),
            Way::Jumps(targets) => targets,
        };
        let has_gateway = !hops.is_empty();
        for (at, target) in targets.iter().enumerate() {
            let part = if at == 0 { Part::Jump } else { Part::Next };
            let hop = self.resolve(target, part, path)?;
            for mut hop in flat(hop) {
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

/// What stands between this machine and a host.
enum Way {
    Straight,
    Jumps(Vec<Target>),
    Command(String),
}

/// The way that a command or the configuration gives.
fn way(target: &Target, options: &Options, tokens: &Tokens<'_>) -> Result<Way, TokenError> {
    let command = match (&target.via, &options.proxy) {
        (Some(Via::Command(command)), _) | (None, Some(Proxy::Command(command))) => command,
        (None, Some(Proxy::Jumps(jumps))) => {
            let targets = jumps.iter().map(|jump| passed(jump, tokens));
            return targets.collect::<Result<_, _>>().map(Way::Jumps);
        }
        (Some(Via::Jumps(_)), _) | (None, Some(Proxy::None) | None) => return Ok(Way::Straight),
    };
    tokens.proxy_command(command).map(Way::Command)
}

fn passed(jump: &Jump, tokens: &Tokens<'_>) -> Result<Target, TokenError> {
    let host = tokens.proxy(&jump.host)?;
    let user = jump.user.as_deref().map(|user| tokens.proxy(user));
    Ok(Target {
        name: host.clone(),
        host,
        user: user.transpose()?,
        port: jump.port,
        ..Target::default()
    })
}

/// A host and those before it, each reached from the one before.
fn flat(mut hop: Destination) -> Vec<Destination> {
    let before = match &hop.route {
        Route::Jumps(hosts) => hosts.iter().map(|host| host.as_ref().clone()).collect(),
        Route::Direct | Route::Command(_) => Vec::new(),
    };
    if !before.is_empty() {
        hop.route = Route::Direct;
    }
    before.into_iter().chain([hop]).collect()
}

fn jumps_shown(options: &Options) -> String {
    let Some(Proxy::Jumps(jumps)) = &options.proxy else {
        return String::new();
    };
    let jumps: Vec<String> = jumps.iter().map(ToString::to_string).collect();
    jumps.join(",")
}

fn container(engine: &str, name: &str) -> Option<Place> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    if name.is_empty() || name.starts_with('-') || name.contains(is_odd) {
        return None;
    }
    Some(Place::Container(Arc::new(Container {
        name: name.to_owned(),
        engine: engine.to_owned(),
        on: Place::Here,
    })))
}

/// Adds a place to the way to another. No way leads to one twice, or over too many.
fn go_on(path: &mut Vec<String>, place: String) -> Result<(), Error> {
    let is_circle = path.contains(&place);
    path.push(place);
    if is_circle {
        return Err(Error::Circle {
            path: std::mem::take(path),
        });
    }
    if path.len() > MOST_JUMPS {
        return Err(Error::Far {
            host: path.swap_remove(0),
            most: MOST_JUMPS,
        });
    }
    Ok(())
}
