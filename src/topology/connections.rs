//! Connections: relationships with `default_for`, which tasks use without a requirement of their node.
//!
//! They come from the relationship templates of a topology, to which the session adds the `connections` of the
//! environment, from relationships that a requirement states inline, and from other ensembles.

use std::sync::Arc;

use super::entity::{Entity, EntityKind};
use super::topology::Topology;
use crate::expr::{Error, Evaluator};
use crate::name::TemplateName;
use crate::tosca::RelationshipTemplate;
use crate::value::{Handle, Value};

/// The `default_for` of a connection that all nodes use.
const ANY: &str = "ANY";
/// The `default_for` of a connection that only the node of its requirement uses.
const SELF: &str = "SELF";
/// The name of the connection to the cloud that an environment deploys to.
const PRIMARY_PROVIDER: &str = "primary_provider";
/// The capability that every node has.
const FEATURE: &str = "feature";

impl Topology {
    /// Adds an entity for each relationship template with `default_for`.
    pub(super) fn add_declared_connections(&mut self) {
        let service = Arc::clone(&self.service);
        let nested = service.topology.nested.iter();
        let nested = nested.map(|(outer, nested)| (Some(outer), &nested.topology));
        for (outer, topology) in std::iter::once((None, &service.topology)).chain(nested) {
            let root = outer.and_then(|outer| self.nested_root(outer));
            let root = root.unwrap_or(self.root());
            for (name, template) in &topology.relationships {
                if template.default_for.is_some() {
                    self.add_declared_connection(root, name, template);
                }
            }
        }
    }

    fn add_declared_connection(
        &mut self,
        root: Handle,
        name: &TemplateName,
        template: &Arc<RelationshipTemplate>,
    ) {
        let key = format!("::.requirements::[.name={name}]");
        let kind = EntityKind::Relationship {
            source: None,
            target: None,
            capability: None,
            template: Arc::clone(template),
        };
        let mut entity = Entity::new_established(name.shared().into(), key.into(), kind);
        entity.parent = Some(root);
        entity.scope = root;
        let connection = self.push(entity);
        let declared = &mut self.connections.declared;
        declared.entry(root).or_default().push(connection);
    }

    /// Notes a relationship that a requirement states inline, if it is a connection.
    pub(super) fn note_inline_connection(&mut self, source: Handle, relationship: Handle) {
        let root = self.root_of(source);
        let EntityKind::Relationship {
            target: None,
            template,
            ..
        } = &self.entity(relationship).kind
        else {
            return;
        };
        let list = match template.default_for.as_deref() {
            None => return,
            Some(SELF) => self.connections.own.entry(source).or_default(),
            Some(_) => self.connections.inline.entry(root).or_default(),
        };
        list.push(relationship);
    }

    /// Makes connections of another ensemble available: those with one of the names, or `INSTANCE::NAME` for
    /// those that a requirement of an instance states inline.
    ///
    /// Returns the names that the other ensemble does not have.
    pub fn import_connections(&mut self, ensemble: &str, names: &[Arc<str>]) -> Vec<Arc<str>> {
        let mut all = self.external_ensembles.iter();
        let Some(foreign) = all.find(|foreign| foreign.name() == ensemble) else {
            return names.to_vec();
        };
        let other = foreign.topology();
        let mut found = Vec::new();
        let mut missing = names.to_vec();
        for connection in other.connections_of(other.root()) {
            let entity = other.entity(connection);
            let source = other.source_of(connection);
            let name = match source {
                Some(source) => format!("{}::{}", other.entity(source).name, entity.name),
                None => entity.name.to_string(),
            };
            if names.iter().any(|wanted| **wanted == *name) {
                found.push(foreign.to_outer(connection));
                missing.retain(|wanted| **wanted != *name);
            }
        }
        self.connections.imported.extend(found);
        missing
    }

    /// Returns the connections that a topology declares in `relationship_templates`.
    pub fn declared_connections(&self, root: Handle) -> &[Handle] {
        let declared = self.connections.declared.get(&root);
        declared.map_or(&[], Vec::as_slice)
    }

    /// Returns all connections that a topology can use, except those of single nodes of other topologies.
    ///
    /// Nested topologies also use those of the topologies around them.
    pub fn connections_of(&self, root: Handle) -> Vec<Handle> {
        let mut found = self.shared_connections(root);
        let own = self.connections.own.iter();
        let own = own.filter(|(source, _)| self.root_of(**source) == root);
        let mut own: Vec<Handle> = own.flat_map(|(_, list)| list).copied().collect();
        own.sort_unstable();
        found.extend(own);
        found
    }

    fn shared_connections(&self, root: Handle) -> Vec<Handle> {
        let mut found = Vec::new();
        let mut next = Some(root);
        while let Some(root) = next {
            found.extend(self.declared_connections(root));
            found.extend(self.connections.inline.get(&root).into_iter().flatten());
            next = self.outer_entity(root).map(|outer| self.root_of(outer));
        }
        found.extend(&self.connections.imported);
        found
    }

    /// Returns the connections that apply to a node by default, in declared order.
    pub fn default_connections(&self, node: Handle) -> Vec<Handle> {
        if self.get(node).and_then(Entity::node).is_none() {
            return Vec::new();
        }
        let shared = self.shared_connections(self.root_of(node));
        let mut found: Vec<Handle> = shared
            .into_iter()
            .filter(|connection| self.applies_to(*connection, node))
            .collect();
        found.extend(self.connections.own.get(&node).into_iter().flatten());
        found
    }

    /// Whether `default_for` of a connection selects a node.
    fn applies_to(&self, connection: Handle, node: Handle) -> bool {
        let entity = self.entity(connection);
        let EntityKind::Relationship { template, .. } = &entity.kind else {
            return false;
        };
        let Some(selector) = template.default_for.as_deref() else {
            return false;
        };
        let is_same_topology = self.get(connection).is_some() && entity.scope == self.root_of(node);
        let is_ensemble = || {
            let mut others = self.external_ensembles.iter();
            others.any(|other| other.name() == selector)
        };
        if selector == ANY || (!is_same_topology && !is_ensemble()) {
            return true;
        }
        let entity = self.entity(node);
        let capabilities = entity.node().into_iter().flat_map(|it| &it.capabilities);
        entity.template_name() == selector
            || entity.is_a(selector)
            || selector == FEATURE
            || capabilities.into_iter().any(|capability| {
                let capability = self.entity(*capability);
                capability.name.as_str() == selector || capability.is_a(selector)
            })
    }

    /// Returns the connections that a task on `target` uses, by name.
    ///
    /// The order is that of Unfurl: the connections of the outermost host come first, and of one node those
    /// declared last. `host` is the instance on whose machine the task runs; its relationships to the target
    /// and the target's hosts count as well.
    pub fn task_connections(&self, target: Handle, host: Option<Handle>) -> Vec<Handle> {
        let start = match &self.entity(target).kind {
            EntityKind::Relationship { .. } => self.target_of(target),
            _ => self.instance_of(target),
        };
        let mut seen: Vec<Handle> = Vec::new();
        let ancestors = start.map_or_else(Vec::new, |start| self.ancestors(start));
        for node in ancestors {
            if self.entity(node).node().is_none() {
                continue;
            }
            let explicit = host.filter(|host| *host != node);
            let explicit = explicit.map_or_else(Vec::new, |host| self.requirements_to(host, node));
            for connection in self.default_connections(node).into_iter().chain(explicit) {
                if !seen.contains(&connection) {
                    seen.push(connection);
                }
            }
        }
        seen.reverse();
        seen
    }

    fn requirements_to(&self, source: Handle, target: Handle) -> Vec<Handle> {
        let requirements = self.get(source).and_then(Entity::node);
        let requirements = requirements.into_iter().flat_map(|it| &it.requirements);
        let points = |it: &&Handle| self.target_of(**it) == Some(target);
        requirements.filter(points).copied().collect()
    }

    /// Returns the connection from an instance to a node: an explicit relationship of the type, or else the
    /// first default one.
    pub(super) fn find_connection(
        &self,
        source: Handle,
        target: Handle,
        type_name: &str,
    ) -> Option<Handle> {
        let is_wanted = |it: &Handle| self.entity(*it).is_a(type_name);
        let mut explicit = self.requirements_to(source, target).into_iter();
        let found = explicit.find(is_wanted);
        found.or_else(|| {
            let defaults = match self.get(target).map(|it| &it.kind) {
                Some(EntityKind::Root) => self.connections_of(target),
                _ => self.default_connections(target),
            };
            defaults.into_iter().find(is_wanted)
        })
    }

    /// Returns the default connection of a type that is most specific to a node: one for exactly this node
    /// comes before one for its type, and that before one for all nodes.
    pub fn nearest_connection(&self, node: Handle, type_name: &str) -> Option<Handle> {
        let name = self.entity(node).template_name();
        let all = self.default_connections(node).into_iter();
        let fitting = all.filter(|it| self.entity(*it).is_a(type_name));
        fitting.min_by_key(|it| match &self.entity(*it).kind {
            EntityKind::Relationship { template, .. } => match template.default_for.as_deref() {
                Some(SELF) => 0,
                Some(selector) if selector == name => 0,
                Some(ANY) | None => 2,
                Some(_) => 1,
            },
            _ => 2,
        })
    }

    /// Returns the connection `primary_provider` of a topology.
    pub fn primary_provider(&self, root: Handle) -> Option<Handle> {
        let mut all = self.declared_connections(root).iter().copied();
        all.find(|it| self.entity(*it).name.as_str() == PRIMARY_PROVIDER)
    }

    /// Whether an entity is a connection that no requirement states.
    pub fn is_declared_connection(&self, of: Handle) -> bool {
        matches!(
            self.entity(of).kind,
            EntityKind::Relationship { source: None, .. }
        )
    }

    /// Returns the environment variables that the properties of a connection stand for. Properties without a
    /// value are left out.
    ///
    /// # Errors
    ///
    /// A property cannot be evaluated.
    pub fn connection_variables(
        &self,
        connection: Handle,
        evaluator: &Evaluator,
    ) -> Result<Vec<(Arc<str>, Value)>, Error> {
        let owner = match self.external_ensemble_of(connection) {
            Some((foreign, _)) => foreign.topology(),
            None => self,
        };
        let EntityKind::Relationship { template, .. } = &self.entity(connection).kind else {
            return Ok(Vec::new());
        };
        let mut variables = Vec::new();
        for property in template.variable_properties(&owner.service.types) {
            let Some((first, fields)) = property.path.split_first() else {
                continue;
            };
            let Some(value) = evaluator.attribute(connection, first)? else {
                continue;
            };
            let is_sensitive = property.is_sensitive || value.has_sensitive();
            let found = fields
                .iter()
                .try_fold(value.reveal(), |value, field| value.reveal().get(field));
            let Some(value) = found.map(Value::reveal).filter(|value| !value.is_null()) else {
                continue;
            };
            let mark = |value: &Value| value.clone().sensitive_if(is_sensitive);
            match &property.variable {
                Some(name) => variables.push((Arc::clone(name), mark(value))),
                None => {
                    let entries = value.as_map().into_iter().flatten();
                    let entries = entries.filter(|(_, value)| !value.is_null());
                    variables.extend(entries.map(|(name, value)| (Arc::clone(name), mark(value))));
                }
            }
        }
        Ok(variables)
    }

    /// Returns the variables of several connections. If two stand for the same variable, the later counts.
    ///
    /// # Errors
    ///
    /// A property cannot be evaluated.
    pub fn variables_of_connections(
        &self,
        connections: &[Handle],
        evaluator: &Evaluator,
    ) -> Result<Vec<(Arc<str>, Value)>, Error> {
        let mut all = indexmap::IndexMap::new();
        for connection in connections {
            all.extend(self.connection_variables(*connection, evaluator)?);
        }
        Ok(all.into_iter().collect())
    }

    /// Returns one connection of each type: the first of those given, which are in the order of a task's
    /// variable `connections`. They are returned in the order in which their variables are set.
    pub fn one_of_each_type(&self, connections: &[Handle]) -> Vec<Handle> {
        let mut chosen = indexmap::IndexMap::new();
        for connection in connections.iter().rev() {
            chosen.insert(self.entity(*connection).type_name(), *connection);
        }
        chosen.into_values().collect()
    }
}
