//! Instances of other ensembles: what expressions see of them, and what stands for them here.
//!
//! The entities of other ensembles have handles of their own, above all that this topology can
//! have. Nothing here changes them, and their values are evaluated where they belong.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use super::entity::{Entity, EntityKind};
use super::topology::Topology;
use crate::expr::{Error, Evaluator, Memo, Scope, SystemContext, admits};
use crate::name::{InstanceName, Priority, Status};
use crate::tosca::NodeTemplate;
use crate::value::{External, ExternalKind, Handle, Map, Value, upstream_json};

/// The first handle of an entity of another ensemble.
const FIRST_EXTERNAL_HANDLE: u32 = 1 << 31;
/// How deep expressions of another ensemble may refer to each other.
const MAX_DEPTH: usize = 1_000;
/// What a stand-in shows of what it stands for, besides attributes.
const SHARED_KEYS: &[&str] = &[
    ".artifacts",
    ".capabilities",
    ".relationships",
    ".requirements",
    ".targets",
];

/// Another ensemble, and which of its instances is meant by its name.
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
        f.debug_struct("Foreign")
            .field("name", &self.name)
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

impl ExternalEnsemble {
    /// Another ensemble. `instance` is the name of the instance that is meant: `root`, or `*`, where
    /// templates that name none look for theirs, or that of one instance. None if it is not there.
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

    /// What the attributes that are asked for must be: a JSON schema for each.
    #[must_use]
    pub fn with_schema(mut self, schema: Map) -> Self {
        self.schema = schema;
        self
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

    /// How many handles it takes: its own entities and those it sees, and one for its name.
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
            Value::Entity(of) => Value::Entity(self.to_outer(*of)),
            Value::List(items) => Value::list(items.iter().map(|item| self.to_outer_value(item))),
            Value::Map(map) => {
                let entries = map.iter();
                let entries =
                    entries.map(|(key, value)| (Arc::clone(key), self.to_outer_value(value)));
                Value::from(entries.collect::<Map>())
            }
            other => other.clone(),
        }
    }

    /// An entity; of inputs and outputs all values.
    fn entity_or_values(&self, evaluator: &Evaluator, of: Handle) -> Value {
        if !matches!(
            self.topology.entity(of).kind,
            EntityKind::Inputs | EntityKind::Outputs
        ) {
            return Value::Entity(self.to_outer(of));
        }
        let names = self.topology.attribute_names(of).into_iter();
        let values = names.filter_map(|name| {
            let value = evaluator.attribute(of, &name).ok().flatten()?;
            Some((name, self.to_outer_value(&value)))
        });
        Value::from(values.collect::<Map>())
    }

    /// A value that was asked for by the name of the ensemble; the record says that instead.
    fn as_external(&self, value: Value) -> Value {
        let name = Value::Str(Arc::clone(&self.name));
        let expression = Value::map([("eval", Value::map([("external", name)]))]);
        // Upstream's digest is of the instance's name alone, so that it never changes.
        let key = &self.topology.entity(self.instance).key;
        let digest = upstream_json("ref", Value::str(key.shared()));
        Value::External(Arc::new(External {
            kind: ExternalKind::Other,
            exact: Some(value.clone()),
            value,
            parts: Map::new(),
            expression,
            digest: Some(digest),
        }))
    }

    /// The value of an attribute, evaluated where it belongs.
    fn attribute(&self, of: Handle, name: &str) -> Result<Option<Value>, Error> {
        let scope: Arc<dyn Scope> = Arc::clone(&self.topology) as _;
        let (context, memo) = (Arc::clone(&self.context), Arc::clone(&self.memo));
        let evaluator = Evaluator::with_limit(scope, context, memo, MAX_DEPTH);
        let value = match evaluator.attribute(self.to_inner(of), name)? {
            Some(Value::Entity(held)) => Some(self.entity_or_values(&evaluator, held)),
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
        match admits(&value, schema) {
            Ok(true) => Ok(Some(stated(value))),
            Ok(false) => Err(external_error(format!(
                "the attribute `{name}` of the external ensemble `{}` is not as its `schema` says",
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

    /// Lets expressions name the instances of another ensemble. Says no where there are too many.
    pub fn add_external_ensemble(&mut self, mut foreign: ExternalEnsemble) -> bool {
        let last = self.external_ensembles.last();
        foreign.first = last.map_or(FIRST_EXTERNAL_HANDLE, |last| last.first + last.span());
        let fits = foreign.first.checked_add(foreign.span()).is_some();
        if fits {
            self.external_ensembles.push(foreign);
        }
        fits
    }

    /// The ensemble that an entity belongs to, if that is another.
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

    /// What an instance stands for, if that belongs to another ensemble.
    pub(super) fn imported_entity(&self, of: Handle) -> Option<Handle> {
        self.entities.get(of.0 as usize)?.node()?.external
    }

    /// Whether nothing here may change an entity, since another ensemble does.
    pub fn is_external(&self, of: Handle) -> bool {
        self.external_ensemble_of(of).is_some() || self.imported_entity(of).is_some()
    }

    /// An attribute that is evaluated in another ensemble.
    pub(super) fn external_attribute(
        &self,
        of: Handle,
        name: &str,
    ) -> Option<Result<Option<Value>, Error>> {
        let of = self.imported_entity(of).unwrap_or(of);
        let (foreign, _) = self.external_ensemble_of(of)?;
        Some(foreign.attribute(of, name))
    }

    /// The entity of another ensemble that has what is under a special key of an entity, if one has.
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

    /// What the name of another ensemble stands for.
    pub fn external(&self, name: &str) -> Option<Handle> {
        let mut all = self.external_ensembles.iter();
        all.find(|foreign| &*foreign.name == name)
            .map(ExternalEnsemble::alias)
    }

    /// The instance of another ensemble that `imported` names: the ensemble, or the ensemble, a
    /// colon and the instance.
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

    /// The instance of another ensemble that a template with the directive `select` stands for, and
    /// how it is named: what `imported` says, or else the one whose template has the same name and
    /// a type that fits, in those ensembles that may be searched.
    pub fn selected(&self, template: &NodeTemplate) -> Option<(Arc<str>, Handle)> {
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

    /// Adds an instance that stands for one of another ensemble.
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

    /// Lets the recorded instances that stand for others show them as they are now; gives the names
    /// of those that are not there, each with what it is to stand for.
    pub fn link_imported_nodes(&mut self) -> Vec<(Arc<str>, Arc<str>)> {
        let mut missing = Vec::new();
        for of in self.nodes() {
            let Some(node) = self.entity(of).node() else {
                continue;
            };
            let imported = node.imported.clone();
            let imported = imported.filter(|_| node.template.stand_in.is_none());
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
