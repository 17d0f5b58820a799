//! Handling of `resultTemplate` and `done`, shared by configurators.

use crate::name::Status;
use crate::task::{TaskOutcome, TaskView};
use crate::value::{Map, Value};

/// Evaluates `resultTemplate` with the result's fields as variables, and stores the updates in the
/// outcome.
///
/// A status that it sets for the target becomes the outcome's status.
pub(super) fn apply_result_template(task: &TaskView<'_>, result: &Map, outcome: &mut TaskOutcome) {
    let Some(raw) = task.raw_input("resultTemplate") else {
        return;
    };
    let evaluated = task.evaluate_document(raw, result).map(|(value, is_text)| {
        outcome.updates_as_text = is_text;
        value
    });
    let updates = match evaluated {
        Ok(value) if value.as_map().is_some() => Value::list([value]),
        Ok(value) if value.as_list().is_some() => value,
        Ok(value) if value.is_null() => return,
        Ok(other) => {
            let message = format!(
                "`resultTemplate` must return a map or a list, not {}",
                other.kind()
            );
            outcome.errors.push(message);
            return;
        }
        Err(error) => {
            outcome
                .errors
                .push(format!("error processing resultTemplate: {error}"));
            return;
        }
    };
    if let Some(status) = status_of_target(&updates)
        && task.settings.target_status != Some(status)
    {
        outcome.status = Some(status);
    }
    outcome.updates = Some(updates);
}

/// Returns the names of the attributes that a `resultTemplate` sets, as far as it is written as data.
pub(super) fn set_attributes(template: Option<&Value>) -> Vec<String> {
    let Some(template) = template else {
        return Vec::new();
    };
    let items = template
        .as_list()
        .map_or(std::slice::from_ref(template), Vec::as_slice);
    let attributes = items.iter().filter_map(|item| item.get("attributes"));
    let names = attributes
        .filter_map(Value::as_map)
        .flat_map(|map| map.keys());
    names.map(ToString::to_string).collect()
}

fn status_of_target(updates: &Value) -> Option<Status> {
    let own = |spec: &&Value| {
        spec.get("name")
            .and_then(Value::as_str)
            .is_none_or(|name| matches!(name, "SELF" | ".self"))
    };
    let specs = updates.as_list()?.iter().filter(own);
    let states = specs.filter_map(|spec| spec.get("readyState"));
    let words = states.filter_map(|ready| ready.get("local").unwrap_or(ready).as_str());
    words.filter_map(Status::parse).next_back()
}

/// Returns the variables of the input `done`.
pub(super) fn variables_of_done(outcome: &TaskOutcome, result: Map) -> Map {
    Map::from_iter([
        ("success".into(), Value::Bool(outcome.success)),
        ("modified".into(), Value::from(outcome.modified)),
        (
            "status".into(),
            Value::from(outcome.status.map(Status::as_str)),
        ),
        ("result".into(), Value::from(result)),
        ("outputs".into(), Value::from(outcome.outputs.clone())),
    ])
}

/// Overrides parts of the outcome with the input `done`.
pub(super) fn apply_done(done: &Value, outcome: &mut TaskOutcome) {
    let Some(done) = done.marked_entries() else {
        outcome
            .errors
            .push(format!("input `done` must be a map, not {}", done.kind()));
        outcome.success = false;
        outcome.status = Some(Status::Error);
        return;
    };
    if let Some(success) = done.get("success").filter(|value| !value.is_null()) {
        outcome.success = success.is_truthy();
    }
    if let Some(modified) = done.get("modified").filter(|value| !value.is_null()) {
        outcome.modified = Some(modified.is_truthy());
    }
    if let Some(status) = done.get("status").filter(|value| !value.is_null()) {
        if let Some(status) = status.as_str().and_then(Status::parse) {
            outcome.status = Some(status);
        } else {
            outcome
                .errors
                .push(format!("`{status}` in `done` is not a status"));
            outcome.success = false;
            outcome.modified = None;
            outcome.status = Some(Status::Error);
        }
    }
    if let Some(result) = done.get("result").filter(|value| !value.is_null()) {
        outcome.result = Some(result.clone());
    }
    if let Some(outputs) = done.get("outputs").and_then(Value::marked_entries) {
        outcome.outputs = Some(outputs);
    }
}
