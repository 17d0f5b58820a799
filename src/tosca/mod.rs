//! Service templates: read, resolved, inherited, checked and matched. Evaluates no expression and
//! opens no file: an [`Importer`] does.

mod constraint;
mod definition;
mod entity;
mod import;
mod operation;
mod read;
mod template;
mod types;
mod workflow;

pub use constraint::{Constraint, Rule};
pub use definition::{DataKind, ParameterDef, PropertyDef, ScalarKind, Schema, TypeKey};
pub use entity::{
    ArtifactType, CapabilityDef, CapabilityType, DataType, ExpectedArtifact, GroupType,
    InterfaceType, NodeType, PolicyType, Reference, RelationshipType, RequirementDef, TypeInfo,
};
pub use import::{ImportRequest, Imported, Importer, NoImports};
pub use operation::{
    Dependency, Implementation, ImplementationKind, Interface, Operation, Operations,
};
pub use read::{ReadOptions, read};
pub use template::{
    Artifact, AttributeDecl, CapabilityTemplate, Group, NodeTemplate, Occurrences, Output, Policy,
    Property, RelationshipTemplate, Requirement, ServiceTemplate, Substitution, TopologyTemplate,
};
pub use types::Types;
pub use workflow::{Activity as WorkflowActivity, Precondition, Step as WorkflowStep, Workflow};
