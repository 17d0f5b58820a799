//! The options of one host, as written: without expansion and without defaults.

use std::time::Duration;

/// The options of a host. Placeholders in texts are not yet replaced, see [`super::Tokens`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshOptions {
    /// The name or address to connect to, in lower case: `HostName`, or else the name looked up.
    ///
    /// `CanonicalizeHostname` may have added a domain.
    pub host: String,
    /// `User`, or the user of the query.
    pub user: Option<String>,
    /// `Port`, or the port of the query.
    pub port: Option<u16>,
    /// Every value of `IdentityFile`, each once.
    pub identity_files: Vec<String>,
    /// Every value of `CertificateFile`, each once.
    pub certificate_files: Vec<String>,
    pub identities_only: Option<bool>,
    /// `IdentityAgent`: a path, `none`, `SSH_AUTH_SOCK`, or `$` and the name of a variable.
    pub identity_agent: Option<String>,
    pub forward_agent: Option<ForwardAgent>,
    /// `ProxyJump` or `ProxyCommand`, whichever comes first.
    pub proxy: Option<Proxy>,
    /// `ConnectTimeout`; zero means the default of the system.
    pub connect_timeout: Option<Duration>,
    pub connection_attempts: Option<u32>,
    /// `ServerAliveInterval`; zero turns the messages off.
    pub server_alive_interval: Option<Duration>,
    pub user_known_hosts: Option<Vec<String>>,
    pub global_known_hosts: Option<Vec<String>>,
    pub strict_host_keys: Option<Strictness>,
    pub host_key_alias: Option<String>,
    /// `HostKeyAlgorithms`, a list that may begin with `+`, `-` or `^`.
    pub host_key_algorithms: Option<String>,
    /// `KexAlgorithms`, `Ciphers` and `MACs`, lists that may begin with `+`, `-` or `^`.
    pub kex_algorithms: Option<String>,
    pub ciphers: Option<String>,
    pub macs: Option<String>,
    /// `PubkeyAcceptedAlgorithms`, a list of the same form.
    pub pubkey_algorithms: Option<String>,
    /// The patterns of `SendEnv`, without those that a later line has removed.
    pub send_env: Vec<String>,
    /// The variables of the first `SetEnv` line.
    pub set_env: Option<Vec<(String, String)>>,
    pub address_family: Option<AddressFamily>,
    pub bind_address: Option<String>,
    pub bind_interface: Option<String>,
    /// `PreferredAuthentications`, a list of methods.
    pub preferred_authentications: Option<String>,
    pub pubkey_authentication: Option<bool>,
    pub password_authentication: Option<bool>,
    pub keyboard_interactive_authentication: Option<bool>,
    pub batch_mode: Option<bool>,
    pub password_prompts: Option<u32>,
    /// `KnownHostsCommand`, with placeholders not yet replaced.
    pub known_hosts_command: Option<String>,
    pub server_alive_count_max: Option<u32>,
    pub canonicalize: Option<Canonicalize>,
    pub canonical_domains: Option<Vec<String>>,
    pub canonicalize_max_dots: Option<u32>,
    pub canonicalize_fallback: Option<bool>,
    pub tag: Option<String>,
    /// `HostName` as written, before its placeholders are replaced.
    pub(super) host_name: Option<String>,
    /// Whether `ProxyJump none` was found, after which other `ProxyJump` lines are ignored.
    pub(super) no_jumps: bool,
}

/// The kind of addresses that connections use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AddressFamily {
    #[default]
    Any,
    Inet,
    Inet6,
}

/// Whether programs on the host may use an SSH agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardAgent {
    No,
    /// The agent of the user is forwarded.
    Yes,
    /// The agent of this socket, or of the variable named after `$`, is forwarded.
    Socket(String),
}

/// The proxy between the local machine and the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proxy {
    /// No proxy, and later lines do not set one.
    None,
    /// The jump hosts, in the order from the local machine to the host.
    Jumps(Vec<Jump>),
    /// A proxy command, with placeholders not yet replaced.
    Command(String),
}

/// A jump host, as `ProxyJump` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    pub user: Option<String>,
    /// The host name, which is looked up in the configuration, too.
    pub host: String,
    pub port: Option<u16>,
}

/// The treatment of unknown host keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    Yes,
    Ask,
    AcceptNew,
    /// Adds an unknown key and accepts a changed one.
    No,
}

/// Whether host names are canonicalized by adding a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canonicalize {
    No,
    /// Host names are canonicalized, unless a proxy is used.
    Yes,
    /// Host names are canonicalized, also with a proxy.
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
