//! Reads the triggers of policies and policy types.
//!
//! [`TypeScope::triggers`] is the entry. The reader also accepts the notations of earlier TOSCA drafts.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Diagnostic};
use crate::value::{Map, Value};
use crate::yaml::{MapEntry, Mapping, Node};

use super::keys::TRIGGER;
use super::scope::{TypeScope, description};
use super::trigger::{Facet, Trigger};
use super::workflow::WorkflowActivity;

/// The activities that an action can consist of.
const ACTIVITIES: [&str; 4] = ["call_operation", "delegate", "inline", "set_state"];

impl TypeScope<'_> {
    /// Reads the triggers of a policy or a policy type, merged over the inherited ones.
    ///
    /// The triggers are a map, or a list of maps.
    pub(super) fn triggers(
        self,
        subject: &str,
        definition: &Mapping,
        base: &IndexMap<Arc<str>, Arc<Trigger>>,
    ) -> IndexMap<Arc<str>, Arc<Trigger>> {
        let mut triggers = base.clone();
        let Some(node) = definition.get("triggers").filter(|node| !node.is_null()) else {
            return triggers;
        };
        for item in node.as_seq().unwrap_or(std::slice::from_ref(node)) {
            let Some(map) = self.map(item, || format!("`triggers` of {subject}")) else {
                continue;
            };
            for (name, entry) in map {
                let subject = format!("trigger `{name}` of {subject}");
                if let Some(trigger) = self.trigger(&subject, name, entry) {
                    triggers.insert(Arc::clone(name), Arc::new(trigger));
                }
            }
        }
        triggers
    }

    fn trigger(self, subject: &str, name: &Arc<str>, entry: &MapEntry) -> Option<Trigger> {
        let map = self.map(&entry.value, || subject.to_owned())?;
        self.problems().report_unknown_keys(&TRIGGER, subject, map);
        let named = || subject.to_owned();
        // Earlier drafts of TOSCA name the event `event_type`, or write it as a map.
        let event = map.get("event").or_else(|| map.get("event_type"));
        let event = event.and_then(|node| node.as_str().or_else(|| node.get("type")?.as_str()));
        let target = self.map_at(map, "target_filter", named);
        let part = |key| target.and_then(|target| target.get(key)?.as_str().map(Arc::from));
        let requirement = part("requirement").map(Facet::Requirement);
        let condition = map.get("condition");
        let within = |key| condition.and_then(|node| node.get(key));
        let beside = |key| within(key).or_else(|| map.get(key));
        Some(Trigger {
            name: Arc::clone(name),
            description: description(map),
            event: event.map(Arc::from),
            schedule: self
                .map_at(map, "schedule", named)
                .map(values_of)
                .unwrap_or_default(),
            node: part("node"),
            facet: requirement.or_else(|| part("capability").map(Facet::Capability)),
            condition: clauses(condition),
            period: beside("period").map(Node::to_value),
            evaluations: beside("evaluations").and_then(|node| self.count(subject, node)),
            method: beside("method").and_then(|node| node.as_str().map(Arc::from)),
            action: self.action(subject, map),
            raw: values_of(map),
            span: entry.key_span,
        })
    }

    /// Reads the activities of a trigger.
    ///
    /// TOSCA 1.0 has bare names of operations here. They produce a warning and no activity.
    fn action(self, subject: &str, map: &Mapping) -> Vec<WorkflowActivity> {
        let Some(node) = map.get("action").filter(|node| !node.is_null()) else {
            return Vec::new();
        };
        let mut activities = Vec::new();
        for item in node.as_seq().unwrap_or(std::slice::from_ref(node)) {
            let first = item.as_map().and_then(|map| map.iter().next());
            if first.is_some_and(|(key, _)| ACTIVITIES.contains(&&**key)) {
                activities.extend(self.activity(item, subject));
                continue;
            }
            let message = format!("the action of {subject} is not an activity, and has no effect");
            let help = format!("write a list of maps with one of {}", ACTIVITIES.join(", "));
            self.report(
                Diagnostic::warning(message)
                    .check(Check::Unsupported)
                    .label(item.span(), "")
                    .help(help),
            );
        }
        activities
    }

    fn count(self, subject: &str, node: &Node) -> Option<u64> {
        let text = node.to_value().to_string();
        let count = text.parse().ok().filter(|count| *count > 0);
        if count.is_none() {
            let message = format!("`evaluations` of {subject} must be a number above zero");
            self.problems()
                .error(Check::WrongKind, message, node.span());
        }
        count
    }
}

fn values_of(map: &Mapping) -> Map {
    let values = map.iter();
    values
        .map(|(key, entry)| (Arc::clone(key), entry.value.to_value()))
        .collect()
}

/// Returns the clauses of a condition: a list, the list under `constraint`, or a single clause.
fn clauses(condition: Option<&Node>) -> Vec<Value> {
    let Some(node) = condition.filter(|node| !node.is_null()) else {
        return Vec::new();
    };
    let node = match node.as_map() {
        Some(map) => match map.get("constraint") {
            Some(inner) => inner,
            None => return vec![node.to_value()],
        },
        None => node,
    };
    match node.as_seq() {
        Some(items) => items.iter().map(Node::to_value).collect(),
        None => vec![node.to_value()],
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_template;
    use super::*;

    #[test]
    fn a_policy_has_the_triggers_of_its_type_and_its_own() {
        let case = read_template(
            "
policy_types:
  Scale:
    derived_from: tosca.policies.Scaling
    triggers:
      down: {event: idle, action: [{call_operation: Scaling.down}]}
      up: {event: {type: busy}, target_filter: {node: a, capability: endpoint}}
topology_template:
  node_templates: {a: {type: tosca.nodes.Root}}
  policies:
    - p:
        type: Scale
        triggers:
          up:
            event: busy
            schedule: {start_time: 2020-04-08T21:59:43Z}
            target_filter: {node: a, requirement: host}
            condition: {constraint: [{not: [{x: [{greater_than: 1}]}]}], period: 60 s, evaluations: 2, method: average}
            action: [{set_state: stopped}, {inline: {workflow: w}}, {delegate: deploy}]
",
        );
        assert_eq!(case.report(), "");
        let policy = &case.service.topology.policies["p"];
        assert_eq!(policy.triggers["down"].action.len(), 1);
        let up = &policy.triggers["up"];
        assert_eq!(up.event.as_deref(), Some("busy"));
        assert_eq!(up.node.as_deref(), Some("a"));
        assert_eq!(up.facet, Some(Facet::Requirement("host".into())));
        assert_eq!(up.condition.len(), 1);
        assert_eq!(up.period, Some(Value::from("60 s")));
        assert_eq!(
            (up.evaluations, up.method.as_deref()),
            (Some(2), Some("average"))
        );
        assert_eq!(up.action.len(), 3);
        assert_eq!(up.schedule.len(), 1);
    }

    #[test]
    fn an_invalid_trigger_is_reported() {
        let case = read_template(
            "
topology_template:
  policies:
    p:
      type: tosca.policies.Scaling
      triggers:
        a: {action: [SP1], metric: cpu, evaluations: 0}
        b: {action: {resize: {inputs: {}}}, event_type: x, condition: 'x > 1'}
        c: [1]
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:7:28: trigger `a` of policy `p` has no key `metric`
        service.yaml:7:54: `evaluations` of trigger `a` of policy `p` must be a number above zero
        service.yaml:7:22: the action of trigger `a` of policy `p` is not an activity, and has no effect
          hint: write a list of maps with one of call_operation, delegate, inline, set_state
        service.yaml:8:21: the action of trigger `b` of policy `p` is not an activity, and has no effect
          hint: write a list of maps with one of call_operation, delegate, inline, set_state
        service.yaml:9:12: trigger `c` of policy `p` must be a map, not a list
        ");
    }
}
