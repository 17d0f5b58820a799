//! Hides the secrets of a machine's states in their outcomes.

use std::sync::Arc;

use crate::states::{LowData, ModuleContext, StateOutcome};
use crate::value::{HIDDEN_OUTPUT, Map, Secrets, Value};

/// Returns the sensitive values of the pillar and of the arguments of the states.
pub(super) fn secrets_of(low: &LowData, context: &ModuleContext) -> Secrets {
    let mut secrets = Secrets::default();
    secrets.gather(&context.pillar);
    for chunk in &low.chunks {
        let values = chunk.args.values().chain(chunk.keywords.values());
        values.for_each(|value| secrets.gather(value));
    }
    secrets
}

/// Hides secrets in an outcome. A comment, and all outputs of a command, are hidden as a whole.
pub(super) fn hide_secrets(secrets: &Secrets, outcome: &mut StateOutcome) {
    if secrets.is_empty() {
        return;
    }
    let texts = outcome.warnings.iter_mut();
    for text in texts.chain([&mut outcome.comment]) {
        if secrets.occur_in(text) {
            HIDDEN_OUTPUT.clone_into(text);
        }
    }
    for values in [&mut outcome.changes, &mut outcome.more] {
        *values = hidden_values(secrets, values);
    }
}

/// Marks the values that contain a secret. Of two outputs of one command, both are marked or none.
fn hidden_values(secrets: &Secrets, values: &Map) -> Map {
    let is_output = |name: &str| matches!(name, "stdout" | "stderr");
    let is_secret = values.iter().any(|(name, value)| {
        is_output(name) && value.as_str().is_some_and(|text| secrets.occur_in(text))
    });
    let hidden = values.iter().map(|(name, value)| {
        let value = match value.reveal() {
            Value::Map(inner) => {
                Value::from(hidden_values(secrets, inner)).marked(value.own_marks())
            }
            _ => secrets.mark(value.clone()),
        };
        let value = value.sensitive_if(is_secret && is_output(name));
        (Arc::clone(name), value)
    });
    let marked = Value::from(hidden.collect::<Map>());
    match marked.sensitive_if(values.keys().any(|name| secrets.occur_in(name))) {
        Value::Map(map) => Arc::unwrap_or_clone(map),
        // The names of changes are the names of files, packages and the like.
        _ => Map::from_iter([("changes".into(), HIDDEN_OUTPUT.into())]),
    }
}
