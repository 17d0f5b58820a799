//! Writes values as canonical YAML.

use crate::value::Value;

/// The block text of a value: each line is indented by `indent` spaces and ends with a line break.
pub fn emit(value: &Value, indent: usize) -> String {
    format!("{:indent$}{value}\n", "")
}
