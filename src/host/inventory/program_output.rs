//! Parser for the JSON that inventory programs print: groups with lists of hosts, and `_meta` with the variables of
//! hosts.

use std::sync::Arc;

use super::ansible_yaml::{YamlReader, child_of_list};
use super::error::InventoryProblem;
use super::model::Inventory;
use crate::value::Map;
use crate::yaml::{Mapping, Node};

/// The key with the variables of hosts.
const META: &str = "_meta";

/// Returns true if a document has the form that programs print: groups are lists, or have lists of hosts.
pub(super) fn has_form(root: &Mapping) -> bool {
    let is_list = |node: &Node| node.as_seq().is_some();
    root.iter().any(|(key, entry)| {
        let hosts = entry.value.get("hosts");
        &**key == META || is_list(&entry.value) || hosts.is_some_and(is_list)
    })
}

/// Returns true if the document has the variables of all hosts, so that no program has to be asked for each.
pub(super) fn has_host_variables(root: &Mapping) -> bool {
    root.get(META)
        .is_some_and(|meta| meta.get("hostvars").is_some())
}

/// Parses the groups of a document and the variables of its hosts.
pub(super) fn read(root: &Mapping, context: &mut YamlReader<'_>) -> Inventory {
    let mut inventory = Inventory::default();
    for (name, entry) in root {
        if &**name != META {
            group(&mut inventory, name, &entry.value, context);
        }
    }
    let variables = root.get(META).and_then(|meta| meta.get("hostvars"));
    let variables = variables.and_then(|node| context.entries(node, "hostvars"));
    for (host, entry) in variables.into_iter().flatten() {
        let data = context.values(&entry.value, host);
        // A program may know variables of hosts that are in none of its groups. Ansible ignores them.
        if inventory.has_host(host)
            && let Err(problem) = inventory.add_host(Arc::clone(host), data)
        {
            context.error(problem, entry.key_span);
        }
    }
    inventory
}

fn group(inventory: &mut Inventory, name: &Arc<str>, node: &Node, context: &mut YamlReader<'_>) {
    inventory.add_group(Arc::clone(name), Map::new());
    if node.as_seq().is_some() {
        return hosts(inventory, name, node, context);
    }
    let Some(entries) = context.entries(node, name) else {
        return;
    };
    let is_group = ["hosts", "vars", "children"]
        .iter()
        .any(|key| entries.get(key).is_some());
    if !is_group {
        // The short form of a single host: its variables, under the name of a group of its own.
        let data = context.values(node, name);
        inventory.add_group(Arc::clone(name), data);
        inventory.add_to_group(name, name);
        return;
    }
    if let Some(node) = entries.get("hosts") {
        hosts(inventory, name, node, context);
    }
    if let Some(node) = entries.get("vars") {
        let data = context.values(node, "vars");
        inventory.add_group(Arc::clone(name), data);
    }
    for child in entries
        .get("children")
        .and_then(Node::as_seq)
        .unwrap_or_default()
    {
        child_of_list(inventory, name, child, context);
    }
}

fn hosts(inventory: &mut Inventory, group: &str, node: &Node, context: &mut YamlReader<'_>) {
    let Some(items) = node.as_seq() else {
        return wrong_type(node, "hosts", "a list of host names", context);
    };
    for item in items {
        let Some(host) = item.as_str() else {
            wrong_type(item, "hosts", "a list of host names", context);
            continue;
        };
        if let Err(problem) = inventory.add_host(host, Map::new()) {
            return context.error(problem, item.span());
        }
        inventory.add_to_group(host, group);
    }
}

fn wrong_type(node: &Node, name: &str, expected: &'static str, context: &mut YamlReader<'_>) {
    let problem = InventoryProblem::Kind {
        name: name.to_owned(),
        found: node.kind_name(),
        expected,
    };
    context.error(problem, node.span());
}
