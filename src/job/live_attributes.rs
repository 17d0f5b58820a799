//! Classification of attributes as live (set by tasks) or model values (rule U-e).

use crate::topology::{EntityKind, Topology};
use crate::value::Handle;

/// Whether an attribute is live: set by tasks rather than by the model (rule U-e). None if the topology
/// does not store it.
pub(super) fn is_live(topology: &Topology, of: Handle, name: &str) -> Option<bool> {
    let entity = topology.get(of)?;
    if entity.attributes.contains_key(name) {
        return (!matches!(
            entity.kind,
            EntityKind::Root | EntityKind::Inputs | EntityKind::Outputs
        ))
        .then_some(true);
    }
    match &entity.kind {
        // A relationship without a source is a connection of the environment, which is not recorded.
        EntityKind::Root
        | EntityKind::Inputs
        | EntityKind::Outputs
        | EntityKind::Relationship { source: None, .. } => None,
        EntityKind::Node(node) => {
            let property = node.template.properties.get(name);
            let declared = node.template.attributes.get(name);
            let has_default = declared.is_some_and(|attribute| attribute.default.is_some());
            let set = property.is_some_and(|property| property.set_on_template);
            Some((declared.is_some() && !set) || !(property.is_some() || has_default))
        }
        EntityKind::Capability { .. } => entity
            .capability()
            .map(|template| !template.properties.contains_key(name)),
        EntityKind::Relationship { template, .. } => Some(!template.properties.contains_key(name)),
        EntityKind::Artifact { .. } => Some(false),
    }
}

/// Whether the entity's type declares the attribute.
pub(super) fn is_declared(topology: &Topology, of: Handle, name: &str) -> bool {
    match topology.get(of).map(|entity| &entity.kind) {
        Some(EntityKind::Node(node)) => node.template.attributes.contains_key(name),
        Some(EntityKind::Relationship { template, .. }) => template.attributes.contains_key(name),
        Some(EntityKind::Capability { .. }) => topology
            .entity(of)
            .capability()
            .is_some_and(|template| template.attributes.contains_key(name)),
        _ => false,
    }
}

/// Whether a task may set a missing attribute, because the type declares it or is open to any attribute.
pub(super) fn may_be_set(topology: &Topology, of: Handle, name: &str) -> bool {
    match topology.get(of).map(|entity| &entity.kind) {
        Some(EntityKind::Node(node)) => {
            node.template.attributes.contains_key(name) || node.template.node_type.open
        }
        Some(EntityKind::Relationship { template, .. }) => template.attributes.contains_key(name),
        _ => false,
    }
}
