//! Entities of a topology: the root, inputs and outputs, node instances, capabilities, artifacts and
//! relationships.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Span;
use crate::name::{
    ChangeId, InstanceKey, InstanceName, NodeState, OperationName, Priority, Status, TemplateName,
};
use crate::tosca::{Artifact, CapabilityTemplate, NodeTemplate, RelationshipTemplate};
use crate::value::{Handle, Map, Value};

/// The creator of an instance, as its record states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Creator {
    /// Created by the task with this id.
    Task(ChangeId),
    /// Managed by another instance, given by key or name.
    ManagedBy(Arc<str>),
    /// Not created by this ensemble; the instance existed before.
    Unmanaged,
}

impl Creator {
    /// Reads the form in which records state the creator.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(false) => Some(Self::Unmanaged),
            Value::Str(text) => Some(match ChangeId::parse(text) {
                Ok(id) => Self::Task(id),
                Err(_) => Self::ManagedBy(Arc::clone(text)),
            }),
            _ => None,
        }
    }

    /// Returns the form in which records state the creator.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Task(id) => Value::str(id.as_str()),
            Self::ManagedBy(key) => Value::Str(Arc::clone(key)),
            Self::Unmanaged => Value::Bool(false),
        }
    }

    /// Whether the instance counts as created by the ensemble.
    pub fn is_truthy(&self) -> bool {
        !matches!(self, Self::Unmanaged)
    }
}

/// The kind of an entity, with the data that only this kind has.
#[derive(Debug, Clone)]
pub enum EntityKind {
    Root,
    /// The topology's inputs, each of which is an attribute.
    Inputs,
    /// The topology's outputs, each of which is an attribute.
    Outputs,
    Node(NodeData),
    Capability {
        owner: Handle,
        /// The node template's capabilities. The entity's name is the key in this map.
        templates: Arc<indexmap::IndexMap<Arc<str>, CapabilityTemplate>>,
    },
    Artifact {
        owner: Handle,
        artifact: Arc<Artifact>,
    },
    /// A requirement of a node instance, met by another instance.
    Relationship {
        /// The node instance whose requirement this is. None for a connection that no requirement states.
        source: Option<Handle>,
        /// The template of the node that meets the requirement.
        target: Option<TemplateName>,
        /// The name of the target's capability.
        capability: Option<Arc<str>>,
        template: Arc<RelationshipTemplate>,
    },
}

/// The data that only node instances have.
#[derive(Debug, Clone)]
pub struct NodeData {
    pub template: Arc<NodeTemplate>,
    /// Capabilities in the order of the template.
    pub capabilities: Vec<Handle>,
    /// Relationships in the order of the template's requirements.
    pub requirements: Vec<Handle>,
    /// Artifacts in the order of the template.
    pub artifacts: Vec<Handle>,
    /// Instances that are hosted on this one.
    pub instances: Vec<Handle>,
    /// The name of the imported instance that this one stands for.
    pub imported: Option<Arc<str>>,
    /// The handle of the imported instance, if it belongs to another ensemble.
    pub external: Option<Handle>,
}

/// The inputs that a topology is created with.
#[derive(Debug, Clone, Default)]
pub struct TopologyInputs {
    /// Values by input name, not evaluated.
    pub values: Map,
    /// The source positions of values that are given explicitly, not by default.
    pub spans: HashMap<Arc<str>, Span>,
}

impl TopologyInputs {
    /// Sets an input's value and source position, replacing an earlier value.
    pub fn set(&mut self, name: Arc<str>, value: Value, span: Span) {
        self.spans.insert(Arc::clone(&name), span);
        self.values.insert(name, value);
    }
}

/// An entity of a topology with its recorded state.
#[derive(Debug, Clone)]
pub struct Entity {
    /// The name, unique among all node instances.
    ///
    /// Names of instances in nested topologies begin with the name of the outer template and a colon.
    pub name: InstanceName,
    /// The key that records use, such as `::web`.
    pub key: InstanceKey,
    pub kind: EntityKind,
    /// The root of the topology that the entity belongs to.
    pub scope: Handle,
    /// The instance that the entity is part of or hosted on. None for the root.
    pub parent: Option<Handle>,
    /// Attribute values that tasks have set.
    pub attributes: Map,
    /// Attributes that the record names without their values, because they are secret.
    pub redacted: Vec<Arc<str>>,
    /// Properties with the values that were last observed.
    pub properties: Map,
    /// The entity's own status, without its dependencies.
    pub local: Option<Status>,
    /// The TOSCA node state: the position in the life cycle.
    pub state: Option<NodeState>,
    /// The priority, if a record sets one.
    pub priority: Option<Priority>,
    pub created: Option<Creator>,
    /// Whether operations of this ensemble began to create the instance and did not finish, so that it
    /// may exist.
    ///
    /// Crash recovery sets this; no record states it directly.
    pub partially_created: bool,
    /// The operation that was running when its job was cut off, so that its effect is unknown.
    pub in_doubt: Option<OperationName>,
    /// Whether the instance must not be deleted.
    pub protected: Option<bool>,
    /// The cause of a customisation: a change id, or true.
    pub customized: Option<Value>,
    /// The last task that changed the instance's configuration.
    pub last_config_change: Option<ChangeId>,
    /// The last task that observed a change of the instance's live state.
    pub last_state_change: Option<ChangeId>,
    /// Whether no operation creates the entity, so that its status is that of its dependencies.
    pub computed: bool,
    /// Unknown fields of the record, which are written back unchanged.
    pub extra: Map,
}

impl Entity {
    pub(super) fn new(name: InstanceName, key: InstanceKey, kind: EntityKind) -> Self {
        Self {
            name,
            key,
            kind,
            scope: Handle(0),
            parent: None,
            attributes: Map::new(),
            redacted: Vec::new(),
            properties: Map::new(),
            local: None,
            state: None,
            priority: None,
            created: None,
            partially_created: false,
            in_doubt: None,
            protected: None,
            customized: None,
            last_config_change: None,
            last_state_change: None,
            computed: false,
            extra: Map::new(),
        }
    }

    /// Creates an entity that exists as soon as its instance does, without any operation.
    pub(super) fn new_established(name: InstanceName, key: InstanceKey, kind: EntityKind) -> Self {
        Self {
            local: Some(Status::Ok),
            computed: true,
            ..Self::new(name, key, kind)
        }
    }

    /// Returns the data of a node instance. None for other kinds.
    pub fn node(&self) -> Option<&NodeData> {
        match &self.kind {
            EntityKind::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Returns the template of a capability. None for other kinds.
    pub fn capability(&self) -> Option<&CapabilityTemplate> {
        match &self.kind {
            EntityKind::Capability { templates, .. } => templates.get(self.name.as_str()),
            _ => None,
        }
    }

    /// Returns the template of an artifact. None for other kinds.
    pub fn artifact(&self) -> Option<&Arc<Artifact>> {
        match &self.kind {
            EntityKind::Artifact { artifact, .. } => Some(artifact),
            _ => None,
        }
    }

    /// Whether the entity's type is this type or one derived from it.
    pub fn is_a(&self, type_name: &str) -> bool {
        match &self.kind {
            EntityKind::Node(node) => node.template.is_a(type_name),
            EntityKind::Relationship { template, .. } => {
                template.relationship_type.is_derived_from(type_name)
            }
            EntityKind::Capability { .. } => self
                .capability()
                .is_some_and(|template| template.capability_type.is_derived_from(type_name)),
            EntityKind::Artifact { artifact, .. } => artifact.definition.is_derived_from(type_name),
            EntityKind::Root | EntityKind::Inputs | EntityKind::Outputs => false,
        }
    }

    pub fn is_relationship(&self) -> bool {
        matches!(self.kind, EntityKind::Relationship { .. })
    }

    /// Returns the id of the later of the last configuration change and the last state change.
    pub fn last_change(&self) -> Option<ChangeId> {
        self.last_config_change.max(self.last_state_change)
    }

    /// Whether another instance creates and deletes this one.
    pub fn is_managed(&self) -> bool {
        matches!(self.created, Some(Creator::ManagedBy(_)))
    }

    /// Returns the name within the entity's own topology.
    pub fn local_name(&self) -> &str {
        let whole = self.name.as_str();
        let outer = self
            .node()
            .and_then(|node| node.template.nested_in.as_ref());
        outer
            .and_then(|outer| whole.strip_prefix(outer.as_str())?.strip_prefix(':'))
            .unwrap_or(whole)
    }

    /// Returns the template's name within its own topology.
    pub fn template_name(&self) -> &str {
        match &self.kind {
            EntityKind::Node(node) => node.template.local_name(),
            _ => self.name.as_str(),
        }
    }

    /// Returns the type's name; empty for the root.
    pub fn type_name(&self) -> &str {
        match &self.kind {
            EntityKind::Node(node) => node.template.type_name.as_str(),
            EntityKind::Capability { .. } => self
                .capability()
                .map_or("", |template| template.type_name.as_str()),
            EntityKind::Relationship { template, .. } => template.type_name.as_str(),
            EntityKind::Artifact { artifact, .. } => artifact.type_name.as_str(),
            EntityKind::Root | EntityKind::Inputs | EntityKind::Outputs => "",
        }
    }
}
