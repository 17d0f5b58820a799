//! Learns from what was read: which attributes are live, what properties were seen to be.

use std::sync::Arc;

use super::engine::Engine;
use super::task::{Dependency, TaskIndex};
use crate::expr::{Read, Reads};
use crate::topology::{Kind, Topology};
use crate::value::{Handle, Map, Value};

/// The most attributes that one task's record lists; upstream's form lists those read through
/// others, too, which for long chains would be very many.
const MAX_DEPENDENCIES: usize = 1000;

impl Engine {
    /// Keeps in the topology what reads have shown.
    pub(super) fn observe(&mut self, reads: &Reads) {
        // The evaluator is gone before the topology changes.
        let closure = self.evaluator().closure(reads, MAX_DEPENDENCIES);
        for (of, name, value) in closure {
            self.observe_one(of, &name, value);
        }
    }

    fn observe_one(&mut self, of: Handle, name: &Arc<str>, value: Value) -> Option<bool> {
        let of = self.topology.stand_in(of).unwrap_or(of);
        let live = is_live(&self.topology, of, name)?;
        let topology = self.topology_mut();
        if live {
            topology.set_attribute(of, name, value);
        } else {
            topology.observe_property(of, name, value);
        }
        Some(live)
    }

    /// Adds what a task has read to the task and to the topology.
    pub(super) fn commit_reads(&mut self, index: TaskIndex, reads: &Reads) {
        let mut read_inputs = false;
        // The evaluator is gone before the topology changes.
        let closure = self.evaluator_for(index).closure(reads, MAX_DEPENDENCIES);
        for (of, name, value) in closure {
            if of == self.topology.inputs() {
                read_inputs = true;
                continue;
            }
            let of = self.topology.stand_in(of).unwrap_or(of);
            let Some(live) = self.observe_one(of, &name, value.clone()) else {
                continue;
            };
            let dependency = Dependency {
                value,
                live,
                write_only: false,
            };
            self.tasks[index]
                .dependencies
                .insert((of, name), dependency);
        }
        if read_inputs {
            let value = Value::from(self.inputs());
            let dependency = Dependency {
                value,
                live: false,
                write_only: false,
            };
            let key = (self.topology.root(), Arc::from("inputs"));
            self.tasks[index].dependencies.insert(key, dependency);
        }
        self.commit_inputs(index, reads);
    }

    fn commit_inputs(&mut self, index: TaskIndex, reads: &Reads) {
        // The inputs and outputs as a whole are no more than their parts, which count alone.
        let is_whole = |of: &Handle| matches!(self.topology.entity(*of).kind, Kind::Root);
        let exact = reads.iter().filter_map(|(read, value)| {
            let key = match read {
                Read::Attribute { of, .. } if is_whole(of) => return None,
                Read::Input(name) if self.tasks[index].counts_in_digest(name) => name.to_string(),
                Read::Attribute { of, name } => self.attribute_key(*of, name)?,
                _ => return None,
            };
            Some((key, value.clone()))
        });
        let exact: Vec<_> = exact.collect();
        let task = &mut self.tasks[index];
        task.exact.extend(exact);
        let inputs = reads.iter().filter_map(|(read, value)| match read {
            Read::Input(name) => Some((name, value)),
            _ => None,
        });
        // Upstream lists those of the operation as they are declared, the others as they are read.
        let mut inputs: Vec<_> = inputs.collect();
        let place = |name: &str| task.inputs.get_index_of(name).unwrap_or(task.declared);
        inputs.sort_by_key(|(name, _)| place(name).min(task.declared));
        for (name, value) in inputs {
            task.resolved.insert(Arc::clone(name), value.clone());
        }
    }

    /// The key of an attribute in records, such as `::web::port`; none for what is not recorded.
    pub(super) fn attribute_key(&self, of: Handle, name: &str) -> Option<String> {
        let of = self.topology.stand_in(of).unwrap_or(of);
        let entity = self.topology.get(of)?;
        match entity.kind {
            Kind::Outputs => None,
            _ => Some(format!("{}::{name}", entity.key)),
        }
    }

    /// Sets an attribute for a task and notes the change.
    pub(super) fn set_attribute(
        &mut self,
        index: TaskIndex,
        of: Handle,
        name: &Arc<str>,
        value: &Value,
    ) {
        let of = self.topology.stand_in(of).unwrap_or(of);
        let value = self.mark_sensitive(of, name, value.settled());
        let was_set = self.topology.entity(of).attributes.contains_key(name);
        let changed = self.topology_mut().set_attribute(of, name, value.clone());
        // Null where there was nothing is kept, but it is no change.
        let changed = changed && (was_set || !value.is_null());
        let key = (of, Arc::clone(name));
        let task = &mut self.tasks[index];
        if changed {
            let changes = task.changes.entry(of).or_default();
            changes.attributes.insert(Arc::clone(name), value.clone());
        }
        task.dependencies
            .entry(key)
            .and_modify(|dependency| {
                dependency.value = value.clone();
                dependency.live = true;
            })
            .or_insert(Dependency {
                value,
                live: true,
                write_only: true,
            });
    }

    fn mark_sensitive(&self, of: Handle, name: &str, value: Value) -> Value {
        use crate::expr::Scope as _;
        let declared = self.topology.attribute(of, name);
        value.sensitive_if(declared.is_some_and(|attribute| attribute.sensitive))
    }
}

/// Whether an attribute is live: set by tasks rather than given by the model (§ (e)). None for
/// what is not kept in the topology.
pub(super) fn is_live(topology: &Topology, of: Handle, name: &str) -> Option<bool> {
    let entity = topology.get(of)?;
    if entity.attributes.contains_key(name) {
        return (!matches!(entity.kind, Kind::Root | Kind::Inputs | Kind::Outputs)).then_some(true);
    }
    match &entity.kind {
        Kind::Root | Kind::Inputs | Kind::Outputs => None,
        Kind::Node(node) => {
            let property = node.template.properties.get(name);
            let declared = node.template.attributes.get(name);
            let has_default = declared.is_some_and(|attribute| attribute.default.is_some());
            let set = property.is_some_and(|property| property.set_on_template);
            Some((declared.is_some() && !set) || !(property.is_some() || has_default))
        }
        Kind::Capability { .. } => entity
            .capability()
            .map(|template| !template.properties.contains_key(name)),
        Kind::Relationship { template, .. } => Some(!template.properties.contains_key(name)),
        Kind::Artifact { .. } => Some(false),
    }
}

/// Whether an attribute is declared by the type of its entity.
pub(super) fn is_declared(topology: &Topology, of: Handle, name: &str) -> bool {
    match topology.get(of).map(|entity| &entity.kind) {
        Some(Kind::Node(node)) => node.template.attributes.contains_key(name),
        Some(Kind::Relationship { template, .. }) => template.attributes.contains_key(name),
        Some(Kind::Capability { .. }) => topology
            .entity(of)
            .capability()
            .is_some_and(|template| template.attributes.contains_key(name)),
        _ => false,
    }
}

/// Whether an attribute that is not there may be set by a task: it is declared, or the type is
/// open to any attribute.
pub(super) fn may_be_set(topology: &Topology, of: Handle, name: &str) -> bool {
    match topology.get(of).map(|entity| &entity.kind) {
        Some(Kind::Node(node)) => {
            node.template.attributes.contains_key(name) || node.template.node_type.open
        }
        Some(Kind::Relationship { template, .. }) => template.attributes.contains_key(name),
        _ => false,
    }
}

/// The attributes of a change, redacted where they are sensitive.
pub(super) fn redacted(attributes: &Map) -> Value {
    Value::from(attributes.clone()).redacted()
}
