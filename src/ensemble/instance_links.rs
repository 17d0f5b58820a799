//! The direct dependencies of an instance and its direct dependents.
//!
//! [`LinkFinder`] collects them from the topology, from a planned job and from earlier jobs. `unfurl explain`
//! shows them.

use std::collections::HashMap;

use indexmap::{IndexMap, IndexSet};

use super::jobs_tsv::RecordedHistory;
use crate::topology::Topology;
use crate::value::Handle;

/// The kinds of links between two instances.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstanceLink {
    /// Whether the link is hosting (`HostedOn`): one instance runs on the other.
    pub is_host: bool,
    /// Whether one instance is part of the nested topology that substitutes the other.
    pub is_part: bool,
    /// The names of the TOSCA requirements that link them.
    pub requirements: IndexSet<String>,
    /// The names of the attributes and properties that operations of one read from the other.
    pub attributes: IndexSet<String>,
}

/// The linked instances with the kinds of links.
pub type InstanceLinks = IndexMap<Handle, InstanceLink>;

/// Finds the links of instances in a planned job and in the recorded history.
#[derive(Debug)]
pub(crate) struct LinkFinder<'a> {
    topology: &'a Topology,
    /// The reads of the last run of each operation: reader, instance read, attribute name.
    reads: Vec<(Handle, Handle, String)>,
}

impl<'a> LinkFinder<'a> {
    /// Creates a finder. `planned` contains the attributes that planned tasks have read: the task's target,
    /// the entity and the attribute's name.
    pub(crate) fn new(
        topology: &'a Topology,
        planned: Vec<(Handle, Handle, String)>,
        history: &RecordedHistory,
    ) -> Self {
        let mut reads = recorded_reads(topology, history);
        for (target, of, name) in planned {
            if let Some(reader) = topology.instance_of(target) {
                reads.extend(topology.instance_of(of).map(|of| (reader, of, name)));
            }
        }
        Self { topology, reads }
    }

    /// Returns the instances that `of` depends on.
    pub(crate) fn dependencies(&self, of: Handle) -> InstanceLinks {
        let topology = self.topology;
        let mut links = InstanceLinks::new();
        let entity = topology.entity(of);
        if let Some(parent) = entity.parent.filter(|parent| *parent != entity.scope) {
            links.entry(parent).or_default().is_host = true;
        }
        for requirement in entity
            .node()
            .into_iter()
            .flat_map(|node| &node.requirements)
        {
            if let Some(target) = topology.target_of(*requirement) {
                let name = topology.entity(*requirement).name.to_string();
                links.entry(target).or_default().requirements.insert(name);
            }
        }
        let within = topology.root_within(of);
        for part in within.into_iter().flat_map(|root| topology.children(root)) {
            links.entry(*part).or_default().is_part = true;
        }
        for (reader, read, name) in &self.reads {
            if *reader == of && *read != of {
                links
                    .entry(*read)
                    .or_default()
                    .attributes
                    .insert(name.clone());
            }
        }
        links
    }

    /// Returns the instances that depend on `of`.
    pub(crate) fn dependents(&self, of: Handle) -> InstanceLinks {
        let topology = self.topology;
        let mut links = InstanceLinks::new();
        for relationship in topology.incoming(of) {
            if let Some(source) = topology.source_of(relationship) {
                let name = topology.entity(relationship).name.to_string();
                links.entry(source).or_default().requirements.insert(name);
            }
        }
        for child in topology.children(of) {
            links.entry(*child).or_default().is_host = true;
        }
        let outside = topology.outer_entity(topology.root_of(of));
        if let Some(outer) = outside.filter(|outer| topology.entity(*outer).node().is_some()) {
            links.entry(outer).or_default().is_part = true;
        }
        for (reader, read, name) in &self.reads {
            if *read == of && *reader != of {
                links
                    .entry(*reader)
                    .or_default()
                    .attributes
                    .insert(name.clone());
            }
        }
        links.shift_remove(&of);
        links
    }
}

fn recorded_reads(topology: &Topology, history: &RecordedHistory) -> Vec<(Handle, Handle, String)> {
    let nodes = topology.nodes();
    let by_key: HashMap<String, Handle> = nodes
        .iter()
        .map(|handle| (topology.unique_key(*handle), *handle))
        .collect();
    let mut reads = Vec::new();
    for (target, _, last) in history.operations() {
        let node = target.split_once("::.").map_or(target, |(node, _)| node);
        let Some(reader) = by_key.get(node) else {
            continue;
        };
        let keys = if last.exact_keys.is_empty() {
            &last.digest_keys
        } else {
            &last.exact_keys
        };
        for (entity, name) in keys.iter().filter_map(|key| key.rsplit_once("::")) {
            let node = entity.strip_prefix("::");
            let node = node.map(|node| node.split_once("::.").map_or(node, |(node, _)| node));
            let of = node.and_then(|node| topology.find_from(*reader, node));
            let of = of.filter(|of| topology.entity(*of).node().is_some());
            reads.extend(of.map(|of| (*reader, of, name.to_owned())));
        }
    }
    reads.sort_unstable();
    reads
}
