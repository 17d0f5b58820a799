//! The implementation of the expression language's `Scope` for a topology: attributes, special keys such
//! as `.targets`, and lookups.

use std::path::PathBuf;
use std::sync::Arc;

use super::artifact;
use super::artifact::declared_value;
use super::entity::{Creator, Entity, EntityKind};
use super::topology::Topology;
use crate::expr::{Attribute, Error, Scope};
use crate::name::TemplateName;
use crate::value::{Handle, Map, Value};

impl Scope for Topology {
    fn attribute(&self, of: Handle, name: &str) -> Option<Attribute> {
        if let Some(inner) = self.stand_in(of) {
            return self.attribute(inner, name);
        }
        let entity = self.get(of)?;
        let (given, sensitive) = match &entity.kind {
            EntityKind::Root => return self.root_attribute(of, name),
            EntityKind::Inputs => {
                if let Some(outside) = self.outer_input(of, name) {
                    return Some(outside);
                }
                (None, self.input_is_sensitive(of, name))
            }
            EntityKind::Outputs => (None, self.output_is_sensitive(of, name)),
            EntityKind::Node(node) => {
                declared_value(&node.template.properties, &node.template.attributes, name)
            }
            EntityKind::Capability { .. } => {
                let template = entity.capability()?;
                declared_value(&template.properties, &template.attributes, name)
            }
            // The conditions of imports compare the type of `.primary_provider` as Unfurl's do.
            EntityKind::Relationship { source: None, .. }
                if name == "type" && !entity.attributes.contains_key(name) =>
            {
                (Some(Value::str(entity.type_name())), false)
            }
            EntityKind::Relationship { template, .. } => {
                declared_value(&template.properties, &template.attributes, name)
            }
            EntityKind::Artifact { artifact, .. } => artifact::artifact_attribute(artifact, name),
        };
        let own = entity.attributes.get(name).cloned();
        // The recorded value of a mapped attribute is a copy: the nested topology has the value.
        let own = own.filter(|_| !is_mapped(entity, name));
        let outside = entity.node().filter(|_| own.is_none());
        let outside = outside.filter(|node| node.template.from_outer.contains_key(name));
        let outside = outside.and_then(|_| self.outer_entity(entity.scope));
        Some(Attribute {
            raw: own.or(given)?,
            sensitive,
            owner: outside.unwrap_or_else(|| self.context_of(of)),
        })
    }

    fn remote_attribute(&self, of: Handle, name: &str) -> Option<Result<Option<Value>, Error>> {
        self.external_attribute(of, name)
    }

    fn external_entity(&self, name: &str) -> Option<Handle> {
        self.external_handle(name)
    }

    fn attribute_names(&self, of: Handle) -> Vec<Arc<str>> {
        if let Some((foreign, inner)) =
            self.external_ensemble_of(self.imported_entity(of).unwrap_or(of))
        {
            return foreign.topology().attribute_names(inner);
        }
        if let Some(inner) = self.stand_in(of) {
            return self.attribute_names(inner);
        }
        let Some(entity) = self.get(of) else {
            return Vec::new();
        };
        let mut names: Vec<Arc<str>> = match &entity.kind {
            EntityKind::Root => vec!["inputs".into(), "outputs".into()],
            EntityKind::Inputs | EntityKind::Outputs => Vec::new(),
            EntityKind::Node(node) => {
                let declared = node.template.attributes.iter();
                let defaults = declared
                    .filter(|(_, a)| a.default.is_some())
                    .map(|(name, _)| name);
                node.template
                    .properties
                    .keys()
                    .chain(defaults)
                    .cloned()
                    .collect()
            }
            EntityKind::Capability { .. } => {
                entity.capability().map_or_else(Vec::new, |template| {
                    template.properties.keys().cloned().collect()
                })
            }
            EntityKind::Relationship { template, .. } => {
                template.properties.keys().cloned().collect()
            }
            EntityKind::Artifact { artifact, .. } => artifact::attribute_names(artifact),
        };
        let known: std::collections::HashSet<_> = names.iter().cloned().collect();
        names.extend(
            entity
                .attributes
                .keys()
                .filter(|name| !known.contains(*name))
                .cloned(),
        );
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(Arc::clone(name)));
        names
    }

    fn special(&self, of: Handle, key: &str) -> Option<Value> {
        if let Some((foreign, inner)) = self.external_special(of, key) {
            let found = Scope::special(foreign.topology(), inner, key)?;
            return Some(foreign.to_outer_value(&found));
        }
        let entity = self.get(of)?;
        if matches!(entity.kind, EntityKind::Inputs | EntityKind::Outputs)
            && !matches!(key, "." | "..")
        {
            return None;
        }
        self.special_value(of, entity, key)
    }

    fn base_dir(&self, of: Handle) -> PathBuf {
        let artifact = self.get(of).and_then(Entity::artifact);
        artifact.map_or_else(PathBuf::new, |artifact| artifact.base_dir.to_path_buf())
    }

    fn artifact(&self, of: Handle, name: &str) -> Option<Value> {
        if let Some((foreign, inner)) =
            self.external_ensemble_of(self.imported_entity(of).unwrap_or(of))
        {
            return foreign.topology().artifact_value(inner, name);
        }
        self.artifact_value(of, name)
    }

    fn find(&self, from: Handle, name: &str) -> Option<Handle> {
        match self.external_ensemble_of(from) {
            Some((foreign, inner)) => {
                let topology = foreign.topology();
                let found = topology.find_from(inner, name)?;
                Some(foreign.to_outer(found))
            }
            None => self.find_from(from, name),
        }
    }

    fn instances(&self, from: Handle) -> Vec<Handle> {
        match self.external_ensemble_of(from) {
            Some((foreign, inner)) => {
                let nodes = Scope::instances(foreign.topology(), inner);
                nodes
                    .into_iter()
                    .map(|node| foreign.to_outer(node))
                    .collect()
            }
            None => self.nodes_of(self.root_of(from)),
        }
    }

    fn root(&self, of: Handle) -> Handle {
        match self.external_ensemble_of(of) {
            Some((foreign, inner)) => foreign.to_outer(foreign.topology().root_of(inner)),
            None => self.root_of(of),
        }
    }

    fn key(&self, of: Handle) -> Arc<str> {
        self.resolve_entity(of)
            .map_or_else(|| "".into(), |entity| entity.key.shared())
    }

    fn reference(&self, of: Handle) -> Value {
        self.reference(of)
    }

    fn is_type(&self, of: Handle, type_name: &str) -> bool {
        self.resolve_entity(of)
            .is_some_and(|entity| entity.is_a(type_name))
    }

    fn inherited(&self, of: Handle, name: &str, level: u32) -> Option<Attribute> {
        let of = self.stand_in(of).unwrap_or(of);
        let EntityKind::Node(node) = &self.get(of)?.kind else {
            return None;
        };
        let property = node.template.properties.get(name)?;
        let mut definition = property.definition.as_ref()?;
        // A property that the template does not set already has the default of its own type.
        let steps = level.saturating_sub(1) + u32::from(!property.set_on_template);
        for _ in 0..steps {
            definition = definition.base.as_ref()?;
        }
        let raw = definition.default.clone()?;
        let sensitive = definition.is_sensitive();
        Some(Attribute {
            raw,
            sensitive,
            owner: of,
        })
    }

    fn connection(&self, from: Handle, target: Handle, relation: &str) -> Option<Handle> {
        match self.external_ensemble_of(target) {
            Some((foreign, inner)) => {
                let topology = foreign.topology();
                let found = topology.find_connection(topology.root(), inner, relation)?;
                Some(foreign.to_outer(found))
            }
            None => self.find_connection(from, target, relation),
        }
    }

    fn generation(&self) -> u64 {
        self.generation()
    }

    fn version(&self, of: Handle, name: &str) -> u64 {
        self.version(of, name)
    }
}

impl Topology {
    /// Returns an entity of this ensemble or of another one.
    fn resolve_entity(&self, of: Handle) -> Option<&Entity> {
        match self.external_ensemble_of(of) {
            Some((foreign, inner)) => Some(foreign.entity(inner)),
            None => self.get(of),
        }
    }

    /// Returns the entity in whose context the values of an entity are evaluated.
    fn context_of(&self, of: Handle) -> Handle {
        match self.entity(of).kind {
            EntityKind::Inputs | EntityKind::Outputs => self.root_of(of),
            _ => of,
        }
    }

    fn root_attribute(&self, root: Handle, name: &str) -> Option<Attribute> {
        let held = match name {
            "inputs" => self.inputs_of(root),
            "outputs" => self.outputs_of(root),
            _ => return None,
        };
        let raw = self.reference(held);
        Some(Attribute {
            raw,
            sensitive: false,
            owner: root,
        })
    }

    /// Returns an input of a nested topology that is mapped to a property of the outer template.
    fn outer_input(&self, of: Handle, name: &str) -> Option<Attribute> {
        let root = self.root_of(of);
        let (outer, nested) = self.nested_at(root)?;
        let property = nested.inputs.get(name)?;
        let template = self.template().nodes.get(outer)?;
        let no_attributes = indexmap::IndexMap::new();
        let (raw, sensitive) = declared_value(&template.properties, &no_attributes, property);
        Some(Attribute {
            raw: raw?,
            sensitive: sensitive || self.input_is_sensitive(of, name),
            owner: self.outer_entity(root)?,
        })
    }

    fn input_is_sensitive(&self, of: Handle, name: &str) -> bool {
        self.template_at(self.root_of(of))
            .inputs
            .get(name)
            .is_some_and(|input| input.is_sensitive())
    }

    fn output_is_sensitive(&self, of: Handle, name: &str) -> bool {
        self.template_at(self.root_of(of))
            .outputs
            .get(name)
            .is_some_and(|output| output.sensitive)
    }

    fn special_value(&self, of: Handle, entity: &Entity, key: &str) -> Option<Value> {
        Some(match key {
            "." | ".owner" => self.reference(owner(of, entity)),
            ".." | ".parent" => self.reference_or_null(entity.parent),
            ".name" => Value::str(entity.local_name()),
            ".type" if matches!(entity.kind, EntityKind::Root) => "~topology".into(),
            ".type" => Value::str(entity.type_name()),
            ".key" | ".tosca_id" => Value::Str(entity.key.shared()),
            ".tosca_name" | ".template" => Value::str(entity.template_name()),
            ".status" => Value::Int(i64::from(self.effective(of).number())),
            ".state" => self
                .stand_in(of)
                .map_or(entity, |inner| self.entity(inner))
                .state
                .map_or(Value::Null, |state| i64::from(state.number()).into()),
            ".local_status" => entity
                .local
                .map_or(Value::Null, |own| i64::from(own.number()).into()),
            ".created" => entity
                .created
                .as_ref()
                .map_or(Value::Null, Creator::to_value),
            ".protected" => Value::from(entity.protected),
            ".customized" => Value::from(entity.customized.clone()),
            ".operational" => Value::Bool(self.is_operational(of)),
            ".present" => Value::Bool(self.effective(of).is_present()),
            ".missing" => Value::Bool(self.effective(of).is_missing()),
            ".ancestors" => self.references(self.ancestors(of)),
            ".parents" => {
                let mut parents = self.ancestors(of);
                parents.reverse();
                parents.pop();
                self.references(parents)
            }
            ".root" => self.reference(self.root_of(of)),
            ".apex" => self.reference(self.root()),
            ".all" => self.all(self.root_of(of)),
            ".instances" => self.references(self.children(of).to_vec()),
            ".descendants" | ".descendents" => self.references(self.descendants(of)),
            ".source" => self.reference_or_null(self.source_of(of)),
            ".target" => self.reference_or_null(self.target_of(of)),
            ".capabilities" => self.references(entity.node()?.capabilities.clone()),
            ".requirements" => self.references(self.requirements_of(of, entity)),
            ".primary_provider" => self.reference(self.primary_provider(of)?),
            ".relationships" => self.references(self.relationships_of(of)),
            ".targets" => self.relationship_ends(&entity.node()?.requirements, Self::target_of),
            ".sources" => self.relationship_ends(&self.visible_incoming(of), Self::source_of),
            ".hosted_on" => self.references(self.hosted_on(of)),
            ".configured_by" => self.references(self.configured_by(of)),
            ".uri" => Value::str(format!("#{}", entity.key)),
            ".deployment" => Value::str(""),
            ".names" => self.names_of(entity),
            ".topology" => Value::from(self.nodes_seen_by_root(of)),
            ".artifacts" => self.artifacts_by_name(of),
            ".file" => entity.artifact()?.file.clone(),
            ".path" => self.artifact_path(of)?,
            _ => return None,
        })
    }

    /// Returns a value that refers to an entity.
    pub fn reference(&self, of: Handle) -> Value {
        let Some(entity) = self.get(of) else {
            return Value::entity(of, self.key(of), None);
        };
        let outer = self.nested_at(self.root_of(of)).map(|(outer, _)| outer);
        Value::entity(of, entity.key.shared(), outer.map(TemplateName::shared))
    }

    fn reference_or_null(&self, of: Option<Handle>) -> Value {
        of.map_or(Value::Null, |of| self.reference(of))
    }

    fn references(&self, handles: Vec<Handle>) -> Value {
        Value::list(handles.into_iter().map(|of| self.reference(of)))
    }

    /// Returns an entity followed by its hosts, up to the root.
    pub fn ancestors(&self, of: Handle) -> Vec<Handle> {
        std::iter::successors(Some(of), |handle| self.entity(*handle).parent).collect()
    }

    /// Returns an entity followed by everything hosted on it, each host before the instances on it.
    pub(super) fn descendants(&self, of: Handle) -> Vec<Handle> {
        let mut order = Vec::new();
        let mut stack = vec![of];
        while let Some(handle) = stack.pop() {
            order.push(handle);
            stack.extend(self.children(handle).iter().rev());
        }
        order
    }

    fn all(&self, root: Handle) -> Value {
        let everything = self.descendants(root).into_iter();
        let named = |node: Handle| Arc::from(self.entity(node).local_name());
        Value::map::<Arc<str>>(everything.map(|node| (named(node), self.reference(node))))
    }

    /// Returns the relationships that point at an instance, without those taken over from the outer
    /// topology.
    fn visible_incoming(&self, of: Handle) -> Vec<Handle> {
        let mut incoming = self.incoming(of);
        incoming.retain(|relationship| {
            let source = self.source_of(*relationship);
            let source = source.and_then(|source| self.entity(source).node());
            let source = source.filter(|node| node.template.nested_in.is_some());
            source.is_none_or(|node| {
                let place = node.requirements.iter().position(|it| it == relationship);
                let requirement = place.and_then(|place| node.template.requirements.get(place));
                requirement.is_none_or(|requirement| !requirement.from_outer)
            })
        });
        incoming
    }

    fn relationships_of(&self, of: Handle) -> Vec<Handle> {
        let EntityKind::Capability { owner, .. } = &self.entity(of).kind else {
            return self.visible_incoming(of);
        };
        let named = |relationship: &Handle| match &self.entity(*relationship).kind {
            EntityKind::Relationship { capability, .. } => {
                capability.as_deref() == Some(self.entity(of).name.as_str())
            }
            _ => false,
        };
        self.incoming(*owner).into_iter().filter(named).collect()
    }

    fn requirements_of(&self, of: Handle, entity: &Entity) -> Vec<Handle> {
        match entity.kind {
            EntityKind::Root => self.declared_connections(of).to_vec(),
            _ => entity.node().map_or(vec![], |n| n.requirements.clone()),
        }
    }

    /// Returns a map from relationship names to the entity at the other end, or to a list of several.
    fn relationship_ends(&self, of: &[Handle], end: fn(&Self, Handle) -> Option<Handle>) -> Value {
        let mut ends = Map::new();
        for relationship in of {
            let Some(other) = end(self, *relationship) else {
                continue;
            };
            let name = self.entity(*relationship).name.shared();
            let value = match ends.shift_remove(&name) {
                None => self.reference(other),
                Some(Value::List(list)) => {
                    Value::list(list.iter().cloned().chain([self.reference(other)]))
                }
                Some(one) => Value::list([one, self.reference(other)]),
            };
            ends.insert(name, value);
        }
        Value::from(ends)
    }

    /// Returns the capabilities used by an instance, by requirement name, and its own capabilities by
    /// name.
    fn names_of(&self, entity: &Entity) -> Value {
        let Some(node) = entity.node() else {
            return Value::map::<&str>([]);
        };
        let used = node.requirements.iter().filter_map(|relationship| {
            let EntityKind::Relationship { capability, .. } = &self.entity(*relationship).kind
            else {
                return None;
            };
            let target = self.entity(self.target_of(*relationship)?).node()?;
            let expected = capability.as_deref().unwrap_or("feature");
            let mut capabilities = target.capabilities.iter();
            let found = capabilities.find(|c| self.entity(**c).name.as_str() == expected)?;
            Some((
                self.entity(*relationship).name.shared(),
                self.reference(*found),
            ))
        });
        let own = node.capabilities.iter();
        let own = own.map(|c| (self.entity(*c).name.shared(), self.reference(*c)));
        let mut names: Map = own.collect();
        names.extend(used);
        Value::from(names)
    }

    fn hosted_on(&self, of: Handle) -> Vec<Handle> {
        let requirements = |node: Handle| {
            self.entity(node)
                .node()
                .map_or(Vec::new(), |node| node.requirements.clone())
        };
        self.walk(
            of,
            requirements,
            Self::target_of,
            "tosca.relationships.HostedOn",
        )
    }

    fn configured_by(&self, of: Handle) -> Vec<Handle> {
        let incoming = |node: Handle| self.incoming(node);
        self.walk(
            of,
            incoming,
            Self::source_of,
            "unfurl.relationships.Configures",
        )
    }

    /// Follows relationships transitively and returns the ends of those that have the given type.
    fn walk(
        &self,
        from: Handle,
        edges: impl Fn(Handle) -> Vec<Handle>,
        end: fn(&Self, Handle) -> Option<Handle>,
        expected: &str,
    ) -> Vec<Handle> {
        let mut seen = std::collections::HashSet::new();
        let (mut found, mut stack) = (Vec::new(), vec![from]);
        while let Some(node) = stack.pop() {
            let mut next = Vec::new();
            for relationship in edges(node) {
                let Some(other) = end(self, relationship) else {
                    continue;
                };
                if !seen.insert(other) {
                    continue;
                }
                let hosted = expected.ends_with("HostedOn")
                    && self.entity(relationship).name.as_str() == "host";
                if hosted || self.is_type(relationship, expected) {
                    found.push(other);
                }
                next.push(other);
            }
            stack.extend(next.into_iter().rev());
        }
        found
    }
}

fn owner(of: Handle, entity: &Entity) -> Handle {
    match &entity.kind {
        EntityKind::Capability { owner, .. } | EntityKind::Artifact { owner, .. } => *owner,
        _ => of,
    }
}

/// Whether an attribute of a created representative is an expression over its nested topology.
fn is_mapped(entity: &Entity, name: &str) -> bool {
    let Some(node) = entity.node() else {
        return false;
    };
    let attribute = node.template.attributes.get(name);
    node.template.is_created_representative()
        && attribute.is_some_and(|attribute| attribute.default.is_some())
}
