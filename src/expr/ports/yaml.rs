//! YAML texts, whose reader is no part of expressions.

use std::sync::Arc;

use crate::value::Value;

use super::error::YamlError;

/// Reads and writes YAML.
pub trait Yaml {
    /// The value that a YAML text holds.
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError>;

    /// A value as YAML.
    fn to_yaml(&self, value: &Value) -> Result<String, YamlError>;
}

impl<T: Yaml + ?Sized> Yaml for Arc<T> {
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError> {
        T::parse_yaml(self, text)
    }

    fn to_yaml(&self, value: &Value) -> Result<String, YamlError> {
        T::to_yaml(self, value)
    }
}

/// A value as JSON, which is YAML too.
pub fn json_as_yaml(value: &Value) -> Result<String, YamlError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| YamlError(error.to_string()))
}
