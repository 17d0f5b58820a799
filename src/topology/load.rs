//! Loads the recorded instances of a `status` section into a topology.

use std::sync::Arc;

use super::entity::{Creator, Entity, EntityKind};
use super::recorded_value::from_record;
use super::topology::Topology;
use crate::name::{ChangeId, NodeState, Priority, Status, TemplateName};
use crate::value::{Handle, Map, REDACTED, Value};

/// An error in the record of an instance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the record of instance `{0}` is not a map")]
    NotAMap(Arc<str>),
    /// A status, node state or priority that is not known.
    #[error("the record of instance `{instance}` has the unknown {what} `{word}`")]
    UnknownValue {
        instance: Arc<str>,
        /// The kind of word: `status`, `node state` or `priority`.
        what: &'static str,
        word: String,
    },
    /// Two recorded instances have the same name.
    #[error("two recorded instances are named `{0}`")]
    Duplicate(Arc<str>),
}

const KNOWN_FIELDS: &[&str] = &[
    "template",
    "attributes",
    "properties",
    "imported",
    "priority",
    "readyState",
    "lastStateChange",
    "lastConfigChange",
    "created",
    "protected",
    "customized",
    "capabilities",
    "requirements",
    "instances",
    "substitution",
];

/// Adds the instances of a recorded `status` section.
///
/// An instance whose template is missing from the model is kept as an orphan, with its record. Instances
/// hosted on it that have a template are attached to its host instead.
pub fn load(topology: &mut Topology, status: &Value) -> Vec<Error> {
    let root = topology.root();
    load_on(topology, root, status)
}

/// Adds recorded instances like [`load`], with a given instance as their host.
pub fn load_on(topology: &mut Topology, on: Handle, status: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    let mut stack = vec![(on, None, status.clone())];
    while let Some((parent, orphan, record)) = stack.pop() {
        let Some(instances) = record.get("instances").and_then(Value::as_map) else {
            continue;
        };
        for (name, record) in instances {
            match load_instance(topology, (parent, orphan), name, record, &mut errors) {
                Ok(LoadedInstance::Instance(handle)) => {
                    let within = record.get("substitution");
                    if let Some((root, within)) = topology.root_within(handle).zip(within) {
                        stack.push((root, None, within.clone()));
                    }
                    stack.push((handle, None, record.clone()));
                }
                // Instances hosted on the orphan may still have a template.
                Ok(LoadedInstance::Orphan(orphan)) => {
                    stack.push((parent, Some(orphan), record.clone()));
                }
                Err(error) => errors.push(error),
            }
        }
    }
    errors
}

/// The result of loading one recorded instance.
enum LoadedInstance {
    Instance(Handle),
    /// The index of the orphan that the instance became, because its template is missing.
    Orphan(usize),
}

fn load_instance(
    topology: &mut Topology,
    (parent, on): (Handle, Option<usize>),
    name: &Arc<str>,
    record: &Value,
    errors: &mut Vec<Error>,
) -> Result<LoadedInstance, Error> {
    let fields = record
        .as_map()
        .ok_or_else(|| Error::NotAMap(Arc::clone(name)))?;
    let whole: Arc<str> = topology.name_within(parent, name).into();
    if topology.find(&whole).is_some() {
        return Err(Error::Duplicate(whole));
    }
    let template = fields
        .get("template")
        .and_then(Value::as_str)
        .unwrap_or(name);
    let template = TemplateName::new(topology.name_within(parent, template));
    let Some(template) = topology.template().nodes.get(&template).cloned() else {
        let orphan = topology.add_orphan(parent, on, name, fields);
        return Ok(LoadedInstance::Orphan(orphan));
    };
    let handle = topology.add_node(whole.into(), template, parent, None);
    let has_nested = topology.root_within(handle).is_some();
    read_state(topology, handle, name, fields, errors);
    let extra: Map = fields
        .iter()
        .filter(|(key, _)| {
            !KNOWN_FIELDS.contains(&&***key) || (!has_nested && &***key == "substitution")
        })
        .map(|(key, value)| (Arc::clone(key), value.clone()))
        .collect();
    topology.update_record(handle, |entity| entity.extra = extra);
    read_capabilities(topology, handle, fields, errors);
    read_requirements(topology, handle, fields, errors);
    Ok(LoadedInstance::Instance(handle))
}

fn read_capabilities(topology: &mut Topology, node: Handle, fields: &Map, errors: &mut Vec<Error>) {
    let Some(records) = fields.get("capabilities").and_then(Value::as_map) else {
        return;
    };
    for (name, record) in records {
        let known = topology
            .entity(node)
            .node()
            .map_or(Vec::new(), |n| n.capabilities.clone());
        let found = known
            .into_iter()
            .find(|c| topology.entity(*c).name.as_str() == &**name);
        if let (Some(handle), Some(fields)) = (found, record.as_map()) {
            read_state(topology, handle, name, fields, errors);
        }
    }
}

fn read_requirements(topology: &mut Topology, node: Handle, fields: &Map, errors: &mut Vec<Error>) {
    let Some(records) = fields.get("requirements").and_then(Value::as_list) else {
        return;
    };
    let node = topology.entity(node).node();
    let mut free = node.map_or(Vec::new(), |node| node.requirements.clone());
    let records = records.iter().filter_map(Value::as_map).flatten();
    let mut left: Vec<(&Arc<str>, &Map)> = records
        .filter_map(|(name, record)| Some((name, record.as_map()?)))
        .collect();
    // Records of equal name are matched by target first; the rest is matched in order.
    for exactly in [true, false] {
        for (name, fields) in std::mem::take(&mut left) {
            let fits = |requirement: &Handle| {
                let entity = topology.entity(*requirement);
                entity.name.as_str() == &**name && (!exactly || points_at(entity, fields))
            };
            match free.iter().position(fits) {
                Some(place) => {
                    let handle = free.remove(place);
                    read_state(topology, handle, name, fields, errors);
                }
                None => left.push((name, fields)),
            }
        }
    }
}

/// Whether a recorded relationship has the same target as a relationship of the model.
fn points_at(relationship: &Entity, record: &Map) -> bool {
    let EntityKind::Relationship {
        target: Some(target),
        ..
    } = &relationship.kind
    else {
        return false;
    };
    let key = record.get("capability").and_then(Value::as_str);
    let instance = key.and_then(|key| key.strip_prefix("::")?.split_once("::"));
    instance.is_some_and(|(instance, _)| target.as_str() == instance)
}

fn read_state(
    topology: &mut Topology,
    handle: Handle,
    name: &Arc<str>,
    fields: &Map,
    errors: &mut Vec<Error>,
) {
    let ready = fields.get("readyState");
    let local = ready.map(|ready| ready.get("local").unwrap_or(ready));
    let mut read = FieldParser { name, errors };
    let status = read.parse_word(local, "status", Status::parse);
    let state = read.parse_word(
        ready.and_then(|ready| ready.get("state")),
        "node state",
        NodeState::parse,
    );
    let priority = read.parse_word(fields.get("priority"), "priority", Priority::parse);
    let change = |key: &str| {
        fields
            .get(key)
            .and_then(Value::as_str)
            .and_then(|text| ChangeId::parse(text).ok())
    };
    topology.update_record(handle, |entity| {
        if ready.is_some() || entity.node().is_some() {
            entity.local = status.or(entity.local);
        }
        entity.state = state;
        entity.priority = priority;
        entity.last_config_change = change("lastConfigChange");
        entity.last_state_change = change("lastStateChange");
        entity.created = fields.get("created").and_then(Creator::from_value);
        entity.protected = fields.get("protected").and_then(Value::as_bool);
        entity.customized = fields.get("customized").cloned();
        entity.attributes = values(fields.get("attributes"));
        entity.redacted = redacted_names(fields.get("attributes"));
        entity.properties = values(fields.get("properties"));
        set_imported(entity, fields);
    });
}

fn set_imported(entity: &mut Entity, fields: &Map) {
    if let (EntityKind::Node(node), Some(imported)) = (&mut entity.kind, fields.get("imported"))
        && node.template.representative.is_none()
    {
        node.imported = imported.as_str().map(Arc::from);
    }
}

/// Returns the recorded values, those that are no expressions as data. Redacted ones are dropped, because
/// they are evaluated again.
fn values(recorded: Option<&Value>) -> Map {
    let entries = recorded.and_then(Value::as_map).into_iter().flatten();
    entries
        .filter(|(_, value)| value.as_str() != Some(REDACTED))
        .map(|(key, value)| (Arc::clone(key), from_record(value)))
        .collect()
}

/// Returns the names of redacted values.
fn redacted_names(recorded: Option<&Value>) -> Vec<Arc<str>> {
    let entries = recorded.and_then(Value::as_map).into_iter().flatten();
    let redacted = entries.filter(|(_, value)| value.as_str() == Some(REDACTED));
    redacted.map(|(name, _)| Arc::clone(name)).collect()
}

/// A parser of statuses and other fixed words in a record, which collects errors.
struct FieldParser<'a> {
    name: &'a Arc<str>,
    errors: &'a mut Vec<Error>,
}

impl FieldParser<'_> {
    fn parse_word<T>(
        &mut self,
        value: Option<&Value>,
        what: &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = value?.as_str()?;
        let word = parse(text);
        if word.is_none() {
            let instance = Arc::clone(self.name);
            self.errors.push(Error::UnknownValue {
                instance,
                what,
                word: text.to_owned(),
            });
        }
        word
    }
}
