//! Whether a target of the top file means a machine (S7).

use std::net::IpAddr;
use std::sync::Arc;

use regex::Regex;

use crate::converge::render::{Machine, looked_up};
use crate::text::Glob;
use crate::value::Value;

/// How a target is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matcher {
    Glob,
    List,
    Pcre,
    Grain,
    GrainPcre,
    Pillar,
    PillarPcre,
    Ipcidr,
    Compound,
    Nodegroup,
}

/// How texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Glob,
    Pcre,
}

/// How deep node groups may name each other, and targets may have brackets.
const DEPTH: usize = 50;

impl Matcher {
    /// The matcher of a name.
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "glob" => Self::Glob,
            "list" => Self::List,
            "pcre" => Self::Pcre,
            "grain" => Self::Grain,
            "grain_pcre" => Self::GrainPcre,
            "pillar" => Self::Pillar,
            "pillar_pcre" => Self::PillarPcre,
            "ipcidr" => Self::Ipcidr,
            "compound" => Self::Compound,
            "nodegroup" => Self::Nodegroup,
            _ => return None,
        })
    }

    /// Whether a target means a machine.
    pub(super) fn matches(self, target: &str, machine: &Machine) -> bool {
        match self {
            Self::Glob => Glob::new(target).matches(&machine.id),
            Self::List => target.split(',').any(|name| *name == *machine.id),
            Self::Pcre => begins(target, &machine.id),
            Self::Grain => within(&machine.grains, target, Compare::Glob),
            Self::GrainPcre => within(&machine.grains, target, Compare::Pcre),
            Self::Pillar => within(&machine.pillar, target, Compare::Glob),
            Self::PillarPcre => within(&machine.pillar, target, Compare::Pcre),
            Self::Ipcidr => address(target, &machine.grains),
            Self::Compound => compound(words(target), machine, 0).unwrap_or(false),
            Self::Nodegroup => compound(group(target, machine), machine, 0).unwrap_or(false),
        }
    }
}

/// Whether a regular expression fits the beginning of a text.
fn begins(pattern: &str, text: &str) -> bool {
    let pattern = pattern.replace("(?P<", "(?<");
    Regex::new(&format!("\\A(?:{pattern})")).is_ok_and(|regex| regex.is_match(text))
}

fn fits(value: &str, pattern: &str, compare: Compare) -> bool {
    let (value, pattern) = (value.to_lowercase(), pattern.to_lowercase());
    match compare {
        Compare::Glob => Glob::new(&pattern).matches(&value),
        Compare::Pcre => begins(&pattern, &value),
    }
}

/// Whether `a:b:pattern` fits something in a value: the longest path that leads somewhere first.
fn within(data: &Value, target: &str, compare: Compare) -> bool {
    let parts: Vec<&str> = target.split(':').collect();
    (1..parts.len()).rev().any(|place| {
        let (key, pattern) = (parts[..place].join(":"), parts[place..].join(":"));
        if key == "*" {
            return found(data, target, compare);
        }
        let value = looked_up(data, &key, ":");
        value.is_some_and(|value| found(&value, &pattern, compare))
    })
}

fn found(value: &Value, pattern: &str, compare: Compare) -> bool {
    match value.reveal() {
        Value::Map(map) if map.is_empty() => false,
        Value::Map(_) => in_map(value, pattern, compare),
        Value::List(items) => items.iter().any(|item| {
            let map = matches!(item.reveal(), Value::Map(_));
            (map && in_map(item, pattern, compare))
                || fits(&item.reveal().to_string(), pattern, compare)
        }),
        one => fits(&one.to_string(), pattern, compare),
    }
}

fn in_map(value: &Value, pattern: &str, compare: Compare) -> bool {
    let Some(map) = value.as_map() else {
        return false;
    };
    let (rest, wild) = match pattern.strip_prefix("*:") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let key = || map.keys().any(|key| fits(key, rest, compare));
    let deeper = || {
        map.values().any(|item| match item.reveal() {
            Value::Map(_) => in_map(item, rest, compare),
            Value::List(items) => items
                .iter()
                .any(|item| fits(&item.to_string(), rest, compare)),
            one => fits(&one.to_string(), rest, compare),
        })
    };
    rest == "*" || key() || within(value, rest, compare) || (wild && deeper())
}

/// Whether the machine has an address, or one in a network.
fn address(target: &str, grains: &Value) -> bool {
    let (text, width) = match target.split_once('/') {
        Some((text, width)) => (text, Some(width)),
        None => (target, None),
    };
    let Ok(network) = text.parse::<IpAddr>() else {
        return false;
    };
    let (key, most) = if network.is_ipv4() {
        ("ipv4", 32)
    } else {
        ("ipv6", 128)
    };
    let width = match width.map(str::parse::<u32>) {
        None => most,
        Some(Ok(width)) if width <= most => width,
        Some(_) => return false,
    };
    let own = grains
        .get(key)
        .and_then(Value::as_list)
        .into_iter()
        .flatten();
    let mut own = own.filter_map(|own| own.as_str()?.parse::<IpAddr>().ok());
    let masked = |address: IpAddr| match address {
        IpAddr::V4(four) => u128::from(u32::from(four))
            .checked_shr(32 - width)
            .unwrap_or(0),
        IpAddr::V6(six) => u128::from(six).checked_shr(128 - width).unwrap_or(0),
    };
    own.any(|own| own.is_ipv4() == network.is_ipv4() && masked(own) == masked(network))
}

fn words(target: &str) -> Vec<Arc<str>> {
    target.split_whitespace().map(Arc::from).collect()
}

/// The words of a node group.
fn group(name: &str, machine: &Machine) -> Vec<Arc<str>> {
    let groups = machine.options.get("nodegroups");
    match groups
        .and_then(|groups| groups.get(name))
        .map(Value::reveal)
    {
        Some(Value::Str(target)) => words(target),
        Some(Value::List(names)) => {
            // A list names groups and machines; it may hold operators as a text does.
            let all: Vec<Arc<str>> = names.iter().map(|word| word.to_string().into()).collect();
            let is_operator = |word: &Arc<str>| matches!(&**word, "and" | "or" | "not" | "(" | ")");
            if all.iter().any(is_operator) {
                return all;
            }
            let listed: Vec<&str> = all.iter().map(|word| &**word).collect();
            let simple = listed.iter().all(|word| !word.contains('@'));
            if simple {
                return vec![format!("L@{}", listed.join(",")).into()];
            }
            all
        }
        _ => Vec::new(),
    }
}

/// What words such as `G@os:Debian and not ( web* or L@a,b )` come to; none if they are malformed.
fn compound(words: Vec<Arc<str>>, machine: &Machine, depth: usize) -> Option<bool> {
    if depth > DEPTH || words.is_empty() {
        return None;
    }
    let mut parser = Compound {
        words,
        at: 0,
        machine,
        depth,
    };
    let value = parser.either(0)?;
    (parser.at == parser.words.len()).then_some(value)
}

struct Compound<'a> {
    words: Vec<Arc<str>>,
    at: usize,
    machine: &'a Machine,
    depth: usize,
}

impl Compound<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(|word| &**word)
    }

    fn either(&mut self, depth: usize) -> Option<bool> {
        let mut value = self.both(depth)?;
        while self.peek() == Some("or") {
            self.at += 1;
            value |= self.both(depth)?;
        }
        Some(value)
    }

    fn both(&mut self, depth: usize) -> Option<bool> {
        let mut value = self.single(depth)?;
        loop {
            match self.peek() {
                Some("and") => self.at += 1,
                // `a not b` means `a and not b`.
                Some("not") => {}
                _ => return Some(value),
            }
            value &= self.single(depth)?;
        }
    }

    fn single(&mut self, depth: usize) -> Option<bool> {
        if depth > DEPTH {
            return None;
        }
        let word = Arc::clone(self.words.get(self.at)?);
        self.at += 1;
        match &*word {
            "not" => self.single(depth + 1).map(|value| !value),
            "(" => {
                let value = self.either(depth + 1)?;
                (self.peek() == Some(")")).then(|| self.at += 1)?;
                Some(value)
            }
            "and" | "or" | ")" => None,
            word => self.word(word),
        }
    }

    fn word(&self, word: &str) -> Option<bool> {
        let Some((engine, target)) = word.split_once('@') else {
            return Some(Matcher::Glob.matches(word, self.machine));
        };
        let matcher = match engine {
            "G" => Matcher::Grain,
            "P" => Matcher::GrainPcre,
            "I" => Matcher::Pillar,
            "J" => Matcher::PillarPcre,
            "L" => Matcher::List,
            "S" => Matcher::Ipcidr,
            "E" => Matcher::Pcre,
            "N" => {
                let words = group(target, self.machine);
                return compound(words, self.machine, self.depth + 1).or(Some(false));
            }
            _ => return Some(Matcher::Glob.matches(word, self.machine)),
        };
        Some(matcher.matches(target, self.machine))
    }
}
