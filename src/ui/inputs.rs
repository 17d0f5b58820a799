//! Renders the inputs of a plan as JSON: their values and where these come from.

use serde_json::{Map, Value as Json, json};

use super::change::location_json;
use crate::diagnostic::SourcePosition;
use crate::value::Value;

/// An input of a plan, prepared for output.
#[derive(Debug, Clone, PartialEq)]
pub struct InputView {
    pub name: String,
    /// The evaluated value with secrets redacted. None if it cannot be evaluated.
    pub value: Option<Value>,
    /// The kind of the source, such as `option`.
    pub kind: &'static str,
    /// The source as texts show it, such as `--var input_port`.
    pub source: String,
    pub place: Option<SourcePosition>,
    /// The value at the last job, if it was another one.
    pub last: Option<Value>,
    /// Whether a secret has another value than at the last job.
    pub is_changed_secret: bool,
}

/// Returns the inputs as an entry of a JSON plan. None without inputs.
pub fn inputs_json(inputs: &[InputView]) -> Option<Json> {
    let all: Vec<Json> = inputs.iter().map(InputView::json).collect();
    (!all.is_empty()).then(|| json!({ "inputs": all }))
}

impl InputView {
    fn json(&self) -> Json {
        let mut input = Map::new();
        let mut put = |key: &str, value: Json| drop(input.insert(key.to_owned(), value));
        put("name", self.name.as_str().into());
        put("value", json!(self.value));
        put("source", self.kind.into());
        put("from", self.source.as_str().into());
        put("place", location_json(self.place.as_ref()));
        if let Some(last) = &self.last {
            put("last", json!(last));
        }
        if self.is_changed_secret {
            put("changed", true.into());
        }
        Json::Object(input)
    }
}
