//! Service templates: read, resolved, inherited, checked and matched. Evaluates no expression and
//! opens no file: an [`Importer`] does.

mod artifact;
mod check;
mod condition;
mod constraint;
mod copy;
mod definition;
mod entity;
mod filter;
mod implementation;
mod inference;
mod interface;
mod interface_draft;
mod keys;
mod known;
#[cfg(test)]
mod lenient_tests;
mod load;
mod matching;
mod nesting;
mod node_template;
mod operation;
mod options;
mod origin;
mod overlay;
mod portable;
mod problems;
mod profile;
mod property;
mod query;
mod read;
mod references;
mod relationship;
mod requirement;
mod resolve;
mod resolve_node;
mod scalar;
mod schema;
mod scope;
mod section;
mod substitution;
mod template;
#[cfg(test)]
mod testing;
mod topology;
mod trigger;
mod trigger_read;
mod types;
mod unmet;
mod version;
mod workflow;
mod workflow_read;

pub use check::check_output;
pub use condition::all_hold;
pub use definition::{
    AttributeDecl, DataKind, Occurrences, Property, PropertyDef, Rule, ScalarKind, Schema,
    TypeInfo, TypeKey,
};
pub use entity::{CapabilityTemplate, DataType, NodeType, Reference, RequirementDef};
pub use keys::service_template_keys;
pub use load::{ImportRequest, Imported, Importer, NoImports};
pub use operation::{
    Artifact, Dependency, Implementation, ImplementationKind, Operation, Operations,
};
pub use options::ReadOptions;
pub use origin::Origin;
pub use overlay::Decorator;
pub use read::{check_inputs, read, read_node_template, read_relationship_template};
pub use template::{
    Group, Nested, NodeTemplate, Policy, RelationshipTemplate, Requirement, ServiceTemplate,
    Substitution, TopologyTemplate,
};
pub use trigger::{Facet, Trigger};
pub use types::Types;
pub use workflow::{Activity as WorkflowActivity, Step as WorkflowStep, Workflow};
