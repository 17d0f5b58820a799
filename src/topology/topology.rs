//! The topology itself: an arena of entities that are found by handle, name or template.

use std::collections::HashMap;
use std::sync::Arc;

use super::connection_lists::Connections;
use super::entity::{Creator, Entity, EntityKind, NodeData, TopologyInputs};
use super::external_ensemble::ExternalEnsemble;
use super::orphan::Orphan;
use super::status_cache::SharedCache;
use crate::diagnostic::Span;
use crate::name::{ChangeId, InstanceKey, InstanceName, NodeState, Status, TemplateName};
use crate::tosca::{NodeTemplate, Operations, ServiceTemplate, TopologyTemplate};
use crate::value::{FoldMap, Handle, Value};

const ROOT: Handle = Handle(0);
const INPUTS: Handle = Handle(1);
const OUTPUTS: Handle = Handle(2);

/// The instances of a service template with their recorded state.
#[derive(Debug, Clone)]
pub struct Topology {
    pub(super) service: Arc<ServiceTemplate>,
    pub(super) entities: Vec<Entity>,
    by_name: FoldMap<InstanceName, Handle>,
    by_template: FoldMap<TemplateName, Vec<Handle>>,
    on_root: HashMap<Handle, Vec<Handle>>,
    sources: FoldMap<TemplateName, Vec<(TemplateName, usize)>>,
    pub(super) required: FoldMap<TemplateName, bool>,
    generation: u64,
    versions: HashMap<Handle, HashMap<Arc<str>, u64>>,
    /// Entities changed since the last call of `take_touched`; an entity may occur several times.
    touched: Vec<Handle>,
    pub(super) cache: SharedCache,
    pub(super) orphans: Vec<Orphan>,
    pub(super) external_ensembles: Vec<ExternalEnsemble>,
    pub(super) connections: Connections,
    /// The source positions of given inputs.
    pub(super) input_spans: HashMap<Arc<str>, Span>,
}

impl Topology {
    /// Creates a topology of a service template, without instances.
    pub fn new(service: Arc<ServiceTemplate>, inputs: TopologyInputs) -> Self {
        let mut topology = Self {
            sources: sources_of(&service.topology),
            required: required_templates(&service.topology),
            service,
            entities: Vec::new(),
            by_name: FoldMap::default(),
            by_template: FoldMap::default(),
            on_root: HashMap::new(),
            generation: 1,
            versions: HashMap::new(),
            touched: Vec::new(),
            cache: SharedCache::default(),
            orphans: Vec::new(),
            external_ensembles: Vec::new(),
            connections: Connections::default(),
            input_spans: inputs.spans,
        };
        let mut root = Entity::new("root".into(), "::root".into(), EntityKind::Root);
        root.computed = true;
        root.local = None;
        topology.entities.push(root);
        let mut held = Entity::new("inputs".into(), "::root::inputs".into(), EntityKind::Inputs);
        held.attributes = inputs.values;
        held.parent = Some(ROOT);
        topology.entities.push(held);
        let mut outputs = Entity::new(
            "outputs".into(),
            "::root::outputs".into(),
            EntityKind::Outputs,
        );
        let values = topology.template().outputs.iter();
        outputs.attributes = values
            .map(|(name, output)| (Arc::clone(name), output.value.clone()))
            .collect();
        outputs.parent = Some(ROOT);
        topology.entities.push(outputs);
        topology.add_roots();
        topology.add_declared_connections();
        topology
    }

    /// Returns the root, which hosts all node instances.
    pub fn root(&self) -> Handle {
        ROOT
    }

    /// Returns the entity whose attributes are the topology's inputs.
    pub fn inputs(&self) -> Handle {
        INPUTS
    }

    /// Returns the entity whose attributes are the topology's outputs.
    pub fn outputs(&self) -> Handle {
        OUTPUTS
    }

    pub fn template(&self) -> &TopologyTemplate {
        &self.service.topology
    }

    /// Returns the service template with its types.
    pub fn service(&self) -> &Arc<ServiceTemplate> {
        &self.service
    }

    /// Returns the entity of a handle, of this ensemble or of another.
    ///
    /// # Panics
    ///
    /// If the handle is invalid.
    pub fn entity(&self, handle: Handle) -> &Entity {
        match self.external_ensemble_of(handle) {
            Some((foreign, inner)) => foreign.entity(inner),
            None => &self.entities[handle.0 as usize],
        }
    }

    /// Returns the entity of a handle. None if the handle does not belong to this topology.
    pub fn get(&self, handle: Handle) -> Option<&Entity> {
        self.entities.get(handle.0 as usize)
    }

    /// Returns the instance of this full name.
    pub fn find(&self, name: &str) -> Option<Handle> {
        self.by_name.get(name).copied()
    }

    /// Returns the instances of a template, in the order in which they were added.
    pub fn instances_of(&self, template: &TemplateName) -> &[Handle] {
        self.by_template.get(template).map_or(&[], Vec::as_slice)
    }

    /// Returns all node instances, hosts before the instances on them.
    ///
    /// Siblings are in the order in which they were added. Each instance precedes those of its nested
    /// topology and those hosted on it.
    pub fn nodes(&self) -> Vec<Handle> {
        let mut order = Vec::with_capacity(self.by_name.len());
        let nested = self.template().nested.keys();
        let nested = nested.filter(|outer| self.find(outer.as_str()).is_none());
        let lone = nested.filter_map(|outer| self.nested_root(outer)).rev();
        let mut stack: Vec<Handle> = lone.chain([ROOT]).collect();
        while let Some(handle) = stack.pop() {
            if matches!(self.entity(handle).kind, EntityKind::Node(_)) {
                order.push(handle);
            }
            stack.extend(self.children(handle).iter().rev());
            stack.extend(self.root_within(handle));
        }
        order
    }

    /// Returns the instances hosted directly on an instance or on the root.
    pub fn children(&self, of: Handle) -> &[Handle] {
        match &self.entity(of).kind {
            EntityKind::Node(node) => &node.instances,
            EntityKind::Root => self.on_root.get(&of).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// Returns the instance that a relationship points at, if it exists.
    pub fn target_of(&self, relationship: Handle) -> Option<Handle> {
        match &self.entity(relationship).kind {
            EntityKind::Relationship { target, .. } => self.find(target.as_ref()?.as_str()),
            _ => None,
        }
    }

    /// Returns the instance whose requirement a relationship is.
    pub fn source_of(&self, relationship: Handle) -> Option<Handle> {
        match &self.entity(relationship).kind {
            EntityKind::Relationship { source, .. } => *source,
            _ => None,
        }
    }

    /// Returns the relationships that point at an instance, in the order of their sources' templates.
    ///
    /// A requirement that a nested template takes over from the outer one occurs twice, once for each
    /// template.
    pub fn incoming(&self, target: Handle) -> Vec<Handle> {
        let Some(node) = self.entity(target).node() else {
            return Vec::new();
        };
        if self.entity(target).name.as_str() != node.template.name.as_str() {
            return Vec::new();
        }
        let sources = self
            .sources
            .get(&node.template.name)
            .map_or(&[][..], Vec::as_slice);
        sources
            .iter()
            .filter_map(|(source, place)| {
                let source = self.find(source.as_str())?;
                self.entity(source)
                    .node()?
                    .requirements
                    .get(*place)
                    .copied()
            })
            .collect()
    }

    /// Returns the templates whose requirements this template meets, each with the index of the
    /// requirement.
    pub fn templates_requiring(&self, template: &TemplateName) -> &[(TemplateName, usize)] {
        self.sources.get(template).map_or(&[], Vec::as_slice)
    }

    /// Adds an instance with its capabilities, relationships and artifacts.
    ///
    /// The name must be free. A parent from another topology is ignored: the instance is then placed on
    /// the root of its own topology.
    pub fn add_node(
        &mut self,
        name: InstanceName,
        template: Arc<NodeTemplate>,
        parent: Handle,
        status: Option<Status>,
    ) -> Handle {
        let scope = self.scope_of(&template);
        let parent = Some(parent).filter(|parent| self.root_of(*parent) == scope);
        let parent = parent.unwrap_or(scope);
        let outer = template.nested_in.as_ref();
        let local = outer.and_then(|outer| {
            let within = name.as_str().strip_prefix(outer.as_str())?;
            within.strip_prefix(':')
        });
        let key = format!("::{}", local.unwrap_or(name.as_str()));
        let mut entity = Entity::new(name.clone(), InstanceKey::new(key), EntityKind::Root);
        entity.scope = scope;
        let handle = self.push(entity);
        let capabilities = self.add_capabilities(handle, &template);
        let requirements = self.add_relationships(handle, &template);
        let artifacts = self.add_artifacts(handle, &template);
        let entity = &mut self.entities[handle.0 as usize];
        entity.parent = Some(parent);
        entity.local = status;
        entity.computed = is_computed(&template.operations);
        let imported = template
            .representative
            .as_ref()
            .map(|inner| format!(":{inner}"));
        if imported.is_some() {
            entity.computed = true;
            entity.local = status.or(Some(Status::Pending));
        }
        let template_name = template.name.clone();
        let node = NodeData {
            template,
            capabilities,
            requirements,
            artifacts,
            instances: Vec::new(),
            imported: imported.map(Into::into),
            external: None,
        };
        entity.kind = EntityKind::Node(node);
        self.by_name.insert(name, handle);
        self.by_template
            .entry(template_name)
            .or_default()
            .push(handle);
        match &mut self.entities[parent.0 as usize].kind {
            EntityKind::Node(node) => node.instances.push(handle),
            _ => self.on_root.entry(parent).or_default().push(handle),
        }
        self.touch_status(handle);
        handle
    }

    pub(super) fn push(&mut self, entity: Entity) -> Handle {
        // Cannot fail: more entities do not fit into the memory of any machine.
        let index = u32::try_from(self.entities.len()).expect("fewer than 2^32 entities");
        let handle = Handle(index);
        self.entities.push(entity);
        handle
    }

    fn add_capabilities(&mut self, owner: Handle, template: &NodeTemplate) -> Vec<Handle> {
        let mut handles = Vec::with_capacity(template.capabilities.len());
        for name in template.capabilities.keys() {
            let key = format!("{}::.capabilities::[.name={name}]", self.entity(owner).key);
            let templates = Arc::clone(&template.capabilities);
            let kind = EntityKind::Capability { owner, templates };
            let entity = Entity::new_established(Arc::clone(name).into(), key.into(), kind);
            handles.push(self.add_part(owner, entity));
        }
        handles
    }

    /// Adds a capability, artifact or relationship of an instance.
    pub(super) fn add_part(&mut self, owner: Handle, mut entity: Entity) -> Handle {
        entity.parent = Some(owner);
        entity.scope = self.root_of(owner);
        self.push(entity)
    }

    fn add_relationships(&mut self, source: Handle, template: &NodeTemplate) -> Vec<Handle> {
        let mut handles = Vec::with_capacity(template.requirements.len());
        for requirement in &template.requirements {
            let name = &requirement.name;
            let key = format!("{}::.requirements::[.name={name}]", self.entity(source).key);
            let kind = EntityKind::Relationship {
                source: Some(source),
                target: requirement.target.clone(),
                capability: requirement.capability.clone(),
                template: Arc::clone(&requirement.relationship),
            };
            let mut entity = Entity::new(Arc::clone(name).into(), key.into(), kind);
            entity.local = Some(Status::Pending);
            entity.computed = is_preestablished(&requirement.relationship.operations);
            let relationship = self.add_part(source, entity);
            self.note_inline_connection(source, relationship);
            handles.push(relationship);
        }
        handles
    }

    /// Returns a counter of writes to the topology's attributes.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the generation at which an attribute was last written; 0 if it never was.
    pub fn version(&self, of: Handle, name: &str) -> u64 {
        let of = self.stand_in(of).unwrap_or(of);
        let written = self.versions.get(&of).and_then(|names| names.get(name));
        written.copied().unwrap_or(0)
    }

    /// Sets an attribute and returns whether its value changed.
    pub fn set_attribute(&mut self, of: Handle, name: &Arc<str>, value: Value) -> bool {
        let of = self.stand_in(of).unwrap_or(of);
        let Some(entity) = self.entities.get_mut(of.0 as usize) else {
            return false;
        };
        if let Some(old) = entity.attributes.get_mut(name)
            && *old == value
        {
            // The last writer decides if the value is data.
            if old.own_marks() == value.own_marks() {
                return false;
            }
            *old = value;
            self.generation += 1;
            let written = self.versions.entry(of).or_default();
            written.insert(Arc::clone(name), self.generation);
            return false;
        }
        entity.attributes.insert(Arc::clone(name), value);
        self.touched.push(of);
        self.generation += 1;
        let written = self.versions.entry(of).or_default();
        written.insert(Arc::clone(name), self.generation);
        true
    }

    /// Whether the record of any attribute lacks its value because it is secret.
    pub fn has_redacted(&self) -> bool {
        self.entities.iter().any(|it| !it.redacted.is_empty())
    }

    /// Records the value that a property was observed to have.
    pub fn observe_property(&mut self, of: Handle, name: &Arc<str>, value: Value) {
        if let Some(entity) = self.entities.get_mut(of.0 as usize) {
            entity.properties.insert(Arc::clone(name), value);
            self.touched.push(of);
        }
    }

    /// Sets the status of an entity itself, without dependencies.
    pub fn set_local(&mut self, of: Handle, status: Option<Status>) {
        if self.entities[of.0 as usize].local != status {
            self.entities[of.0 as usize].local = status;
            self.touched.push(of);
            self.touch_status(of);
        }
    }

    pub fn set_state(&mut self, of: Handle, state: Option<NodeState>) {
        self.entities[of.0 as usize].state = state;
        self.touched.push(of);
    }

    pub fn set_created(&mut self, of: Handle, created: Option<Creator>) {
        self.entities[of.0 as usize].created = created;
        self.touched.push(of);
    }

    /// Records the last task that changed the configuration.
    pub fn set_last_config_change(&mut self, of: Handle, change: ChangeId) {
        self.entities[of.0 as usize].last_config_change = Some(change);
        self.touched.push(of);
    }

    /// Changes recorded fields of an entity.
    ///
    /// For attributes use [`Self::set_attribute`], which also advances their version.
    pub fn update_record(&mut self, of: Handle, change: impl FnOnce(&mut Entity)) {
        change(&mut self.entities[of.0 as usize]);
        self.touched.push(of);
        self.touch_status(of);
    }

    /// Takes the instances that were changed since the last call.
    ///
    /// A change of a capability, relationship or artifact counts as a change of its instance. Each
    /// instance occurs once, in order of creation.
    pub fn take_touched(&mut self) -> Vec<Handle> {
        let touched = std::mem::take(&mut self.touched);
        let nodes = touched.into_iter().filter_map(|of| self.instance_of(of));
        let mut nodes: Vec<Handle> = nodes.collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Returns the instance that an entity is or is part of. None for the root.
    pub fn instance_of(&self, of: Handle) -> Option<Handle> {
        match &self.get(of)?.kind {
            EntityKind::Node(_) => Some(of),
            EntityKind::Capability { owner, .. } | EntityKind::Artifact { owner, .. } => {
                Some(*owner)
            }
            EntityKind::Relationship { source, .. } => *source,
            EntityKind::Root | EntityKind::Inputs | EntityKind::Outputs => None,
        }
    }

    /// Whether a template is required: it is not a default, or a required template needs it.
    pub fn is_required(&self, template: &str) -> bool {
        self.required.get(template).copied().unwrap_or(true)
    }
}

/// Whether no operation establishes a relationship, so that it exists as soon as both ends do.
fn is_preestablished(operations: &Operations) -> bool {
    let mut implemented = operations
        .iter()
        .filter(|operation| operation.is_implemented());
    implemented.all(|operation| {
        !operation
            .reference
            .operation
            .as_str()
            .contains("_configure_")
    })
}

/// Whether no operation creates an entity, so that its status is only an aggregate of its dependencies.
pub fn is_computed(operations: &Operations) -> bool {
    operations
        .iter()
        .filter(|operation| operation.is_implemented())
        .all(|operation| {
            let (interface, name) = (
                operation.reference.interface.as_str(),
                operation.reference.operation.as_str(),
            );
            operation.entry_state.as_deref() == Some("initial")
                || !(matches!(interface, "Standard" | "Configure")
                    || (interface == "Install" && name == "discover"))
        })
}

fn sources_of(template: &TopologyTemplate) -> FoldMap<TemplateName, Vec<(TemplateName, usize)>> {
    let mut sources: FoldMap<TemplateName, Vec<(TemplateName, usize)>> = FoldMap::default();
    for (name, node) in &template.nodes {
        for (place, requirement) in node.requirements.iter().enumerate() {
            if let Some(target) = &requirement.target {
                sources
                    .entry(target.clone())
                    .or_default()
                    .push((name.clone(), place));
            }
        }
    }
    sources
}

/// Determines which templates are required.
///
/// If a template substitutes for the topology, these are that template and its dependencies. Otherwise
/// they are all templates but those with the directive `default` that no required template needs.
fn required_templates(template: &TopologyTemplate) -> FoldMap<TemplateName, bool> {
    let is_default = |node: &NodeTemplate| node.has_directive("default");
    let main = template.substitution.as_ref();
    let main = main.and_then(|substitution| template.nodes.get(substitution.node.as_ref()?));
    let may_differ = main.is_some() || !template.nested.is_empty();
    let left = template.nodes.values().any(|node| node.is_orphaned);
    if !may_differ && !left && !template.nodes.values().any(|node| is_default(node)) {
        return FoldMap::default();
    }
    let mut required: FoldMap<TemplateName, bool> = template
        .nodes
        .keys()
        .map(|name| (name.clone(), false))
        .collect();
    let mut stack: Vec<_> = if let Some(main) = main {
        vec![main]
    } else {
        let outermost = template.nodes.values();
        outermost
            .filter(|node| node.nested_in.is_none() && !is_default(node) && !node.is_orphaned)
            .collect()
    };
    while let Some(node) = stack.pop() {
        if required.insert(node.name.clone(), true) == Some(true) {
            continue;
        }
        let targets = node
            .requirements
            .iter()
            .filter_map(|requirement| requirement.target.as_ref());
        let within = template.nested.get(&node.name);
        let named = within
            .into_iter()
            .flat_map(|nested| &nested.mapped_templates);
        let needed = targets.chain(&node.representative).chain(named);
        stack.extend(needed.filter_map(|needed| template.nodes.get(needed)));
        stack.extend(operation_hosts(template, node));
    }
    // A template that is kept only for removal is required for that, but does not make other templates
    // required.
    let left = template.nodes.values().filter(|node| node.is_orphaned);
    required.extend(left.map(|node| (node.name.clone(), true)));
    required
}

/// Returns the templates that a template's operations name as their operation hosts.
fn operation_hosts<'a>(
    template: &'a TopologyTemplate,
    node: &'a NodeTemplate,
) -> impl Iterator<Item = &'a Arc<NodeTemplate>> {
    let operations = node.operations.iter();
    let implemented = operations.filter_map(|operation| operation.implementation.as_ref());
    let hosts = implemented.filter_map(|it| it.operation_host.as_deref());
    hosts.filter_map(|host| match &node.nested_in {
        Some(outer) => template.nodes.get(format!("{outer}:{host}").as_str()),
        None => template.nodes.get(host),
    })
}
