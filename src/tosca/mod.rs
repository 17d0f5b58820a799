//! The TOSCA model: reads a service template, resolves its types, and matches its requirements.
//!
//! [`read`] is the entry. Types are merged with their ancestors, properties are checked against their
//! definitions, requirements get their targets, and nested topologies are substituted. The module evaluates
//! no expression and opens no file: an [`Importer`] loads the imported files.

mod argument_match;
mod artifact;
mod built_in_types;
mod check;
mod condition;
mod constraint;
mod definition;
mod entity_types;
mod environment_variables;
#[cfg(test)]
mod header_tests;
mod implementation;
mod import_graph;
mod interface_draft;
mod interface_merge;
mod keys;
#[cfg(test)]
mod lenient_reading_tests;
mod match_queue;
mod match_state;
mod nesting;
mod node_filter;
mod node_template;
mod operation;
mod options;
mod overlay;
mod path_query;
mod portable;
mod problems;
mod property;
mod reader;
mod relationship;
mod requirement_problems;
mod requirement_resolver;
mod resolve;
mod resolve_node;
mod scalar;
mod schema;
mod scope;
mod section;
mod shared_artifacts;
mod substitution;
mod template;
mod template_copy;
mod template_index;
#[cfg(test)]
mod testing;
mod topology;
mod trigger;
mod trigger_reader;
mod type_loader;
mod type_lookup;
mod type_origin;
mod types;
mod unfetched_imports;
mod version;
mod workflow;
mod workflow_reader;

pub use argument_match::{
    ArgumentSource, INPUT_MATCH_KEY, OUTPUT_MATCH_KEY, argument_inputs, argument_sources,
};
pub use check::{check_argument, check_output};
pub use condition::all_clauses_hold;
pub use definition::{
    AttributeDecl, DataKind, Occurrences, Property, PropertyDef, Rule, ScalarKind, Schema,
    TypeInfo, TypeKey,
};
pub use entity_types::{CapabilityTemplate, DataType, NodeType, Reference, RequirementDef};
pub use keys::service_template_keys;
pub use operation::{
    Artifact, Dependency, Implementation, ImplementationKind, Operation, Operations,
    configurator_names,
};
pub use options::{ExtraImport, FROM_ENVIRONMENT, ReadOptions};
pub use overlay::Decorator;
pub use reader::{InputOrigin, check_inputs, read, read_node_template, read_relationship_template};
pub use shared_artifacts::LOCAL_REPOSITORY;
pub use template::{
    Group, NestedTopology, NodeTemplate, Policy, RelationshipTemplate, Requirement,
    ServiceTemplate, Substitution, TopologyTemplate,
};
pub use trigger::{Facet, Trigger};
pub use type_loader::{ImportRequest, Imported, Importer, NoImports};
pub use type_origin::TypeOrigin;
pub use types::Types;
pub use workflow::{Workflow, WorkflowActivity, WorkflowStep};
