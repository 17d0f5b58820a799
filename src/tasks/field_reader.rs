//! Reads the fields of YAML maps in `tasks.yaml`.
//!
//! [`FieldReader`] reports every problem with its position and goes on, so that the user sees all
//! problems at once.

use std::path::PathBuf;
use std::time::Duration;

use super::{ScopeText, TemplateText};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::text::{did_you_mean, parse_size};
use crate::value::{Map, Value, seconds};
use crate::yaml::{KeyTable, Node, NodeKind};

/// The longest accepted time in seconds: one year. Longer values are cut to it.
const MAX_SECONDS: f64 = 366.0 * 24.0 * 3600.0;

/// Reads fields and collects the problems found so far.
#[derive(Debug, Default)]
pub(super) struct FieldReader {
    pub(super) problems: Diagnostics,
    /// The folder of the file that is being read.
    pub(super) folder: PathBuf,
}

impl FieldReader {
    /// Adds a problem with its position and an optional hint.
    pub(super) fn report(&mut self, message: &str, span: Span, help: Option<String>) {
        let problem = Diagnostic::error(message).label(span, "");
        self.problems.push(problem.help_if(help));
    }

    /// Reports that a node has another type than expected.
    pub(super) fn report_mismatch(&mut self, node: &Node, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}, not {}", node.kind_name());
        self.report(&message, node.span(), None);
    }

    /// Checks that a node is a map with only the keys of a table and all required keys.
    ///
    /// Returns false if the node is not a map.
    pub(super) fn check_map(&mut self, node: &Node, table: &KeyTable) -> bool {
        let what = table.name;
        let Some(map) = node.as_map() else {
            self.report_mismatch(node, &format!("`{what}`"), "a map");
            return false;
        };
        for (key, entry) in map {
            if !table.has_key(key) {
                let names: Vec<&str> = table.names().collect();
                let help = did_you_mean(key, names.iter().copied())
                    .unwrap_or_else(|| format!("the known keys are `{}`", names.join("`, `")));
                let message = format!("`{what}` has no key `{key}`");
                self.report(&message, entry.key_span, Some(help));
            }
        }
        for key in table.required {
            if map.get(key).is_none_or(Node::is_null) {
                let message = format!("`{what}` needs `{key}`");
                self.report(&message, node.span(), None);
            }
        }
        true
    }

    /// Returns the value of a key. None if the key is absent or null.
    pub(super) fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
        node.get(key).filter(|value| !value.is_null())
    }

    /// Reads a text field. Reports any other type.
    pub(super) fn string<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n str> {
        let value = Self::get(node, key)?;
        if value.as_str().is_none() {
            self.report_mismatch(value, &format!("`{key}`"), "a string");
        }
        value.as_str()
    }

    /// Reads a text field that may contain templates.
    pub(super) fn text(&mut self, node: &Node, key: &str) -> Option<TemplateText> {
        self.string(node, key).map(TemplateText::new)
    }

    /// Reads a text, number or boolean as a text that may contain templates.
    pub(super) fn scalar(&mut self, node: &Node, key: &str) -> Option<TemplateText> {
        let value = Self::get(node, key)?;
        match value.kind() {
            NodeKind::Seq(_) | NodeKind::Map(_) => {
                self.report_mismatch(value, &format!("`{key}`"), "a string");
                None
            }
            _ => Some(TemplateText::new(value.to_value().to_string())),
        }
    }

    /// Reads a secret text that may contain templates or be encrypted. Reports no part of it.
    pub(super) fn secret(&mut self, node: &Node, key: &str) -> Option<TemplateText> {
        let value = Self::get(node, key)?;
        match value.to_value().reveal() {
            Value::Str(text) => Some(TemplateText::new(&**text)),
            Value::Int(number) => Some(TemplateText::new(number.to_string())),
            _ => {
                self.report_mismatch(value, &format!("`{key}`"), "a string");
                None
            }
        }
    }

    /// Reads a boolean. None if the key is absent.
    pub(super) fn flag(&mut self, node: &Node, key: &str) -> Option<bool> {
        let value = Self::get(node, key)?;
        if value.as_bool().is_none() {
            self.report_mismatch(value, &format!("`{key}`"), "true or false");
        }
        value.as_bool()
    }

    /// Whether a boolean field is present and true.
    pub(super) fn is_set(&mut self, node: &Node, key: &str) -> bool {
        self.flag(node, key).unwrap_or(false)
    }

    /// Reads a number of hosts. 0 counts as absent.
    pub(super) fn count(&mut self, node: &Node, key: &str) -> Option<usize> {
        let number = self.number(node, key, "a number of hosts");
        number.filter(|number| *number > 0)
    }

    /// Reads a whole number, also as a text of digits.
    pub(super) fn number(&mut self, node: &Node, key: &str, expected: &str) -> Option<usize> {
        let value = Self::get(node, key)?;
        let number = match value.kind() {
            NodeKind::Int(number) => usize::try_from(*number).ok(),
            NodeKind::Str(text) => text.trim().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.report_mismatch(value, &format!("`{key}`"), expected);
        }
        number
    }

    /// Reads a text or a list of texts. Empty if the key is absent.
    pub(super) fn texts(&mut self, node: &Node, key: &str) -> Vec<TemplateText> {
        self.names(node, key).unwrap_or_default()
    }

    /// Reads a duration: a number of seconds, or one with a unit.
    pub(super) fn duration(&mut self, node: &Node, key: &str) -> Option<Duration> {
        let value = Self::get(node, key)?;
        let time = match value.kind() {
            NodeKind::Int(_) | NodeKind::Float(_) | NodeKind::Str(_) => {
                duration(&value.to_value().to_string())
            }
            _ => None,
        };
        if time.is_none() {
            let message = format!("`{key}` is not a duration");
            let help = "write a number of seconds, or a number with the unit `ms`, `s`, `m` or `h`";
            self.report(&message, value.span(), Some(help.to_owned()));
        }
        time
    }

    /// Reads a name or a list of names.
    pub(super) fn names(&mut self, node: &Node, key: &str) -> Option<Vec<TemplateText>> {
        let value = Self::get(node, key)?;
        let items = match value.kind() {
            NodeKind::Seq(items) => items.as_slice(),
            _ => std::slice::from_ref(value),
        };
        let mut names = Vec::new();
        for item in items {
            match item.as_str().map(str::trim) {
                Some("") => {
                    self.report(&format!("`{key}` has an empty item"), item.span(), None);
                }
                Some(name) => names.push(TemplateText::new(name)),
                None => self.report_mismatch(item, &format!("an item of `{key}`"), "a name"),
            }
        }
        Some(names)
    }

    /// Reads hosts, roles and exclusions, in their singular and plural keys.
    pub(super) fn scope(&mut self, node: &Node) -> ScopeText {
        let mut both = |one: &str, many: &str| {
            let mut names = self.names(node, one).unwrap_or_default();
            names.extend(self.names(node, many).unwrap_or_default());
            names
        };
        ScopeText {
            hosts: both("host", "hosts"),
            roles: both("role", "roles"),
            exclude_hosts: both("", "exclude_hosts"),
        }
    }

    /// Reads a map with arbitrary keys. Empty if the key is absent.
    pub(super) fn map(&mut self, node: &Node, key: &str) -> Map {
        let Some(value) = Self::get(node, key) else {
            return Map::new();
        };
        if value.as_map().is_none() {
            self.report_mismatch(value, &format!("`{key}`"), "a map");
        }
        value.to_value().as_map().cloned().unwrap_or_default()
    }

    /// Reads permission bits, written as a quoted text of octal digits.
    pub(super) fn mode(&mut self, node: &Node, key: &str) -> Option<u32> {
        let value = Self::get(node, key)?;
        let text = value.as_str().map(|text| text.trim_start_matches("0o"));
        let mode = text.and_then(|text| u32::from_str_radix(text, 8).ok());
        let mode = mode.filter(|mode| *mode <= 0o7777);
        if mode.is_none() {
            let message = format!("`{key}` is not a file mode");
            let help = "write octal digits in quotes, such as `\"0644\"`";
            self.report(&message, value.span(), Some(help.to_owned()));
        }
        mode
    }

    /// Returns a size in bytes: a number, or a number with a unit.
    pub(super) fn size(&mut self, node: &Node, key: &str) -> Option<u64> {
        let value = Self::get(node, key)?;
        let number = value.as_int().and_then(|number| u64::try_from(number).ok());
        let size = number.or_else(|| parse_size(value.as_str()?));
        if size.is_none() {
            let message = format!("`{key}` is not a size");
            let help = "write a number of bytes, or `64K`, `10M`, `2G`, `1T`";
            self.report(&message, value.span(), Some(help.to_owned()));
        }
        size
    }

    /// Returns a size that must be more than 0 bytes.
    pub(super) fn limit_size(&mut self, node: &Node, key: &str) -> Option<u64> {
        let size = self.size(node, key);
        if size == Some(0) {
            let span = Self::get(node, key).map_or(node.span(), Node::span);
            self.report(&format!("`{key}` must be more than 0 bytes"), span, None);
        }
        size
    }
}

/// Parses a number of seconds, or a number with a unit.
fn duration(text: &str) -> Option<Duration> {
    let seconds = seconds(text).ok().filter(|it| it.is_finite())?;
    Some(Duration::from_secs_f64(seconds.min(MAX_SECONDS)))
}
