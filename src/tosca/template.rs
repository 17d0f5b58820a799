//! The resolved service template: topology, node templates, relationships, groups and policies.
//!
//! [`super::read`] creates a [`ServiceTemplate`]; planning and export use it. This file holds data and
//! lookups only. Values that may contain expressions are stored unevaluated.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{TemplateName, TypeName};
use crate::value::{Fold, Map, Value};
use crate::yaml::{Mapping, Node};

use super::definition::{AttributeDecl, Occurrences, ParameterDef, Property, PropertyDef, TypeKey};
use super::entity_types::{CapabilityTemplate, NodeType, RelationshipType, RequirementDef};
use super::operation::{Artifact, Operation, Operations};
use super::overlay::Decorator;
use super::trigger::Trigger;
use super::types::Types;
use super::workflow::Workflow;

/// A service template: its types and its topology.
#[derive(Debug, Clone)]
pub struct ServiceTemplate {
    /// The types that the template declares or imports, and the built-in types.
    pub types: Arc<Types>,
    pub topology: Arc<TopologyTemplate>,
    /// The names of the artifacts of node templates in imported files, which are not part of the topology.
    pub(super) imported_artifacts: HashSet<Arc<str>>,
    /// The node types that topologies of imported files can substitute for.
    pub substitutable: HashSet<TypeKey>,
    pub metadata: Map,
    pub description: Option<Arc<str>>,
    /// The unparsed declarations of repositories, by name.
    pub repositories: IndexMap<Arc<str>, Node>,
    /// The unevaluated conditions of imports, with their locations.
    ///
    /// The imports are loaded in any case. The caller evaluates the conditions and reads the template again
    /// without the imports whose condition is false.
    pub conditions: Vec<(Span, Value)>,
    /// The unparsed `deployment_blueprints` of the template.
    pub blueprints: Option<Node>,
    /// The decorators of all files, not applied yet.
    pub decorators: Vec<Decorator>,
    /// The node templates as written, which decorators patch. Empty if there are no decorators.
    pub written_node_templates: Mapping,
    /// The unparsed topology of the template's own file.
    pub(super) own_topology: Option<Node>,
    /// The unparsed node templates that replace or extend those of the topology.
    pub(super) overrides: Mapping,
}

/// The nodes to deploy, with their inputs, outputs, workflows, policies and groups.
#[derive(Debug, Clone, Default)]
pub struct TopologyTemplate {
    pub inputs: IndexMap<Arc<str>, Arc<ParameterDef>>,
    pub outputs: IndexMap<Arc<str>, TopologyOutput>,
    /// The node templates in the order of the text, including those of nested topologies.
    pub nodes: IndexMap<TemplateName, Arc<NodeTemplate>, Fold>,
    /// The relationship templates of the section `relationship_templates`.
    pub relationships: IndexMap<TemplateName, Arc<RelationshipTemplate>>,
    pub workflows: IndexMap<Arc<str>, Arc<Workflow>>,
    pub policies: IndexMap<Arc<str>, Policy>,
    pub groups: IndexMap<Arc<str>, Group>,
    /// The node type that the topology can substitute for, with the mapping of its parts.
    pub substitution: Option<Substitution>,
    /// The nested topologies, by the name of the node template that they substitute for.
    ///
    /// Their node templates are in `nodes`, each before the substituted template.
    pub nested: IndexMap<TemplateName, Arc<NestedTopology>>,
}

impl ServiceTemplate {
    /// Returns the text of an operation's `primary` if it names neither an artifact nor a file, so that nothing can run.
    ///
    /// `base_dir` is the folder of the ensemble, and `exists` answers for a path.
    pub fn missing_primary<'o>(
        &self,
        operation: &'o Operation,
        base_dir: &Path,
        exists: &dyn Fn(&Path) -> bool,
    ) -> Option<&'o str> {
        let text = operation.primary_without_file(base_dir, exists)?;
        (!self.has_artifact(text)).then_some(text)
    }

    /// Returns true if a node template of the topology or of an imported file has an artifact of this name, such as a
    /// program of a `LocalRepository`.
    fn has_artifact(&self, name: &str) -> bool {
        let mut nodes = self.topology.nodes.values();
        self.imported_artifacts.contains(name)
            || nodes.any(|node| node.artifacts.contains_key(name))
    }
}

/// An output of a topology, with its unevaluated value.
#[derive(Debug, Clone)]
pub struct TopologyOutput {
    /// The unevaluated value: it may contain expressions.
    pub value: Value,
    pub description: Option<Arc<str>>,
    /// Whether the value is secret and must be redacted in output.
    pub sensitive: bool,
    /// The definition, if the output declares a type.
    pub definition: Option<Arc<PropertyDef>>,
    /// The location of the name.
    pub span: Span,
    /// The location of the value.
    pub value_span: Span,
}

/// A node to be deployed, resolved and matched.
#[derive(Debug, Clone)]
pub struct NodeTemplate {
    pub name: TemplateName,
    /// The name of the type, as the file of the template writes it.
    pub type_name: TypeName,
    /// The resolved type, shared by all templates of the type.
    pub node_type: Arc<NodeType>,
    /// The location of the template's name.
    pub span: Span,
    pub description: Option<Arc<str>>,
    pub metadata: Map,
    /// The directives, such as `select` or `protected`.
    pub directives: Vec<Arc<str>>,
    /// The properties that the template sets and those that have a default.
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    pub attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
    /// The requirements: those that the template states, then those that only its type declares.
    pub requirements: Vec<Requirement>,
    pub capabilities: Arc<IndexMap<Arc<str>, CapabilityTemplate>>,
    /// The operations. Shared with the type if the template overrides none.
    pub operations: Arc<Operations>,
    pub artifacts: Arc<IndexMap<Arc<str>, Arc<Artifact>>>,
    /// The instance of another ensemble that the template stands for.
    pub imported: Option<Arc<str>>,
    /// The number of instances that the template may have. `None` if it does not state one.
    pub occurrences: Option<Occurrences>,
    /// The unparsed filter for the directive `select` or `substitute`.
    pub node_filter: Option<Node>,
    /// The substituted template whose nested topology this template is part of.
    pub nested_in: Option<TemplateName>,
    /// The template of the nested topology that represents this substituted template.
    pub representative: Option<TemplateName>,
    /// Whether a template of an outer topology replaces this one.
    pub is_replaced: bool,
    /// Whether the template is no longer in the model and is only kept to remove its instances.
    pub is_orphaned: bool,
    /// The properties whose values come from the substituted template, with their names there.
    pub from_outer: IndexMap<Arc<str>, Arc<str>>,
}

impl NodeTemplate {
    /// Returns the name of the template within its own topology, without the names of outer templates.
    pub fn local_name(&self) -> &str {
        let skipped = self
            .nested_in
            .as_ref()
            .map_or(0, |outer| outer.as_str().len() + 1);
        &self.name.as_str()[skipped..]
    }

    /// Whether the template has the name, or is part of the topology nested in the template with the name.
    pub fn is_or_is_nested_in(&self, name: &TemplateName) -> bool {
        let rest = self.name.as_str().strip_prefix(name.as_str());
        rest.is_some_and(|rest| {
            rest.is_empty() || (self.nested_in.is_some() && rest.starts_with(':'))
        })
    }

    /// Whether the template has the directive.
    pub fn has_directive(&self, directive: &str) -> bool {
        self.directives.iter().any(|own| &**own == directive)
    }

    /// Whether the template stands for an instance of another ensemble.
    pub fn is_selected(&self) -> bool {
        self.imported.is_some() || self.has_directive("select")
    }

    /// Whether the type of the template is, or derives from, the named type.
    pub fn is_a(&self, type_name: &str) -> bool {
        self.node_type.is_derived_from(type_name)
    }

    /// Returns the template that this one is hosted on.
    ///
    /// This is the target of the first requirement that is named `host` or whose relationship derives from
    /// `tosca.relationships.HostedOn`.
    pub fn host(&self) -> Option<&TemplateName> {
        let mut hosts = self.requirements.iter().filter(|r| r.is_host());
        hosts.find_map(|r| r.target.as_ref())
    }
}

/// A requirement of a node template, with its target.
#[derive(Debug, Clone)]
pub struct Requirement {
    pub name: Arc<str>,
    /// The node template that fulfils the requirement. `None` if the matching found none.
    pub target: Option<TemplateName>,
    /// The relationship between the node and the target.
    pub relationship: Arc<RelationshipTemplate>,
    /// The name of the target's capability that the relationship uses.
    pub capability: Option<Arc<str>>,
    /// The declaration of the requirement in the node type.
    pub definition: Option<Arc<RequirementDef>>,
    /// The requirement as the template states it. `None` if only the type declares it.
    pub stated: Option<Arc<RequirementDef>>,
    pub occurrences: Occurrences,
    /// Whether the outer (substituted) template states the requirement.
    pub from_outer: bool,
    /// The unparsed filters that the target must meet: those of the template and of its type.
    pub node_filter: Vec<Node>,
    /// The `metadata` of the template's requirement, merged over that of the type.
    pub metadata: Map,
    pub span: Span,
}

impl Requirement {
    /// Whether the node is hosted on the target.
    pub fn is_host(&self) -> bool {
        &*self.name == "host"
            || self
                .relationship
                .relationship_type
                .is_derived_from("tosca.relationships.HostedOn")
    }
}

/// A relationship from a source node to a target node.
#[derive(Debug, Clone)]
pub struct RelationshipTemplate {
    /// The name, if the relationship is declared in `relationship_templates`.
    pub name: Option<TemplateName>,
    pub type_name: TypeName,
    pub relationship_type: Arc<RelationshipType>,
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    pub attributes: Arc<IndexMap<Arc<str>, AttributeDecl>>,
    pub operations: Arc<Operations>,
    pub metadata: Map,
    pub description: Option<Arc<str>>,
    /// The scope of a default connection: `ANY`, `SELF`, a node, a type or a capability.
    pub default_for: Option<Arc<str>>,
    pub span: Span,
}

/// A group of node templates and groups.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: Arc<str>,
    pub type_name: TypeName,
    /// The names of node templates and groups.
    pub members: Vec<Arc<str>>,
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    pub metadata: Map,
    pub span: Span,
}

/// A policy over node templates and groups.
#[derive(Debug, Clone)]
pub struct Policy {
    pub name: Arc<str>,
    pub type_name: TypeName,
    /// The names of the node templates and groups that the policy applies to.
    pub targets: Vec<Arc<str>>,
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    /// The triggers by name, including those of the policy type.
    pub triggers: IndexMap<Arc<str>, Arc<Trigger>>,
    pub metadata: Map,
    pub span: Span,
}

/// The substitution mapping of a topology: the type that it can substitute for, and its mapped parts.
#[derive(Debug, Clone)]
pub struct Substitution {
    /// The node template that represents the topology to the outside. `None` if one has to be created.
    pub node: Option<TemplateName>,
    /// The node type that the topology can substitute for.
    pub node_type: Option<TypeName>,
    pub(super) type_key: Option<TypeKey>,
    /// The mapped properties. `None` if the mapping has none: each input then takes the property of its name.
    pub properties: Option<IndexMap<Arc<str>, PartMapping>>,
    /// The sources of the attributes of the substituted node.
    pub attributes: IndexMap<Arc<str>, PartMapping>,
    /// The requirements of nested templates that the requirements of the substituted node fulfil.
    pub requirements: IndexMap<Arc<str>, PartMapping>,
    /// The capabilities of nested templates that provide the capabilities of the substituted node.
    pub capabilities: IndexMap<Arc<str>, PartMapping>,
    /// The unparsed filter that a template must meet to be substituted.
    pub filter: Option<Node>,
    /// The complete mapping as written, without evaluation of expressions.
    pub mapping: Map,
    pub span: Span,
}

/// The target that a part of the substituted node is mapped to, with its location.
#[derive(Debug, Clone)]
pub struct PartMapping {
    pub target: MappingTarget,
    /// The location of the mapping in the YAML text.
    pub span: Span,
    /// The locations of the words of the target.
    pub words: Vec<Span>,
}

/// The target of a mapped part.
#[derive(Debug, Clone)]
pub enum MappingTarget {
    /// An input of the nested topology. For an attribute: an output.
    Input(Arc<str>),
    /// A part of a nested template.
    ///
    /// The path is the name of the part, or the names of a capability and one of its properties.
    Member {
        node: TemplateName,
        path: Vec<Arc<str>>,
    },
    /// An unevaluated value that the property of a substituted node must have.
    Value(Value),
}

/// A topology that substitutes for a node template of another topology.
#[derive(Debug, Clone)]
pub struct NestedTopology {
    /// The qualified name of the nested template that represents the topology.
    pub node: TemplateName,
    /// The inputs, outputs and relationships of the nested topology.
    ///
    /// Its node templates are in the flattened topology. Their names start with the name of the outer
    /// template.
    pub topology: Arc<TopologyTemplate>,
    /// The inputs, with the properties of the outer template that they take their values from.
    pub inputs: IndexMap<Arc<str>, Arc<str>>,
    /// The capabilities of the outer template, with the nested template and the capability that provide each.
    pub capabilities: IndexMap<Arc<str>, (TemplateName, Arc<str>)>,
    /// The nested templates that the mapping names. If the outer template is required, so are they.
    pub mapped_templates: Vec<TemplateName>,
}
