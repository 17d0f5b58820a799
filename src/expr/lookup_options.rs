//! Options and errors of lookups.

use crate::value::{Map, Value};

use super::error::Error;

/// What stands beside the terms of a lookup: `default`, `errors`, `file`, ….
#[derive(Debug, Default)]
pub(super) struct LookupOptions(pub(super) Map);

impl LookupOptions {
    /// An option as text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = self.0.get(name).filter(|value| !value.is_null());
        value.map(|value| value.reveal().to_string())
    }

    /// An option as true or false.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        match self.0.get(name).map(Value::reveal) {
            None => default,
            Some(Value::Str(text)) => parse_truth(text).unwrap_or(default),
            Some(value) => value.is_truthy(),
        }
    }
}

/// An error of a lookup.
pub(super) fn lookup_error(name: &str, problem: String) -> Error {
    Error::Function {
        function: format!("lookup('{name}')"),
        problem,
    }
}

/// Whether a text says yes or no.
pub(super) fn parse_truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "yes" | "on" | "1" | "true" | "t" | "y" => Some(true),
        "no" | "off" | "0" | "false" | "f" | "n" => Some(false),
        _ => None,
    }
}
