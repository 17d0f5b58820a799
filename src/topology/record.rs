//! Writes the `status` section of an ensemble: what exists, in the form of Unfurl's records (rule U-h).

use std::sync::Arc;

use super::entity::{Creator, Entity, EntityKind};
use super::recorded_value::{to_record, to_record_map};
use super::topology::Topology;
use crate::name::{ChangeId, Status};
use crate::tosca::LOCAL_REPOSITORY;
use crate::value::{Handle, Map, REDACTED, Value, insert_some};

/// The evaluated inputs and outputs of a topology.
pub struct SectionValues<'a> {
    pub inputs: Map,
    pub outputs: Map,
    /// Returns the inputs and outputs of the nested topology with a given root.
    pub nested: &'a dyn Fn(Handle) -> (Map, Map),
}

/// Records under construction: instances by handle, and orphans by their host.
struct InstanceRecords {
    own: std::collections::HashMap<Handle, Map>,
    orphans: std::collections::HashMap<Handle, Map>,
}

/// Returns the `status` section with inputs, outputs and all instances.
pub fn status_section(topology: &Topology, values: SectionValues<'_>) -> Value {
    let mut section = Map::new();
    section.insert("inputs".into(), Value::from(to_record_map(&values.inputs)));
    section.insert(
        "outputs".into(),
        to_record(&Value::from(values.outputs).with_externals_resolved()),
    );
    let instances = instances_on(topology, topology.root(), values.nested);
    section.insert("instances".into(), Value::from(instances));
    Value::from(section)
}

/// Returns an instance's own record, without hosted instances and nested topologies.
///
/// Its status does not include dependencies. None if there is nothing to record.
pub fn snapshot(topology: &Topology, of: Handle) -> Option<Map> {
    instance_record(topology, of, None, Map::new(), &|of| {
        topology.entity(of).local.unwrap_or(Status::Unknown)
    })
}

impl Topology {
    /// Returns the path of keys from the `status` section to the record of an instance.
    pub fn record_path(&self, of: Handle) -> Vec<String> {
        let (mut route, mut of) = (Vec::new(), Some(of));
        while let Some(node) = of {
            let entity = self.entity(node);
            route.extend([entity.local_name().to_owned(), "instances".to_owned()]);
            let root = self.root_of(node);
            of = match entity.parent {
                Some(parent) if parent != root => Some(parent),
                _ if root == self.root() => None,
                _ => {
                    route.push("substitution".to_owned());
                    self.outer_entity(root)
                        .filter(|it| self.entity(*it).node().is_some())
                }
            };
        }
        route.reverse();
        route
    }
}

/// Returns the records of the instances on an instance or on the root.
///
/// Instances are recorded from the leaves up, so a deep tree needs no deep stack.
fn instances_on(topology: &Topology, root: Handle, nested: &dyn Fn(Handle) -> (Map, Map)) -> Map {
    let mut records = InstanceRecords {
        own: std::collections::HashMap::new(),
        orphans: topology.orphan_records(),
    };
    let mut order = topology.nodes();
    order.push(root);
    let (nodes, _) = order.split_at(order.len() - 1);
    for handle in nodes.iter().rev() {
        let within = topology.root_within(*handle);
        let within = within.map(|root| {
            let (inputs, outputs) = nested(root);
            nested_record(topology, root, &inputs, outputs, &mut records)
        });
        let children = collect(topology, *handle, &mut records);
        let effective = |of| topology.effective(of);
        if let Some(record) = instance_record(topology, *handle, within, children, &effective) {
            records.own.insert(*handle, record);
        }
    }
    collect(topology, root, &mut records)
}

/// Returns the record of the nested topology that substitutes for an instance.
fn nested_record(
    topology: &Topology,
    root: Handle,
    inputs: &Map,
    outputs: Map,
    records: &mut InstanceRecords,
) -> Map {
    let mut record = Map::new();
    record.insert("inputs".into(), Value::from(to_record_map(inputs)));
    record.insert(
        "outputs".into(),
        to_record(&Value::from(outputs).with_externals_resolved()),
    );
    let effective = topology.effective(root).as_str();
    let ready = Value::map([("effective", Value::from(effective))]);
    record.insert("readyState".into(), ready);
    let instances = collect(topology, root, records);
    record.insert("instances".into(), Value::from(instances));
    record
}

fn collect(topology: &Topology, parent: Handle, records: &mut InstanceRecords) -> Map {
    let children = topology.children(parent).iter().filter_map(|child| {
        let record = records.own.remove(child)?;
        let name = topology.entity(*child).local_name();
        Some((name.into(), Value::from(record)))
    });
    let mut all: Map = children.collect();
    all.extend(records.orphans.remove(&parent).into_iter().flatten());
    all
}

fn instance_record(
    topology: &Topology,
    of: Handle,
    within: Option<Map>,
    children: Map,
    effective: &dyn Fn(Handle) -> Status,
) -> Option<Map> {
    let entity = topology.entity(of);
    let node = entity.node()?;
    let only_if_changed = node.template.has_directive("default")
        || node.template.is_replaced
        || node.template.type_name.as_str() == LOCAL_REPOSITORY;
    let is_obsolete = node.template.is_orphaned && is_removed(entity, within.as_ref());
    let requirements = requirement_records(topology, entity, &node.requirements, effective);
    // A `default` template that only relationships act on exists with them.
    let unchanged = !is_instantiated(entity, only_if_changed) && requirements.is_empty();
    let idle = unchanged || node.template.has_directive("virtual");
    let idle = idle || is_obsolete;
    // Instances hosted on another one are never dropped, whatever happens to their host.
    if idle && children.is_empty() {
        return None;
    }
    let mut record = entity_record(topology, of, entity.template_name(), effective);
    let capabilities = node.capabilities.iter().filter_map(|capability| {
        let part = topology.entity(*capability);
        let template = format!("{}~c~{}", entity.template_name(), part.name);
        is_instantiated(part, true).then(|| {
            (
                part.name.shared(),
                Value::from(entity_record(topology, *capability, &template, effective)),
            )
        })
    });
    let capabilities: Map = capabilities.collect();
    insert_some(&mut record, "capabilities", non_empty(capabilities));
    let requirements = (!requirements.is_empty()).then(|| Value::from(requirements));
    insert_some(&mut record, "requirements", requirements);
    let extra = entity.extra.iter();
    record.extend(extra.map(|(key, value)| (Arc::clone(key), value.clone())));
    insert_some(&mut record, "substitution", within.map(Value::from));
    insert_some(&mut record, "instances", non_empty(children));
    Some(record)
}

/// Whether an orphaned instance has nothing left to record: it was removed or never created, or it was
/// only an aggregate of other instances.
fn is_removed(entity: &Entity, within: Option<&Map>) -> bool {
    let instances = within.and_then(|within| within.get("instances"));
    if instances.is_some_and(Value::is_truthy) {
        return false;
    }
    let never_created = entity.created.is_none() && !entity.partially_created;
    match entity.local {
        Some(Status::Absent) => true,
        Some(Status::Pending) => never_created,
        _ => entity.computed || within.is_some(),
    }
}

/// Returns the records of relationships that were acted on.
///
/// Relationships with the same name and target are told apart by order only, so the ones before a listed
/// one are listed too.
fn requirement_records(
    topology: &Topology,
    source: &Entity,
    all: &[Handle],
    effective: &dyn Fn(Handle) -> Status,
) -> Vec<Value> {
    let mut listed = std::collections::HashSet::new();
    let mut records = Vec::new();
    for of in all.iter().rev() {
        let entity = topology.entity(*of);
        let idle = matches!(
            entity.local,
            None | Some(Status::Unknown | Status::Ok | Status::Pending)
        );
        let same = (&entity.name, topology.target_of(*of));
        if entity.last_change().is_some() || !idle || listed.contains(&same) {
            listed.insert(same);
            records.push(requirement_record(topology, source, *of, effective));
        }
    }
    records.reverse();
    records
}

fn requirement_record(
    topology: &Topology,
    source: &Entity,
    of: Handle,
    effective: &dyn Fn(Handle) -> Status,
) -> Value {
    let entity = topology.entity(of);
    let template = format!("{}~r~{}", source.template_name(), entity.name);
    let mut record = entity_record(topology, of, &template, effective);
    if let EntityKind::Relationship { capability, .. } = &entity.kind
        && let Some(target) = topology.target_of(of)
    {
        let name = capability.as_deref().unwrap_or("feature");
        let key = format!(
            "{}::.capabilities::[.name={name}]",
            topology.entity(target).key
        );
        record.insert("capability".into(), Value::from(key));
    }
    Value::map([(entity.name.shared(), Value::from(record))])
}

fn is_instantiated(entity: &Entity, only_if_changed: bool) -> bool {
    let idle = match entity.local {
        None | Some(Status::Unknown) => true,
        Some(Status::Ok | Status::Pending) => only_if_changed,
        Some(_) => false,
    };
    entity.last_change().is_some() || !idle
}

fn entity_record(
    topology: &Topology,
    of: Handle,
    template: &str,
    effective: &dyn Fn(Handle) -> Status,
) -> Map {
    let entity = topology.entity(of);
    let mut record = Map::new();
    record.insert("template".into(), Value::from(template));
    let mut attributes = to_record_map(&entity.attributes);
    for name in &entity.redacted {
        // The record keeps stating that a secret exists until the attribute is set again.
        let hidden = || Value::str(REDACTED);
        attributes.entry(Arc::clone(name)).or_insert_with(hidden);
    }
    insert_some(&mut record, "attributes", non_empty(attributes));
    insert_some(
        &mut record,
        "properties",
        non_empty(to_record_map(&entity.properties)),
    );
    let imported = entity.node().and_then(|node| node.imported.clone());
    insert_some(&mut record, "imported", imported.map(Value::Str));
    add_status(topology, of, effective(of), &mut record);
    let created = entity.created.as_ref().map(Creator::to_value);
    insert_some(&mut record, "created", created);
    insert_some(&mut record, "protected", entity.protected.map(Value::Bool));
    insert_some(
        &mut record,
        "customized",
        entity.customized.as_ref().map(to_record),
    );
    record
}

/// Returns a map as a value. None if it is empty.
fn non_empty(map: Map) -> Option<Value> {
    (!map.is_empty()).then(|| Value::from(map))
}

fn add_status(topology: &Topology, of: Handle, effective: Status, record: &mut Map) {
    let entity = topology.entity(of);
    if entity.last_change().is_none() && effective == Status::Unknown {
        return;
    }
    let mut ready = Map::new();
    let differs = entity.local != Some(effective);
    insert_some(
        &mut ready,
        "effective",
        differs.then(|| effective.as_str().into()),
    );
    insert_some(
        &mut ready,
        "local",
        entity.local.map(|it| it.as_str().into()),
    );
    insert_some(
        &mut ready,
        "state",
        entity.state.map(|it| it.as_str().into()),
    );
    let priority = Value::from(topology.priority(of).as_str());
    insert_some(record, "priority", priority);
    let is_imported = entity.node().is_some_and(|node| node.imported.is_some());
    insert_some(
        record,
        "readyState",
        (!is_imported).then(|| Value::from(ready)),
    );
    let id = |change: ChangeId| Value::from(change.as_str());
    insert_some(record, "lastStateChange", entity.last_state_change.map(id));
    insert_some(
        record,
        "lastConfigChange",
        entity.last_config_change.map(id),
    );
}
