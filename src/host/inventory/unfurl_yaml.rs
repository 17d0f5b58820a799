//! Parser for Unfurl's own YAML format of inventories.
//!
//! Each setting is stored as the equivalent Ansible variable.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Span};
use crate::host::ChainSpec;
use crate::text::force_quote_word;
use crate::value::{Map, Value};
use crate::yaml::{Mapping, Node};

use super::ansible_yaml::YamlReader;
use super::error::InventoryProblem;
use super::model::{ALL, GroupMembers, Inventory};

/// The keys at the top level of a file.
pub(super) const KEYS: [&str; 4] = ["hosts", "groups", "data", "executors"];

/// The settings that correspond to exactly one Ansible variable.
const SETTINGS: [(&str, &str); 9] = [
    ("host", "ansible_host"),
    ("user", "ansible_user"),
    ("port", "ansible_port"),
    ("key", "ansible_ssh_private_key_file"),
    ("password", "ansible_password"),
    ("sudo_password", "ansible_become_password"),
    ("passphrase", "ansible_ssh_private_key_passphrase"),
    ("connection", "ansible_connection"),
    ("raw", "unfurl_raw"),
];

/// The settings whose values are secrets.
const SECRET_SETTINGS: [&str; 3] = ["password", "sudo_password", "passphrase"];

/// Parses a file. Problems are collected in `context`.
pub(super) fn read(root: &Mapping, context: &mut YamlReader<'_>) -> Inventory {
    let mut inventory = Inventory::default();
    if let Some(node) = root.get("executors") {
        match ChainSpec::from_value(&node.to_value()) {
            Ok(spec) => inventory.executors = Some(spec),
            Err(problem) => {
                let hint = problem.hint();
                let problem = Diagnostic::error(problem).label(node.span(), "");
                context.problems.push(problem.help_if(hint));
            }
        }
    }
    if let Some(node) = root.get("data") {
        let data = context.values(node, "data");
        inventory.add_group(ALL, data);
    }
    if let Some(node) = root.get("hosts") {
        hosts(&mut inventory, None, node, context);
    }
    let groups = root.get("groups");
    let groups = groups.and_then(|node| context.entries(node, "groups"));
    for (name, entry) in groups.into_iter().flatten() {
        group(&mut inventory, name, &entry.value, context);
    }
    for (name, entry) in groups.into_iter().flatten() {
        let children = entry.value.get("children");
        for child in children.map(texts).into_iter().flatten() {
            let Some((child, span)) = child else {
                continue;
            };
            let added = if inventory.groups.contains_key(&*child) {
                inventory.add_child_group(&child, name)
            } else {
                Err(InventoryProblem::NoGroup(child))
            };
            if let Err(problem) = added {
                context.error(problem, span);
            }
        }
    }
    inventory
}

/// Returns the texts of a list, or a single text. An entry that is not a text is `None`.
fn texts(node: &Node) -> Vec<Option<(String, Span)>> {
    let text = |node: &Node| node.as_str().map(|text| (text.to_owned(), node.span()));
    match node.as_seq() {
        Some(items) => items.iter().map(text).collect(),
        None => vec![text(node)],
    }
}

/// Parses hosts: a map from names to settings, or a list of names.
fn hosts(
    inventory: &mut Inventory,
    group: Option<&str>,
    node: &Node,
    context: &mut YamlReader<'_>,
) {
    let Some(listed) = node.as_seq() else {
        for (pattern, entry) in context.entries(node, "hosts").into_iter().flatten() {
            let data = settings(&entry.value, pattern, context);
            add(
                inventory,
                group,
                (pattern, entry.key_span),
                (&data, context),
            );
        }
        return;
    };
    for item in listed {
        match item.as_str() {
            Some(pattern) => {
                let data = Map::new();
                add(inventory, group, (pattern, item.span()), (&data, context));
            }
            None => report_wrong_type(item, "a host", "a string", context),
        }
    }
}

fn add(
    inventory: &mut Inventory,
    group: Option<&str>,
    (pattern, span): (&str, Span),
    (data, context): (&Map, &mut YamlReader<'_>),
) {
    let (names, mut all) = context.hosts(pattern, span);
    all.extend(
        data.iter()
            .map(|(key, value)| (Arc::clone(key), value.clone())),
    );
    for name in names {
        if let Err(problem) = inventory.add_host(name.as_str(), all.clone()) {
            return context.error(problem, span);
        }
        if let Some(group) = group {
            inventory.add_to_group(&name, group);
        }
    }
}

fn group(inventory: &mut Inventory, name: &str, node: &Node, context: &mut YamlReader<'_>) {
    inventory.add_group(name, Map::new());
    if node.is_null() {
        return;
    }
    if node.as_seq().is_some() {
        return hosts(inventory, Some(name), node, context);
    }
    let settings = settings(node, name, context);
    inventory.add_group(name, settings);
    if let Some(node) = node.get("hosts") {
        hosts(inventory, Some(name), node, context);
    }
    if let Some(command) = node.get("command") {
        match command.as_str() {
            Some(text) => inventory.set_members(name, GroupMembers::Command(text.to_owned())),
            None => report_wrong_type(command, "`command`", "a string", context),
        }
    }
    if let Some(expression) = node.get("expression") {
        let expression = context.value(expression);
        inventory.set_members(name, GroupMembers::Expression(expression));
    }
}

fn report_wrong_type(
    node: &Node,
    name: &str,
    expected: &'static str,
    context: &mut YamlReader<'_>,
) {
    let problem = InventoryProblem::Kind {
        name: name.trim_matches('`').to_owned(),
        found: node.kind_name(),
        expected,
    };
    context.error(problem, node.span());
}

/// Returns the settings of a host or a group as Ansible variables.
fn settings(node: &Node, name: &str, context: &mut YamlReader<'_>) -> Map {
    let mut all = Map::new();
    for (key, entry) in context.entries(node, name).into_iter().flatten() {
        let node = &entry.value;
        if let Some((_, variable)) = SETTINGS.iter().find(|(own, _)| own == &&**key) {
            let value = context.value(node);
            let value = if SECRET_SETTINGS.contains(&&**key) {
                value.sensitive()
            } else {
                value
            };
            all.insert((*variable).into(), value);
            continue;
        }
        match &**key {
            "data" => all.extend(context.values(node, "data")),
            "jump" => {
                let jumps: Option<Vec<String>> = texts(node)
                    .into_iter()
                    .map(|jump| jump.map(|(text, _)| text))
                    .collect();
                match jumps {
                    Some(jumps) => {
                        let text = format!("-J {}", force_quote_word(&jumps.join(",")));
                        all.insert("ansible_ssh_common_args".into(), Value::str(text));
                    }
                    None => report_wrong_type(
                        node,
                        "`jump`",
                        "a host string or a list of them",
                        context,
                    ),
                }
            }
            "proxy_command" => match node.as_str() {
                Some(command) => {
                    let text = format!("-o ProxyCommand={}", force_quote_word(command));
                    all.insert("ansible_ssh_common_args".into(), Value::str(text));
                }
                None => report_wrong_type(node, "`proxy_command`", "a string", context),
            },
            "become" => all.extend(escalation(node, context)),
            "hosts" | "children" | "command" | "expression" => {}
            other => {
                context.unknown(other, "a host or a group", entry.key_span);
            }
        }
    }
    all
}

/// Returns the Ansible variables that correspond to `become`.
fn escalation(node: &Node, context: &mut YamlReader<'_>) -> Map {
    let mut all = Map::new();
    let is_on = node.as_bool().unwrap_or(true);
    all.insert("ansible_become".into(), Value::Bool(is_on));
    if node.as_bool().is_some() {
        return all;
    }
    for (key, entry) in context.entries(node, "become").into_iter().flatten() {
        let value = context.value(&entry.value);
        let (name, value) = match &**key {
            "user" => ("ansible_become_user", value),
            "method" => ("ansible_become_method", value),
            "password" => ("ansible_become_password", value.sensitive()),
            other => {
                context.unknown(other, "`become`", entry.key_span);
                continue;
            }
        };
        all.insert(name.into(), value);
    }
    all
}
