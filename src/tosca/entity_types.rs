//! Resolved types of every kind: node types, relationship types, capability types and others.
//!
//! A resolved type contains everything that it inherits from its ancestors. [`super::Types`] creates and
//! caches them. This file holds data only.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{OperationName, TypeName};
use crate::value::Map;
use crate::yaml::Node;

use super::definition::TypeInfo;
use super::definition::{AttributeDecl, Occurrences, Property, PropertyDef, Schema, TypeKey};
use super::interface_draft::InterfaceDrafts;
use super::operation::{Artifact, ArtifactType, Operations};
use super::trigger::Trigger;

macro_rules! has_info {
    ($($name:ident),*) => {
        $(
            impl std::ops::Deref for $name {
                type Target = TypeInfo;

                fn deref(&self) -> &TypeInfo {
                    &self.info
                }
            }
        )*
    };
}

has_info!(
    NodeType,
    RelationshipType,
    CapabilityType,
    InterfaceType,
    ArtifactType,
    DataType,
    GroupType,
    PolicyType
);

/// A node type, merged with its ancestors.
#[derive(Debug, Clone)]
pub struct NodeType {
    pub info: TypeInfo,
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    pub attributes: IndexMap<Arc<str>, Arc<PropertyDef>>,
    pub requirements: IndexMap<Arc<str>, Arc<RequirementDef>>,
    pub capabilities: IndexMap<Arc<str>, Arc<CapabilityDef>>,
    pub operations: Arc<Operations>,
    pub(super) interfaces: Arc<InterfaceDrafts>,
    pub artifacts: Arc<IndexMap<Arc<str>, Arc<Artifact>>>,
    /// Artifacts, by name, that templates of the type must declare, or whose type is prescribed.
    pub expected_artifacts: IndexMap<Arc<str>, ExpectedArtifact>,
    /// The properties of a template that sets none itself. Shared by such templates.
    pub default_properties: Arc<IndexMap<Arc<str>, Property>>,
    /// The attributes of a template that sets none itself. Shared by such templates.
    pub default_attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
    /// The capabilities of a template that states none itself. Shared by such templates.
    pub default_capabilities: Arc<IndexMap<Arc<str>, CapabilityTemplate>>,
}

/// A rule of a node type for an artifact of its templates.
#[derive(Debug, Clone)]
pub struct ExpectedArtifact {
    /// The type that the artifact must derive from.
    pub type_name: TypeName,
    /// Whether a template must have the artifact.
    pub required: bool,
}

/// A requirement as a node type declares it.
#[derive(Debug, Clone)]
pub struct RequirementDef {
    pub name: Arc<str>,
    /// The node type or the node template of the target.
    pub node: Option<Reference>,
    /// The capability of the target, by name or by type.
    pub capability: Option<Reference>,
    /// The type or the template of the relationship.
    pub relationship: Option<Reference>,
    /// The relationship, if the requirement defines it inline: a map with a `type`.
    pub inline_relationship: Option<Node>,
    /// The namespace to look up names of the inline relationship in.
    pub(super) namespace: u32,
    /// The number of targets. `None` if the declaration does not state it.
    pub occurrences: Option<Occurrences>,
    /// Unparsed filters that the target must meet. The filter of the nearest type comes first.
    pub node_filter: Vec<Node>,
    pub metadata: Map,
    pub description: Option<Arc<str>>,
    pub span: Span,
}

/// A name in a template, with the namespace to look it up in.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The name as the template writes it.
    pub name: Arc<str>,
    pub span: Span,
    pub(super) namespace: u32,
}

/// A capability as a node type declares it.
#[derive(Debug, Clone)]
pub struct CapabilityDef {
    pub name: Arc<str>,
    pub capability_type: Arc<CapabilityType>,
    /// The property definitions of the capability type, with the refinements of the node type.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    pub attributes: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The property values that the node type assigns, unparsed.
    pub assigned: IndexMap<Arc<str>, Node>,
    pub span: Span,
}

/// A capability of a node template, with its values.
#[derive(Debug, Clone)]
pub struct CapabilityTemplate {
    pub name: Arc<str>,
    pub type_name: TypeName,
    pub capability_type: Arc<CapabilityType>,
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    pub attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
    pub metadata: Map,
}

/// A relationship type, merged with its ancestors.
#[derive(Debug, Clone)]
pub struct RelationshipType {
    pub info: TypeInfo,
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    pub attributes: IndexMap<Arc<str>, Arc<PropertyDef>>,
    pub operations: Arc<Operations>,
    pub(super) interfaces: Arc<InterfaceDrafts>,
    /// The capability types that a relationship may target. Any type if the list is empty.
    pub valid_target_types: Vec<TypeName>,
    pub(super) valid_targets: Vec<TypeKey>,
    /// The properties of a template that sets none itself. Shared by such templates.
    pub default_properties: Arc<IndexMap<Arc<str>, Property>>,
    /// The attributes of a template that sets none itself. Shared by such templates.
    pub default_attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
}

/// A capability type, merged with its ancestors.
#[derive(Debug, Clone)]
pub struct CapabilityType {
    pub info: TypeInfo,
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    pub attributes: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The node types that may use the capability. Any type if the list is empty.
    pub valid_source_types: Vec<TypeName>,
}

/// An interface type, merged with its ancestors.
#[derive(Debug, Clone)]
pub struct InterfaceType {
    pub info: TypeInfo,
    /// The operations that the type and its ancestors declare.
    pub operations: Vec<OperationName>,
}

/// A data type, merged with its ancestors.
#[derive(Debug, Clone)]
pub struct DataType {
    pub info: TypeInfo,
    /// The schema of the values, if the type refines a simple type.
    pub simple: Option<Arc<Schema>>,
    /// The fields of the values, if the type refines no simple type.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
}

/// A group type, merged with its ancestors.
#[derive(Debug, Clone)]
pub struct GroupType {
    pub info: TypeInfo,
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The types that members of a group may have. Any type if the list is empty.
    pub members: Vec<TypeName>,
}

/// A policy type, merged with its ancestors.
#[derive(Debug, Clone)]
pub struct PolicyType {
    pub info: TypeInfo,
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The types that targets of a policy may have. Any type if the list is empty.
    pub targets: Vec<TypeName>,
    /// The triggers by name, including inherited ones.
    pub triggers: IndexMap<Arc<str>, Arc<Trigger>>,
}
