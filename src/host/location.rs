//! Where an action is performed, with all that is needed to get there.

use std::fmt::{Debug, Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Address;

/// Where an action is performed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Location {
    /// On this machine.
    #[default]
    Local,
    /// On a host that is reached over SSH.
    Ssh(Arc<Destination>),
    /// In a container, on this machine or on a host.
    Container(Arc<Container>),
}

impl Location {
    /// Whether it is this machine itself.
    pub fn is_local(&self) -> bool {
        *self == Self::Local
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

/// A container that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Its name or id.
    pub name: String,
    /// The program that reaches it, such as `podman` or `docker`.
    pub engine: String,
    /// The machine that it runs on.
    pub location: Location,
}

/// A host that is reached over SSH: everything is decided, nothing is looked up any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// How people call it: the host string as written.
    pub name: String,
    /// Where to connect to, and as whom. It names the connection: two destinations with one
    /// address and one way share it.
    pub address: Address,
    /// The name under which its host key is known, if not that of its address.
    pub host_key_alias: Option<String>,
    /// Files with keys that others have trusted, `Destination::known_hosts` of which the first is
    /// written to.
    pub known_hosts: Vec<PathBuf>,
    /// What is done with the key of a host that nobody knows.
    pub host_keys: HostKeys,
    /// Who it may be logged in as, and with what.
    pub identities: Identities,
    /// How it is reached.
    pub route: Route,
    /// Whether what runs there may use the agent of this user.
    pub forward_agent: bool,
    /// How long an attempt to connect may take, until the user is logged in.
    pub connect_timeout: Duration,
    /// How often connecting is tried; at least once.
    pub attempts: u32,
    /// How often the host has to answer that it is still there, if it has to.
    pub keepalive: Option<Duration>,
}

/// How a host is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Route {
    /// Straight.
    #[default]
    Direct,
    /// Through the hosts in order, each reached from the one before.
    Jumps(Vec<Arc<Destination>>),
    /// Through the standard streams of a command that a shell of this machine runs. Its
    /// placeholders are replaced already.
    Command(String),
}

/// What is done with the key of a host that nobody knows. One that changed is always refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKeys {
    /// It is refused.
    #[default]
    Strict,
    /// It is trusted from now on.
    AcceptNew,
}

/// What a user proves to be with, tried in the order of the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identities {
    /// The socket of the agent, if one is asked.
    pub agent: Option<PathBuf>,
    /// Whether only those keys of the agent are used that are in the files too.
    pub only_files: bool,
    /// Files with private keys; those that are missing are passed over.
    pub files: Vec<PathBuf>,
    /// Files with certificates of those keys, beside those named `<file>-cert.pub`.
    pub certificates: Vec<PathBuf>,
    /// The passphrase of the keys, where they have one.
    pub passphrase: Option<Secret>,
    /// The password, which also answers the questions of a keyboard-interactive login.
    pub password: Option<Secret>,
}

/// A text that nobody is shown. It is never serialized.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps a text from being shown.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
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
    /// A destination with nothing but its address; strict about its key, and tried once for ten
    /// seconds.
    pub fn new(name: impl Into<String>, address: Address) -> Self {
        Self {
            name: name.into(),
            address,
            host_key_alias: None,
            known_hosts: Vec::new(),
            host_keys: HostKeys::default(),
            identities: Identities::default(),
            route: Route::Direct,
            forward_agent: false,
            connect_timeout: Duration::from_secs(10),
            attempts: 1,
            keepalive: None,
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
