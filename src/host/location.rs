//! The location of an action: the local machine, an SSH host or a container, with everything needed
//! to connect.
//!
//! `resolver` makes locations; `ssh` and `transport` connect to them.

use std::fmt::{Debug, Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::Address;
use super::ssh_config::AddressFamily;
use crate::value::Secrets;

/// The machine on which an action is performed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Location {
    #[default]
    Local,
    Ssh(Arc<Destination>),
    /// A container on the local machine or on a host.
    Container(Arc<Container>),
}

impl Location {
    pub fn is_local(&self) -> bool {
        *self == Self::Local
    }

    /// Returns true for a host whose commands are all raw.
    pub fn is_raw(&self) -> bool {
        matches!(self, Self::Ssh(destination) if destination.raw)
    }

    /// Returns the machine that has the containers, and the words of the command that enters the innermost container, such as
    /// `docker exec -i NAME`. There are no words if the location is no container.
    pub fn container_command(&self) -> (&Self, Vec<String>) {
        let mut words = Vec::new();
        let mut base = self;
        while let Self::Container(container) = base {
            let enter = [&container.engine, "exec", "-i", &container.name];
            // The command of the outermost container comes first.
            words.splice(0..0, enter.map(str::to_owned));
            base = &container.location;
        }
        (base, words)
    }

    /// Returns the passwords and passphrases with which the machine and its jump hosts are reached.
    ///
    /// A host that knows them could print them. A password that equals the name of the user or of
    /// the host is left out, because hiding it would hide these names.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        let mut open: Vec<Arc<Destination>> = Vec::new();
        if let (Self::Ssh(destination), _) = self.container_command() {
            open.push(Arc::clone(destination));
        }
        while let Some(destination) = open.pop() {
            let Destination {
                address,
                identities,
                sudo_password,
                route,
                ..
            } = destination.as_ref();
            let known = [&identities.password, &identities.passphrase, sudo_password];
            for secret in known.into_iter().flatten() {
                let text = secret.reveal();
                if text != address.user && text != address.host {
                    secrets.add(text);
                }
            }
            if let Route::Jumps(hosts) = route {
                open.extend(hosts.iter().cloned());
            }
        }
        secrets
    }
}

impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local => f.write_str("this machine"),
            Self::Ssh(destination) => f.write_str(&destination.name),
            Self::Container(container) => f.write_str(&container.name),
        }
    }
}

/// A container that is already running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub name: String,
    /// The container program, such as `podman` or `docker`.
    pub engine: String,
    pub location: Location,
}

/// A host that is reached over SSH.
///
/// The settings are final; no further look-ups are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The host string as the user wrote it.
    pub name: String,
    /// The address and user to connect as.
    ///
    /// Destinations with the same address and the same route share a connection.
    pub address: Address,
    /// The name under which `known_hosts` lists the host key, if not that of the address.
    pub host_key_alias: Option<String>,
    /// The accepted host key algorithms, as `HostKeyAlgorithms` of `ssh_config` gives them; the safe
    /// ones if none.
    pub host_key_algorithms: Option<String>,
    /// The settings of `ssh_config` for key exchange, ciphers and MACs; the safe algorithms if none.
    pub algorithms: AlgorithmSettings,
    /// The words of the command that prints trusted host keys, with its placeholders for the key not yet replaced.
    pub known_hosts_command: Vec<String>,
    /// The files with trusted host keys. New keys are added to the first one.
    pub known_hosts: Vec<PathBuf>,
    pub host_key_policy: HostKeyPolicy,
    pub identities: Identities,
    /// The password for `sudo`, if it is known.
    pub sudo_password: Option<Secret>,
    pub route: Route,
    /// Whether programs on the host may use the user's SSH agent.
    pub forward_agent: bool,
    /// True if all commands are raw, because the host has no POSIX shell.
    pub raw: bool,
    /// The time limit of one attempt, from connecting to the end of the login.
    pub connect_timeout: Duration,
    /// The number of attempts to connect; at least 1.
    pub attempts: u32,
    /// The interval at which the host must prove that it is alive. None turns the check off.
    pub keepalive: Option<Duration>,
    /// The number of unanswered keepalive messages after which the host counts as lost.
    pub keepalive_max: usize,
    /// The variables that each session gets, if the host accepts them.
    pub environment: Vec<(String, String)>,
    /// The addresses and the local end that connections use.
    pub dial: DialSettings,
}

/// The algorithms of a connection, as `ssh_config` chooses them: lists that may begin with `+`, `-` or `^`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlgorithmSettings {
    pub kex: Option<String>,
    pub ciphers: Option<String>,
    pub macs: Option<String>,
    /// The algorithms for signatures of the user's keys.
    pub pubkey: Option<String>,
}

/// The addresses of a host that are tried, and the local end of the connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DialSettings {
    pub family: AddressFamily,
    /// The local address or name to connect from.
    pub bind_address: Option<String>,
    /// The network interface to connect from.
    pub bind_interface: Option<String>,
}

/// A method of the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginMethod {
    PublicKey,
    Password,
    KeyboardInteractive,
}

impl LoginMethod {
    /// The methods in the order in which they are tried by default.
    pub const ALL: [Self; 3] = [Self::PublicKey, Self::Password, Self::KeyboardInteractive];

    /// Returns the name in `PreferredAuthentications`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PublicKey => "publickey",
            Self::Password => "password",
            Self::KeyboardInteractive => "keyboard-interactive",
        }
    }
}

/// The path of the connection to a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Route {
    #[default]
    Direct,
    /// Connects through jump hosts, in order: each is reached from the one before it.
    Jumps(Vec<Arc<Destination>>),
    /// Connects through stdin and stdout of a command in a local shell. Its placeholders are
    /// already replaced.
    Command(String),
}

/// The treatment of an unknown host key. A changed key is always refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKeyPolicy {
    #[default]
    Strict,
    /// Adds the key to `known_hosts` and trusts it.
    AcceptNew,
}

/// The credentials of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identities {
    /// The methods to try, in order.
    pub methods: Vec<LoginMethod>,
    /// True if nothing is asked for the login, as `BatchMode` of `ssh_config` says.
    pub is_batch: bool,
    /// The number of passwords or passphrases that a login may try, as `NumberOfPasswordPrompts` of `ssh_config` says.
    pub password_prompts: u32,
    /// The number of those that were refused before.
    pub refusals: u32,
    /// The socket of the SSH agent; none to use no agent.
    pub agent: Option<PathBuf>,
    /// Whether to use only those keys of the agent that are also in `files`.
    pub only_listed: bool,
    /// The private key files. Missing ones are skipped.
    pub files: Vec<PathBuf>,
    /// The certificate files of those keys, besides the ones named `<file>-cert.pub`.
    pub certificates: Vec<PathBuf>,
    pub passphrase: Option<Secret>,
    /// The password, which also answers the prompts of a keyboard-interactive login.
    pub password: Option<Secret>,
}

impl Identities {
    /// The number of passwords that a login may try, without a configuration.
    pub const PASSWORD_PROMPTS: u32 = 3;
}

impl Default for Identities {
    fn default() -> Self {
        Self {
            methods: LoginMethod::ALL.to_vec(),
            is_batch: false,
            password_prompts: Self::PASSWORD_PROMPTS,
            refusals: 0,
            agent: None,
            only_listed: false,
            files: Vec::new(),
            certificates: Vec::new(),
            passphrase: None,
            password: None,
        }
    }
}

/// A secret text. [`Debug`] hides it, and it is never serialized.
///
/// The memory is overwritten when the last clone is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(text.into())))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Debug for Secret {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(crate::value::REDACTED)
    }
}

impl Destination {
    /// Creates a destination with an address only.
    ///
    /// The defaults are strict host key checking and a single attempt of ten seconds.
    pub fn new(name: impl Into<String>, address: Address) -> Self {
        Self {
            name: name.into(),
            address,
            host_key_alias: None,
            host_key_algorithms: None,
            algorithms: AlgorithmSettings::default(),
            known_hosts_command: Vec::new(),
            known_hosts: Vec::new(),
            host_key_policy: HostKeyPolicy::default(),
            identities: Identities::default(),
            sudo_password: None,
            route: Route::Direct,
            forward_agent: false,
            raw: false,
            connect_timeout: Duration::from_secs(10),
            attempts: 1,
            keepalive: None,
            keepalive_max: 3,
            environment: Vec::new(),
            dial: DialSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let identities = Identities {
            password: Some(Secret::new("hunter2")),
            ..Identities::default()
        };
        assert!(!format!("{identities:?}").contains("hunter2"));
    }
}
