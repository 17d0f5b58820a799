//! Instances that the specification lists (`spec.instances`), and node templates that tasks have discovered
//! (`spec.discovered`).

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::topology::{self, Topology};
use crate::value::{Map, Value};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The node type of an instance without a type.
const DEFAULT_TYPE: &str = "unfurl.nodes.Default";

/// The keys of an instance that do not belong to its inline template.
const INSTANCE_KEYS: &[&str] = &[
    "attributes",
    "created",
    "customized",
    "imported",
    "install",
    "instances",
    "lastConfigChange",
    "lastStateChange",
    "parent",
    "priority",
    "protected",
    "readyState",
    "substitution",
];

/// Returns the node templates that come from listed instances and from discoveries, except those that the
/// service template defines.
pub(crate) fn templates(spec: Option<&Node>, service: &Node) -> Mapping {
    let own = service
        .get("topology_template")
        .and_then(|topology| topology.get("node_templates"));
    let is_default = |node: &Node| {
        let directives = node.get("directives").and_then(Node::as_seq);
        let mut directives = directives.into_iter().flatten();
        directives.any(|directive| directive.as_str() == Some("default"))
    };
    let mut added = Mapping::default();
    for (name, entry) in section(spec, "instances") {
        let own = own.and_then(|own| own.get(name));
        if own.is_some_and(|own| !is_default(own)) {
            continue;
        }
        let value = match (entry.value.get("template"), entry.value.as_map()) {
            (None, Some(map)) => inline_template(map, &entry.value),
            (Some(template), _) if template.as_map().is_some() => template.clone(),
            _ => continue,
        };
        let (name, value) = take_name(name, value);
        let key_span = entry.key_span;
        added.insert(name, MapEntry { key_span, value });
    }
    for (name, entry) in section(spec, "discovered") {
        let known = own.and_then(|own| own.get(name)).is_some() || added.get(name).is_some();
        if !known && !name.contains(':') {
            added.insert(Arc::clone(name), entry.clone());
        }
    }
    added
}

fn section<'n>(
    spec: Option<&'n Node>,
    name: &str,
) -> impl Iterator<Item = (&'n Arc<str>, &'n MapEntry)> {
    let section = spec.and_then(|spec| spec.get(name)?.as_map());
    section.into_iter().flatten()
}

/// Extracts the inline template from an instance's definition.
fn inline_template(instance: &Mapping, node: &Node) -> Node {
    let own = instance
        .iter()
        .filter(|(key, _)| !INSTANCE_KEYS.contains(&&***key));
    let mut template: Mapping = own
        .map(|(key, entry)| (Arc::clone(key), entry.clone()))
        .collect();
    if template.get("type").is_none() {
        let key_span = node.span();
        let value = Node::new(NodeKind::Str(DEFAULT_TYPE.into()), key_span, None);
        template.insert("type", MapEntry { key_span, value });
    }
    Node::new(NodeKind::Map(template), node.span(), None)
}

/// Returns the name and the template. An inline template may have its own name, which replaces the
/// instance's.
fn take_name(name: &Arc<str>, template: Node) -> (Arc<str>, Node) {
    let stated = template.get("name").and_then(Node::as_str).map(Arc::from);
    let Some((stated, map)) = stated.zip(template.as_map()) else {
        return (Arc::clone(name), template);
    };
    let mut map = map.clone();
    map.remove("name");
    let template = Node::new(NodeKind::Map(map), template.span(), None);
    (stated, template)
}

/// Adds the listed instances that are not recorded yet.
pub(crate) fn add_instances(
    topology: &mut Topology,
    spec: Option<&Node>,
    problems: &mut Diagnostics,
) {
    for (name, entry) in section(spec, "instances") {
        let Value::Map(fields) = entry.value.to_value() else {
            let message = format!("the instance `{name}` must be a map");
            problems.push(Diagnostic::error(message).label(entry.key_span, ""));
            continue;
        };
        if topology.find(name).is_some() {
            continue;
        }
        let mut record = Map::clone(&fields);
        if let Some(template) = fields.get("template").filter(|it| it.as_map().is_some()) {
            let stated = template.get("name").cloned();
            let stated = stated.unwrap_or_else(|| Value::Str(Arc::clone(name)));
            record.insert("template".into(), stated);
        }
        record
            .entry("readyState".into())
            .or_insert_with(|| "ok".into());
        record
            .entry("created".into())
            .or_insert_with(|| "::root".into());
        let parent = record.shift_remove("parent");
        let parent = parent.as_ref().and_then(Value::as_str);
        let parent = parent.filter(|parent| !matches!(*parent, "root" | "SELF" | ".self" | "HOST"));
        let on = match parent {
            None => Some(topology.root()),
            Some(parent) => topology.find(parent),
        };
        let label =
            |message: String| Diagnostic::error(message).label(entry.key_span, "defined here");
        let Some(on) = on else {
            let parent = parent.unwrap_or_default();
            let message =
                format!("the instance `{name}` has the parent `{parent}`, which does not exist");
            problems.push(label(message));
            continue;
        };
        let record = Value::map([(Arc::clone(name), Value::from(record))]);
        let record = Value::map([("instances", record)]);
        for error in topology::load_on(topology, on, &record) {
            problems.push(label(error.to_string()));
        }
        if topology.find(name).is_none() {
            let message = format!("the instance `{name}` has no template in the model");
            let help =
                "set its `template` to the name of a node template, or to an inline template";
            problems.push(label(message).help(help));
        }
    }
}
