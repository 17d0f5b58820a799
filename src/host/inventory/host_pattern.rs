//! Host patterns of Ansible: `web:&db:!old`, globs, `~regex`, and ranges such as `web[0:2]`.
//!
//! A pattern is a list of parts. The hosts of all plain parts are joined; parts with `&` keep those hosts that they name
//! too, and parts with `!` take theirs away, whatever the order.

use std::collections::HashSet;
use std::sync::Arc;

use super::model::{ALL, Inventory, UNGROUPED};
use super::roles::InventoryRole;
use crate::host::HostParts;
use crate::text::{Glob, Pattern, did_you_mean};
use crate::value::Fold;

/// The signs that make a text a pattern. No name of a host has one of them.
const SIGNS: [char; 3] = ['*', '?', '~'];

/// The reason why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostPatternError {
    /// A part of the pattern names neither a host nor a group.
    #[error("the pattern `{pattern}` matches no host: `{part}` is neither a host nor a group")]
    Unknown {
        pattern: String,
        part: String,
        hint: Option<String>,
    },
    /// The pattern leaves no host.
    #[error("the pattern `{0}` matches no host")]
    Empty(String),
    #[error("`{part}` is not a valid regular expression: {reason}")]
    Regex { part: String, reason: String },
    /// The index in brackets is larger than the number of hosts.
    #[error("`{part}` has an index for {count} hosts; the first has the index 0")]
    Index { part: String, count: usize },
    /// A group whose hosts are not known before it is used.
    #[error(
        "the hosts of `{group}` come from {origin}, so it cannot be a part of a pattern; use it alone, with `-R`"
    )]
    Lazy { group: String, origin: &'static str },
}

impl HostPatternError {
    /// Returns advice on how to fix the error.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { hint, .. } => hint.clone(),
            _ => None,
        }
    }
}

/// The effect of a part on the hosts that are chosen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PartKind {
    Join,
    Keep,
    Drop,
}

/// The hosts that a part in brackets selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subscript {
    /// A single host. A negative index counts from the end.
    Index(i64),
    /// The hosts from the first index to the last one, which is included. None stands for the end.
    Range(usize, Option<usize>),
}

impl Inventory {
    /// Returns true if a text is a pattern, and neither a host of the inventory nor a host string.
    pub fn is_host_pattern(&self, text: &str) -> bool {
        if self.has_host(text) || text.starts_with('@') {
            return false;
        }
        if text.starts_with(['!', '&'])
            || text.contains(SIGNS)
            || text.contains(":&")
            || text.contains(":!")
        {
            return true;
        }
        let place = text.rsplit_once('@').map_or(text, |(_, place)| place);
        let is_address = HostParts::parse(place)
            .host
            .is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
        let is_known = |part: &str| self.has_host(part) || self.has_group(part);
        let parts = split(text);
        !is_address
            && (text.contains('[') && text.contains(']')
                || parts.len() > 1 && parts.iter().all(|part| is_known(part)))
    }

    /// Returns true if a group exists; `all` and `ungrouped` always do.
    pub fn has_group(&self, name: &str) -> bool {
        name == ALL || name == UNGROUPED || self.groups.contains_key(name)
    }

    /// Returns the hosts that patterns select, each once. `others` are hosts that the inventory does not have: patterns
    /// can name them too.
    ///
    /// # Errors
    ///
    /// A part names no host and no group, or no host is left.
    pub fn select_hosts(
        &self,
        patterns: &[String],
        others: &[String],
    ) -> Result<Vec<Arc<str>>, HostPatternError> {
        let mut parts: Vec<(PartKind, &str)> = Vec::new();
        for pattern in patterns {
            let whole = self.has_host(pattern) || others.contains(pattern);
            let texts = if whole {
                vec![pattern.as_str()]
            } else {
                split(pattern)
            };
            parts.extend(
                texts
                    .into_iter()
                    .map(|text| match text.split_at_checked(1) {
                        Some(("!", rest)) if !whole => (PartKind::Drop, rest),
                        Some(("&", rest)) if !whole => (PartKind::Keep, rest),
                        _ => (PartKind::Join, text),
                    }),
            );
        }
        let shown = patterns.join(",");
        if parts.iter().all(|(kind, _)| *kind != PartKind::Join) {
            parts.push((PartKind::Join, ALL));
        }
        parts.sort_by_key(|(kind, _)| *kind);
        let mut chosen: Vec<Arc<str>> = Vec::new();
        for (kind, part) in parts {
            let found = self.hosts_of_part(part, others)?.ok_or_else(|| {
                let names = self
                    .hosts()
                    .map(|name| &**name)
                    .chain(self.groups.keys().map(|name| &**name));
                HostPatternError::Unknown {
                    pattern: shown.clone(),
                    part: part.to_owned(),
                    hint: did_you_mean(part, names),
                }
            })?;
            let names: HashSet<Arc<str>, Fold> = found.iter().cloned().collect();
            match kind {
                PartKind::Join if found.is_empty() => {
                    return Err(HostPatternError::Empty(part.to_owned()));
                }
                PartKind::Join => {
                    let known: HashSet<Arc<str>, Fold> = chosen.iter().cloned().collect();
                    chosen.extend(found.into_iter().filter(|name| !known.contains(name)));
                }
                PartKind::Keep => chosen.retain(|name| names.contains(name)),
                PartKind::Drop => chosen.retain(|name| !names.contains(name)),
            }
        }
        if chosen.is_empty() {
            return Err(HostPatternError::Empty(shown));
        }
        Ok(chosen)
    }

    /// Returns the hosts of one part. None if it is a name that does not exist.
    fn hosts_of_part(
        &self,
        part: &str,
        others: &[String],
    ) -> Result<Option<Vec<Arc<str>>>, HostPatternError> {
        if let Some((name, _)) = self.hosts.get_key_value(part) {
            return Ok(Some(vec![Arc::clone(name)]));
        }
        if others.iter().any(|other| other == part) {
            return Ok(Some(vec![part.into()]));
        }
        let (text, subscript) = split_subscript(part);
        let matcher = Matcher::new(text)?;
        let mut is_known = false;
        let mut found = Vec::new();
        let built_in = [ALL, UNGROUPED].map(Arc::from);
        let named = self.groups.keys().filter(|name| !built_in.contains(name));
        for name in built_in.iter().chain(named) {
            if matcher.matches(name)? {
                is_known = true;
                found.extend(self.listed_hosts(name)?);
            }
        }
        if !is_known || matcher.is_wild(text) {
            found.extend(self.matching_hosts(&matcher, others)?);
        }
        let mut known: HashSet<Arc<str>, Fold> = HashSet::default();
        found.retain(|name| known.insert(Arc::clone(name)));
        let is_name = !is_known && found.is_empty() && !matcher.is_wild(text);
        if is_name {
            // Without a group of that name, brackets are a set of characters: `h[12]` is `h1` and `h2`.
            let found = self.matching_hosts(&Matcher::new(part)?, others)?;
            let is_set = subscript.is_some() && !found.is_empty();
            return Ok(is_set.then_some(found));
        }
        apply_subscript(found, subscript, part).map(Some)
    }

    fn matching_hosts(
        &self,
        matcher: &Matcher,
        others: &[String],
    ) -> Result<Vec<Arc<str>>, HostPatternError> {
        let others = others.iter().map(|other| Arc::from(other.as_str()));
        let mut found = Vec::new();
        for name in self.hosts().cloned().chain(others) {
            if matcher.matches(&name)? {
                found.push(name);
            }
        }
        Ok(found)
    }

    fn listed_hosts(&self, group: &str) -> Result<Vec<Arc<str>>, HostPatternError> {
        let lazy = |origin| HostPatternError::Lazy {
            group: group.to_owned(),
            origin,
        };
        match self.hosts_of(group) {
            Ok(InventoryRole::Hosts(hosts) | InventoryRole::Mapping { hosts, .. }) => Ok(hosts),
            Ok(InventoryRole::Command(_)) => Err(lazy("a command")),
            Ok(InventoryRole::Expression(_)) => Err(lazy("an expression")),
            Err(_) => Ok(Vec::new()),
        }
    }
}

/// The test of a name against one part of a pattern.
enum Matcher {
    Glob(Glob),
    Regex(Pattern, String),
}

impl Matcher {
    fn new(text: &str) -> Result<Self, HostPatternError> {
        let Some(expression) = text.strip_prefix('~') else {
            return Ok(Self::Glob(Glob::new(text)));
        };
        let pattern = Pattern::new(expression).map_err(|error| HostPatternError::Regex {
            part: text.to_owned(),
            reason: error.reason(),
        })?;
        Ok(Self::Regex(pattern, text.to_owned()))
    }

    fn matches(&self, name: &str) -> Result<bool, HostPatternError> {
        match self {
            Self::Glob(glob) => Ok(glob.matches(name)),
            // A regular expression has to match at the start of a name, as in Ansible.
            Self::Regex(pattern, text) => match pattern.search(name) {
                Ok(found) => Ok(found.is_some_and(|found| found.place().0 == 0)),
                Err(error) => Err(HostPatternError::Regex {
                    part: text.clone(),
                    reason: error.reason(),
                }),
            },
        }
    }

    /// Returns true if the part can match several names, so that hosts count beside groups.
    fn is_wild(&self, text: &str) -> bool {
        matches!(self, Self::Regex(..)) || text.contains(['.', '?', '*', '['])
    }
}

/// Splits a pattern at the colons outside of brackets, unless it is an address.
fn split(pattern: &str) -> Vec<&str> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-:[]%".contains(c);
    let parts = HostParts::parse(pattern);
    let has_port = parts
        .port
        .as_deref()
        .is_some_and(|port| port.parse::<u16>().is_ok());
    let is_ipv6 = parts
        .host
        .is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
    if is_ipv6 || pattern.chars().all(is_plain) && has_port {
        return vec![pattern];
    }
    let mut depth = 0_usize;
    let separator = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ':' && depth == 0
    };
    let parts = pattern.split(separator).map(str::trim);
    parts.filter(|part| !part.is_empty()).collect()
}

/// Splits the brackets off the end of a part, if they have an index or a range.
fn split_subscript(part: &str) -> (&str, Option<Subscript>) {
    let whole = (part, None);
    let inside = part.strip_suffix(']').filter(|_| !part.starts_with('~'));
    let Some((text, inside)) = inside.and_then(|rest| rest.rsplit_once('[')) else {
        return whole;
    };
    if text.is_empty() {
        return whole;
    }
    let subscript = match inside.split_once([':', '-']) {
        Some(("", _)) | None => inside.parse().ok().map(Subscript::Index),
        Some((first, "")) => first
            .parse()
            .ok()
            .map(|first| Subscript::Range(first, None)),
        Some((first, last)) => match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) => Some(Subscript::Range(first, Some(last))),
            _ => None,
        },
    };
    subscript.map_or(whole, |subscript| (text, Some(subscript)))
}

fn apply_subscript(
    hosts: Vec<Arc<str>>,
    subscript: Option<Subscript>,
    part: &str,
) -> Result<Vec<Arc<str>>, HostPatternError> {
    let count = hosts.len();
    match subscript {
        None => Ok(hosts),
        Some(Subscript::Range(first, last)) => {
            let end = last.map_or(count, |last| last.saturating_add(1));
            let chosen = hosts.into_iter().take(end).skip(first);
            Ok(chosen.collect())
        }
        Some(Subscript::Index(index)) => {
            let from_end = || count.checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
            let index = usize::try_from(index).ok().or_else(from_end);
            let host = index.and_then(|index| hosts.get(index).cloned());
            let missing = || HostPatternError::Index {
                part: part.to_owned(),
                count,
            };
            host.map(|host| vec![host]).ok_or_else(missing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    fn inventory() -> Inventory {
        let mut inventory = Inventory::default();
        for (host, groups) in [
            ("web1", &["web"][..]),
            ("web2", &["web", "old"]),
            ("web3", &["web", "db"]),
            ("db1.example", &["db"]),
            ("alone", &[]),
        ] {
            inventory.add_host(host, Map::new()).unwrap();
            for group in groups {
                inventory.add_to_group(host, group);
            }
        }
        inventory
    }

    fn select(patterns: &[&str]) -> String {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        let others = ["other", "h1", "h2", "h3"].map(str::to_owned);
        match inventory().select_hosts(&patterns, &others) {
            Ok(hosts) => hosts.join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn parts_are_joined_kept_and_dropped_in_this_order() {
        assert_eq!(select(&["web:&db:!old"]), "web3");
        assert_eq!(select(&["!old:web"]), "web1 web3");
        assert_eq!(select(&["web", "!web3"]), "web1 web2");
        assert_eq!(select(&["!web"]), "db1.example alone");
        assert_eq!(select(&["db:web1"]), "web3 db1.example web1");
        assert_eq!(select(&["all", "other", "!*1*"]), "web2 web3 alone other");
    }

    #[test]
    fn globs_ranges_and_expressions_select_hosts_and_groups() {
        assert_eq!(select(&["web[0:1]"]), "web1 web2");
        assert_eq!(select(&["web[1:]"]), "web2 web3");
        assert_eq!(select(&["web[-1]"]), "web3");
        assert_eq!(select(&["w*"]), "web1 web2 web3");
        assert_eq!(select(&["*.example"]), "db1.example");
        assert_eq!(select(&["web?"]), "web1 web2 web3");
        assert_eq!(
            select(&["web[12]"]),
            "`web[12]` has an index for 3 hosts; the first has the index 0"
        );
        assert_eq!(select(&["h[12]"]), "h1 h2");
        assert_eq!(select(&["~(web|alo).*[1e]"]), "web1 alone");
        assert_eq!(select(&["ungrouped"]), "alone");
    }

    #[test]
    fn a_part_that_names_nothing_is_refused() {
        insta::assert_snapshot!(select(&["web:&dv"]), @"the pattern `web:&dv` matches no host: `dv` is neither a host nor a group");
        insta::assert_snapshot!(select(&["x*"]), @"the pattern `x*` matches no host");
        insta::assert_snapshot!(select(&["old:&alone"]), @"the pattern `old:&alone` matches no host");
        assert!(select(&["~("]).contains("not a valid regular expression"));
    }

    #[test]
    fn host_strings_are_no_patterns() {
        let inventory = inventory();
        for text in [
            "web",
            "a",
            "u@h:22",
            "[::1]:22",
            "::1",
            "@docker/x",
            "h:99999",
            "web1",
            "u@[::1]",
        ] {
            assert!(!inventory.is_host_pattern(text), "{text}");
        }
        for text in ["web:db", "web:&db", "w*", "!a", "~x", "web[0]", "web1:db"] {
            assert!(inventory.is_host_pattern(text), "{text}");
        }
    }
}
