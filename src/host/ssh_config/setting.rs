//! The options that are read: one typed value for each line.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use super::error::Problem;
use super::line::{Line, words};
use super::options::{Canonicalize, ForwardAgent, Jump, Options, Proxy, Strictness};
use super::time;
use crate::host::HostParts;

/// One option with its value: sets it, unless an earlier line counts.
#[derive(Clone)]
pub(super) struct Setting(Arc<dyn Fn(&mut Options) + Send + Sync>);

impl Debug for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").finish_non_exhaustive()
    }
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
            "hostname" => first(value.word(), |to| &mut to.host_name),
            "user" => first(value.word(), |to| &mut to.user),
            "port" => first(value.port(), |to| &mut to.port),
            "identityfile" => each_once(value.word(), |to| &mut to.identity_files),
            "certificatefile" => each_once(value.word(), |to| &mut to.certificate_files),
            "identitiesonly" => first(value.flag(), |to| &mut to.identities_only),
            "identityagent" => first(value.word(), |to| &mut to.identity_agent),
            "forwardagent" => first(value.forward_agent(), |to| &mut to.forward_agent),
            "proxyjump" => value.jumps().map(proxy_jump),
            "proxycommand" => value.command().map(proxy_command),
            "connecttimeout" => first_time(value.time(), |to| &mut to.connect_timeout),
            "connectionattempts" => first(value.number(), |to| &mut to.connection_attempts),
            "serveraliveinterval" => first_time(value.time(), |to| &mut to.server_alive_interval),
            "userknownhostsfile" => first(value.files(), |to| &mut to.user_known_hosts),
            "globalknownhostsfile" => first(value.files(), |to| &mut to.global_known_hosts),
            "stricthostkeychecking" => first(value.strictness(), |to| &mut to.strict_host_keys),
            "hostkeyalias" => first(value.word(), |to| &mut to.host_key_alias),
            "canonicalizehostname" => first(value.canonicalize(), |to| &mut to.canonicalize),
            "canonicaldomains" => first(value.words(), |to| &mut to.canonical_domains),
            "canonicalizemaxdots" => first(value.number(), |to| &mut to.canonicalize_max_dots),
            "canonicalizefallbacklocal" => first(value.flag(), |to| &mut to.canonicalize_fallback),
            "tag" => first(value.word(), |to| &mut to.tag),
            _ => return None,
        })
    }

    fn new(set: impl Fn(&mut Options) + Send + Sync + 'static) -> Self {
        Self(Arc::new(set))
    }

    /// Takes the value, unless an earlier one counts.
    pub(super) fn apply(&self, to: &mut Options) {
        (self.0)(to);
    }
}

/// Where an option is kept of which the first value counts.
type Slot<T> = fn(&mut Options) -> &mut Option<T>;

fn first<T>(value: Result<T, Problem>, slot: Slot<T>) -> Result<Setting, Problem>
where
    T: Clone + Send + Sync + 'static,
{
    let set = |value: T| {
        Setting::new(move |to| {
            slot(to).get_or_insert_with(|| value.clone());
        })
    };
    value.map(set)
}

/// As [`first`], but a time of `none` is left to later lines.
fn first_time(
    time: Result<Option<Duration>, Problem>,
    slot: Slot<Duration>,
) -> Result<Setting, Problem> {
    let set = |time: Option<Duration>| {
        Setting::new(move |to| {
            let slot = slot(to);
            *slot = slot.or(time);
        })
    };
    time.map(set)
}

fn each_once(
    item: Result<String, Problem>,
    list: fn(&mut Options) -> &mut Vec<String>,
) -> Result<Setting, Problem> {
    let set = |item: String| {
        Setting::new(move |to| {
            if !list(to).contains(&item) {
                list(to).push(item.clone());
            }
        })
    };
    item.map(set)
}

fn proxy_jump(jumps: Vec<Jump>) -> Setting {
    Setting::new(move |to| {
        if to.proxy.is_some() || to.no_jumps {
            return;
        }
        // A command further below still counts if there are none.
        to.no_jumps = jumps.is_empty();
        to.proxy = (!jumps.is_empty()).then(|| Proxy::Jumps(jumps.clone()));
    })
}

fn proxy_command(command: String) -> Setting {
    Setting::new(move |to| {
        to.proxy.get_or_insert_with(|| {
            if command.eq_ignore_ascii_case("none") {
                Proxy::None
            } else {
                Proxy::Command(command.clone())
            }
        });
    })
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
