//! The differences of a plan: the resources and attributes that differ from the configuration.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::stream::{ResourceAction, ToolOutput};
use crate::value::{REDACTED, Secrets, Value};

/// The maximum length of a value in a message.
const MAX_VALUE_LENGTH: usize = 60;
const CHANGED_OUTSIDE: &str = " (changed outside of the tool)";

/// Returns the differences of a plan as the tool shows it in JSON, one text for each resource.
///
/// Values that the tool calls sensitive are not shown. Where one of `secrets` is in the present or the new value, neither is
/// shown, because the other one was or will be a secret as well.
pub(super) fn differences(plan: &[u8], secrets: &Secrets) -> Option<Vec<String>> {
    let plan: Json = serde_json::from_slice(plan).ok()?;
    let drift = plan["resource_drift"].as_array().into_iter().flatten();
    let changes = plan["resource_changes"].as_array()?;
    let drifted: Vec<&str> = drift.filter_map(|it| it["address"].as_str()).collect();
    Some(
        changes
            .iter()
            .filter_map(|resource| difference(resource, &drifted, secrets))
            .collect(),
    )
}

/// Returns the differences as far as the output of a plan names them: the resources alone.
pub(super) fn differences_of_output(output: &ToolOutput) -> Vec<String> {
    let planned = output.planned.iter();
    let drifted: HashSet<&str> = output.drifted.iter().map(|it| &*it.address).collect();
    let text = |it: &ResourceAction| {
        let mut text = format!("{}: {}", it.address, word_of(&[it.action.as_str()]));
        if drifted.contains(it.address.as_str()) {
            text.push_str(CHANGED_OUTSIDE);
        }
        text
    };
    planned.map(text).collect()
}

fn difference(resource: &Json, drifted: &[&str], secrets: &Secrets) -> Option<String> {
    let change = &resource["change"];
    let actions: Vec<&str> = change["actions"]
        .as_array()?
        .iter()
        .filter_map(Json::as_str)
        .collect();
    if matches!(actions[..], ["no-op" | "read"]) || resource["mode"].as_str() == Some("data") {
        return None;
    }
    let address = resource["address"].as_str()?;
    let mut text = format!("{address}: {}", word_of(&actions));
    if drifted.contains(&address) {
        text.push_str(CHANGED_OUTSIDE);
    }
    for attribute in changed_attributes(change, secrets) {
        text.push_str("\n  ");
        text.push_str(&attribute);
    }
    Some(text)
}

/// Returns the word for the actions on a resource.
fn word_of(actions: &[&str]) -> &'static str {
    match actions {
        ["create"] => "is missing",
        ["update"] => "differs",
        ["delete"] => "is not in the configuration",
        ["move"] => "was moved",
        ["import"] => "is to be imported",
        _ => "differs and would be replaced",
    }
}

/// Returns the attributes of an existing resource that would change, with both values.
fn changed_attributes(change: &Json, secrets: &Secrets) -> Vec<String> {
    let (Some(before), Some(after)) = (change["before"].as_object(), change["after"].as_object())
    else {
        return Vec::new();
    };
    let is_secret = |name: &str| {
        let marked = |side: &str| is_marked(&change[side], name);
        marked("before_sensitive") || marked("after_sensitive")
    };
    let mut shown = Vec::new();
    for (name, old) in before {
        let is_unknown = change["after_unknown"][name].as_bool() == Some(true);
        let new = after.get(name).unwrap_or(&Json::Null);
        if !is_unknown && old == new || is_unknown && after.get(name).is_none() && old.is_null() {
            continue;
        }
        let has_secret = |value: &Json| {
            let texts = Value::from(value.clone());
            secrets.mark(texts).has_sensitive()
        };
        if is_secret(name) || has_secret(old) || has_secret(new) {
            shown.push(format!("{name}: {REDACTED}"));
        } else if !is_unknown {
            shown.push(format!("{name}: {} -> {}", short(old), short(new)));
        }
    }
    shown
}

/// Returns true if an attribute or a part of it is marked.
fn is_marked(marks: &Json, name: &str) -> bool {
    fn has_mark(marks: &Json) -> bool {
        match marks {
            Json::Bool(marked) => *marked,
            Json::Array(items) => items.iter().any(has_mark),
            Json::Object(entries) => entries.values().any(has_mark),
            _ => false,
        }
    }
    marks.as_bool() == Some(true) || marks.get(name).is_some_and(has_mark)
}

fn short(value: &Json) -> String {
    let text = value.to_string();
    if text.chars().count() <= MAX_VALUE_LENGTH {
        return text;
    }
    let start: String = text.chars().take(MAX_VALUE_LENGTH).collect();
    format!("{start}…")
}
