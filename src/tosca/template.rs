//! What a service template says, resolved: topology, node templates, relationships.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{TemplateName, TypeName};
use crate::value::{Fold, Map, Value};
use crate::yaml::{Mapping, Node};

use super::definition::{AttributeDecl, Occurrences, ParameterDef, Property, PropertyDef, TypeKey};
use super::entity_types::{CapabilityTemplate, NodeType, RelationshipType, RequirementDef};
use super::operation::{Artifact, Operations};
use super::overlay::Decorator;
use super::trigger::Trigger;
use super::types::Types;
use super::workflow::Workflow;

/// A service template: its types and its topology.
#[derive(Debug, Clone)]
pub struct ServiceTemplate {
    /// All types it can use, its own and the built-in ones.
    pub types: Arc<Types>,
    /// What is to be deployed.
    pub topology: Arc<TopologyTemplate>,
    /// Its `metadata`, such as `template_name`.
    pub metadata: Map,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// The repositories it declares by name, raw.
    pub repositories: IndexMap<Arc<str>, Node>,
    /// The conditions of imports, raw, by the places where they are stated. Nothing has been done
    /// about them.
    pub conditions: Vec<(Span, Value)>,
    /// Its `deployment_blueprints`, raw.
    pub blueprints: Option<Node>,
    /// What is to be merged into the templates that expressions find. Nothing has been done about
    /// it.
    pub decorators: Vec<Decorator>,
    /// The node templates as they are written; none where there are no decorators.
    pub stated: Mapping,
    /// Its own topology, raw.
    pub(super) own: Option<Node>,
    /// The node templates that replace or join those of the topology, raw.
    pub(super) overrides: Mapping,
}

/// What is to be deployed.
#[derive(Debug, Clone, Default)]
pub struct TopologyTemplate {
    /// What the user can or must give.
    pub inputs: IndexMap<Arc<str>, Arc<ParameterDef>>,
    /// What it gives back.
    pub outputs: IndexMap<Arc<str>, TopologyOutput>,
    /// The node templates in the order of the text.
    pub nodes: IndexMap<TemplateName, Arc<NodeTemplate>, Fold>,
    /// The relationship templates that have a name.
    pub relationships: IndexMap<TemplateName, Arc<RelationshipTemplate>>,
    /// The workflows by name.
    pub workflows: IndexMap<Arc<str>, Arc<Workflow>>,
    /// The policies by name.
    pub policies: IndexMap<Arc<str>, Policy>,
    /// The groups by name.
    pub groups: IndexMap<Arc<str>, Group>,
    /// What it can stand in for, if it says so.
    pub substitution: Option<Substitution>,
    /// The topologies that stand in for node templates, by the name of the outer template. Their
    /// node templates are among those of this topology, each before the outer one.
    pub nested: IndexMap<TemplateName, Arc<NestedTopology>>,
}

/// An output of a topology.
#[derive(Debug, Clone)]
pub struct TopologyOutput {
    /// Its value, raw.
    pub value: Value,
    /// What it is.
    pub description: Option<Arc<str>>,
    /// Whether its value must not be shown.
    pub sensitive: bool,
    /// Its definition, if it declares a type.
    pub definition: Option<Arc<PropertyDef>>,
    /// Where it is declared.
    pub span: Span,
}

/// One node to be deployed.
#[derive(Debug, Clone)]
pub struct NodeTemplate {
    /// Its name.
    pub name: TemplateName,
    /// The name of its type, as the template's file knows it.
    pub type_name: TypeName,
    /// Its type, shared by all templates of that type.
    pub node_type: Arc<NodeType>,
    /// Where its name stands.
    pub span: Span,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Its `metadata`.
    pub metadata: Map,
    /// Its `directives`, such as `select` or `protected`.
    pub directives: Vec<Arc<str>>,
    /// Its properties: set, or declared with a default.
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    /// Its attributes.
    pub attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
    /// Its requirements: those it states, then those only its type does.
    pub requirements: Vec<Requirement>,
    /// Its capabilities by name.
    pub capabilities: Arc<IndexMap<Arc<str>, CapabilityTemplate>>,
    /// Its operations, shared with its type if it overrides nothing.
    pub operations: Arc<Operations>,
    /// Its artifacts by name.
    pub artifacts: Arc<IndexMap<Arc<str>, Arc<Artifact>>>,
    /// The instance of another ensemble that it stands for, if it says so.
    pub imported: Option<Arc<str>>,
    /// How many instances it may have, if it says so.
    pub occurrences: Option<Occurrences>,
    /// The filter a `select` or `substitute` directive uses, raw.
    pub node_filter: Option<Node>,
    /// The template whose stand-in it is part of.
    pub nested_in: Option<TemplateName>,
    /// The template inside of a nested topology that stands in for this one.
    pub stand_in: Option<TemplateName>,
    /// Whether a template outside takes its place.
    pub is_replaced: bool,
    /// Whether it has left the model, and is here only to remove what was made of it.
    pub is_orphaned: bool,
    /// Its properties that come from the template it is nested in, each with the name there.
    pub from_outer: IndexMap<Arc<str>, Arc<str>>,
}

impl NodeTemplate {
    /// Its name within its own topology.
    pub fn local_name(&self) -> &str {
        let skipped = self
            .nested_in
            .as_ref()
            .map_or(0, |outer| outer.as_str().len() + 1);
        &self.name.as_str()[skipped..]
    }

    /// Whether it is the template of a name, or part of what stands in for that one.
    pub fn is_or_is_in(&self, name: &TemplateName) -> bool {
        let rest = self.name.as_str().strip_prefix(name.as_str());
        rest.is_some_and(|rest| {
            rest.is_empty() || (self.nested_in.is_some() && rest.starts_with(':'))
        })
    }

    /// Whether it has a directive.
    pub fn has_directive(&self, directive: &str) -> bool {
        self.directives.iter().any(|own| &**own == directive)
    }

    /// Whether it stands for an instance of another ensemble.
    pub fn is_selected(&self) -> bool {
        self.imported.is_some() || self.has_directive("select")
    }

    /// Whether its type is, or derives from, the one named.
    pub fn is_a(&self, type_name: &str) -> bool {
        self.node_type.is_derived_from(type_name)
    }

    /// The template it is hosted on: the target of its first `host` requirement, or of the first
    /// whose relationship derives from `tosca.relationships.HostedOn`.
    pub fn host(&self) -> Option<&TemplateName> {
        let mut hosts = self.requirements.iter().filter(|r| r.is_host());
        hosts.find_map(|r| r.target.as_ref())
    }
}

/// A requirement of a node template.
#[derive(Debug, Clone)]
pub struct Requirement {
    /// Its name.
    pub name: Arc<str>,
    /// The node template that fulfils it.
    pub target: Option<TemplateName>,
    /// The relationship to it.
    pub relationship: Arc<RelationshipTemplate>,
    /// The name of the target's capability that it uses.
    pub capability: Option<Arc<str>>,
    /// What its type says about it, if it does.
    pub definition: Option<Arc<RequirementDef>>,
    /// What the template says about it; nothing if only the type declares it.
    pub stated: Option<Arc<RequirementDef>>,
    /// How many targets it needs.
    pub occurrences: Occurrences,
    /// Whether the template that this one is nested in states it.
    pub from_outer: bool,
    /// What the target must be like, raw: the type's filter and the template's.
    pub node_filter: Vec<Node>,
    /// Its `metadata`, the template's over the type's.
    pub metadata: Map,
    /// Where it stands.
    pub span: Span,
}

impl Requirement {
    /// Whether the target is what the node is hosted on.
    pub fn is_host(&self) -> bool {
        &*self.name == "host"
            || self
                .relationship
                .relationship_type
                .is_derived_from("tosca.relationships.HostedOn")
    }
}

/// A relationship from a source to a target.
#[derive(Debug, Clone)]
pub struct RelationshipTemplate {
    /// Its name, if `relationship_templates` gives it one.
    pub name: Option<TemplateName>,
    /// The name of its type.
    pub type_name: TypeName,
    /// Its type.
    pub relationship_type: Arc<RelationshipType>,
    /// Its properties.
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    /// Its attributes.
    pub attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
    /// Its operations.
    pub operations: Arc<Operations>,
    /// Its `metadata`.
    pub metadata: Map,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// What it is the default connection for: `ANY`, `SELF`, a node, a type or a capability.
    pub default_for: Option<Arc<str>>,
    /// Where it is declared.
    pub span: Span,
}

/// A group of templates.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name.
    pub name: Arc<str>,
    /// The name of its type.
    pub type_name: TypeName,
    /// Its members: node templates and groups.
    pub members: Vec<Arc<str>>,
    /// Its properties.
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    /// Its `metadata`.
    pub metadata: Map,
    /// Where it is declared.
    pub span: Span,
}

/// A policy over templates and groups.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Its name.
    pub name: Arc<str>,
    /// The name of its type.
    pub type_name: TypeName,
    /// What it applies to: node templates and groups.
    pub targets: Vec<Arc<str>>,
    /// Its properties.
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    /// Its triggers by name, those of its type among them.
    pub triggers: IndexMap<Arc<str>, Arc<Trigger>>,
    /// Its `metadata`.
    pub metadata: Map,
    /// Where it is declared.
    pub span: Span,
}

/// What a topology can stand in for.
#[derive(Debug, Clone)]
pub struct Substitution {
    /// The inner template that represents it outside.
    pub node: Option<TemplateName>,
    /// The node type it stands for.
    pub node_type: Option<TypeName>,
    pub(super) type_key: Option<TypeKey>,
    /// Where properties of the outside go, if it says so; otherwise to the inputs of their names.
    pub properties: Option<IndexMap<Arc<str>, PartMapping>>,
    /// Where attributes of the outside come from.
    pub attributes: IndexMap<Arc<str>, PartMapping>,
    /// The requirements of the inside that those of the outside fulfil.
    pub requirements: IndexMap<Arc<str>, PartMapping>,
    /// The capabilities of the inside that stand for those of the outside.
    pub capabilities: IndexMap<Arc<str>, PartMapping>,
    /// Which templates it can stand in for, raw.
    pub filter: Option<Node>,
    /// Everything it says, raw.
    pub mapping: Map,
    /// Where it is declared.
    pub span: Span,
}

/// What a part of the outside is mapped to, and where that is said.
#[derive(Debug, Clone)]
pub struct PartMapping {
    /// What it is mapped to.
    pub target: MappingTarget,
    /// Where it is said.
    pub span: Span,
}

/// What a part of the outside is mapped to.
#[derive(Debug, Clone)]
pub enum MappingTarget {
    /// An input of the topology; for attributes, an output.
    Input(Arc<str>),
    /// A part of a template inside: its name, or the names of a capability and of its property.
    Member {
        /// The template.
        node: TemplateName,
        /// What of it.
        path: Vec<Arc<str>>,
    },
    /// A value, raw.
    Value(Value),
}

/// A topology that stands in for a node template of another.
#[derive(Debug, Clone)]
pub struct NestedTopology {
    /// The template inside that represents it outside, by its whole name.
    pub node: TemplateName,
    /// Its inputs, outputs and relationships. Its node templates are those of the whole topology
    /// whose names start with the outer template's.
    pub topology: Arc<TopologyTemplate>,
    /// The properties of the outer template that its inputs take their values from.
    pub inputs: IndexMap<Arc<str>, Arc<str>>,
    /// The capabilities inside that stand for those of the outer template: of which template, and
    /// which one.
    pub capabilities: IndexMap<Arc<str>, (TemplateName, Arc<str>)>,
    /// The templates inside that its mapping names: it needs them as much as `node`.
    pub named_templates: Vec<TemplateName>,
}
