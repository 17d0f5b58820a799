//! Instances of other ensembles, as expressions see them, and the local instances that stand for them.
//!
//! Entities of other ensembles get handles above the range that this topology can use. This topology
//! never changes them, and their values are evaluated in their own ensemble.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use super::entity::{Entity, EntityKind};
use super::topology::Topology;
use crate::expr::{Error, Evaluator, Memo, Scope, SystemContext, matches_schema};
use crate::name::{InstanceName, Priority, Status};
use crate::tosca::NodeTemplate;
use crate::value::{External, ExternalKind, Handle, Map, Value, unfurl_json};

/// The lowest handle of an entity of another ensemble.
const FIRST_EXTERNAL_HANDLE: u32 = 1 << 31;
/// The maximum depth of references between expressions of another ensemble.
const MAX_DEPTH: usize = 1_000;
/// Special keys that an imported instance shows from the instance it stands for, in addition to
/// attributes.
const SHARED_KEYS: &[&str] = &[
    ".artifacts",
    ".capabilities",
    ".relationships",
    ".requirements",
    ".targets",
];

/// Another ensemble that expressions can refer to by name, and the instance that the name denotes.
#[derive(Clone)]
pub struct ExternalEnsemble {
    name: Arc<str>,
    topology: Arc<Topology>,
    context: Arc<dyn SystemContext>,
    memo: Arc<Memo>,
    instance: Handle,
    is_searched: bool,
    schema: Map,
    first: u32,
}

impl Debug for ExternalEnsemble {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExternalEnsemble")
            .field("name", &self.name)
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

impl ExternalEnsemble {
    /// Creates a reference to another ensemble.
    ///
    /// `instance` selects the instance that the ensemble's name denotes; `*` and None denote the root. With
    /// `root` or `*`, templates that name no instance also search this ensemble for theirs. Returns None if
    /// the instance does not exist.
    pub fn new(
        name: &str,
        topology: Arc<Topology>,
        context: Arc<dyn SystemContext>,
        instance: Option<&str>,
    ) -> Option<Self> {
        let instance_name = instance.filter(|name| *name != "*").unwrap_or("root");
        let found = topology.find_from(topology.root(), instance_name)?;
        Some(Self {
            name: name.into(),
            topology,
            context,
            memo: Arc::default(),
            instance: found,
            is_searched: matches!(instance, Some("root" | "*")),
            schema: Map::new(),
            first: FIRST_EXTERNAL_HANDLE,
        })
    }

    /// Sets a JSON schema for each attribute that is read through the ensemble's name.
    #[must_use]
    pub fn with_schema(mut self, schema: Map) -> Self {
        self.schema = schema;
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(super) fn entity(&self, inner: Handle) -> &Entity {
        self.topology.entity(inner)
    }

    pub(super) fn effective(&self, inner: Handle) -> Status {
        self.topology.effective(inner)
    }

    /// Returns the number of handles in use: own entities, entities of further ensembles, and one for the
    /// name.
    fn span(&self) -> u32 {
        self.topology.span().saturating_add(1)
    }

    fn alias(&self) -> Handle {
        Handle(self.first + self.topology.span())
    }

    pub(super) fn to_outer(&self, inner: Handle) -> Handle {
        if inner.0 < FIRST_EXTERNAL_HANDLE {
            return Handle(self.first + inner.0);
        }
        Handle(self.first + self.topology.count() + (inner.0 - FIRST_EXTERNAL_HANDLE))
    }

    fn to_inner(&self, outer: Handle) -> Handle {
        if outer == self.alias() {
            return self.instance;
        }
        let place = outer.0 - self.first;
        let count = self.topology.count();
        if place < count {
            return Handle(place);
        }
        Handle(FIRST_EXTERNAL_HANDLE + (place - count))
    }

    pub(super) fn to_outer_value(&self, value: &Value) -> Value {
        match value {
            Value::Entity(of) => {
                let outer = of.with_handle(self.to_outer(of.handle()));
                Value::Entity(Arc::new(outer))
            }
            Value::List(items) => Value::list(items.iter().map(|item| self.to_outer_value(item))),
            Value::Map(map) => {
                let entries = map.iter();
                let entries =
                    entries.map(|(key, value)| (Arc::clone(key), self.to_outer_value(value)));
                Value::from(entries.collect::<Map>())
            }
            Value::Data(inner) => self.to_outer_value(inner).data(),
            other => other.clone(),
        }
    }

    /// Returns an entity, or a map of all values if the entity is `inputs` or `outputs`.
    fn entity_or_values(&self, evaluator: &Evaluator, of: Handle) -> Value {
        if !matches!(
            self.topology.entity(of).kind,
            EntityKind::Inputs | EntityKind::Outputs
        ) {
            return self.to_outer_value(&self.topology.reference(of));
        }
        let names = self.topology.attribute_names(of).into_iter();
        let values = names.filter_map(|name| {
            let value = evaluator.attribute(of, &name).ok().flatten()?;
            Some((name, self.to_outer_value(&value)))
        });
        Value::from(values.collect::<Map>())
    }

    /// Marks a value as read through the ensemble's name, so that the record contains the `external`
    /// expression instead of the value.
    fn as_external(&self, value: Value) -> Value {
        let name = Value::Str(Arc::clone(&self.name));
        let expression = Value::map([("eval", Value::map([("external", name)]))]);
        // Unfurl computes the digest from the instance's name only, so it never changes with the value.
        let key = &self.topology.entity(self.instance).key;
        let digest = unfurl_json("ref", Value::str(key.shared()));
        Value::External(Arc::new(External {
            kind: ExternalKind::Other,
            exact: Some(value.clone()),
            value,
            parts: Map::new(),
            expression,
            digest: Some(digest),
        }))
    }

    /// Evaluates an attribute in the ensemble that it belongs to.
    fn attribute(&self, of: Handle, name: &str) -> Result<Option<Value>, Error> {
        let scope: Arc<dyn Scope> = Arc::clone(&self.topology) as _;
        let (context, memo) = (Arc::clone(&self.context), Arc::clone(&self.memo));
        let evaluator = Evaluator::with_limit(scope, context, memo, MAX_DEPTH);
        let value = match evaluator.attribute(self.to_inner(of), name)? {
            Some(Value::Entity(held)) => Some(self.entity_or_values(&evaluator, held.handle())),
            value => value.map(|value| self.to_outer_value(&value)),
        };
        let schema = self.schema.get(name).filter(|_| of == self.alias());
        let stated = |value: Value| match value {
            value if of != self.alias() => value,
            Value::Entity(of) => Value::Entity(of),
            value => self.as_external(value),
        };
        let Some(schema) = schema else {
            return Ok(value.map(stated));
        };
        let Some(value) = value else {
            return Ok(schema.get("default").cloned().map(stated));
        };
        match matches_schema(&value, schema) {
            Ok(true) => Ok(Some(stated(value))),
            Ok(false) => Err(external_error(format!(
                "the attribute `{name}` of the external ensemble `{}` does not match its `schema`",
                self.name
            ))),
            Err(problem) => Err(external_error(format!(
                "the `schema` of the external ensemble `{}`: {problem}",
                self.name
            ))),
        }
    }
}

fn external_error(problem: String) -> Error {
    let function = "external".to_owned();
    Error::Function { function, problem }
}

impl Topology {
    fn count(&self) -> u32 {
        u32::try_from(self.entities.len()).unwrap_or(FIRST_EXTERNAL_HANDLE)
    }

    fn span(&self) -> u32 {
        let others = self.external_ensembles.iter().map(ExternalEnsemble::span);
        others.fold(self.count(), u32::saturating_add)
    }

    /// Makes another ensemble's instances available to expressions. Returns false if the handles do not
    /// suffice.
    pub fn add_external_ensemble(&mut self, mut foreign: ExternalEnsemble) -> bool {
        let last = self.external_ensembles.last();
        foreign.first = last.map_or(FIRST_EXTERNAL_HANDLE, |last| last.first + last.span());
        let fits = foreign.first.checked_add(foreign.span()).is_some();
        if fits {
            self.external_ensembles.push(foreign);
        }
        fits
    }

    /// Returns the other ensemble that an entity belongs to, with the entity's handle within it. None for
    /// local entities.
    pub(super) fn external_ensemble_of(&self, of: Handle) -> Option<(&ExternalEnsemble, Handle)> {
        if of.0 < FIRST_EXTERNAL_HANDLE {
            return None;
        }
        let after = self
            .external_ensembles
            .partition_point(|foreign| foreign.first <= of.0);
        let foreign = self.external_ensembles.get(after.checked_sub(1)?)?;
        (of.0 - foreign.first < foreign.span()).then(|| (foreign, foreign.to_inner(of)))
    }

    /// Returns the entity of another ensemble that an instance stands for.
    pub(super) fn imported_entity(&self, of: Handle) -> Option<Handle> {
        self.entities.get(of.0 as usize)?.node()?.external
    }

    /// Whether an entity belongs to another ensemble or stands for one that does, and so must not be
    /// changed here.
    pub fn is_external(&self, of: Handle) -> bool {
        self.external_ensemble_of(of).is_some() || self.imported_entity(of).is_some()
    }

    /// Evaluates an attribute in another ensemble. None if the entity is local.
    pub(super) fn external_attribute(
        &self,
        of: Handle,
        name: &str,
    ) -> Option<Result<Option<Value>, Error>> {
        let of = self.imported_entity(of).unwrap_or(of);
        let (foreign, _) = self.external_ensemble_of(of)?;
        Some(foreign.attribute(of, name))
    }

    /// Returns the entity of another ensemble that answers for a special key of an entity. None if the
    /// key is answered locally.
    pub(super) fn external_special(
        &self,
        of: Handle,
        key: &str,
    ) -> Option<(&ExternalEnsemble, Handle)> {
        let shown = self
            .imported_entity(of)
            .filter(|_| SHARED_KEYS.contains(&key));
        self.external_ensemble_of(shown.unwrap_or(of))
    }

    /// Returns the handle that the name of another ensemble stands for.
    pub fn external_handle(&self, name: &str) -> Option<Handle> {
        let mut all = self.external_ensembles.iter();
        all.find(|foreign| &*foreign.name == name)
            .map(ExternalEnsemble::alias)
    }

    /// Finds the instance of another ensemble that `imported` names, written `ensemble` or
    /// `ensemble:instance`.
    pub fn find_imported(&self, imported: &str) -> Option<Handle> {
        let (name, instance) = imported.split_once(':').unwrap_or((imported, ""));
        let mut all = self.external_ensembles.iter();
        let foreign = all.find(|foreign| &*foreign.name == name)?;
        if instance.is_empty() {
            return Some(foreign.to_outer(foreign.instance));
        }
        let topology = &foreign.topology;
        let found = topology.find_from(topology.root(), instance)?;
        Some(foreign.to_outer(found))
    }

    /// Finds the instance of another ensemble that a template with the directive `select` stands for, and
    /// its import name.
    ///
    /// If `imported` is given, it decides. Otherwise the searchable ensembles are searched for an
    /// instance whose template has the same name and a matching type.
    pub fn select_imported(&self, template: &NodeTemplate) -> Option<(Arc<str>, Handle)> {
        if let Some(imported) = &template.imported {
            let found = self.find_imported(imported)?;
            return Some((Arc::clone(imported), found));
        }
        if template.node_filter.is_some() {
            return None;
        }
        let fits = |topology: &Self, of: Handle| {
            let entity = topology.entity(of);
            entity.node().is_some()
                && entity.template_name() == template.local_name()
                && entity.is_a(template.type_name.as_str())
        };
        let by_name = self
            .external_ensembles
            .iter()
            .find(|it| fits(&it.topology, it.instance));
        if let Some(foreign) = by_name {
            return Some((
                Arc::clone(&foreign.name),
                foreign.to_outer(foreign.instance),
            ));
        }
        let searched = self
            .external_ensembles
            .iter()
            .filter(|foreign| foreign.is_searched);
        let mut found = searched.filter_map(|foreign| {
            let topology = &foreign.topology;
            let mut nodes = topology.nodes_of(topology.root()).into_iter();
            let found = nodes.find(|of| fits(topology, *of))?;
            let name = format!("{}:{}", foreign.name, topology.entity(found).local_name());
            Some((name.into(), foreign.to_outer(found)))
        });
        found.next()
    }

    /// Adds an instance that stands for an instance of another ensemble.
    pub fn add_imported_node(
        &mut self,
        template: &Arc<NodeTemplate>,
        imported: Arc<str>,
        of: Handle,
    ) {
        let (name, root) = (InstanceName::new(template.name.shared()), self.root());
        let imported_node = self.add_node(name, Arc::clone(template), root, None);
        self.update_record(imported_node, |entity| {
            entity.priority = Some(Priority::Required);
            if let EntityKind::Node(node) = &mut entity.kind {
                node.imported = Some(imported);
            }
        });
        self.link_imported(imported_node, of);
    }

    /// Links recorded imported instances to the instances they stand for, so that they show the current
    /// state.
    ///
    /// Returns the name of each instance whose import does not exist, with the import's name.
    pub fn link_imported_nodes(&mut self) -> Vec<(Arc<str>, Arc<str>)> {
        let mut missing = Vec::new();
        for of in self.nodes() {
            let Some(node) = self.entity(of).node() else {
                continue;
            };
            let imported = node.imported.clone();
            let imported = imported.filter(|_| node.template.representative.is_none());
            let Some(imported) = imported.filter(|imported| !imported.starts_with(':')) else {
                continue;
            };
            match self.find_imported(&imported) {
                Some(found) => self.link_imported(of, found),
                None => missing.push((self.entity(of).name.shared(), imported)),
            }
        }
        missing
    }

    fn link_imported(&mut self, imported_node: Handle, of: Handle) {
        let found = self.external_ensemble_of(of);
        let status = found.map(|(foreign, inner)| foreign.topology.effective(inner));
        let state = self.entity(of).state;
        self.update_record(imported_node, |entity| {
            entity.computed = false;
            entity.local = status;
            entity.state = state;
            if let EntityKind::Node(node) = &mut entity.kind {
                node.external = Some(of);
            }
        });
    }
}
