//! Parser for Ansible's YAML inventories, and the YAML helpers that `unfurl_yaml` shares.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::value::{Map, Value};
use crate::yaml::{Mapping, Node, NodeKind, TagReader};

use super::error::InventoryProblem;
use super::model::Inventory;
use super::range;

/// The context of parsing: sources, reader of tagged values, and the problems found so far.
pub(super) struct YamlReader<'a> {
    pub(super) sources: &'a Sources,
    pub(super) tags: &'a dyn TagReader,
    pub(super) problems: Diagnostics,
}

impl YamlReader<'_> {
    pub(super) fn error(&mut self, problem: InventoryProblem, span: Span) {
        self.problems
            .push(Diagnostic::error(problem).label(span, ""));
    }

    pub(super) fn warning(&mut self, problem: InventoryProblem, span: Span) {
        self.problems
            .push(Diagnostic::warning(problem).label(span, ""));
    }

    /// Warns about a key that has no meaning in this position.
    pub(super) fn unknown(&mut self, name: &str, context: &'static str, span: Span) {
        let name = name.to_owned();
        self.warning(InventoryProblem::Unknown { name, context }, span);
    }

    /// Returns the entries of a mapping.
    ///
    /// None for null, and for any other value, which is reported as an error.
    pub(super) fn entries<'a>(&mut self, node: &'a Node, name: &str) -> Option<&'a Mapping> {
        let map = node.as_map();
        if map.is_none() && !node.is_null() {
            let problem = InventoryProblem::Kind {
                name: name.to_owned(),
                found: node.kind_name(),
                expected: "a map",
            };
            self.error(problem, node.span());
        }
        map
    }

    /// Returns a value with its encrypted parts decrypted and with the booleans of YAML 1.1.
    pub(super) fn value(&mut self, node: &Node) -> Value {
        match node.to_value_with(self.tags) {
            Ok(value) => self.with_booleans(node, value),
            Err(problems) => {
                self.problems.append(problems);
                Value::Null
            }
        }
    }

    /// Returns the entries of a map as values; an empty map for null.
    pub(super) fn values(&mut self, node: &Node, name: &str) -> Map {
        let mut all = Map::new();
        for (key, entry) in self.entries(node, name).into_iter().flatten() {
            let value = self.value(&entry.value);
            all.insert(Arc::clone(key), value);
        }
        all
    }

    fn with_booleans(&self, node: &Node, value: Value) -> Value {
        match (node.kind(), &value) {
            (NodeKind::Str(text), Value::Str(_)) => {
                let is_plain = self.sources.text(node.span()) == &**text;
                match boolean(text).filter(|_| is_plain) {
                    Some(truth) => Value::Bool(truth),
                    None => value,
                }
            }
            (NodeKind::Seq(nodes), Value::List(items)) => {
                let items = nodes.iter().zip(items.iter());
                Value::list(items.map(|(node, item)| self.with_booleans(node, item.clone())))
            }
            (NodeKind::Map(nodes), Value::Map(map)) => {
                let entry = |(key, value): (&Arc<str>, &Value)| {
                    let node = nodes.get(key);
                    let value = value.clone();
                    let value = node.map_or(value.clone(), |node| self.with_booleans(node, value));
                    (Arc::clone(key), value)
                };
                Value::map(map.iter().map(entry))
            }
            _ => value,
        }
    }

    /// Expands a host pattern into names, and its port into host data.
    pub(super) fn hosts(&mut self, pattern: &str, span: Span) -> (Vec<String>, Map) {
        match range::hosts(pattern) {
            Ok((names, port)) => {
                let port = port.map(|port| ("ansible_port".into(), Value::Int(port.into())));
                (names, port.into_iter().collect())
            }
            Err(problem) => {
                self.error(problem, span);
                (Vec::new(), Map::new())
            }
        }
    }
}

/// Returns the boolean that YAML 1.1 sees in a plain text which YAML 1.2 reads as a string.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Parses the groups at the top level of a document.
pub(super) fn read(root: &Mapping, context: &mut YamlReader<'_>) -> Inventory {
    let mut inventory = Inventory::default();
    // Aliases can expand a small text into a large tree. The YAML parser limits the number of
    // nodes.
    let mut open: Vec<(Arc<str>, Node)> = Vec::new();
    for (name, entry) in root {
        open.push((Arc::clone(name), entry.value.clone()));
    }
    open.reverse();
    while let Some((name, node)) = open.pop() {
        let children = group(&mut inventory, &name, &node, context);
        open.extend(children.into_iter().rev());
    }
    inventory
}

/// Parses one group and returns its child groups.
fn group(
    inventory: &mut Inventory,
    name: &Arc<str>,
    node: &Node,
    context: &mut YamlReader<'_>,
) -> Vec<(Arc<str>, Node)> {
    inventory.add_group(Arc::clone(name), Map::new());
    let mut children = Vec::new();
    for (key, entry) in context.entries(node, name).into_iter().flatten() {
        let value = &entry.value;
        match &**key {
            "vars" => {
                let data = context.values(value, "vars");
                inventory.add_group(Arc::clone(name), data);
            }
            "hosts" => hosts(inventory, name, value, context),
            "children" => {
                let entries = context.entries(value, "children");
                for (child, entry) in entries.into_iter().flatten() {
                    if let Err(problem) = inventory.add_child_group(child, name) {
                        context.error(problem, entry.key_span);
                    }
                    children.push((Arc::clone(child), entry.value.clone()));
                }
            }
            other => {
                context.unknown(other, "a group", entry.key_span);
            }
        }
    }
    children
}

fn hosts(inventory: &mut Inventory, group: &str, node: &Node, context: &mut YamlReader<'_>) {
    // A single host may be written as a plain text instead of a map.
    let alone = node
        .as_str()
        .map(|name| (name.to_owned(), None, node.span()));
    let entries = match alone {
        Some(_) => None,
        None => context.entries(node, "hosts"),
    };
    let entries = entries.into_iter().flatten();
    let entries =
        entries.map(|(name, entry)| (name.to_string(), Some(&entry.value), entry.key_span));
    for (pattern, value, span) in alone.into_iter().chain(entries) {
        let (names, mut data) = context.hosts(&pattern, span);
        if let Some(value) = value {
            data.extend(context.values(value, &pattern));
        }
        for name in names {
            if let Err(problem) = inventory.add_host(name.as_str(), data.clone()) {
                return context.error(problem, span);
            }
            inventory.add_to_group(&name, group);
        }
    }
}
