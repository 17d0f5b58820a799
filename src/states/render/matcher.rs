//! Top file matchers: decides whether a target expression of the top file matches a machine (S7).
//!
//! [`Matcher::matches`] compares the target with the machine's ID, grains, pillar or addresses.

use std::net::IpAddr;
use std::sync::Arc;

use super::{MinionData, value_at_path};
use crate::text::{Glob, Pattern};
use crate::value::Value;

/// The kind of a target expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::states) enum Matcher {
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

/// The kind of pattern that grain and pillar values are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternKind {
    Glob,
    Pcre,
}

/// The limit for nested node groups, and for nested parentheses in a compound target.
const MAX_DEPTH: usize = 50;

impl Matcher {
    /// Returns the matcher with this name in a top file.
    pub(in crate::states) fn from_name(word: &str) -> Option<Self> {
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

    /// Whether the target matches the machine. Invalid expressions match nothing.
    pub(in crate::states) fn matches(self, target: &str, machine: &MinionData) -> bool {
        match self {
            Self::Glob => Glob::new(target).matches(&machine.id),
            Self::List => target.split(',').any(|name| *name == *machine.id),
            Self::Pcre => matches_start(target, &machine.id),
            Self::Grain => matches_path(&machine.grains, target, PatternKind::Glob),
            Self::GrainPcre => matches_path(&machine.grains, target, PatternKind::Pcre),
            Self::Pillar => matches_path(&machine.pillar, target, PatternKind::Glob),
            Self::PillarPcre => matches_path(&machine.pillar, target, PatternKind::Pcre),
            Self::Ipcidr => matches_address(target, &machine.grains),
            Self::Compound => evaluate_compound(split_words(target), machine, 0).unwrap_or(false),
            Self::Nodegroup => {
                evaluate_compound(nodegroup_words(target, machine), machine, 0).unwrap_or(false)
            }
        }
    }
}

/// Whether a Python regular expression matches at the start of a text, as `re.match` does.
fn matches_start(pattern: &str, text: &str) -> bool {
    Pattern::new(&format!("\\A(?:{pattern})"))
        .and_then(|pattern| pattern.is_match(text))
        .unwrap_or(false)
}

fn matches_pattern(value: &str, pattern: &str, compare: PatternKind) -> bool {
    let (value, pattern) = (value.to_lowercase(), pattern.to_lowercase());
    match compare {
        PatternKind::Glob => Glob::new(&pattern).matches(&value),
        PatternKind::Pcre => matches_start(&pattern, &value),
    }
}

/// Whether `a:b:pattern` matches a value in nested data. Tries the longest path that exists first, because
/// keys may contain `:`.
fn matches_path(data: &Value, target: &str, compare: PatternKind) -> bool {
    let parts: Vec<&str> = target.split(':').collect();
    (1..parts.len()).rev().any(|place| {
        let (key, pattern) = (parts[..place].join(":"), parts[place..].join(":"));
        if key == "*" {
            return matches_value(data, target, compare);
        }
        let value = value_at_path(data, &key, ":");
        value.is_some_and(|value| matches_value(&value, &pattern, compare))
    })
}

fn matches_value(value: &Value, pattern: &str, compare: PatternKind) -> bool {
    match value.reveal() {
        Value::Map(map) if map.is_empty() => false,
        Value::Map(_) => matches_map(value, pattern, compare),
        Value::List(items) => items.iter().any(|item| {
            let map = matches!(item.reveal(), Value::Map(_));
            (map && matches_map(item, pattern, compare))
                || matches_pattern(&item.reveal().to_string(), pattern, compare)
        }),
        one => matches_pattern(&one.to_string(), pattern, compare),
    }
}

fn matches_map(value: &Value, pattern: &str, compare: PatternKind) -> bool {
    let Some(map) = value.as_map() else {
        return false;
    };
    let (rest, wild) = match pattern.strip_prefix("*:") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let key = || map.keys().any(|key| matches_pattern(key, rest, compare));
    let deeper = || {
        map.values().any(|item| match item.reveal() {
            Value::Map(_) => matches_map(item, rest, compare),
            Value::List(items) => items
                .iter()
                .any(|item| matches_pattern(&item.to_string(), rest, compare)),
            one => matches_pattern(&one.to_string(), rest, compare),
        })
    };
    rest == "*" || key() || matches_path(value, rest, compare) || (wild && deeper())
}

/// Whether the machine has the given IP address, or an address in the given network.
fn matches_address(target: &str, grains: &Value) -> bool {
    let (text, width) = match target.split_once('/') {
        Some((text, width)) => (text, Some(width)),
        None => (target, None),
    };
    let Ok(network) = text.parse::<IpAddr>() else {
        return false;
    };
    let (key, max_width) = if network.is_ipv4() {
        ("ipv4", 32)
    } else {
        ("ipv6", 128)
    };
    let width = match width.map(str::parse::<u32>) {
        None => max_width,
        Some(Ok(width)) if width <= max_width => width,
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

fn split_words(target: &str) -> Vec<Arc<str>> {
    target.split_whitespace().map(Arc::from).collect()
}

/// The compound expression of a node group, split into words.
fn nodegroup_words(name: &str, machine: &MinionData) -> Vec<Arc<str>> {
    let groups = machine.options.get("nodegroups");
    match groups
        .and_then(|groups| groups.get(name))
        .map(Value::reveal)
    {
        Some(Value::Str(target)) => split_words(target),
        Some(Value::List(names)) => {
            // A list names groups and machines. With operators in the list, its items are the words of a
            // compound expression.
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

/// Evaluates a compound expression such as `G@os:Debian and not ( web* or L@a,b )`. Returns `None` if it is
/// malformed.
fn evaluate_compound(words: Vec<Arc<str>>, machine: &MinionData, depth: usize) -> Option<bool> {
    if depth > MAX_DEPTH || words.is_empty() {
        return None;
    }
    let mut parser = CompoundParser {
        words,
        position: 0,
        machine,
        depth,
    };
    let value = parser.parse_or(0)?;
    (parser.position == parser.words.len()).then_some(value)
}

/// A recursive descent parser that evaluates a compound expression while parsing.
struct CompoundParser<'a> {
    words: Vec<Arc<str>>,
    position: usize,
    machine: &'a MinionData,
    depth: usize,
}

impl CompoundParser<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.position).map(|word| &**word)
    }

    fn parse_or(&mut self, depth: usize) -> Option<bool> {
        let mut value = self.parse_and(depth)?;
        while self.peek() == Some("or") {
            self.position += 1;
            value |= self.parse_and(depth)?;
        }
        Some(value)
    }

    fn parse_and(&mut self, depth: usize) -> Option<bool> {
        let mut value = self.parse_term(depth)?;
        loop {
            match self.peek() {
                Some("and") => self.position += 1,
                // In Salt `a not b` means `a and not b`.
                Some("not") => {}
                _ => return Some(value),
            }
            value &= self.parse_term(depth)?;
        }
    }

    fn parse_term(&mut self, depth: usize) -> Option<bool> {
        if depth > MAX_DEPTH {
            return None;
        }
        let word = Arc::clone(self.words.get(self.position)?);
        self.position += 1;
        match &*word {
            "not" => self.parse_term(depth + 1).map(|value| !value),
            "(" => {
                let value = self.parse_or(depth + 1)?;
                (self.peek() == Some(")")).then(|| self.position += 1)?;
                Some(value)
            }
            "and" | "or" | ")" => None,
            word => self.match_word(word),
        }
    }

    fn match_word(&self, word: &str) -> Option<bool> {
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
                let words = nodegroup_words(target, self.machine);
                return evaluate_compound(words, self.machine, self.depth + 1).or(Some(false));
            }
            _ => return Some(Matcher::Glob.matches(word, self.machine)),
        };
        Some(matcher.matches(target, self.machine))
    }
}
