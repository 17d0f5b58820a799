//! Topologies nested in others: which entity belongs to which, and what stands for what.

use super::entity::{Entity, EntityKind};
use super::topology::Topology;
use crate::name::TemplateName;
use crate::tosca::{NestedTopology, TopologyTemplate};
use crate::value::{Handle, Value};

/// Each topology begins with its root, its inputs and its outputs.
const BASE_ENTITIES: u32 = 3;

impl Topology {
    /// Adds the roots of all nested topologies; they follow the entities of the outermost one.
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

    /// The root of the topology that an entity belongs to.
    pub fn root_of(&self, of: Handle) -> Handle {
        self.get(of).map_or(self.root(), |entity| entity.scope)
    }

    /// The inputs of the topology with this root.
    pub fn inputs_of(&self, root: Handle) -> Handle {
        Handle(root.0 + 1)
    }

    /// The outputs of the topology with this root.
    pub fn outputs_of(&self, root: Handle) -> Handle {
        Handle(root.0 + 2)
    }

    /// The root of the topology that stands in for a template.
    pub fn nested_root(&self, outer: &TemplateName) -> Option<Handle> {
        let place = self.template().nested.get_index_of(outer)?;
        let root = u32::try_from(place + 1).ok()?.checked_mul(BASE_ENTITIES)?;
        Some(Handle(root))
    }

    /// The root of the topology that stands in for an instance.
    pub fn root_within(&self, of: Handle) -> Option<Handle> {
        let node = self.entity(of).node()?;
        node.template.stand_in.as_ref()?;
        self.nested_root(&node.template.name)
    }

    /// The nested topology with this root, and the template it stands in for.
    pub fn nested_at(&self, root: Handle) -> Option<(&TemplateName, &NestedTopology)> {
        let place = (root.0 / BASE_ENTITIES).checked_sub(1)?;
        let (outer, nested) = self.template().nested.get_index(place as usize)?;
        Some((outer, nested))
    }

    /// What describes the topology with this root: its inputs and outputs.
    pub(super) fn template_at(&self, root: Handle) -> &TopologyTemplate {
        self.nested_at(root)
            .map_or(self.template(), |(_, nested)| &nested.topology)
    }

    /// The root of the topology that a template belongs to.
    pub fn scope_of(&self, template: &crate::tosca::NodeTemplate) -> Handle {
        let outer = template.nested_in.as_ref();
        outer
            .and_then(|outer| self.nested_root(outer))
            .unwrap_or(self.root())
    }

    /// The entity inside of a nested topology that stands for this one, which is outside of it.
    pub fn stand_in(&self, of: Handle) -> Option<Handle> {
        match &self.get(of)?.kind {
            EntityKind::Node(node) => self.find(node.template.stand_in.as_ref()?.as_str()),
            EntityKind::Capability { owner, .. } => {
                let node = self.get(*owner)?.node()?;
                let nested = if node.template.stand_in.is_some() {
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

    /// The instance outside that a nested topology stands in for, or else the root outside.
    pub fn outer_entity(&self, root: Handle) -> Option<Handle> {
        let (outer, _) = self.nested_at(root)?;
        let outside = || {
            let template = self.template().nodes.get(outer);
            template.map(|template| self.scope_of(template))
        };
        self.find(outer.as_str()).or_else(outside)
    }

    /// The instance of a name as an entity sees it: in its own topology, or else further out.
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

    /// The key of an entity among all topologies: the name of the template that its own stands in
    /// for, a colon, and its key.
    pub fn whole_key(&self, of: Handle) -> String {
        let key = &self.entity(of).key;
        match self.nested_at(self.root_of(of)) {
            Some((outer, _)) => format!("{outer}:{key}"),
            None => key.to_string(),
        }
    }

    /// The name that an instance has, or would have, in the topology of an entity.
    pub fn name_within(&self, from: Handle, name: &str) -> String {
        match self.nested_at(self.root_of(from)) {
            Some((outer, _)) => format!("{outer}:{name}"),
            None => name.to_owned(),
        }
    }

    /// The instances of one topology: those on its root, each before those hosted on it.
    pub fn nodes_of(&self, root: Handle) -> Vec<Handle> {
        self.descendants(root).split_off(1)
    }

    /// All instances of the topology that stands in for an instance, with those nested further.
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

    /// The instances that a topology's expressions name by `ROOT` and `TOPOLOGY`: the one that
    /// stands for it, as `app`, and those that it requires, by requirement.
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
            known.insert("app".into(), Value::Entity(app));
        }
        for requirement in &template.requirements {
            let target = requirement.target.as_ref();
            if let Some(target) = target.and_then(|target| self.find(target.as_str())) {
                known.insert(
                    std::sync::Arc::clone(&requirement.name),
                    Value::Entity(target),
                );
            }
        }
        known
    }
}
