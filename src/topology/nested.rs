//! Topologies nested in others (substitution mappings): their roots, and which inner entity stands in for
//! which outer one.

use super::entity::{Entity, EntityKind};
use super::topology::Topology;
use crate::name::TemplateName;
use crate::tosca::{NestedTopology, TopologyTemplate};
use crate::value::{Handle, Value};

/// The number of entities with which each topology begins: root, inputs and outputs.
const BASE_ENTITIES: u32 = 3;

impl Topology {
    /// Adds the roots of all nested topologies, after the base entities of the outermost one.
    pub(super) fn add_roots(&mut self) {
        let service = std::sync::Arc::clone(&self.service);
        for nested in service.topology.nested.values() {
            let root = self.push(Entity::new(
                "root".into(),
                "::root".into(),
                EntityKind::Root,
            ));
            let entity = &mut self.entities[root.0 as usize];
            entity.scope = root;
            entity.computed = true;
            let topology = &nested.topology;
            let defaults = topology.inputs.iter().map(|(name, input)| {
                let default = input.default.clone();
                (std::sync::Arc::clone(name), default.unwrap_or_default())
            });
            let inputs = defaults.filter(|(name, default)| {
                *default != Value::Null || nested.inputs.contains_key(name)
            });
            let outputs = topology.outputs.iter();
            let outputs =
                outputs.map(|(name, output)| (std::sync::Arc::clone(name), output.value.clone()));
            let held = [
                ("inputs", EntityKind::Inputs, inputs.collect()),
                ("outputs", EntityKind::Outputs, outputs.collect()),
            ];
            for (name, kind, attributes) in held {
                let key = format!("::root::{name}");
                let held = self.push(Entity::new(name.into(), key.into(), kind));
                let entity = &mut self.entities[held.0 as usize];
                entity.attributes = attributes;
                entity.parent = Some(root);
                entity.scope = root;
            }
        }
    }

    /// Returns the root of the topology that an entity belongs to.
    pub fn root_of(&self, of: Handle) -> Handle {
        self.get(of).map_or(self.root(), |entity| entity.scope)
    }

    /// Returns the inputs of the topology with this root.
    pub fn inputs_of(&self, root: Handle) -> Handle {
        Handle(root.0 + 1)
    }

    /// Returns the outputs of the topology with this root.
    pub fn outputs_of(&self, root: Handle) -> Handle {
        Handle(root.0 + 2)
    }

    /// Returns the root of the nested topology that substitutes for a template.
    pub fn nested_root(&self, outer: &TemplateName) -> Option<Handle> {
        let place = self.template().nested.get_index_of(outer)?;
        let root = u32::try_from(place + 1).ok()?.checked_mul(BASE_ENTITIES)?;
        Some(Handle(root))
    }

    /// Returns the root of the nested topology that substitutes for an instance.
    pub fn root_within(&self, of: Handle) -> Option<Handle> {
        let node = self.entity(of).node()?;
        node.template.representative.as_ref()?;
        self.nested_root(&node.template.name)
    }

    /// Returns the nested topology with this root, and the template that it substitutes for.
    pub fn nested_at(&self, root: Handle) -> Option<(&TemplateName, &NestedTopology)> {
        let place = (root.0 / BASE_ENTITIES).checked_sub(1)?;
        let (outer, nested) = self.template().nested.get_index(place as usize)?;
        Some((outer, nested))
    }

    /// Returns the template of the topology with this root.
    pub(super) fn template_at(&self, root: Handle) -> &TopologyTemplate {
        self.nested_at(root)
            .map_or(self.template(), |(_, nested)| &nested.topology)
    }

    /// Returns the root of the topology that a template belongs to.
    pub fn scope_of(&self, template: &crate::tosca::NodeTemplate) -> Handle {
        let outer = template.nested_in.as_ref();
        outer
            .and_then(|outer| self.nested_root(outer))
            .unwrap_or(self.root())
    }

    /// Returns the inner entity of a nested topology that stands in for this outer entity.
    pub fn stand_in(&self, of: Handle) -> Option<Handle> {
        match &self.get(of)?.kind {
            EntityKind::Node(node) => self.find(node.template.representative.as_ref()?.as_str()),
            EntityKind::Capability { owner, .. } => {
                let node = self.get(*owner)?.node()?;
                let nested = if node.template.representative.is_some() {
                    self.template().nested.get(&node.template.name)?
                } else {
                    let (_, nested) = self.nested_at(self.root_of(of))?;
                    (nested.node == node.template.name).then_some(nested)?
                };
                let name = self.entity(of).name.as_str();
                let (inner, capability) = nested.capabilities.get(name)?;
                let inner = self.get(self.find(inner.as_str())?)?.node()?;
                let mut capabilities = inner.capabilities.iter().copied();
                capabilities.find(|it| self.entity(*it).name.as_str() == &**capability)
            }
            _ => None,
        }
    }

    /// Returns the outer instance that a nested topology substitutes for, or the outer root if the
    /// instance does not exist.
    pub fn outer_entity(&self, root: Handle) -> Option<Handle> {
        let (outer, _) = self.nested_at(root)?;
        let outside = || {
            let template = self.template().nodes.get(outer);
            template.map(|template| self.scope_of(template))
        };
        self.find(outer.as_str()).or_else(outside)
    }

    /// Finds an instance by name as seen from an entity: in the entity's own topology, then in the outer
    /// ones.
    pub fn find_from(&self, from: Handle, name: &str) -> Option<Handle> {
        let mut root = self.root_of(from);
        if name == "root" {
            return Some(root);
        }
        while let Some((outer, _)) = self.nested_at(root) {
            if let Some(found) = self.find(&format!("{outer}:{name}")) {
                return Some(found);
            }
            let template = self.template().nodes.get(outer);
            root = template.map_or(self.root(), |template| self.scope_of(template));
        }
        self.find(name)
    }

    /// Returns a key that is unique across all topologies: for a nested entity, the outer template's
    /// name, a colon, and the key.
    pub fn unique_key(&self, of: Handle) -> String {
        let key = &self.entity(of).key;
        match self.nested_at(self.root_of(of)) {
            Some((outer, _)) => format!("{outer}:{key}"),
            None => key.to_string(),
        }
    }

    /// Returns the full name of a local instance name in the topology of an entity. The instance need not
    /// exist.
    pub fn name_within(&self, from: Handle, name: &str) -> String {
        match self.nested_at(self.root_of(from)) {
            Some((outer, _)) => format!("{outer}:{name}"),
            None => name.to_owned(),
        }
    }

    /// Returns the instances of one topology, each host before the instances on it.
    pub fn nodes_of(&self, root: Handle) -> Vec<Handle> {
        self.descendants(root).split_off(1)
    }

    /// Returns all instances of the topology nested in an instance, including deeper nesting.
    pub fn nodes_within(&self, of: Handle) -> Vec<Handle> {
        let mut found = Vec::new();
        let mut open: Vec<Handle> = self.root_within(of).into_iter().collect();
        while let Some(root) = open.pop() {
            for node in self.nodes_of(root) {
                open.extend(self.root_within(node));
                found.push(node);
            }
        }
        found
    }

    /// Returns the instances that `ROOT` and `TOPOLOGY` provide to a topology's expressions.
    ///
    /// `app` is the instance that the topology is substituted by; its requirements' targets follow, by
    /// requirement name.
    pub(super) fn nodes_seen_by_root(&self, of: Handle) -> crate::value::Map {
        let root = self.root_of(of);
        let substitution = self.template().substitution.as_ref();
        let main = self.nested_at(root).map(|(_, nested)| &nested.node);
        let main = main.or_else(|| substitution?.node.as_ref().filter(|_| root == self.root()));
        let mut known = crate::value::Map::new();
        let Some(template) = main.and_then(|main| self.template().nodes.get(main)) else {
            return known;
        };
        if let Some(app) = self.find(template.name.as_str()) {
            known.insert("app".into(), self.reference(app));
        }
        for requirement in &template.requirements {
            let target = requirement.target.as_ref();
            if let Some(target) = target.and_then(|target| self.find(target.as_str())) {
                known.insert(
                    std::sync::Arc::clone(&requirement.name),
                    self.reference(target),
                );
            }
        }
        known
    }
}
