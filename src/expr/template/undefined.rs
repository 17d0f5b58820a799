//! The messages for undefined names and attributes, in the words of Jinja2.

use minijinja::value::Value as JinjaValue;

/// Returns the message for a variable that a document lacks.
pub(super) fn missing_name(name: &str) -> String {
    format!("'{name}' is undefined")
}

/// Returns the message for a key that a map lacks.
pub(super) fn missing_attribute(key: &JinjaValue) -> String {
    match key.as_str() {
        Some(name) => format!("'dict object' has no attribute '{name}'"),
        None => format!("dict object has no element {key}"),
    }
}
