//! The node templates that an import adds: one for the folder, and one for each module or resource in it.
//!
//! The node of the folder has the state and the operations. A state cannot be split: the configuration of the folder
//! declares everything in it. So the other nodes are hosted on it, without operations, and their status follows it.

use std::collections::HashSet;

use super::state::{TerraformState, module_prefixes};
use crate::ops::add::NewTemplate;
use crate::value::Value;
use crate::yaml;

/// A node for a module or a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartNode {
    pub name: String,
    /// The name of the node on which this one is hosted.
    pub host: String,
    /// The address in the state of Terraform.
    pub address: String,
    pub kind: PartKind,
}

/// The kind of a part of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    Module,
    /// A resource with its type.
    Resource(String),
}

/// Returns the nodes for the modules of a state, and for its resources on request.
pub(super) fn part_nodes(
    state: &TerraformState,
    root: &str,
    with_resources: bool,
) -> Vec<PartNode> {
    let mut names = UniqueNames::with(root);
    let mut nodes: Vec<PartNode> = Vec::new();
    let mut modules = state.modules();
    modules.sort_by_key(|address| module_prefixes(address).len());
    for address in modules {
        let prefixes = module_prefixes(&address);
        let around = prefixes.len().checked_sub(2).map(|at| prefixes[at]);
        let host = host_of(&nodes, around, root);
        let own =
            address[around.map_or(0, |around| around.len() + 1)..].trim_start_matches("module.");
        nodes.push(PartNode {
            name: names.take(&format!("{host}_{}", plain(own))),
            host,
            address,
            kind: PartKind::Module,
        });
    }
    if with_resources {
        for resource in state.managed() {
            let host = host_of(&nodes, resource.address.module.as_deref(), root);
            nodes.push(PartNode {
                name: names.take(&format!("{host}_{}", plain(&resource.address.local))),
                host,
                address: resource.address.whole(),
                kind: PartKind::Resource(resource.kind.clone()),
            });
        }
    }
    nodes
}

fn host_of(nodes: &[PartNode], module: Option<&str>, root: &str) -> String {
    let mut modules = nodes.iter().filter(|node| node.kind == PartKind::Module);
    let host = modules.find(|node| Some(&*node.address) == module);
    host.map_or_else(|| root.to_owned(), |host| host.name.clone())
}

/// Returns an address with everything replaced that a name of a template cannot have.
fn plain(address: &str) -> String {
    let mut text = String::new();
    for c in address.chars() {
        let c = if c.is_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        };
        if c != '_' || !text.ends_with('_') {
            text.push(c);
        }
    }
    let mut text = text.trim_matches('_').to_owned();
    text.truncate(text.floor_char_boundary(80));
    text
}

/// Names that were given away.
struct UniqueNames(HashSet<String>);

impl UniqueNames {
    fn with(name: &str) -> Self {
        Self(HashSet::from([name.to_owned()]))
    }

    fn take(&mut self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut all = std::iter::once(wanted.to_owned()).chain(numbered);
        let free = all.find(|name| !self.0.contains(name));
        let name = free.unwrap_or_else(|| wanted.to_owned());
        self.0.insert(name.clone());
        name
    }
}

impl PartNode {
    /// Returns the node template.
    pub(super) fn template(&self, root: &str) -> NewTemplate {
        let about = match self.kind {
            PartKind::Module => format!(
                "# A module of `{root}`, which deploys it. Its status follows that of `{root}`.\n"
            ),
            PartKind::Resource(_) => format!(
                "# A resource of `{root}`, which deploys it. Its status follows that of `{root}`.\n"
            ),
        };
        let address = [("address", Value::from(self.address.as_str()))];
        let properties = match &self.kind {
            PartKind::Module => Value::map(address),
            PartKind::Resource(kind) => {
                let kind = [("resource_type", Value::from(kind.as_str()))];
                Value::map(address.into_iter().chain(kind))
            }
        };
        let host = Value::map([
            ("node", Value::from(self.host.as_str())),
            ("relationship", Value::from("tosca.relationships.HostedOn")),
        ]);
        let requirements = Value::list([Value::map([("host", host)])]);
        let template = Value::map([
            ("type", Value::from("unfurl.nodes.Generic")),
            ("properties", properties),
            ("requirements", requirements),
        ]);
        NewTemplate {
            name: self.name.clone(),
            body: about + &yaml::emit(&template, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::STATE;
    use super::*;

    #[test]
    fn modules_and_resources_are_hosted_on_what_contains_them() {
        let state = TerraformState::parse(STATE.as_bytes(), "`tf`").unwrap();
        let nodes = part_nodes(&state, "site", true);
        let lines: Vec<_> = nodes
            .iter()
            .map(|it| format!("{} on {}: {}", it.name, it.host, it.address))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        site_net_a_module_b on site: module.net["a.module.b"]
        site_net_a_module_b_sub on site_net_a_module_b: module.net["a.module.b"].module.sub
        site_terraform_data_web_0 on site: terraform_data.web[0]
        site_terraform_data_web_1 on site: terraform_data.web[1]
        site_net_a_module_b_sub_terraform_data_vpc_x_y on site_net_a_module_b_sub: module.net["a.module.b"].module.sub.terraform_data.vpc["x\"y"]
        "#);
        assert_eq!(part_nodes(&state, "site", false).len(), 2);
    }

    #[test]
    fn equal_names_get_numbers() {
        let mut names = UniqueNames::with("a");
        assert_eq!(
            ["a", "b", "a"].map(|name| names.take(name)),
            ["a_2", "b", "a_3"]
        );
        assert_eq!(
            plain(r#"aws_instance.web["x.y/z"]"#),
            "aws_instance_web_x_y_z"
        );
    }
}
