//! A host that is meant, with what is known of it from elsewhere than `ssh_config`.

use crate::host::{HostParts, Secret};

/// A host that is meant. What is left out is left to the command line and `ssh_config`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
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
    pub via: Option<Via>,
}

/// How a host is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// Through the hosts of these strings, in order.
    Jumps(Vec<String>),
    /// Through a command, with the placeholders of `ProxyCommand`.
    Command(String),
}

impl Target {
    /// The host that a host string names.
    pub fn of(text: &str) -> Result<Self, super::Error> {
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
