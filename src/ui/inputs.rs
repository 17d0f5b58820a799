//! Renders the inputs of a plan: their values and where these come from.

use serde_json::{Map, Value as Json, json};

use super::change::{inline_value_within, location_json};
use super::words;
use crate::diagnostic::SourcePosition;
use crate::value::Value;

/// The minimum number of characters of a value that the text shows.
const MIN_WIDTH: usize = 20;

/// An input of a plan, prepared for output.
#[derive(Debug, Clone, PartialEq)]
pub struct InputView {
    pub name: String,
    /// The evaluated value with secrets redacted. None if it cannot be evaluated.
    pub value: Option<Value>,
    /// The kind of the source, such as `option`.
    pub kind: &'static str,
    /// The source as lists show it, such as `--var input_port`.
    pub source: String,
    pub place: Option<SourcePosition>,
    /// The value at the last job, if it was another one.
    pub last: Option<Value>,
    /// Whether a secret has another value than at the last job.
    pub is_changed_secret: bool,
}

/// Lists the inputs as text, one line each. Empty without inputs.
pub fn inputs_text(inputs: &[InputView], width: u16) -> String {
    let mut text = String::new();
    for input in inputs {
        if text.is_empty() {
            text.push_str("Inputs:\n");
        }
        input.write(&mut text, usize::from(width));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns the inputs as an entry of a JSON plan. None without inputs.
pub fn inputs_json(inputs: &[InputView]) -> Option<Json> {
    let all: Vec<Json> = inputs.iter().map(InputView::json).collect();
    (!all.is_empty()).then(|| json!({ "inputs": all }))
}

impl InputView {
    fn write(&self, text: &mut String, width: usize) {
        let name = words::one_line(&self.name);
        let source = match &self.place {
            Some(place) => format!("{}, {place}", self.source),
            None => self.source.clone(),
        };
        let used = name.chars().count() + source.chars().count() + 8;
        let room = width.saturating_sub(used).max(MIN_WIDTH);
        let room = if self.last.is_some() { room / 2 } else { room };
        let value = match &self.value {
            Some(value) => inline_value_within(value, room),
            None => "cannot be evaluated".to_owned(),
        };
        words::append(text, format_args!("  {name}: {value}   ({source})"));
        if let Some(last) = &self.last {
            let last = inline_value_within(last, room);
            words::append(text, format_args!("   at the last job: {last}"));
        }
        if self.is_changed_secret {
            text.push_str("   another value than at the last job");
        }
        text.push('\n');
    }

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
