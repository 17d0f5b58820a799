//! Shows an inventory: as a table, as a tree of groups, or as the JSON of `ansible-inventory --list`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map as JsonMap, Value as Json};

use super::table::{Table, TableLayout};
use super::value_text::inline_value;
use crate::host::inventory::{ConnectionMethod, Inventory, is_secret_variable};
use crate::text::escape_controls;
use crate::value::{Fold, Map, REDACTED, Value};

/// The maximum depth of groups in the tree. Groups have no cycles, but a group may stand in many others.
const MAX_DEPTH: usize = 64;
/// The maximum number of lines of the tree.
const MAX_LINES: usize = 1_000_000;

/// An inventory, and the hosts of it that are shown. No secret of it is ever shown.
#[derive(Debug)]
pub struct HostInventoryView<'a> {
    pub inventory: &'a Inventory,
    pub hosts: &'a [Arc<str>],
    /// True if the variables of hosts are shown in texts; JSON always has them.
    pub with_variables: bool,
}

impl HostInventoryView<'_> {
    /// Returns a table with a row for each host, or blocks with the variables of each host.
    pub fn text(&self, layout: TableLayout) -> String {
        if self.with_variables {
            return self.hosts.iter().map(|host| self.block(host)).collect();
        }
        let mut table = Table::new(&["Host", "Address", "Groups"]);
        for host in self.hosts {
            let groups: Vec<&str> = self
                .inventory
                .groups_of(host)
                .into_iter()
                .map(|it| &**it)
                .collect();
            table.row([
                escape_controls(host).as_ref(),
                &self.address(host),
                &groups.join(", "),
            ]);
        }
        table.render(layout)
    }

    /// Returns the way to a host in the form of a host string.
    fn address(&self, host: &str) -> String {
        let access = match self.inventory.host_access(host) {
            None => return String::new(),
            Some(Err(error)) => return format!("error: {error}"),
            Some(Ok(access)) => access,
        };
        let address = match access.method {
            ConnectionMethod::Local => "@local".to_owned(),
            ConnectionMethod::Container { engine, name } => format!("@{engine}/{name}"),
            ConnectionMethod::Ssh(target) => {
                let user = target.user.map_or(String::new(), |user| format!("{user}@"));
                let is_bracketed = target.host.contains(':') && target.port.is_some();
                let name = if is_bracketed {
                    format!("[{}]", target.host)
                } else {
                    target.host
                };
                let port = target.port.map_or(String::new(), |port| format!(":{port}"));
                format!("{user}{name}{port}")
            }
        };
        match access.escalation {
            Some(other) => format!("{address} as {}", other.user),
            None => address,
        }
    }

    fn block(&self, host: &str) -> String {
        let mut text = format!("{}:\n", escape_controls(host));
        for (name, value) in &self.inventory.data(host) {
            writeln!(text, "  {}: {}", escape_controls(name), shown(name, value)).ok();
        }
        text
    }

    /// Returns the tree of groups and hosts below the group `all`, as `ansible-inventory --graph` draws it.
    pub fn graph(&self) -> String {
        let shown: HashSet<&str, Fold> = self.hosts.iter().map(|host| &**host).collect();
        let mut lines = vec!["@all:".to_owned()];
        let mut open = vec![("all", 0)];
        // Groups come from a stack, so that deep inventories need no deep recursion.
        let mut is_root = true;
        while let Some((group, depth)) = open.pop() {
            if lines.len() > MAX_LINES || depth > MAX_DEPTH {
                break;
            }
            let bars = "  |".repeat(depth);
            if !is_root {
                lines.push(format!("{bars}--@{}:", escape_controls(group)));
            }
            let inner = "  |".repeat(depth + 1);
            if !is_root {
                for host in self.inventory.own_hosts_of(group) {
                    if shown.contains(&**host) {
                        lines.push(format!("{inner}--{}", escape_controls(host)));
                        self.add_variables(host, &inner, &mut lines);
                    }
                }
            }
            let mut below: Vec<(&str, usize)> = Vec::new();
            if std::mem::take(&mut is_root) && !self.inventory.own_hosts_of("ungrouped").is_empty()
            {
                below.push(("ungrouped", depth + 1));
            }
            let children = self.inventory.children_of(group).into_iter();
            below.extend(children.map(|child| (&**child, depth + 1)));
            open.extend(below.into_iter().rev());
        }
        lines.join("\n") + "\n"
    }

    fn add_variables(&self, host: &str, bars: &str, lines: &mut Vec<String>) {
        if self.with_variables {
            for (name, value) in &self.inventory.data(host) {
                let name_shown = escape_controls(name);
                lines.push(format!(
                    "{bars}  |--{{{name_shown} = {}}}",
                    shown(name, value)
                ));
            }
        }
    }

    /// Returns the form of `ansible-inventory --list`: groups with hosts and children, and `_meta` with the variables.
    pub fn json(&self) -> Json {
        let shown: HashSet<&str, Fold> = self.hosts.iter().map(|host| &**host).collect();
        let mut variables = JsonMap::new();
        for host in self.hosts {
            let data = json_variables(&self.inventory.data(host));
            if !data.is_empty() {
                variables.insert(host.to_string(), data.into());
            }
        }
        let mut all = JsonMap::new();
        all.insert(
            "_meta".to_owned(),
            serde_json::json!({ "hostvars": variables }),
        );
        let mut top = vec![Json::from("ungrouped")];
        top.extend(texts(&self.inventory.children_of("all")));
        all.insert("all".to_owned(), serde_json::json!({ "children": top }));
        let ungrouped = Arc::from("ungrouped");
        for name in std::iter::once(&ungrouped).chain(self.inventory.roles()) {
            let mut group = JsonMap::new();
            let mut hosts = self.inventory.own_hosts_of(name);
            hosts.retain(|host| shown.contains(&***host));
            if !hosts.is_empty() {
                group.insert("hosts".to_owned(), texts(&hosts).into());
            }
            let children = self.inventory.children_of(name);
            if !children.is_empty() {
                group.insert("children".to_owned(), texts(&children).into());
            }
            if !group.is_empty() {
                all.insert(name.to_string(), group.into());
            }
        }
        all.into()
    }
}

/// Returns a value for a text, without secrets.
fn shown(name: &str, value: &Value) -> String {
    if is_secret_variable(name) && !value.is_null() {
        return REDACTED.to_owned();
    }
    inline_value(value)
}

fn texts(names: &[&Arc<str>]) -> Vec<Json> {
    names.iter().map(|name| Json::from(&***name)).collect()
}

fn json_variables(data: &Map) -> JsonMap<String, Json> {
    let entries = data.iter().map(|(name, value)| {
        let value = if is_secret_variable(name) && !value.is_null() {
            Json::from(REDACTED)
        } else {
            serde_json::to_value(value).unwrap_or_default()
        };
        (name.to_string(), value)
    });
    entries.collect()
}
