//! Outputs that the user asks to see although they are secrets (`--reveal`).

use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use crate::expr::{Context, Evaluator};
use crate::text::did_you_mean;
use crate::topology::Topology;
use crate::value::{Map, REDACTED, Value};

/// Fails if the topology has no output with one of these names.
pub(super) fn check_outputs(names: &[String], topology: &Topology) -> Result<(), Failure> {
    let known = &topology.template().outputs;
    let Some(unknown) = names.iter().find(|name| !known.contains_key(name.as_str())) else {
        return Ok(());
    };
    let all: Vec<&str> = known.keys().map(|name| &**name).collect();
    let hint = match did_you_mean(unknown, all.iter().copied()) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None if all.is_empty() => {
            "declare it under `outputs` of the topology, or leave out `--reveal`".to_owned()
        }
        None => format!("the outputs are: {}", all.join(", ")),
    };
    let message = format!("the topology has no output `{unknown}`, which `--reveal` names");
    Err(Failure::new(FailureKind::Usage, message, Some(hint)))
}

/// Returns the values of outputs as they are on record now, with their secrets.
pub(super) fn reveal_outputs(
    names: &[String],
    evaluator: &Evaluator,
    topology: &Topology,
) -> Result<Map, Failure> {
    check_outputs(names, topology)?;
    let context = Context::new(topology.root());
    let mut values = Map::new();
    for name in names {
        let value = evaluator.attribute(topology.outputs(), name);
        let value = value.and_then(|value| evaluator.unquote(&value.unwrap_or_default(), &context));
        let value = value.map_err(|error| {
            let message = format!("output `{name}` cannot be evaluated: {error}");
            Failure::new(FailureKind::Refused, message, None)
        })?;
        let value = value.revealed();
        if has_redacted(&value) {
            let message = format!(
                "the value of output `{name}` is not on record, because secrets are not saved"
            );
            let hint = format!("run a job with `--reveal {name}`");
            return Err(Failure::new(FailureKind::Refused, message, Some(hint)));
        }
        values.insert(Arc::from(name.as_str()), value);
    }
    Ok(values)
}

/// Returns true if a part of a recorded value was a secret that is not on record.
fn has_redacted(value: &Value) -> bool {
    match value {
        Value::List(items) => items.iter().any(has_redacted),
        Value::Map(map) => map.values().any(has_redacted),
        other => other.as_str() == Some(REDACTED),
    }
}
