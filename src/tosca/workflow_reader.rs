//! Reads imperative workflows, their steps and their activities.
//!
//! [`TypeScope::workflow`] is the entry. The reader of triggers shares [`TypeScope::activity`].

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Diagnostic};
use crate::name::{NodeState, OperationRef, Status};
use crate::text::did_you_mean;
use crate::value::Map;
use crate::yaml::{MapEntry, Mapping, Node};

use super::keys::{PRECONDITION, STEP, WORKFLOW};
use super::node_template::names_at;
use super::operation::short_interface_name;
use super::resolve::metadata_of;
use super::scope::{TypeScope, description, values, values_at};
use super::workflow::{Precondition, Workflow, WorkflowActivity, WorkflowStep};

impl TypeScope<'_> {
    /// Reads a workflow. Reports steps that name unknown successors.
    pub(super) fn workflow(self, name: &Arc<str>, entry: &MapEntry) -> Option<Workflow> {
        let subject = format!("workflow `{name}`");
        let map = self.map(&entry.value, || subject.clone())?;
        self.problems()
            .report_unknown_keys(&WORKFLOW, &subject, map);
        let mut steps = IndexMap::new();
        for (step, entry) in self
            .map_at(map, "steps", || subject.clone())
            .into_iter()
            .flatten()
        {
            if let Some(read) = self.step(step, entry, &subject) {
                steps.insert(Arc::clone(step), read);
            }
        }
        let written = self.map_at(map, "steps", || subject.clone());
        for (step, entry) in written.into_iter().flatten() {
            if let Some(map) = entry.value.as_map().filter(|_| steps.contains_key(step)) {
                self.check_next_steps(step, map, &steps, &subject);
            }
        }
        let preconditions = self.list_at(map, "preconditions", || subject.clone());
        Some(Workflow {
            name: Arc::clone(name),
            description: description(map),
            inputs: self.parameters(map, "inputs", &subject),
            preconditions: preconditions
                .iter()
                .filter_map(|node| self.precondition(node, &subject))
                .collect(),
            steps,
            metadata: metadata_of(map),
            span: entry.key_span,
        })
    }

    /// Reports successors of a step that do not exist.
    fn check_next_steps(
        self,
        step: &str,
        map: &Mapping,
        steps: &IndexMap<Arc<str>, WorkflowStep>,
        subject: &str,
    ) {
        let next = ["on_success", "on_failure"].map(|key| names_at(map, key));
        for (next, span) in next.into_iter().flatten() {
            if steps.contains_key(&next) {
                continue;
            }
            let message = format!("{subject} has no step `{next}`, which step `{step}` refers to");
            let problem = Diagnostic::error(message)
                .check(Check::InvalidWorkflow)
                .label(span, "");
            self.report(problem.help_if(did_you_mean(&next, steps.keys().map(|name| &**name))));
        }
    }

    fn precondition(self, node: &Node, subject: &str) -> Option<Precondition> {
        let subject = format!("a precondition of {subject}");
        let map = self.map(node, || subject.clone())?;
        self.problems()
            .report_unknown_keys(&PRECONDITION, &subject, map);
        let Some(target) = self.text_at(map, "target", || subject.clone()) else {
            self.problems().error(
                Check::InvalidWorkflow,
                format!("{subject} has no `target`"),
                node.span(),
            );
            return None;
        };
        let conditions = self.list_at(map, "condition", || subject.clone());
        Some(Precondition {
            target,
            conditions: conditions.iter().map(Node::to_value).collect(),
            span: node.span(),
        })
    }

    fn step(self, name: &Arc<str>, entry: &MapEntry, owner: &str) -> Option<WorkflowStep> {
        let subject = format!("step `{name}` of {owner}");
        let map = self.map(&entry.value, || subject.clone())?;
        self.problems().report_unknown_keys(&STEP, &subject, map);
        let Some(target) = self.text_at(map, "target", || subject.clone()) else {
            let message = format!("{subject} has no `target`");
            self.problems()
                .error(Check::InvalidWorkflow, message, entry.key_span);
            return None;
        };
        let names = |key| {
            names_at(map, key)
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        let activities = self.list_at(map, "activities", || subject.clone());
        let filter = self.list_at(map, "filter", || subject.clone());
        Some(WorkflowStep {
            name: Arc::clone(name),
            target,
            target_relationship: self.text_at(map, "target_relationship", || subject.clone()),
            operation_host: self.text_at(map, "operation_host", || subject.clone()),
            filter: filter.iter().map(Node::to_value).collect(),
            activities: activities
                .iter()
                .filter_map(|node| self.activity(node, &subject))
                .collect(),
            on_success: names("on_success"),
            on_failure: names("on_failure"),
            span: entry.key_span,
            value_span: entry.value.span(),
        })
    }

    pub(super) fn activity(self, node: &Node, subject: &str) -> Option<WorkflowActivity> {
        let definition = node.as_map().filter(|map| map.len() == 1);
        let Some((kind, entry)) = definition.and_then(|map| map.iter().next()) else {
            let message = format!("an activity of {subject} must be a map with one key");
            self.problems()
                .error(Check::InvalidWorkflow, message, node.span());
            return None;
        };
        let read = match &**kind {
            "set_state" => {
                let word = entry.value.as_str();
                if let Some(word) = word.filter(|word| !is_state(word)) {
                    // Some profiles define their own node states. Such a step has no effect here.
                    let message = format!(
                        "`{word}` in {subject} is neither a node state nor a status: it has no effect"
                    );
                    self.problems()
                        .warning(Check::InvalidWorkflow, message, entry.value.span());
                }
                word.map(|state| WorkflowActivity::SetState(state.into()))
            }
            "call_operation" => {
                name_and_inputs(&entry.value, "operation").and_then(|(name, inputs)| {
                    let (interface, operation) = name.rsplit_once('.')?;
                    Some(WorkflowActivity::CallOperation {
                        operation: OperationRef::new(short_interface_name(interface), operation),
                        inputs,
                    })
                })
            }
            "delegate" => name_and_inputs(&entry.value, "workflow")
                .map(|(workflow, inputs)| WorkflowActivity::Delegate { workflow, inputs }),
            "inline" => name_and_inputs(&entry.value, "workflow")
                .map(|(workflow, inputs)| WorkflowActivity::Inline { workflow, inputs }),
            _ => {
                let known = ["set_state", "call_operation", "delegate", "inline"];
                let message = format!("{subject} has an unknown activity `{kind}`");
                let problem = Diagnostic::error(message)
                    .check(Check::InvalidWorkflow)
                    .label(entry.key_span, "");
                self.report(problem.help_if(did_you_mean(kind, known)));
                return None;
            }
        };
        if read.is_none() {
            let message = format!("`{kind}` of {subject} has no valid value");
            self.problems()
                .error(Check::InvalidWorkflow, message, entry.value.span());
        }
        read
    }
}

/// Whether a word can be set as the state of an instance: a node state, a status, `managed` or `unmanaged`.
fn is_state(word: &str) -> bool {
    NodeState::parse(word).is_some()
        || Status::parse(word).is_some()
        || matches!(word, "managed" | "unmanaged")
}

/// Reads a name, or a map with the name under `key` and inputs.
fn name_and_inputs(node: &Node, key: &str) -> Option<(Arc<str>, Map)> {
    if let Some(name) = node.as_str() {
        return Some((name.into(), Map::default()));
    }
    let map = node.as_map()?;
    let name = map.get(key)?.as_str()?;
    Some((name.into(), inputs(map)))
}

/// Returns the inputs of an activity: a map, or a list of maps.
fn inputs(map: &Mapping) -> Map {
    match map.get("inputs") {
        Some(node) if node.as_seq().is_some() => {
            let items = node.as_seq().unwrap_or_default();
            items.iter().flat_map(values).collect::<Map>()
        }
        _ => values_at(map, "inputs"),
    }
}
