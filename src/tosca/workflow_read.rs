//! Reads workflows.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::name::{NodeState, OperationRef, Status};
use crate::text::did_you_mean;
use crate::value::Map;
use crate::yaml::{Entry, Mapping, Node};

use super::keys::{PRECONDITION, STEP, WORKFLOW};
use super::node_template::names_at;
use super::operation::short_interface_name;
use super::resolve::metadata_of;
use super::scope::{Scope, description, values, values_at};
use super::workflow::{Activity, Precondition, Step, Workflow};

impl Scope<'_> {
    /// Reads a workflow.
    pub(super) fn workflow(self, name: &Arc<str>, entry: &Entry) -> Option<Workflow> {
        let what = format!("workflow `{name}`");
        let map = self.map(&entry.value, || what.clone())?;
        self.problems().unknown_keys(&WORKFLOW, &what, map);
        let mut steps = IndexMap::new();
        for (step, entry) in self
            .map_at(map, "steps", || what.clone())
            .into_iter()
            .flatten()
        {
            if let Some(read) = self.step(step, entry, &what) {
                steps.insert(Arc::clone(step), read);
            }
        }
        self.check_followers(&steps, &what);
        let preconditions = self.list_at(map, "preconditions", || what.clone());
        Some(Workflow {
            name: Arc::clone(name),
            description: description(map),
            inputs: self.parameters(map, "inputs", &what),
            preconditions: preconditions
                .iter()
                .filter_map(|node| self.precondition(node, &what))
                .collect(),
            steps,
            metadata: metadata_of(map),
            span: entry.key_span,
        })
    }

    fn check_followers(self, steps: &IndexMap<Arc<str>, Step>, what: &str) {
        for step in steps.values() {
            for next in step.on_success.iter().chain(&step.on_failure) {
                if steps.contains_key(next) {
                    continue;
                }
                let message = format!(
                    "{what} has no step `{next}`, which step `{}` names",
                    step.name
                );
                let problem = crate::diagnostic::Diagnostic::error(message).label(step.span, "");
                self.report(problem.help_if(did_you_mean(next, steps.keys().map(|name| &**name))));
            }
        }
    }

    fn precondition(self, node: &Node, what: &str) -> Option<Precondition> {
        let what = format!("a precondition of {what}");
        let map = self.map(node, || what.clone())?;
        self.problems().unknown_keys(&PRECONDITION, &what, map);
        let Some(target) = self.text_at(map, "target", || what.clone()) else {
            self.problems()
                .error(format!("{what} has no `target`"), node.span());
            return None;
        };
        let conditions = self.list_at(map, "condition", || what.clone());
        Some(Precondition {
            target,
            conditions: conditions.iter().map(Node::to_value).collect(),
            span: node.span(),
        })
    }

    fn step(self, name: &Arc<str>, entry: &Entry, owner: &str) -> Option<Step> {
        let what = format!("step `{name}` of {owner}");
        let map = self.map(&entry.value, || what.clone())?;
        self.problems().unknown_keys(&STEP, &what, map);
        let Some(target) = self.text_at(map, "target", || what.clone()) else {
            let message = format!("{what} has no `target`");
            self.problems().error(message, entry.key_span);
            return None;
        };
        let names = |key| {
            names_at(map, key)
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        let activities = self.list_at(map, "activities", || what.clone());
        let filter = self.list_at(map, "filter", || what.clone());
        Some(Step {
            name: Arc::clone(name),
            target,
            target_relationship: self.text_at(map, "target_relationship", || what.clone()),
            operation_host: self.text_at(map, "operation_host", || what.clone()),
            filter: filter.iter().map(Node::to_value).collect(),
            activities: activities
                .iter()
                .filter_map(|node| self.activity(node, &what))
                .collect(),
            on_success: names("on_success"),
            on_failure: names("on_failure"),
            span: entry.key_span,
        })
    }

    pub(super) fn activity(self, node: &Node, what: &str) -> Option<Activity> {
        let said = node.as_map().filter(|map| map.len() == 1);
        let Some((kind, entry)) = said.and_then(|map| map.iter().next()) else {
            let message = format!("an activity of {what} must be a map with one key");
            self.problems().error(message, node.span());
            return None;
        };
        let read = match &**kind {
            "set_state" => {
                let word = entry.value.as_str();
                if let Some(word) = word.filter(|word| !is_state(word)) {
                    // Profiles have states of their own; here the step sets nothing.
                    let message = format!(
                        "`{word}` in {what} is neither a node state nor a status: it sets nothing"
                    );
                    self.problems().warning(message, entry.value.span());
                }
                word.map(|state| Activity::SetState(state.into()))
            }
            "call_operation" => named(&entry.value, "operation").and_then(|(name, inputs)| {
                let (interface, operation) = name.rsplit_once('.')?;
                Some(Activity::CallOperation {
                    operation: OperationRef::new(short_interface_name(interface), operation),
                    inputs,
                })
            }),
            "delegate" => named(&entry.value, "workflow")
                .map(|(workflow, inputs)| Activity::Delegate { workflow, inputs }),
            "inline" => named(&entry.value, "workflow")
                .map(|(workflow, inputs)| Activity::Inline { workflow, inputs }),
            _ => {
                let known = ["set_state", "call_operation", "delegate", "inline"];
                let message = format!("{what} has an unknown activity `{kind}`");
                let problem =
                    crate::diagnostic::Diagnostic::error(message).label(entry.key_span, "");
                self.report(problem.help_if(did_you_mean(kind, known)));
                return None;
            }
        };
        if read.is_none() {
            let message = format!("`{kind}` of {what} does not say what to do");
            self.problems().error(message, entry.value.span());
        }
        read
    }
}

/// Whether a word can be set as the state of an instance: a node state, a status, or whether this
/// ensemble manages it.
fn is_state(word: &str) -> bool {
    NodeState::parse(word).is_some()
        || Status::parse(word).is_some()
        || matches!(word, "managed" | "unmanaged")
}

/// A name, or a map with the name under a key and inputs.
fn named(node: &Node, key: &str) -> Option<(Arc<str>, Map)> {
    if let Some(name) = node.as_str() {
        return Some((name.into(), Map::default()));
    }
    let map = node.as_map()?;
    let name = map.get(key)?.as_str()?;
    Some((name.into(), inputs(map)))
}

/// The inputs of an activity: a map, or a list of maps.
fn inputs(map: &Mapping) -> Map {
    match map.get("inputs") {
        Some(node) if node.as_seq().is_some() => {
            let items = node.as_seq().unwrap_or_default();
            items.iter().flat_map(values).collect::<Map>()
        }
        _ => values_at(map, "inputs"),
    }
}
