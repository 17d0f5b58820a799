//! One entity of a topology: the root, a node instance, a capability, an artifact, a relationship.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Span;
use crate::name::{
    ChangeId, InstanceKey, InstanceName, NodeState, OperationName, Priority, Status, TemplateName,
};
use crate::tosca::{Artifact, CapabilityTemplate, NodeTemplate, RelationshipTemplate};
use crate::value::{Handle, Map, Value};

/// Who made an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Creator {
    /// The task with this id.
    Task(ChangeId),
    /// Another instance manages it: its key or name.
    ManagedBy(Arc<str>),
    /// Nobody here: it was there before.
    Unmanaged,
}

impl Creator {
    /// Reads what a record says.
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

    /// What a record says.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Task(id) => Value::str(id.as_str()),
            Self::ManagedBy(key) => Value::Str(Arc::clone(key)),
            Self::Unmanaged => Value::Bool(false),
        }
    }

    /// Whether this counts as created by the ensemble.
    pub fn is_truthy(&self) -> bool {
        !matches!(self, Self::Unmanaged)
    }
}

/// What an entity is.
#[derive(Debug, Clone)]
pub enum EntityKind {
    /// The topology itself.
    Root,
    /// The inputs of the topology, each an attribute.
    Inputs,
    /// The outputs of the topology, each an attribute.
    Outputs,
    /// An instance of a node template.
    Node(NodeData),
    /// A capability of a node instance.
    Capability {
        /// The node instance.
        owner: Handle,
        /// The capabilities that the author described; the entity's name is the key.
        templates: Arc<indexmap::IndexMap<Arc<str>, CapabilityTemplate>>,
    },
    /// An artifact of a node instance.
    Artifact {
        /// The node instance.
        owner: Handle,
        /// What the author described.
        artifact: Arc<Artifact>,
    },
    /// A requirement of a node instance, met by another.
    Relationship {
        /// The node instance whose requirement it is.
        source: Handle,
        /// The template of the node that meets it.
        target: Option<TemplateName>,
        /// The name of the target's capability.
        capability: Option<Arc<str>>,
        /// What the author described.
        template: Arc<RelationshipTemplate>,
    },
}

/// What only node instances have.
#[derive(Debug, Clone)]
pub struct NodeData {
    /// What the author described; none where the template has left the model.
    pub template: Arc<NodeTemplate>,
    /// Its capabilities, in the order of the template.
    pub capabilities: Vec<Handle>,
    /// Its relationships, in the order of the template's requirements.
    pub requirements: Vec<Handle>,
    /// Its artifacts, in the order of the template.
    pub artifacts: Vec<Handle>,
    /// The instances hosted on it.
    pub instances: Vec<Handle>,
    /// The imported instance it stands for.
    pub imported: Option<Arc<str>>,
    /// That instance, where it is one of another ensemble.
    pub external: Option<Handle>,
}

/// The inputs that a topology is given.
#[derive(Debug, Clone, Default)]
pub struct TopologyInputs {
    /// Their raw values.
    pub values: Map,
    /// Where they are written, those that are not left to their defaults.
    pub spans: HashMap<Arc<str>, Span>,
}

impl TopologyInputs {
    /// Gives the value of an input that is written at a place, instead of any that was given before.
    pub fn set(&mut self, name: Arc<str>, value: Value, span: Span) {
        self.spans.insert(Arc::clone(&name), span);
        self.values.insert(name, value);
    }
}

/// One entity with its recorded state.
#[derive(Debug, Clone)]
pub struct Entity {
    /// Its name, unique among all node instances: those of nested topologies begin with the name of
    /// the outer template and a colon.
    pub name: InstanceName,
    /// Its key in records.
    pub key: InstanceKey,
    /// What it is.
    pub kind: EntityKind,
    /// The root of the topology it belongs to.
    pub scope: Handle,
    /// The instance it is part of or hosted on; none for the root.
    pub parent: Option<Handle>,
    /// Attributes that tasks have set.
    pub attributes: Map,
    /// Attributes that the record names without their values, since they are secret.
    pub redacted: Vec<Arc<str>>,
    /// Properties as they were last observed.
    pub properties: Map,
    /// Its own status.
    pub local: Option<Status>,
    /// Where it is in its life cycle.
    pub state: Option<NodeState>,
    /// Its priority, where a record sets it.
    pub priority: Option<Priority>,
    /// Who made it.
    pub created: Option<Creator>,
    /// Whether operations of this ensemble began to create it and did not come to their end: it
    /// may exist. No record says so by itself.
    pub partially_created: bool,
    /// The operation of which nobody knows whether it has done its work, since the job that ran it
    /// was cut off.
    pub in_doubt: Option<OperationName>,
    /// Whether it must not be deleted.
    pub protected: Option<bool>,
    /// What customised it: a change id or true.
    pub customized: Option<Value>,
    /// The last task that changed its configuration.
    pub last_config_change: Option<ChangeId>,
    /// The last task that saw its live state change.
    pub last_state_change: Option<ChangeId>,
    /// Whether no operation makes it: its status is that of what it depends on.
    pub computed: bool,
    /// Parts of its record that nothing here knows; they are written back.
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

    /// What is there as soon as its instance is: nothing has to be done for it.
    pub(super) fn new_established(name: InstanceName, key: InstanceKey, kind: EntityKind) -> Self {
        Self {
            local: Some(Status::Ok),
            computed: true,
            ..Self::new(name, key, kind)
        }
    }

    /// The node instance's own data, if it is one.
    pub fn node(&self) -> Option<&NodeData> {
        match &self.kind {
            EntityKind::Node(node) => Some(node),
            _ => None,
        }
    }

    /// What the author described, if it is a capability.
    pub fn capability(&self) -> Option<&CapabilityTemplate> {
        match &self.kind {
            EntityKind::Capability { templates, .. } => templates.get(self.name.as_str()),
            _ => None,
        }
    }

    /// What the author described, if it is an artifact.
    pub fn artifact(&self) -> Option<&Arc<Artifact>> {
        match &self.kind {
            EntityKind::Artifact { artifact, .. } => Some(artifact),
            _ => None,
        }
    }

    /// Whether it is of a type or of one derived from it.
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

    /// Whether it is a relationship.
    pub fn is_relationship(&self) -> bool {
        matches!(self.kind, EntityKind::Relationship { .. })
    }

    /// The later of the last changes.
    pub fn last_change(&self) -> Option<ChangeId> {
        self.last_config_change.max(self.last_state_change)
    }

    /// Whether another instance makes and deletes it.
    pub fn is_managed(&self) -> bool {
        matches!(self.created, Some(Creator::ManagedBy(_)))
    }

    /// Its name within its own topology.
    pub fn local_name(&self) -> &str {
        let whole = self.name.as_str();
        let outer = self
            .node()
            .and_then(|node| node.template.nested_in.as_ref());
        outer
            .and_then(|outer| whole.strip_prefix(outer.as_str())?.strip_prefix(':'))
            .unwrap_or(whole)
    }

    /// The name of its template within its own topology.
    pub fn template_name(&self) -> &str {
        match &self.kind {
            EntityKind::Node(node) => node.template.local_name(),
            _ => self.name.as_str(),
        }
    }

    /// The name of its type; empty for the root.
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
