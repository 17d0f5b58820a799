//! A host as people write it, how to log in there, and what is wrong with it.

use std::path::PathBuf;
use std::time::Duration;

use crate::host::ssh_config::LookupError;
use crate::host::{AddressError, HostKeys, HostParts, Secret};

/// A host that is meant. What is left out is left to the command line and `ssh_config`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostTarget {
    /// How people call it.
    pub name: String,
    /// Its name or address, which is looked up in `ssh_config`.
    pub host: String,
    /// The user to log in as.
    pub user: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// Files with private keys; `~` is the user's home.
    pub identity_files: Vec<String>,
    /// The password of the user.
    pub password: Option<Secret>,
    /// How it is reached, whatever `ssh_config` says.
    pub via: Option<TargetRoute>,
}

/// How a host is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetRoute {
    /// Through the hosts of these strings, in order.
    Jumps(Vec<String>),
    /// Through a command, with the placeholders of `ProxyCommand`.
    Command(String),
}

impl HostTarget {
    /// The host that a host string names.
    pub fn of(text: &str) -> Result<Self, Error> {
        let parts = HostParts::parse(text);
        // Checks all parts; what it fills in does not matter.
        let address = parts.address(text, "user", crate::host::DEFAULT_PORT)?;
        Ok(Self {
            name: text.to_owned(),
            host: address.host,
            user: parts.user,
            port: parts.port.map(|_| address.port),
            ..Self::default()
        })
    }
}

/// What the command line may say about all hosts. What is left out is left to `ssh_config`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginOptions {
    /// The user of hosts whose string names none, and of the gateway (`-u`, F56).
    pub user: Option<String>,
    /// The port of hosts whose string names none; not of those that are passed on the way (F57).
    pub port: Option<u16>,
    /// Files with private keys, tried before those of `ssh_config` (`-i`, F59).
    pub identity_files: Vec<PathBuf>,
    /// Whether the agent is asked (`-a`, F46).
    pub agent: AgentUse,
    /// Whether the usual keys are tried where no file is named (`-k`, F46).
    pub default_keys: DefaultKeys,
    /// Whether what runs there may use the agent; `ssh_config` may say so too (`-A`, F60).
    pub forward_agent: bool,
    /// A host string: one more host that is passed, before those of `ssh_config` (`-g`, F48).
    pub gateway: Option<String>,
    /// The file of known hosts of the user, instead of those that `ssh_config` names.
    pub known_hosts: Option<PathBuf>,
    /// What is done with the keys of hosts that nobody knows. `ssh_config` cannot loosen it (F47).
    pub host_keys: HostKeys,
    /// How long an attempt to connect may take (F44).
    pub connect_timeout: Option<Duration>,
    /// How often connecting is tried (F44).
    pub attempts: Option<u32>,
    /// How often a host has to answer that it is there; zero for never (F46).
    pub keepalive: Option<Duration>,
}

/// Whether the agent is asked for keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentUse {
    /// It is, if there is one.
    #[default]
    Use,
    /// It is not.
    Ignore,
}

/// Whether the usual keys are tried where no file is named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DefaultKeys {
    /// They are: `~/.ssh/id_rsa` and those of the other kinds.
    #[default]
    Try,
    /// They are not.
    Skip,
}

/// Why a host string names no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no host string.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The configuration of the host cannot be followed.
    #[error("the ssh_config of `{host}`: {source}")]
    Config {
        /// The host.
        host: String,
        /// Why not.
        source: LookupError,
    },
    /// The way to a host leads through itself.
    #[error("the way to `{}` leads in a circle: {}", first(.path), .path.join(" → "))]
    Cycle {
        /// The hosts, each reached through the next one; the last one is among them before.
        path: Vec<String>,
    },
    /// A way that leads on and on.
    #[error("the way to `{host}` passes more than {max} hosts")]
    TooManyJumps {
        /// The host.
        host: String,
        /// How many may be passed.
        max: usize,
    },
    /// Something after `@` that is none of the places that have such names.
    #[error("\"{0}\" names no container: it is `@docker/NAME` or `@podman/NAME`")]
    Container(String),
}

fn first(path: &[String]) -> &str {
    path.first().map_or("", String::as_str)
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Cycle { .. } => Some(
                "a `Host *` that names a jump needs `ProxyJump none` for the jump itself, above it",
            ),
            _ => None,
        }
    }
}
