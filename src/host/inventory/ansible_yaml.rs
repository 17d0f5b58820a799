//! Parser for Ansible's YAML inventories, and the YAML helpers that `unfurl_yaml` shares.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::value::{Map, Value};
use crate::yaml::{Mapping, Node, NodeKind, Schema, TagReader};

use super::error::InventoryProblem;
use super::model::Inventory;
use super::range;

/// The context of parsing: sources, reader of tagged values, and the problems found so far.
pub(super) struct YamlReader<'a> {
    pub(super) sources: &'a Sources,
    pub(super) tags: &'a dyn TagReader,
    pub(super) problems: Diagnostics,
    /// True if plain scalars follow the rules of YAML 1.1; those of TOML have rules of their own.
    pub(super) is_yaml: bool,
}

impl<'a> YamlReader<'a> {
    /// Creates the context of a text in YAML or JSON.
    pub(super) fn new(sources: &'a Sources, tags: &'a dyn TagReader) -> Self {
        Self {
            sources,
            tags,
            problems: Diagnostics::default(),
            is_yaml: true,
        }
    }

    /// Returns the warnings, or all problems if one is an error.
    pub(super) fn finish(self) -> Result<Diagnostics, Diagnostics> {
        if self.problems.has_errors() {
            return Err(self.problems);
        }
        Ok(self.problems)
    }
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

    /// Returns a value with its encrypted parts decrypted, as YAML 1.1 reads it.
    pub(super) fn value(&mut self, node: &Node) -> Value {
        match node.to_value_with(self.tags) {
            Ok(value) if self.is_yaml => self.by_old_rules(node, value),
            Ok(value) => value,
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

    /// Returns a value with its plain scalars read by the rules of YAML 1.1, which Ansible follows.
    fn by_old_rules(&self, node: &Node, value: Value) -> Value {
        match (node.kind(), &value) {
            (NodeKind::Str(text), Value::Str(_)) => {
                let is_plain = self.sources.text(node.span()) == &**text;
                if is_plain { plain_scalar(text) } else { value }
            }
            (NodeKind::Int(_) | NodeKind::Float(_), Value::Int(_) | Value::Float(_)) => {
                match self.sources.text(node.span()) {
                    "" => value,
                    text => plain_scalar(text),
                }
            }
            (NodeKind::Seq(nodes), Value::List(items)) => {
                let items = nodes.iter().zip(items.iter());
                Value::list(items.map(|(node, item)| self.by_old_rules(node, item.clone())))
            }
            (NodeKind::Map(nodes), Value::Map(map)) => {
                let entry = |(key, value): (&Arc<str>, &Value)| {
                    let node = nodes.get(key);
                    let value = value.clone();
                    let value = node.map_or(value.clone(), |node| self.by_old_rules(node, value));
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

/// Returns the value that YAML 1.1 sees in a plain scalar. A leading zero makes a number octal.
fn plain_scalar(text: &str) -> Value {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(octal) = digits.strip_prefix('0')
        && !octal.is_empty()
        && octal.bytes().all(|byte| matches!(byte, b'0'..=b'7' | b'_'))
        && let Ok(number) = i64::from_str_radix(&octal.replace('_', ""), 8)
    {
        return Value::Int(sign * number);
    }
    match Schema::Salt.resolve(text) {
        // A number with leading zeros that is not octal stays text.
        Some(NodeKind::Int(_))
            if digits.len() > 1
                && digits.bytes().all(|byte| byte.is_ascii_digit())
                && digits.starts_with('0') =>
        {
            Value::str(text)
        }
        Some(kind) => Node::new(kind, Span::NONE, None).to_value(),
        None => Value::str(text),
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
            "children" if value.as_seq().is_some() => {
                for child in value.as_seq().unwrap_or_default() {
                    child_of_list(inventory, name, child, context);
                }
            }
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

/// Adds a child group that stands in a list, as in TOML and in the output of programs.
pub(super) fn child_of_list(
    inventory: &mut Inventory,
    group: &str,
    child: &Node,
    context: &mut YamlReader<'_>,
) {
    let Some(name) = child.as_str() else {
        let problem = InventoryProblem::Kind {
            name: "children".to_owned(),
            found: child.kind_name(),
            expected: "a list of group names",
        };
        return context.error(problem, child.span());
    };
    inventory.add_group(name, Map::new());
    if let Err(problem) = inventory.add_child_group(name, group) {
        context.error(problem, child.span());
    }
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
