//! The order of templates: what a template requires comes before it (rules 1 to 3).

use std::sync::Arc;

use super::goal::Goal;
use crate::dag::dependencies_first;
use crate::name::TemplateName;
use crate::topology::Topology;
use crate::tosca::NodeTemplate;

/// The node templates a workflow applies to, each after those it requires.
pub fn template_order(topology: &Topology, goal: &Goal) -> Vec<Arc<NodeTemplate>> {
    let nodes = &topology.template().nodes;
    let wanted = nodes.values().filter(|node| {
        let by_filter = goal.template.as_ref().is_none_or(|template| *template == node.name);
        by_filter && is_candidate(topology, node)
    });
    let places = wanted.filter_map(|node| nodes.get_index_of(&node.name));
    let requires = |place: usize| -> Vec<usize> {
        let node = &nodes[place];
        if node.has_directive("select") {
            return Vec::new();
        }
        let targets = node.requirements.iter().filter_map(|requirement| {
            nodes.get_index_of(requirement.target.as_ref()?)
        });
        targets.filter(|target| *target != place).collect()
    };
    let order = dependencies_first(places, requires);
    order.into_iter().map(|place| Arc::clone(&nodes[place])).collect()
}

fn is_candidate(topology: &Topology, node: &NodeTemplate) -> bool {
    let conditional_unmet = node.has_directive("conditional") && node.lacks_requirements();
    !node.has_directive("virtual") && !conditional_unmet && connections_exist(topology, node)
}

/// Whether each connection type that the template's interfaces need has a default connection.
fn connections_exist(topology: &Topology, node: &NodeTemplate) -> bool {
    node.interface_requirements().iter().all(|wanted: &crate::name::TypeName| {
        topology.template().relationships.values().any(|relationship| {
            relationship.default_for.is_some()
                && topology
                    .service()
                    .types
                    .is_derived_from(relationship.type_name.as_str(), wanted.as_str())
        })
    })
}

/// The template that a template is hosted on.
pub(super) fn host_of(node: &NodeTemplate, topology: &Topology) -> Option<TemplateName> {
    let types = &topology.service().types;
    let hosting = node.requirements.iter().find(|requirement| {
        let hosted_on = types.is_derived_from(
            requirement.relationship.type_name.as_str(),
            "tosca.relationships.HostedOn",
        );
        (requirement.target.is_some() && hosted_on) || &*requirement.name == "host"
    })?;
    hosting.target.clone().filter(|target| *target != node.name)
}
