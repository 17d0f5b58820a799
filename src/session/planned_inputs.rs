//! Compares the inputs of a job with those of the last recorded job.

use std::collections::HashSet;
use std::sync::Arc;

use super::input_source::InputSource;
use super::session::Session;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::topology::recorded_map;
use crate::value::{Map, REDACTED, Value};
use crate::yaml::{Node, Route};

/// The maximum number of characters of a value in a message.
const MAX_SHOWN_CHARS: usize = 60;

/// An input of a planned job: its value, the source of the value, and its value at the last job.
#[derive(Debug, Clone)]
pub struct PlannedInput {
    pub name: Arc<str>,
    /// The evaluated value with secrets redacted. None if it cannot be evaluated.
    pub value: Option<Value>,
    pub source: InputSource,
    /// The value that the last job recorded, if it is another one.
    pub last: Option<Value>,
    /// Whether a secret has another value than at the last job.
    pub is_changed_secret: bool,
}

impl Session {
    /// Whether the last job has recorded values of inputs.
    pub(crate) fn has_recorded_inputs(&self) -> bool {
        self.recorded_inputs()
            .and_then(Node::as_map)
            .is_some_and(|map| !map.is_empty())
    }

    fn recorded_inputs(&self) -> Option<&Node> {
        Route::keys(["status", "inputs"]).find(self.manifest.root())
    }

    /// Returns true if the last job has recorded a value of an input.
    pub(crate) fn has_recorded_input(&self, name: &str) -> bool {
        let recorded = self.recorded_inputs();
        recorded.is_some_and(|recorded| recorded.get(name).is_some())
    }

    /// Returns the outputs that the last job has recorded.
    pub(crate) fn recorded_outputs(&self) -> Map {
        let recorded = Route::keys(["status", "outputs"]).find(self.manifest.root());
        let recorded = recorded.map(Node::to_value).unwrap_or_default();
        recorded.as_map().cloned().unwrap_or_default()
    }

    /// Returns the inputs of the job. `now` has their evaluated values.
    /// `secrets` are the names of those with new secret values.
    pub(crate) fn planned_inputs(
        &self,
        now: &Map,
        secrets: &HashSet<Arc<str>>,
    ) -> Vec<PlannedInput> {
        let recorded = self.recorded_inputs();
        let planned = self.input_sources.iter().map(|(name, source)| {
            let value = now.get(name);
            let last = recorded.and_then(|recorded| recorded.get(name));
            let last = last.map(Node::to_value);
            PlannedInput {
                name: Arc::clone(name),
                value: value.map(Value::redacted),
                source: source.clone(),
                is_changed_secret: secrets.contains(name),
                last: last
                    .zip(value)
                    .and_then(|(last, now)| changed(last, name, now)),
            }
        });
        planned.collect()
    }

    /// Returns a warning for each input that has another value than at the last job.
    pub(crate) fn changed_inputs(&self, now: &Map, secrets: &HashSet<Arc<str>>) -> Diagnostics {
        let mut warnings = Diagnostics::default();
        for input in self.planned_inputs(now, secrets) {
            let PlannedInput { name, source, .. } = &input;
            let message = match (&input.last, &input.value) {
                (Some(last), Some(value)) => format!(
                    "input `{name}`: {} at the last job, {} now ({source})",
                    shown(last),
                    shown(value)
                ),
                _ if input.is_changed_secret => {
                    format!(
                        "input `{name}` has another secret value than at the last job ({source})"
                    )
                }
                _ => continue,
            };
            warnings.push(warning(&input, &message));
        }
        warnings
    }
}

/// Returns the recorded value if it is known and differs from the current one.
fn changed(last: Value, name: &Arc<str>, now: &Value) -> Option<Value> {
    let is_unknown = now.has_sensitive() || last.has_sensitive() || has_redacted(&last);
    if is_unknown {
        return None;
    }
    let now = Map::from_iter([(Arc::clone(name), now.clone())]);
    let is_same = recorded_map(&now).get(name) == Some(&last);
    (!is_same).then_some(last)
}

/// Whether a recorded value contains the mark of a secret.
fn has_redacted(value: &Value) -> bool {
    match value {
        Value::Str(text) => text.contains(REDACTED),
        Value::List(items) => items.iter().any(has_redacted),
        Value::Map(map) => map.values().any(has_redacted),
        _ => false,
    }
}

fn warning(input: &PlannedInput, message: &str) -> Diagnostic {
    let PlannedInput { name, source, .. } = input;
    // The line of a secret must not be shown.
    let place = if input.is_changed_secret {
        Span::NONE
    } else {
        source.span()
    };
    let warning = Diagnostic::warning(message).label(place, "");
    if input.is_changed_secret {
        return warning.help("give the earlier value if this is not intended");
    }
    if source.is_given() {
        return warning.help("`--save-inputs` keeps the new value with the ensemble");
    }
    let help = format!(
        "`--var input_{name} VALUE` sets the earlier value again, and `--save-inputs` keeps it with the ensemble"
    );
    warning.help(help)
}

/// Returns a value as JSON on one line, cut if it is long.
fn shown(value: &Value) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    if text.chars().count() <= MAX_SHOWN_CHARS {
        return text;
    }
    text.chars()
        .take(MAX_SHOWN_CHARS - 1)
        .chain(['…'])
        .collect()
}
