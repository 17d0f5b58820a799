//! The input of the resolver: a host as the user writes it, the login options of the command line,
//! and the errors.

use std::path::PathBuf;
use std::time::Duration;

use crate::host::names::shown;
use crate::host::ssh_config::LookupError;
use crate::host::{AddressError, HostKeyPolicy, HostParts, Secret};

/// A host to resolve. The command line and `ssh_config` supply what is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostTarget {
    /// The host string as the user wrote it.
    pub name: String,
    /// The name or address to look up in `ssh_config`.
    pub host: String,
    pub user: Option<String>,
    pub port: Option<u16>,
    /// Private key files; `~` is the user's home.
    pub identity_files: Vec<String>,
    pub password: Option<Secret>,
    /// The password for `sudo`.
    pub sudo_password: Option<Secret>,
    /// The passphrase of the private keys.
    pub passphrase: Option<Secret>,
    /// The route to the host, which overrides `ssh_config`.
    pub route: Option<TargetRoute>,
    /// True if the host has no POSIX shell, so that all commands are raw.
    pub raw: bool,
}

/// The route to a host, as an inventory states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetRoute {
    /// The host strings of the jump hosts, in order.
    Jumps(Vec<String>),
    /// A proxy command with the placeholders of `ProxyCommand`.
    Command(String),
}

impl HostTarget {
    /// Parses a host string, without any look-up.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let parts = HostParts::parse(text);
        // The address is made only to check all parts, so the default user and port do not matter.
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

/// The connection options of the command line, for all hosts. `ssh_config` supplies what is
/// missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginOptions {
    /// The user for the gateway and for host strings without one (`-u`, F56).
    pub user: Option<String>,
    /// The port for host strings without one. It does not apply to jump hosts (F57).
    pub port: Option<u16>,
    /// Private key files, tried before those of `ssh_config` (`-i`, F59).
    pub identity_files: Vec<PathBuf>,
    /// Whether to use the SSH agent (`-a`, F46).
    pub agent: AgentUse,
    /// Whether to try the default keys if no key file is configured (`-k`, F46).
    pub default_keys: DefaultKeys,
    /// Whether to forward the SSH agent to the host. `ssh_config` may enable this, too (`-A`, F60).
    pub forward_agent: bool,
    /// The host string of a gateway, which comes before the jump hosts of `ssh_config` (`-g`, F48).
    pub gateway: Option<String>,
    /// The user's known hosts file, instead of the files that `ssh_config` names.
    pub known_hosts: Option<PathBuf>,
    /// The treatment of unknown host keys (F47). `StrictHostKeyChecking accept-new` of `ssh_config` relaxes it for its
    /// hosts.
    pub host_keys: HostKeyPolicy,
    /// The time limit of one attempt to connect (F44).
    pub connect_timeout: Option<Duration>,
    /// The number of attempts to connect (F44).
    pub attempts: Option<u32>,
    /// The interval of keepalive messages; zero turns them off (F46).
    pub keepalive: Option<Duration>,
}

/// Whether to use the SSH agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentUse {
    /// Uses the agent, if there is one.
    #[default]
    Use,
    Ignore,
}

/// Whether to try the default keys if no key file is configured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DefaultKeys {
    /// Tries `~/.ssh/id_rsa` and the files of the other key types.
    #[default]
    Try,
    Skip,
}

/// The reasons why a host string cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not a host string.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The `ssh_config` section of the host is unusable.
    #[error("the ssh_config of `{}`: {source}", shown(.host))]
    Config { host: String, source: LookupError },
    /// The route to a host contains the host itself.
    #[error("the jump hosts of `{}` form a cycle: {}", first(.path), .path.join(" → "))]
    Cycle {
        /// The hosts, each reached through the next one. The last one also appears earlier.
        path: Vec<String>,
    },
    /// The route to a host has too many jump hosts.
    #[error("the route to `{host}` has more than {max} jump hosts")]
    TooManyJumps { host: String, max: usize },
    /// The text starts with `@` but does not name a container.
    #[error("\"{}\" is not a container: write `@docker/NAME` or `@podman/NAME`", shown(.0))]
    Container(String),
}

fn first(path: &[String]) -> &str {
    path.first().map_or("", String::as_str)
}

impl Error {
    /// Returns advice on how to fix the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Cycle { .. } => Some(
                "if `Host *` sets `ProxyJump`, add a block with `ProxyJump none` for the jump host above it",
            ),
            _ => None,
        }
    }
}
