//! Parses the values of options.
//!
//! [`OptionSetting`] is the typed value of one line, ready to be applied to [`SshOptions`].

use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use super::error::ConfigProblem;
use super::line::{ConfigLine, words};
use super::options::{
    AddressFamily, Canonicalize, ForwardAgent, Jump, Proxy, SshOptions, Strictness,
};
use super::time;
use crate::host::HostParts;
use crate::text::Glob;

/// A parsed option that sets its value, unless an earlier line has done so.
#[derive(Clone)]
pub(super) struct OptionSetting(Arc<dyn Fn(&mut SshOptions) + Send + Sync>);

impl Debug for OptionSetting {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OptionSetting").finish_non_exhaustive()
    }
}

/// A keyword with the unparsed text of its value.
struct OptionValue<'a> {
    keyword: &'a str,
    text: &'a str,
}

impl OptionSetting {
    /// Parses a line.
    ///
    /// `keyword` is in lower case. None if the option is not evaluated here.
    pub(super) fn read(keyword: &str, line: ConfigLine<'_>) -> Option<Result<Self, ConfigProblem>> {
        let value = OptionValue {
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
            "kexalgorithms" => first(value.word(), |to| &mut to.kex_algorithms),
            "ciphers" => first(value.word(), |to| &mut to.ciphers),
            "macs" => first(value.word(), |to| &mut to.macs),
            "pubkeyacceptedalgorithms" | "pubkeyacceptedkeytypes" => {
                first(value.word(), |to| &mut to.pubkey_algorithms)
            }
            "sendenv" => value.words().map(send_env),
            "setenv" => first(value.assignments(), |to| &mut to.set_env),
            "addressfamily" => first(value.address_family(), |to| &mut to.address_family),
            "bindaddress" => first(value.word(), |to| &mut to.bind_address),
            "bindinterface" => first(value.word(), |to| &mut to.bind_interface),
            "preferredauthentications" => {
                first(value.word(), |to| &mut to.preferred_authentications)
            }
            "pubkeyauthentication" | "dsaauthentication" => {
                first(value.pubkey_switch(), |to| &mut to.pubkey_authentication)
            }
            "passwordauthentication" => first(value.flag(), |to| &mut to.password_authentication),
            "kbdinteractiveauthentication"
            | "challengeresponseauthentication"
            | "skeyauthentication"
            | "tisauthentication" => first(value.flag(), |to| {
                &mut to.keyboard_interactive_authentication
            }),
            "numberofpasswordprompts" => first(value.number(), |to| &mut to.password_prompts),
            "batchmode" => first(value.flag(), |to| &mut to.batch_mode),
            "knownhostscommand" => first(value.command(), |to| &mut to.known_hosts_command),
            "serveralivecountmax" => first(value.number(), |to| &mut to.server_alive_count_max),
            "hostkeyalgorithms" => first(value.word(), |to| &mut to.host_key_algorithms),
            "hostkeyalias" => first(value.word(), |to| &mut to.host_key_alias),
            "canonicalizehostname" => first(value.canonicalize(), |to| &mut to.canonicalize),
            "canonicaldomains" => first(value.words(), |to| &mut to.canonical_domains),
            "canonicalizemaxdots" => first(value.number(), |to| &mut to.canonicalize_max_dots),
            "canonicalizefallbacklocal" => first(value.flag(), |to| &mut to.canonicalize_fallback),
            "tag" => first(value.word(), |to| &mut to.tag),
            _ => return None,
        })
    }

    fn new(set: impl Fn(&mut SshOptions) + Send + Sync + 'static) -> Self {
        Self(Arc::new(set))
    }

    /// Sets the value, unless an earlier line has done so.
    pub(super) fn apply(&self, to: &mut SshOptions) {
        (self.0)(to);
    }
}

/// An accessor for an option whose first value wins.
type OptionSlot<T> = fn(&mut SshOptions) -> &mut Option<T>;

fn first<T>(
    value: Result<T, ConfigProblem>,
    slot: OptionSlot<T>,
) -> Result<OptionSetting, ConfigProblem>
where
    T: Clone + Send + Sync + 'static,
{
    let set = |value: T| {
        OptionSetting::new(move |to| {
            slot(to).get_or_insert_with(|| value.clone());
        })
    };
    value.map(set)
}

/// Works like [`first`], but `none` leaves the option to later lines.
fn first_time(
    time: Result<Option<Duration>, ConfigProblem>,
    slot: OptionSlot<Duration>,
) -> Result<OptionSetting, ConfigProblem> {
    let set = |time: Option<Duration>| {
        OptionSetting::new(move |to| {
            let slot = slot(to);
            *slot = slot.or(time);
        })
    };
    time.map(set)
}

fn each_once(
    item: Result<String, ConfigProblem>,
    list: fn(&mut SshOptions) -> &mut Vec<String>,
) -> Result<OptionSetting, ConfigProblem> {
    let set = |item: String| {
        OptionSetting::new(move |to| {
            if !list(to).contains(&item) {
                list(to).push(item.clone());
            }
        })
    };
    item.map(set)
}

/// Adds patterns of variables, and removes those that match a pattern after `-`.
fn send_env(patterns: Vec<String>) -> OptionSetting {
    OptionSetting::new(move |to| {
        for pattern in &patterns {
            match pattern.strip_prefix('-') {
                Some(removed) => {
                    let removed = Glob::without_brackets(removed);
                    to.send_env.retain(|known| !removed.matches(known));
                }
                None => to.send_env.push(pattern.clone()),
            }
        }
    })
}

fn proxy_jump(jumps: Vec<Jump>) -> OptionSetting {
    OptionSetting::new(move |to| {
        if to.proxy.is_some() || to.no_jumps {
            return;
        }
        // After `ProxyJump none`, a later `ProxyCommand` still applies.
        to.no_jumps = jumps.is_empty();
        to.proxy = (!jumps.is_empty()).then(|| Proxy::Jumps(jumps.clone()));
    })
}

fn proxy_command(command: String) -> OptionSetting {
    OptionSetting::new(move |to| {
        to.proxy.get_or_insert_with(|| {
            if command.eq_ignore_ascii_case("none") {
                Proxy::None
            } else {
                Proxy::Command(command.clone())
            }
        });
    })
}

impl OptionValue<'_> {
    /// Returns the whole text after the keyword.
    fn raw(&self) -> &str {
        self.text.trim_start_matches([' ', '\t', '\r', '\n', '='])
    }

    fn command(&self) -> Result<String, ConfigProblem> {
        match self.raw() {
            "" => Err(ConfigProblem::NoArgument(self.keyword.to_owned())),
            command => Ok(command.to_owned()),
        }
    }

    fn words(&self) -> Result<Vec<String>, ConfigProblem> {
        let words = words(self.text).ok_or(ConfigProblem::Quotes)?;
        if words.is_empty() {
            return Err(ConfigProblem::NoArgument(self.keyword.to_owned()));
        }
        if words.iter().any(String::is_empty) {
            return Err(ConfigProblem::EmptyArgument(self.keyword.to_owned()));
        }
        Ok(words)
    }

    fn word(&self) -> Result<String, ConfigProblem> {
        let mut words = self.words()?.into_iter();
        match (words.next(), words.next()) {
            (Some(word), None) => Ok(word),
            (_, extra) => Err(ConfigProblem::Extra {
                keyword: self.keyword.to_owned(),
                extra: extra.unwrap_or_default(),
            }),
        }
    }

    fn invalid(&self, value: &str, expected: &'static str) -> ConfigProblem {
        ConfigProblem::Value {
            keyword: self.keyword.to_owned(),
            value: value.to_owned(),
            expected,
        }
    }

    /// Parses a single word with the given function.
    fn parse_word<T>(
        &self,
        read: impl FnOnce(&str) -> Option<T>,
        expected: &'static str,
    ) -> Result<T, ConfigProblem> {
        let word = self.word()?;
        read(&word).ok_or_else(|| self.invalid(&word, expected))
    }

    fn flag(&self) -> Result<bool, ConfigProblem> {
        self.parse_word(flag, "`yes` or `no`")
    }

    fn port(&self) -> Result<u16, ConfigProblem> {
        self.parse_word(port, "a port from 1 to 65535")
    }

    fn number(&self) -> Result<u32, ConfigProblem> {
        self.parse_word(|text| text.parse().ok(), "a number")
    }

    fn time(&self) -> Result<Option<Duration>, ConfigProblem> {
        let read = |text: &str| match text {
            "none" => Some(None),
            text => time::read(text).map(Some),
        };
        self.parse_word(read, "a time such as `30`, `1m30s` or `none`")
    }

    fn forward_agent(&self) -> Result<ForwardAgent, ConfigProblem> {
        let word = self.word()?;
        Ok(match flag(&word) {
            Some(true) => ForwardAgent::Yes,
            Some(false) => ForwardAgent::No,
            None => ForwardAgent::Socket(word),
        })
    }

    fn files(&self) -> Result<Vec<String>, ConfigProblem> {
        let files = self.words()?;
        let none = |file: &String| file.eq_ignore_ascii_case("none");
        match files.iter().any(none) {
            true if files.len() > 1 => Err(self.invalid("none", "files, or `none` alone")),
            true => Ok(Vec::new()),
            false => Ok(files),
        }
    }

    fn strictness(&self) -> Result<Strictness, ConfigProblem> {
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
        self.parse_word(read, "`yes`, `no`, `ask`, `off` or `accept-new`")
    }

    fn address_family(&self) -> Result<AddressFamily, ConfigProblem> {
        let read = |text: &str| match text.to_ascii_lowercase().as_str() {
            "any" => Some(AddressFamily::Any),
            "inet" => Some(AddressFamily::Inet),
            "inet6" => Some(AddressFamily::Inet6),
            _ => None,
        };
        self.parse_word(read, "`any`, `inet` or `inet6`")
    }

    /// Parses `PubkeyAuthentication`, which has two further words for yes.
    fn pubkey_switch(&self) -> Result<bool, ConfigProblem> {
        let read = |text: &str| match text.to_ascii_lowercase().as_str() {
            "unbound" | "host-bound" => Some(true),
            text => flag(text),
        };
        self.parse_word(read, "`yes`, `no`, `unbound` or `host-bound`")
    }

    /// Parses words of the form `NAME=VALUE`.
    fn assignments(&self) -> Result<Vec<(String, String)>, ConfigProblem> {
        let read = |word: String| match word.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(self.invalid(&word, "`NAME=VALUE`")),
        };
        self.words()?.into_iter().map(read).collect()
    }

    fn canonicalize(&self) -> Result<Canonicalize, ConfigProblem> {
        let read = |text: &str| match flag(text) {
            Some(true) => Some(Canonicalize::Yes),
            Some(false) => Some(Canonicalize::No),
            None => text
                .eq_ignore_ascii_case("always")
                .then_some(Canonicalize::Always),
        };
        self.parse_word(read, "`yes`, `no` or `always`")
    }

    /// Parses the jump hosts; `none` gives an empty list.
    fn jumps(&self) -> Result<Vec<Jump>, ConfigProblem> {
        let text = self.raw();
        let text = text.split_once('#').map_or(text, |(text, _)| text).trim();
        if text.is_empty() {
            return Err(ConfigProblem::NoArgument(self.keyword.to_owned()));
        }
        if text.eq_ignore_ascii_case("none") {
            return Ok(Vec::new());
        }
        let read = |text| jump(text).ok_or_else(|| self.invalid(text, "`[user@]host[:port],…`"));
        text.split(',').map(read).collect()
    }
}

/// Parses a boolean as OpenSSH does, ignoring case.
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

/// Parses a jump host: `[user@]host[:port]` or `ssh://[user@]host[:port]`.
fn jump(text: &str) -> Option<Jump> {
    let text = text
        .strip_prefix("ssh://")
        .map_or(text, |rest| rest.strip_suffix('/').unwrap_or(rest));
    let parts = HostParts::parse(text);
    let port_number = match &parts.port {
        Some(text) => Some(port(text)?),
        None => None,
    };
    let is_forbidden = |c: char| c.is_whitespace() || c.is_control();
    let has_forbidden = |name: &String| name.starts_with('-') || name.contains(is_forbidden);
    let host = parts.host.filter(|host| !has_forbidden(host))?;
    if parts.user.as_ref().is_some_and(has_forbidden) {
        return None;
    }
    Some(Jump {
        user: parts.user,
        host,
        port: port_number,
    })
}
