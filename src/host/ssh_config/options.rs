//! What a configuration says about one host, as it is written: nothing is expanded or filled in.

use std::time::Duration;

/// What a configuration says about one host. Texts have their placeholders still, see
/// [`super::Tokens`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshOptions {
    /// The name or address to connect to: that of `HostName`, else the one asked for, in lower
    /// case; `CanonicalizeHostname` may have added a domain.
    pub host: String,
    /// `User`, or the user that was given.
    pub user: Option<String>,
    /// `Port`, or the port that was given.
    pub port: Option<u16>,
    /// `IdentityFile`, all of them, each once.
    pub identity_files: Vec<String>,
    /// `CertificateFile`, all of them, each once.
    pub certificate_files: Vec<String>,
    /// `IdentitiesOnly`.
    pub identities_only: Option<bool>,
    /// `IdentityAgent`: a path, `none`, `SSH_AUTH_SOCK` or `$` and the name of a variable.
    pub identity_agent: Option<String>,
    /// `ForwardAgent`.
    pub forward_agent: Option<ForwardAgent>,
    /// `ProxyJump` or `ProxyCommand`, whichever came first.
    pub proxy: Option<Proxy>,
    /// `ConnectTimeout`; zero for the default of the system.
    pub connect_timeout: Option<Duration>,
    /// `ConnectionAttempts`.
    pub connection_attempts: Option<u32>,
    /// `ServerAliveInterval`; zero for never.
    pub server_alive_interval: Option<Duration>,
    /// `UserKnownHostsFile`.
    pub user_known_hosts: Option<Vec<String>>,
    /// `GlobalKnownHostsFile`.
    pub global_known_hosts: Option<Vec<String>>,
    /// `StrictHostKeyChecking`.
    pub strict_host_keys: Option<Strictness>,
    /// `HostKeyAlias`.
    pub host_key_alias: Option<String>,
    /// `CanonicalizeHostname`.
    pub canonicalize: Option<Canonicalize>,
    /// `CanonicalDomains`.
    pub canonical_domains: Option<Vec<String>>,
    /// `CanonicalizeMaxDots`.
    pub canonicalize_max_dots: Option<u32>,
    /// `CanonicalizeFallbackLocal`.
    pub canonicalize_fallback: Option<bool>,
    /// `Tag`.
    pub tag: Option<String>,
    /// `HostName` as written, before the host is known.
    pub(super) host_name: Option<String>,
    /// Whether `ProxyJump none` was found, after which no other `ProxyJump` counts.
    pub(super) no_jumps: bool,
}

/// Whether the agent may be used by what runs on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardAgent {
    /// It may not.
    No,
    /// The agent of the user may.
    Yes,
    /// The agent of this socket may, or of the variable after `$`.
    Socket(String),
}

/// What stands between this machine and the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proxy {
    /// Nothing, whatever stands further below.
    None,
    /// Hosts in the order in which they are passed.
    Jumps(Vec<Jump>),
    /// A command, whose placeholders are not replaced yet.
    Command(String),
}

/// One host that is passed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    /// The user, if one is named.
    pub user: Option<String>,
    /// The host, to be looked up in the configuration as well.
    pub host: String,
    /// The port, if one is named.
    pub port: Option<u16>,
}

/// What is done about the key of a host that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// It is refused.
    Yes,
    /// The user is asked.
    Ask,
    /// It is recorded.
    AcceptNew,
    /// It is recorded, and a changed one is taken.
    No,
}

/// Whether a domain is added to names of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canonicalize {
    /// It is not.
    No,
    /// It is, unless another machine connects.
    Yes,
    /// It is in every case.
    Always,
}

impl std::fmt::Display for Jump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}
