//! What the command line may say about all hosts.

use std::path::PathBuf;
use std::time::Duration;

use crate::host::HostKeys;

/// What the command line may say about all hosts. What is left out is left to `ssh_config`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// The user of hosts whose string names none, and of the gateway (`-u`, F56).
    pub user: Option<String>,
    /// The port of hosts whose string names none; not of those that are passed on the way (F57).
    pub port: Option<u16>,
    /// Files with private keys, tried before those of `ssh_config` (`-i`, F59).
    pub identity_files: Vec<PathBuf>,
    /// Whether the agent is asked (`-a`, F46).
    pub agent: Agent,
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
pub enum Agent {
    /// It is, if there is one.
    #[default]
    Ask,
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
    Leave,
}
