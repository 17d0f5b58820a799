//! The order of templates: what a template requires comes before it (rules 1 to 3).

use std::sync::Arc;

use super::error::Error;
use super::goal::Goal;
use crate::dag::{Cycle, dependencies_first, find_cycle};
use crate::name::TemplateName;
use crate::topology::{Topology, is_computed};
use crate::tosca::{NodeTemplate, Requirement};

/// The node templates a workflow applies to, each after those it requires.
pub fn template_order(topology: &Topology, goal: &Goal) -> Vec<Arc<NodeTemplate>> {
    let nodes = &topology.template().nodes;
    let wanted = nodes.values().filter(|node| {
        let by_filter = goal
            .template
            .as_ref()
            .is_none_or(|template| *template == node.name);
        by_filter && is_candidate(topology, node)
    });
    let places = wanted.filter_map(|node| nodes.get_index_of(&node.name));
    let requires = |place: usize| -> Vec<usize> {
        let node = &nodes[place];
        if node.has_directive("select") {
            return Vec::new();
        }
        let targets = node
            .requirements
            .iter()
            .filter_map(|requirement| nodes.get_index_of(requirement.target.as_ref()?));
        targets.filter(|target| *target != place).collect()
    };
    let order = dependencies_first(places, requires);
    order
        .into_iter()
        .map(|place| Arc::clone(&nodes[place]))
        .collect()
}

fn is_candidate(topology: &Topology, node: &NodeTemplate) -> bool {
    let lacks =
        |requirement: &Requirement| requirement.target.is_none() && requirement.occurrences.min > 0;
    let conditional_unmet =
        node.has_directive("conditional") && node.requirements.iter().any(lacks);
    !node.has_directive("virtual") && !conditional_unmet && connections_exist(topology, node)
}

/// Whether each connection type that the template's interfaces need has a default connection.
fn connections_exist(topology: &Topology, node: &NodeTemplate) -> bool {
    node.operations.connection_types().iter().all(|wanted| {
        topology
            .template()
            .relationships
            .values()
            .any(|relationship| {
                relationship.default_for.is_some()
                    && relationship
                        .relationship_type
                        .is_derived_from(wanted.as_str())
            })
    })
}

/// Refuses templates that require each other, where operations would wait for each other.
pub fn refuse_cycles(topology: &Topology) -> Result<(), Error> {
    let nodes = &topology.template().nodes;
    let waits = |place: usize| !is_computed(&nodes[place].operations);
    let requires = |place: usize| -> Vec<usize> {
        let targets = nodes[place].requirements.iter();
        let targets = targets.filter_map(|r| nodes.get_index_of(r.target.as_ref()?));
        targets
            .filter(|target| *target != place && waits(*target))
            .collect()
    };
    let roots = (0..nodes.len()).filter(|place| waits(*place));
    let Some(Cycle(path)) = find_cycle(roots, requires) else {
        return Ok(());
    };
    let next = path.get(1).map(|place| &nodes[*place].name);
    let mut stated = nodes[path[0]].requirements.iter();
    let requirement = stated.find(|r| r.target.as_ref() == next);
    Err(Error::Cycle {
        span: requirement.map_or(nodes[path[0]].span, |requirement| requirement.span),
        path: path
            .into_iter()
            .map(|place| nodes[place].name.clone())
            .collect(),
    })
}

/// The template that a template is hosted on; never itself.
pub(super) fn host_of(node: &NodeTemplate) -> Option<TemplateName> {
    node.host().filter(|host| **host != node.name).cloned()
}
