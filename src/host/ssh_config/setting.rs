//! The options that are read: one typed value for each line.

use std::time::Duration;

use super::error::Problem;
use super::line::{Line, words};
use super::options::{Canonicalize, ForwardAgent, Jump, Options, Proxy, Strictness};
use super::time;
use crate::host::HostParts;

/// One option with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Setting {
    HostName(String),
    User(String),
    Port(u16),
    IdentityFile(String),
    CertificateFile(String),
    IdentitiesOnly(bool),
    IdentityAgent(String),
    ForwardAgent(ForwardAgent),
    ProxyJump(Vec<Jump>),
    ProxyCommand(String),
    ConnectTimeout(Option<Duration>),
    ConnectionAttempts(u32),
    ServerAliveInterval(Option<Duration>),
    UserKnownHosts(Vec<String>),
    GlobalKnownHosts(Vec<String>),
    StrictHostKeys(Strictness),
    HostKeyAlias(String),
    Canonicalize(Canonicalize),
    CanonicalDomains(Vec<String>),
    CanonicalizeMaxDots(u32),
    CanonicalizeFallback(bool),
    Tag(String),
}

/// What readers of a value need.
struct Value<'a> {
    keyword: &'a str,
    text: &'a str,
}

impl Setting {
    /// Reads a line whose keyword is given in lower case; none if this option is not read.
    pub(super) fn read(keyword: &str, line: Line<'_>) -> Option<Result<Self, Problem>> {
        let value = Value {
            keyword: line.keyword,
            text: line.rest,
        };
        Some(match keyword {
            "hostname" => value.word().map(Self::HostName),
            "user" => value.word().map(Self::User),
            "port" => value.port().map(Self::Port),
            "identityfile" => value.word().map(Self::IdentityFile),
            "certificatefile" => value.word().map(Self::CertificateFile),
            "identitiesonly" => value.flag().map(Self::IdentitiesOnly),
            "identityagent" => value.word().map(Self::IdentityAgent),
            "forwardagent" => value.forward_agent().map(Self::ForwardAgent),
            "proxyjump" => value.jumps().map(Self::ProxyJump),
            "proxycommand" => value.command().map(Self::ProxyCommand),
            "connecttimeout" => value.time().map(Self::ConnectTimeout),
            "connectionattempts" => value.number().map(Self::ConnectionAttempts),
            "serveraliveinterval" => value.time().map(Self::ServerAliveInterval),
            "userknownhostsfile" => value.files().map(Self::UserKnownHosts),
            "globalknownhostsfile" => value.files().map(Self::GlobalKnownHosts),
            "stricthostkeychecking" => value.strictness().map(Self::StrictHostKeys),
            "hostkeyalias" => value.word().map(Self::HostKeyAlias),
            "canonicalizehostname" => value.canonicalize().map(Self::Canonicalize),
            "canonicaldomains" => value.words().map(Self::CanonicalDomains),
            "canonicalizemaxdots" => value.number().map(Self::CanonicalizeMaxDots),
            "canonicalizefallbacklocal" => value.flag().map(Self::CanonicalizeFallback),
            "tag" => value.word().map(Self::Tag),
            _ => return None,
        })
    }

    /// Takes the value, unless an earlier one counts.
    pub(super) fn apply(&self, to: &mut Options) {
        match self {
            Self::HostName(name) => first(&mut to.host_name, name),
            Self::User(user) => first(&mut to.user, user),
            Self::Port(port) => first(&mut to.port, port),
            Self::IdentityFile(file) => each_once(&mut to.identity_files, file),
            Self::CertificateFile(file) => each_once(&mut to.certificate_files, file),
            Self::IdentitiesOnly(only) => first(&mut to.identities_only, only),
            Self::IdentityAgent(agent) => first(&mut to.identity_agent, agent),
            Self::ForwardAgent(forward) => first(&mut to.forward_agent, forward),
            Self::ProxyJump(jumps) if to.proxy.is_none() && !to.no_jumps => {
                if jumps.is_empty() {
                    // A command further below still counts.
                    to.no_jumps = true;
                } else {
                    to.proxy = Some(Proxy::Jumps(jumps.clone()));
                }
            }
            Self::ProxyCommand(command) if to.proxy.is_none() => {
                to.proxy = Some(if command.eq_ignore_ascii_case("none") {
                    Proxy::None
                } else {
                    Proxy::Command(command.clone())
                });
            }
            // A way that is found already stays, and a time of `none` is left to later lines.
            Self::ProxyJump(_)
            | Self::ProxyCommand(_)
            | Self::ConnectTimeout(None)
            | Self::ServerAliveInterval(None) => {}
            Self::ConnectTimeout(Some(limit)) => first(&mut to.connect_timeout, limit),
            Self::ConnectionAttempts(count) => first(&mut to.connection_attempts, count),
            Self::ServerAliveInterval(Some(every)) => first(&mut to.server_alive_interval, every),
            Self::UserKnownHosts(files) => first(&mut to.user_known_hosts, files),
            Self::GlobalKnownHosts(files) => first(&mut to.global_known_hosts, files),
            Self::StrictHostKeys(strictness) => first(&mut to.strict_host_keys, strictness),
            Self::HostKeyAlias(alias) => first(&mut to.host_key_alias, alias),
            Self::Canonicalize(whether) => first(&mut to.canonicalize, whether),
            Self::CanonicalDomains(domains) => first(&mut to.canonical_domains, domains),
            Self::CanonicalizeMaxDots(count) => first(&mut to.canonicalize_max_dots, count),
            Self::CanonicalizeFallback(whether) => first(&mut to.canonicalize_fallback, whether),
            Self::Tag(tag) => first(&mut to.tag, tag),
        }
    }
}

fn first<T: Clone>(slot: &mut Option<T>, value: &T) {
    if slot.is_none() {
        *slot = Some(value.clone());
    }
}

fn each_once(list: &mut Vec<String>, item: &String) {
    if !list.contains(item) {
        list.push(item.clone());
    }
}

impl Value<'_> {
    /// All that stands behind the keyword.
    fn raw(&self) -> &str {
        self.text.trim_start_matches([' ', '\t', '\r', '\n', '='])
    }

    fn command(&self) -> Result<String, Problem> {
        match self.raw() {
            "" => Err(Problem::NoArgument(self.keyword.to_owned())),
            command => Ok(command.to_owned()),
        }
    }

    fn words(&self) -> Result<Vec<String>, Problem> {
        let words = words(self.text).ok_or(Problem::Quotes)?;
        if words.is_empty() {
            return Err(Problem::NoArgument(self.keyword.to_owned()));
        }
        if words.iter().any(String::is_empty) {
            return Err(Problem::EmptyArgument(self.keyword.to_owned()));
        }
        Ok(words)
    }

    fn word(&self) -> Result<String, Problem> {
        let mut words = self.words()?.into_iter();
        match (words.next(), words.next()) {
            (Some(word), None) => Ok(word),
            (_, extra) => Err(Problem::Extra {
                keyword: self.keyword.to_owned(),
                extra: extra.unwrap_or_default(),
            }),
        }
    }

    fn refused(&self, value: &str, expected: &'static str) -> Problem {
        Problem::Value {
            keyword: self.keyword.to_owned(),
            value: value.to_owned(),
            expected,
        }
    }

    /// One word, read by a function.
    fn one<T>(
        &self,
        read: impl FnOnce(&str) -> Option<T>,
        expected: &'static str,
    ) -> Result<T, Problem> {
        let word = self.word()?;
        read(&word).ok_or_else(|| self.refused(&word, expected))
    }

    fn flag(&self) -> Result<bool, Problem> {
        self.one(flag, "`yes` or `no`")
    }

    fn port(&self) -> Result<u16, Problem> {
        self.one(port, "a port from 1 to 65535")
    }

    fn number(&self) -> Result<u32, Problem> {
        self.one(|text| text.parse().ok(), "a number")
    }

    fn time(&self) -> Result<Option<Duration>, Problem> {
        let read = |text: &str| match text {
            "none" => Some(None),
            text => time::read(text).map(Some),
        };
        self.one(read, "a time such as `30`, `1m30s` or `none`")
    }

    fn forward_agent(&self) -> Result<ForwardAgent, Problem> {
        let word = self.word()?;
        Ok(match flag(&word) {
            Some(true) => ForwardAgent::Yes,
            Some(false) => ForwardAgent::No,
            None => ForwardAgent::Socket(word),
        })
    }

    fn files(&self) -> Result<Vec<String>, Problem> {
        let files = self.words()?;
        let none = |file: &String| file.eq_ignore_ascii_case("none");
        match files.iter().any(none) {
            true if files.len() > 1 => Err(self.refused("none", "files, or `none` alone")),
            true => Ok(Vec::new()),
            false => Ok(files),
        }
    }

    fn strictness(&self) -> Result<Strictness, Problem> {
        let read = |text: &str| match text.to_ascii_lowercase().as_str() {
            "ask" => Some(Strictness::Ask),
            "accept-new" => Some(Strictness::AcceptNew),
            "off" => Some(Strictness::No),
            text => flag(text).map(|strict| {
                if strict {
                    Strictness::Yes
                } else {
                    Strictness::No
                }
            }),
        };
        self.one(read, "`yes`, `no`, `ask`, `off` or `accept-new`")
    }

    fn canonicalize(&self) -> Result<Canonicalize, Problem> {
        let read = |text: &str| match flag(text) {
            Some(true) => Some(Canonicalize::Yes),
            Some(false) => Some(Canonicalize::No),
            None => text
                .eq_ignore_ascii_case("always")
                .then_some(Canonicalize::Always),
        };
        self.one(read, "`yes`, `no` or `always`")
    }

    /// The hosts to pass; none for `none`.
    fn jumps(&self) -> Result<Vec<Jump>, Problem> {
        let text = self.raw();
        let text = text.split_once('#').map_or(text, |(text, _)| text).trim();
        if text.is_empty() {
            return Err(Problem::NoArgument(self.keyword.to_owned()));
        }
        if text.eq_ignore_ascii_case("none") {
            return Ok(Vec::new());
        }
        let read = |text| jump(text).ok_or_else(|| self.refused(text, "`[user@]host[:port],…`"));
        text.split(',').map(read).collect()
    }
}

/// True or false, in any case as OpenSSH takes it.
fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Some(true),
        "no" | "false" => Some(false),
        _ => None,
    }
}

fn port(text: &str) -> Option<u16> {
    match text {
        "ssh" => Some(22),
        text => text.parse().ok().filter(|port| *port > 0),
    }
}

/// Reads `[user@]host[:port]` or `ssh://[user@]host[:port]`.
fn jump(text: &str) -> Option<Jump> {
    let text = text
        .strip_prefix("ssh://")
        .map_or(text, |rest| rest.strip_suffix('/').unwrap_or(rest));
    let parts = HostParts::parse(text);
    let given = match &parts.port {
        Some(text) => Some(port(text)?),
        None => None,
    };
    let odd = |c: char| c.is_whitespace() || c.is_control();
    let is_odd = |name: &String| name.starts_with('-') || name.contains(odd);
    let host = parts.host.filter(|host| !is_odd(host))?;
    if parts.user.as_ref().is_some_and(is_odd) {
        return None;
    }
    Some(Jump {
        user: parts.user,
        host,
        port: given,
    })
}
