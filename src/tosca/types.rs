//! All types of a service template, resolved when they are first asked for.

pub use super::entity::{ArtifactType, CapabilityType, NodeType, RelationshipType, RequirementDef};

/// All types of a service template, its own and the built-in ones.
#[derive(Debug)]
pub struct Types {}
