//! The variables of a module: the input `tfvars` and the properties that stand for variables.

use super::settings::{VARIABLE_METADATA, input_error};
use crate::expr::Error;
use crate::secret::plain_json;
use crate::task::TaskView;
use crate::value::{Map, Value};

/// The variables of a module.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ModuleVariables {
    /// The text of a file with variables.
    Text(Value),
    /// The values by name.
    Values(Map),
}

impl ModuleVariables {
    /// Reads the variables of a task. Properties override the input `tfvars`, which overrides `arguments`.
    pub(super) fn of(task: &TaskView<'_>) -> Result<Self, Error> {
        let stated = task.input("tfvars")?.unwrap_or_default();
        if let Value::Str(_) = stated.reveal() {
            return Ok(Self::Text(stated));
        }
        let values = task.input("arguments")?.unwrap_or_default();
        let mut values = map_input("arguments", "a map", &values)?;
        values.extend(map_input("tfvars", "a map or a text", &stated)?);
        values.extend(task.tool().marked_properties(VARIABLE_METADATA)?);
        Ok(Self::Values(values))
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text
                .reveal()
                .as_str()
                .is_none_or(|text| text.trim().is_empty()),
            Self::Values(values) => values.is_empty(),
        }
    }

    /// Divides the variables into those that anyone may see and those that are secret.
    pub(super) fn divided(self) -> (Map, Map) {
        match self {
            Self::Text(_) => (Map::new(), Map::new()),
            Self::Values(values) => values
                .into_iter()
                .partition(|(_, value)| !value.has_sensitive()),
        }
    }
}

/// Returns the entries of an input that is a map, or missing. `kinds` names in words what the input may be.
fn map_input(name: &str, kinds: &str, value: &Value) -> Result<Map, Error> {
    match value.reveal() {
        Value::Null => Ok(Map::new()),
        Value::Map(_) => Ok(value.marked_entries().unwrap_or_default()),
        _ => {
            let kind = value.kind();
            Err(input_error(format!("`{name}` must be {kinds}, not {kind}")))
        }
    }
}

/// Returns values as the text of a JSON file.
pub(super) fn json_text(values: &Map) -> String {
    let json = plain_json(&Value::from(values.clone()));
    serde_json::to_string_pretty(&json).unwrap_or_default()
}

/// Returns a value for the body of a module call, in which `${` begins an expression of the tool.
///
/// A text of the model may have such an expression. One from outside is data, and stays as it is.
pub(super) fn argument(value: &Value) -> serde_json::Value {
    if value.has_data() {
        return escaped(plain_json(value));
    }
    plain_json(value)
}

fn escaped(json: serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::String(text) => text.replace("${", "$${").replace("%{", "%%{").into(),
        serde_json::Value::Array(items) => items.into_iter().map(escaped).collect(),
        serde_json::Value::Object(entries) => {
            let entries = entries
                .into_iter()
                .map(|(key, value)| (key, escaped(value)));
            serde_json::Value::Object(entries.collect())
        }
        other => other,
    }
}

/// Returns the texts in quotes of a file with variables.
pub(super) fn quoted_texts(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find('"')?;
        let body = &rest[start + 1..];
        let mut is_escaped = false;
        let end = body.find(|c| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        })?;
        rest = &body[end + 1..];
        let quoted = format!("\"{}\"", &body[..end]);
        let plain = serde_json::from_str(&quoted);
        Some(plain.unwrap_or_else(|_| body[..end].to_owned()))
    })
}
