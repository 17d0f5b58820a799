//! Decides whether a read of a property or an attribute can have a result.

use crate::name::TemplateName;
use crate::tosca::{NodeTemplate, RelationshipTemplate, TopologyTemplate};

use super::settable::sets_unknown_names;

/// The attributes that every entity has.
const COMMON: [&str; 6] = ["tosca_id", "tosca_name", "state", "status", "name", "key"];

/// The keywords in place of the name of an entity.
const KEYWORDS: [&str; 9] = [
    "SELF",
    "SOURCE",
    "TARGET",
    "HOST",
    "ORCHESTRATOR",
    "OPERATION_HOST",
    "ANON",
    "TOPOLOGY",
    "ROOT",
];

/// Returns true if a name is a keyword that stands for an entity.
pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// The entity that an expression belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'a> {
    /// The topology, for outputs and inputs.
    Topology,
    Node(&'a NodeTemplate),
    Relationship {
        relationship: &'a RelationshipTemplate,
        /// The ends of the relationship, if they are known.
        source: Option<&'a NodeTemplate>,
        target: Option<&'a NodeTemplate>,
    },
    /// An entity whose attributes are not known statically, such as an artifact.
    Other,
}

/// Returns true if a node may have a property or an attribute of this name.
pub(super) fn may_have(
    topology: &TopologyTemplate,
    node: &NodeTemplate,
    name: &str,
    may_be_set: &dyn Fn(&str) -> bool,
) -> bool {
    let node_type = &node.node_type;
    let declares = node_type.open
        || node.properties.contains_key(name)
        || node_type.properties.contains_key(name)
        || node_type.attributes.contains_key(name)
        || node.attributes.contains_key(name)
        || node.capabilities.contains_key(name)
        || node_type.capabilities.contains_key(name)
        || node_type.requirements.contains_key(name)
        || node.artifacts.contains_key(name)
        || node.requirements.iter().any(|it| *it.name == *name);
    if declares || COMMON.contains(&name) || name.starts_with(['.', '_']) || is_keyword(name) {
        return true;
    }
    if may_be_set(name) || sets_unknown_names(node) {
        return true;
    }
    // Instances of other ensembles have attributes that this model does not declare.
    if node.is_selected() || node.is_replaced || node.has_directive("discover") {
        return true;
    }
    match &node.representative {
        Some(inner) => {
            topology.nested.contains_key(&node.name) && nested_has(topology, node, inner, name)
        }
        None => false,
    }
}

/// Returns true if a node states the property or attribute, for templates, in which open types have no other names.
pub(super) fn states(node: &NodeTemplate, name: &str, may_be_set: &dyn Fn(&str) -> bool) -> bool {
    node.properties.contains_key(name)
        || node.node_type.properties.contains_key(name)
        || node.attributes.contains_key(name)
        || node.node_type.attributes.contains_key(name)
        || node.is_selected()
        || node.representative.is_some()
        || node.nested_in.is_some()
        || COMMON.contains(&name)
        || name.starts_with(['.', '_'])
        || may_be_set(name)
        || sets_unknown_names(node)
}

/// Returns true if a name is that of a requirement or capability only, which are no attributes.
pub(super) fn is_part_only(node: &NodeTemplate, name: &str) -> bool {
    let node_type = &node.node_type;
    let is_attribute = node.properties.contains_key(name)
        || node_type.properties.contains_key(name)
        || node.attributes.contains_key(name)
        || node_type.attributes.contains_key(name)
        || node_type.open;
    let is_part = node.capabilities.contains_key(name)
        || node_type.capabilities.contains_key(name)
        || node_type.requirements.contains_key(name)
        || node.requirements.iter().any(|it| *it.name == *name);
    is_part && !is_attribute
}

/// Returns true if the topology that substitutes for a node has the attribute: as an output, or at its representative.
fn nested_has(
    topology: &TopologyTemplate,
    node: &NodeTemplate,
    inner: &TemplateName,
    name: &str,
) -> bool {
    let outputs = topology
        .nested
        .get(&node.name)
        .map(|it| &it.topology.outputs);
    outputs.is_some_and(|outputs| outputs.contains_key(name))
        || topology.nodes.get(inner.as_str()).is_some_and(|inner| {
            inner.node_type.open
                || inner.properties.contains_key(name)
                || inner.attributes.contains_key(name)
                || inner.node_type.attributes.contains_key(name)
                || sets_unknown_names(inner)
        })
}

/// The maximum number of hosts on which a node may be hosted, one on the other.
const MAX_HOSTS: usize = 50;

/// Returns the nodes that a node is hosted on, the nearest first. `None` if one of them is not known.
pub(super) fn hosts_of<'t>(
    topology: &'t TopologyTemplate,
    node: &'t NodeTemplate,
) -> Option<Vec<&'t NodeTemplate>> {
    let mut hosts = Vec::new();
    let mut current = node;
    while let Some(name) = current.host() {
        let host = topology.nodes.get(name.as_str())?;
        // Longer chains are rare, and would be walked again for each node. A circle is reported elsewhere.
        if hosts.len() > MAX_HOSTS {
            return None;
        }
        hosts.push(&**host);
        current = host;
    }
    let is_open = |node: &NodeTemplate| {
        node.requirements
            .iter()
            .any(|it| it.is_host() && it.target.is_none())
    };
    (!hosts.is_empty() && !is_open(current)).then_some(hosts)
}

/// Returns true if a capability of a node has the property or attribute.
pub(super) fn capability_has(node: &NodeTemplate, name: &str) -> bool {
    node.capabilities.values().any(|capability| {
        capability.properties.contains_key(name) || capability.attributes.contains_key(name)
    })
}

/// Returns the names that a node declares, for hints.
pub(super) fn declared_names(node: &NodeTemplate) -> Vec<&str> {
    let node_type = &node.node_type;
    let names = node
        .properties
        .keys()
        .chain(node_type.properties.keys())
        .chain(node.attributes.keys())
        .chain(node_type.attributes.keys());
    names.map(|name| &**name).collect()
}

/// Returns true if a relationship may have a property or an attribute of this name.
pub(super) fn relationship_may_have(
    relationship: &RelationshipTemplate,
    name: &str,
    may_be_set: &dyn Fn(&str) -> bool,
) -> bool {
    let own = &relationship.relationship_type;
    own.open
        || relationship.properties.contains_key(name)
        || own.properties.contains_key(name)
        || own.attributes.contains_key(name)
        || relationship.attributes.contains_key(name)
        || COMMON.contains(&name)
        || name.starts_with(['.', '_'])
        || is_keyword(name)
        || may_be_set(name)
}

/// Returns true if another topology may substitute for a node, whose attributes are then unknown.
pub(super) fn is_substitutable(node: &NodeTemplate) -> bool {
    node.has_directive("substitute") && node.representative.is_none()
}
