//! Types, resolved: everything a type inherits is merged into it.

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

/// A node type.
#[derive(Debug, Clone)]
pub struct NodeType {
    /// What every type has.
    pub info: TypeInfo,
    /// Its properties.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// Its attributes.
    pub attributes: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// Its requirements.
    pub requirements: IndexMap<Arc<str>, Arc<RequirementDef>>,
    /// Its capabilities.
    pub capabilities: IndexMap<Arc<str>, Arc<CapabilityDef>>,
    /// Its operations.
    pub operations: Arc<Operations>,
    pub(super) interfaces: Arc<InterfaceDrafts>,
    /// Its artifacts.
    pub artifacts: Arc<IndexMap<Arc<str>, Arc<Artifact>>>,
    /// Artifacts its templates must state, or must derive from a type, by name.
    pub expected_artifacts: IndexMap<Arc<str>, ExpectedArtifact>,
    /// The properties of a template that sets none.
    pub default_properties: Arc<IndexMap<Arc<str>, Property>>,
    /// The attributes of a template that sets none.
    pub default_attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
    /// The capabilities of a template that states none.
    pub default_capabilities: Arc<IndexMap<Arc<str>, CapabilityTemplate>>,
}

/// An artifact that a node type asks for.
#[derive(Debug, Clone)]
pub struct ExpectedArtifact {
    /// The type it must derive from.
    pub type_name: TypeName,
    /// Whether a template must have it.
    pub required: bool,
}

/// A requirement as a node type declares it.
#[derive(Debug, Clone)]
pub struct RequirementDef {
    /// Its name.
    pub name: Arc<str>,
    /// The node type, or the node template, of the target.
    pub node: Option<Reference>,
    /// The target's capability, by name or by type.
    pub capability: Option<Reference>,
    /// The relationship's type or template.
    pub relationship: Option<Reference>,
    /// The relationship in place: a map with a `type`.
    pub inline_relationship: Option<Node>,
    /// Where the names of the relationship in place are looked up.
    pub(super) namespace: u32,
    /// How many targets it needs, if it says so.
    pub occurrences: Option<Occurrences>,
    /// What the target must be like, raw; the nearest type's filter first.
    pub node_filter: Vec<Node>,
    /// Its `metadata`.
    pub metadata: Map,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Where it is declared.
    pub span: Span,
}

/// A name in a text, with the namespace it is looked up in.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The name as written.
    pub name: Arc<str>,
    /// Where it stands.
    pub span: Span,
    pub(super) namespace: u32,
}

/// A capability as a node type declares it.
#[derive(Debug, Clone)]
pub struct CapabilityDef {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub capability_type: Arc<CapabilityType>,
    /// The properties it refines.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// Its attributes.
    pub attributes: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The values its node type assigns, raw.
    pub assigned: IndexMap<Arc<str>, Node>,
    /// Where it is declared.
    pub span: Span,
}

/// A capability of a node template.
#[derive(Debug, Clone)]
pub struct CapabilityTemplate {
    /// Its name.
    pub name: Arc<str>,
    /// The name of its type.
    pub type_name: TypeName,
    /// Its type.
    pub capability_type: Arc<CapabilityType>,
    /// Its properties.
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    /// Its attributes.
    pub attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
    /// Its `metadata`.
    pub metadata: Map,
}

/// A relationship type.
#[derive(Debug, Clone)]
pub struct RelationshipType {
    /// What every type has.
    pub info: TypeInfo,
    /// Its properties.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// Its attributes.
    pub attributes: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// Its operations.
    pub operations: Arc<Operations>,
    pub(super) interfaces: Arc<InterfaceDrafts>,
    /// The capability types it can point at; any if there are none.
    pub valid_target_types: Vec<TypeName>,
    pub(super) valid_targets: Vec<TypeKey>,
    /// The properties of a template that sets none.
    pub default_properties: Arc<IndexMap<Arc<str>, Property>>,
    /// The attributes of a template that sets none.
    pub default_attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
}

/// A capability type.
#[derive(Debug, Clone)]
pub struct CapabilityType {
    /// What every type has.
    pub info: TypeInfo,
    /// Its properties.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// Its attributes.
    pub attributes: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The node types that may use it; any if there are none.
    pub valid_source_types: Vec<TypeName>,
}

/// An interface type.
#[derive(Debug, Clone)]
pub struct InterfaceType {
    /// What every type has.
    pub info: TypeInfo,
    /// The operations it declares.
    pub operations: Vec<OperationName>,
}

/// A data type.
#[derive(Debug, Clone)]
pub struct DataType {
    /// What every type has.
    pub info: TypeInfo,
    /// What its values are, if it refines a simple type.
    pub simple: Option<Arc<Schema>>,
    /// Its properties otherwise.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
}

/// A group type.
#[derive(Debug, Clone)]
pub struct GroupType {
    /// What every type has.
    pub info: TypeInfo,
    /// Its properties.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The types its members may have; any if there are none.
    pub members: Vec<TypeName>,
}

/// A policy type.
#[derive(Debug, Clone)]
pub struct PolicyType {
    /// What every type has.
    pub info: TypeInfo,
    /// Its properties.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The types its targets may have; any if there are none.
    pub targets: Vec<TypeName>,
    /// Its triggers by name, inherited ones among them.
    pub triggers: IndexMap<Arc<str>, Arc<Trigger>>,
}
