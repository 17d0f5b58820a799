//! The options and errors that the `lookup` function and the `lookup` of templates share.

use crate::value::{Map, Value};

use super::error::Error;

/// The options of a lookup next to its terms: `default`, `errors`, `file`, ….
#[derive(Debug, Default)]
pub(super) struct LookupOptions(pub(super) Map);

impl LookupOptions {
    /// Returns an option as text, or None if it is missing or null.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = self.0.get(name).filter(|value| !value.is_null());
        value.map(|value| value.reveal().to_string())
    }

    /// Returns an option as a boolean, or `default` if it is missing or not a truth word.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        match self.0.get(name).map(Value::reveal) {
            None => default,
            Some(Value::Str(text)) => parse_truth(text).unwrap_or(default),
            Some(value) => value.is_truthy(),
        }
    }
}

/// Creates an error that names the lookup.
pub(super) fn lookup_error(name: &str, problem: String) -> Error {
    Error::Function {
        function: format!("lookup('{name}')"),
        problem,
    }
}

/// Parses the words that Ansible accepts for true and false.
pub(super) fn parse_truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "yes" | "on" | "1" | "true" | "t" | "y" => Some(true),
        "no" | "off" | "0" | "false" | "f" | "n" => Some(false),
        _ => None,
    }
}
