//! The `to_label` functions: they convert texts, lists and maps to labels that satisfy the rules of DNS,
//! Kubernetes, Google Cloud and similar systems.

use regex::Regex;
use sha1::{Digest as _, Sha1};

use crate::expr::encoding::base32;
use crate::text::base64;
use crate::value::{Map, Value};

/// The maximum length for one segment of a joined label, whose total length is limited later.
const UNBOUNDED: usize = 9999;

/// The rules that a kind of label must satisfy.
#[derive(Debug, Clone)]
pub(in crate::expr) struct LabelRules {
    allowed: String,
    start: String,
    start_prepend: String,
    end: Option<String>,
    replace: String,
    sep: String,
    case: Case,
    max: usize,
    digest: Option<String>,
    digest_length: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Any,
    Lower,
    Upper,
}

impl LabelRules {
    /// The names of the options that [`LabelRules::set`] accepts.
    pub(in crate::expr) const OPTIONS: [&'static str; 10] = [
        "allowed",
        "start",
        "start_prepend",
        "end",
        "replace",
        "sep",
        "case",
        "max",
        "digest",
        "digestlen",
    ];

    /// Returns the default rules of a `to_…_label` function.
    pub(in crate::expr) fn for_function(function: &str) -> Self {
        let plain = Self {
            allowed: r"\w".to_owned(),
            start: "a-zA-Z".to_owned(),
            start_prepend: "x".to_owned(),
            end: None,
            replace: String::new(),
            sep: String::new(),
            case: Case::Any,
            max: 63,
            digest: None,
            digest_length: None,
        };
        match function {
            "to_dns_label" => Self {
                allowed: "a-zA-Z0-9-".to_owned(),
                replace: "--".to_owned(),
                case: Case::Lower,
                end: Some("a-zA-Z0-9".to_owned()),
                ..plain
            },
            "to_kubernetes_label" => Self {
                allowed: r"\w.-".to_owned(),
                replace: "__".to_owned(),
                start: "a-zA-Z0-9".to_owned(),
                end: Some("a-zA-Z0-9".to_owned()),
                ..plain
            },
            "to_googlecloud_label" => Self {
                allowed: r"\w-".to_owned(),
                case: Case::Lower,
                replace: "__".to_owned(),
                ..plain
            },
            _ => plain,
        }
    }

    /// Sets the option with a name from an evaluated value.
    pub(in crate::expr) fn set(&mut self, name: &str, value: &Value) {
        let text = || value.reveal().to_string();
        let number = || {
            value
                .as_int()
                .and_then(|number| usize::try_from(number).ok())
        };
        match name {
            "allowed" => strip_brackets(&text()).clone_into(&mut self.allowed),
            "start" => strip_brackets(&text()).clone_into(&mut self.start),
            "start_prepend" => self.start_prepend = text(),
            "end" => self.end = (!value.is_null()).then(|| strip_brackets(&text()).to_owned()),
            "replace" => self.replace = text(),
            "sep" => self.sep = text(),
            "max" => self.max = number().unwrap_or(self.max).max(1),
            "digest" => self.digest = (!value.is_null()).then(text),
            "digestlen" => self.digest_length = number(),
            "case" => {
                self.case = match text().as_str() {
                    "lower" => Case::Lower,
                    "upper" => Case::Upper,
                    _ => Case::Any,
                }
            }
            _ => {}
        }
    }

    fn checksum(&self) -> usize {
        let length = self
            .digest_length
            .unwrap_or(if self.max < 32 { 2 } else { 3 });
        length.min(self.max)
    }
}

/// Removes the brackets from a character set such as `[a-z]`.
fn strip_brackets(set: &str) -> &str {
    set.strip_prefix('[')
        .and_then(|set| set.strip_suffix(']'))
        .unwrap_or(set)
}

/// Converts a text to a label, a list to one joined label, and the keys and values of a map to labels.
pub(in crate::expr) fn to_label(value: &Value, rules: &LabelRules) -> Result<Value, String> {
    match value.reveal() {
        Value::Map(map) => {
            let mut labels = Map::new();
            let plain = LabelRules {
                digest: None,
                ..rules.clone()
            };
            for (key, item) in map.iter().filter(|(_, item)| !item.is_null()) {
                labels.insert(label_of(key, &plain)?.into(), to_label(item, rules)?);
            }
            Ok(labels.into())
        }
        Value::List(items) => {
            let texts: Vec<_> = items.iter().map(|item| item.reveal().to_string()).collect();
            joined(&texts, rules).map(Value::from)
        }
        Value::Str(text) => label_of(text, rules).map(Value::from),
        Value::External(external) => to_label(&external.value, rules),
        other => Ok(other.clone()),
    }
}

fn joined(texts: &[String], style: &LabelRules) -> Result<String, String> {
    if texts.is_empty() {
        return Ok(String::new());
    }
    let count = texts.len();
    let separators = style.sep.chars().count() * (count - 1);
    let space = style.max - separators.min(style.max - 1);
    let part = LabelRules {
        start: style.allowed.clone(),
        start_prepend: String::new(),
        end: None,
        digest: None,
        digest_length: Some(0),
        max: UNBOUNDED,
        ..style.clone()
    };
    let labels = texts
        .iter()
        .map(|text| label_of(text, &part))
        .collect::<Result<Vec<_>, _>>()?;
    let length: usize = labels.iter().map(|label| label.chars().count()).sum();
    let mut text: String = labels.join(&style.sep).chars().take(style.max).collect();
    if length > space || style.digest.is_some() {
        let each = (space / count).max(1);
        let unused = labels
            .iter()
            .map(|label| each.saturating_sub(label.chars().count()));
        let each = each + unused.sum::<usize>() / count;
        let short: Vec<_> = labels
            .iter()
            .map(|label| shortened(label, &style.replace, each))
            .collect();
        let checksum = style.checksum();
        if checksum > 0 {
            let digest: String = digest(&texts.concat(), style)
                .chars()
                .take(checksum)
                .collect();
            let left = style.max - checksum;
            if left == 0 {
                return Ok(digest);
            }
            text = short.join(&style.sep).chars().take(left).collect();
            text += &digest;
        }
    }
    let whole = LabelRules {
        allowed: format!("{}{}", style.allowed, regex::escape(&style.sep)),
        digest: None,
        digest_length: Some(0),
        ..style.clone()
    };
    label_of(&text, &whole)
}

fn label_of(text: &str, style: &LabelRules) -> Result<String, String> {
    let set = |set: &str| {
        let pattern = format!("[^{set}]");
        Regex::new(&pattern)
            .map_err(|_| format!("`[{set}]` is not a valid character set of a regular expression"))
    };
    let is_bad = |outside: &Regex, character: Option<char>| {
        character.is_some_and(|character| outside.is_match(&character.to_string()))
    };
    let mut label = if is_bad(&set(&style.start)?, text.chars().next()) {
        format!("{}{text}", style.start_prepend)
    } else {
        text.to_owned()
    };
    // A label longer than the maximum is cut anyway, so disallowed characters are dropped without
    // replacement.
    let fits = label.chars().count() <= style.max;
    let replace = if fits { style.replace.as_str() } else { "" };
    label = set(&style.allowed)?
        .replace_all(&label, regex::NoExpand(replace))
        .into_owned();
    if let Some(end) = &style.end {
        let outside = set(end)?;
        while is_bad(&outside, label.chars().next_back()) {
            label.pop();
        }
    }
    label = match style.case {
        Case::Any => label,
        Case::Lower => label.to_lowercase(),
        Case::Upper => label.to_uppercase(),
    };
    let checksum = style.checksum();
    if checksum > 0 && (style.digest.is_some() || label.chars().count() > style.max) {
        let digest: String = digest(text, style).chars().take(checksum).collect();
        return Ok(shortened(&label, &style.replace, style.max - checksum) + &digest);
    }
    Ok(shortened(&label, &style.replace, style.max))
}

/// Shortens a label to `length` characters by cutting out the middle.
fn shortened(label: &str, replace: &str, length: usize) -> String {
    let characters: Vec<char> = label.chars().collect();
    if characters.len() <= length {
        return label.to_owned();
    }
    let left = length.saturating_sub(replace.chars().count());
    if left <= 8 {
        return characters[..length].iter().collect();
    }
    let start: String = characters[..left.div_ceil(2)].iter().collect();
    let end: String = characters[characters.len() - left / 2..].iter().collect();
    start + replace + &end
}

fn digest(text: &str, style: &LabelRules) -> String {
    let mut hasher = Sha1::new();
    hasher.update(text);
    hasher.update(style.digest.as_deref().unwrap_or_default());
    let bytes = hasher.finalize();
    match style.case {
        Case::Any => {
            let digits = base64::encode(&bytes);
            digits.chars().filter(char::is_ascii_alphanumeric).collect()
        }
        Case::Upper => base32(&bytes),
        Case::Lower => base32(&bytes).to_lowercase(),
    }
}
