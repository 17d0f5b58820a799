//! Service templates: read, resolved, inherited, checked and matched. Evaluates no expression and
//! opens no file: an [`Importer`] does.

mod artifact;
mod check;
mod condition;
mod constraint;
mod template_copy;
mod definition;
mod entity_types;
mod node_filter;
mod implementation;
mod match_queue;
mod interface_merge;
mod interface_draft;
mod keys;
mod match_state;
#[cfg(test)]
mod lenient_reading_tests;
mod type_loader;
mod template_index;
mod nesting;
mod node_template;
mod operation;
mod options;
mod type_origin;
mod overlay;
mod portable;
mod problems;
mod built_in_types;
mod property;
mod path_query;
mod reader;
mod references;
mod relationship;
mod requirement_resolver;
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
mod trigger_reader;
mod types;
mod requirement_problems;
mod version;
mod workflow;
mod workflow_reader;

pub use check::check_output;
pub use condition::all_clauses_hold;
pub use definition::{
    AttributeDecl, DataKind, Occurrences, Property, PropertyDef, Rule, ScalarKind, Schema,
    TypeInfo, TypeKey,
};
pub use entity_types::{CapabilityTemplate, DataType, NodeType, Reference, RequirementDef};
pub use keys::service_template_keys;
pub use type_loader::{ImportRequest, Imported, Importer, NoImports};
pub use operation::{
    Artifact, Dependency, Implementation, ImplementationKind, Operation, Operations,
};
pub use options::ReadOptions;
pub use type_origin::TypeOrigin;
pub use overlay::Decorator;
pub use reader::{check_inputs, read, read_node_template, read_relationship_template};
pub use template::{
    Group, NestedTopology, NodeTemplate, Policy, RelationshipTemplate, Requirement, ServiceTemplate,
    Substitution, TopologyTemplate,
};
pub use trigger::{Facet, Trigger};
pub use types::Types;
pub use workflow::{WorkflowActivity as WorkflowActivity, WorkflowStep as WorkflowStep, Workflow};
