//! Whether attributes are live: set by tasks rather than given by the model (§ (e)).

use crate::topology::{Kind, Topology};
use crate::value::Handle;

/// Whether an attribute is live: set by tasks rather than given by the model (§ (e)). None for
/// what is not kept in the topology.
pub(super) fn is_live(topology: &Topology, of: Handle, name: &str) -> Option<bool> {
    let entity = topology.get(of)?;
    if entity.attributes.contains_key(name) {
        return (!matches!(entity.kind, Kind::Root | Kind::Inputs | Kind::Outputs)).then_some(true);
    }
    match &entity.kind {
        Kind::Root | Kind::Inputs | Kind::Outputs => None,
        Kind::Node(node) => {
            let property = node.template.properties.get(name);
            let declared = node.template.attributes.get(name);
            let has_default = declared.is_some_and(|attribute| attribute.default.is_some());
            let set = property.is_some_and(|property| property.set_on_template);
            Some((declared.is_some() && !set) || !(property.is_some() || has_default))
        }
        Kind::Capability { .. } => entity
            .capability()
            .map(|template| !template.properties.contains_key(name)),
        Kind::Relationship { template, .. } => Some(!template.properties.contains_key(name)),
        Kind::Artifact { .. } => Some(false),
    }
}

/// Whether an attribute is declared by the type of its entity.
pub(super) fn is_declared(topology: &Topology, of: Handle, name: &str) -> bool {
    match topology.get(of).map(|entity| &entity.kind) {
        Some(Kind::Node(node)) => node.template.attributes.contains_key(name),
        Some(Kind::Relationship { template, .. }) => template.attributes.contains_key(name),
        Some(Kind::Capability { .. }) => topology
            .entity(of)
            .capability()
            .is_some_and(|template| template.attributes.contains_key(name)),
        _ => false,
    }
}

/// Whether an attribute that is not there may be set by a task: it is declared, or the type is
/// open to any attribute.
pub(super) fn may_be_set(topology: &Topology, of: Handle, name: &str) -> bool {
    match topology.get(of).map(|entity| &entity.kind) {
        Some(Kind::Node(node)) => {
            node.template.attributes.contains_key(name) || node.template.node_type.open
        }
        Some(Kind::Relationship { template, .. }) => template.attributes.contains_key(name),
        _ => false,
    }
}
