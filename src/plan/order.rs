//! The order of templates: a template comes after those it requires (rules 1 to 3). Also reports why
//! templates are left out, and requirement cycles.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::error::Error;
use super::goal::JobGoal;
use crate::dag::{Cycle, dependencies_first, find_cycle};
use crate::name::TemplateName;
use crate::topology::{Topology, is_computed};
use crate::tosca::{NodeTemplate, RelationshipTemplate, Requirement};

/// Node templates by name, in the order of the model.
type Templates = indexmap::IndexMap<TemplateName, Arc<NodeTemplate>, crate::value::Fold>;

/// Returns the node templates that a workflow applies to, each after those it requires.
pub fn template_order(topology: &Topology, goal: &JobGoal) -> Vec<Arc<NodeTemplate>> {
    let nodes = &topology.template().nodes;
    let excluded = ExcludedTemplates::of(topology);
    let within = parts_by_outer(nodes);
    let wanted = nodes.values().filter(|node| {
        let by_filter = goal
            .template
            .as_ref()
            .is_none_or(|template| node.is_or_is_nested_in(template));
        by_filter && excluded.admits(node)
    });
    let places = wanted.filter_map(|node| nodes.get_index_of(&node.name));
    let requires = |index: usize| -> Vec<usize> {
        let node = &nodes[index];
        if node.is_selected() {
            return Vec::new();
        }
        let targets = node
            .requirements
            .iter()
            .filter_map(|requirement| nodes.get_index_of(requirement.target.as_ref()?));
        let within = within.get(&node.name).into_iter().flatten().copied();
        let all = targets.chain(within);
        all.filter(|target| *target != index).collect()
    };
    let order = dependencies_first(places, requires);
    order
        .into_iter()
        .map(|index| Arc::clone(&nodes[index]))
        .filter(|node| node.nested_in.is_none() || excluded.admits(node))
        .collect()
}

/// Maps each substituted template to the indices of the templates nested in it.
fn parts_by_outer(nodes: &Templates) -> HashMap<TemplateName, Vec<usize>> {
    let mut parts: HashMap<TemplateName, Vec<usize>> = HashMap::new();
    for (index, node) in nodes.values().enumerate() {
        if let Some(outer) = &node.nested_in {
            parts.entry(outer.clone()).or_default().push(index);
        }
    }
    parts
}

/// Templates that no workflow applies to, including those nested in them.
struct ExcludedTemplates(HashSet<TemplateName>);

impl ExcludedTemplates {
    fn of(topology: &Topology) -> Self {
        let mut excluded = HashSet::new();
        // The walk goes backwards because an outer template follows the templates nested in it.
        for node in topology.template().nodes.values().rev() {
            let outer = node.nested_in.as_ref();
            let unneeded = node.has_directive("dependent")
                && !is_referenced(topology, &node.name)
                && topology.instances_of(&node.name).is_empty();
            let outside = outer.is_some_and(|outer| excluded.contains(outer));
            if outside || unneeded || !is_candidate(topology, node) {
                excluded.insert(node.name.clone());
            }
        }
        Self(excluded)
    }

    fn admits(&self, node: &NodeTemplate) -> bool {
        !self.0.contains(&node.name)
    }
}

/// Returns the reason why no workflow applies to a template. None if the template is not left out.
pub fn exclusion_reason(
    topology: &Topology,
    goal: &JobGoal,
    node: &NodeTemplate,
) -> Option<String> {
    let mut part_of = String::new();
    let mut next = Some(node);
    while let Some(node) = next {
        if let Some(why) = own_exclusion_reason(topology, goal, node) {
            return Some(format!("{part_of}{why}"));
        }
        let outer = node.nested_in.as_ref();
        next = outer.and_then(|outer| topology.template().nodes.get(outer).map(AsRef::as_ref));
        if let Some(outer) = next {
            part_of = format!("it is part of `{}`, which is left out: ", outer.name);
        }
    }
    None
}

fn own_exclusion_reason(
    topology: &Topology,
    goal: &JobGoal,
    node: &NodeTemplate,
) -> Option<String> {
    let unmet =
        |requirement: &Requirement| requirement.target.is_none() && requirement.occurrences.min > 0;
    let why = if node.has_directive("virtual") {
        "its template says `directives: [virtual]`"
    } else if node.has_directive("conditional") && node.requirements.iter().any(unmet) {
        "its template says `directives: [conditional]`, and one of its requirements has no target"
    } else if !connections_exist(topology, node) {
        "the environment has no connection of the type that its operations need"
    } else if node.has_directive("dependent") && !is_referenced(topology, &node.name) {
        "its template says `directives: [dependent]`, and no template requires it"
    } else {
        let wanted = goal.template.as_ref();
        let other = wanted.filter(|wanted| !node.is_or_is_nested_in(wanted))?;
        return Some(format!("`--template {other}` does not need it"));
    };
    Some(why.to_owned())
}

/// Whether a template of the model requires this one. Orphaned templates do not count.
pub(super) fn is_referenced(topology: &Topology, template: &TemplateName) -> bool {
    let nodes = &topology.template().nodes;
    let mut sources = topology.templates_requiring(template).iter();
    sources.any(|(source, _)| nodes.get(source).is_some_and(|source| !source.is_orphaned))
}

fn is_candidate(topology: &Topology, node: &NodeTemplate) -> bool {
    let is_unmet =
        |requirement: &Requirement| requirement.target.is_none() && requirement.occurrences.min > 0;
    let conditional_unmet =
        node.has_directive("conditional") && node.requirements.iter().any(is_unmet);
    !node.is_orphaned
        && !node.has_directive("virtual")
        && !conditional_unmet
        && connections_exist(topology, node)
}

/// Whether a default connection exists for each connection type that the template's interfaces need.
///
/// A default connection is a relationship template or a relationship stated inline by a requirement.
/// Nested topologies see the connections of the enclosing ones.
fn connections_exist(topology: &Topology, node: &NodeTemplate) -> bool {
    let template = topology.template();
    let nested = template.nested.values();
    let named = template
        .relationships
        .values()
        .chain(nested.flat_map(|nested| nested.topology.relationships.values()));
    let wanted = node.operations.connection_types();
    wanted.iter().all(|wanted| {
        let serves = |relationship: &RelationshipTemplate| {
            let connection_type = &relationship.relationship_type;
            relationship.default_for.is_some() && connection_type.is_derived_from(wanted.as_str())
        };
        let stated = template.nodes.values().flat_map(|node| &node.requirements);
        let mut stated = stated.filter(|requirement| requirement.target.is_none());
        named.clone().any(|relationship| serves(relationship))
            || stated.any(|requirement| serves(&requirement.relationship))
    })
}

/// Refuses templates with operations that require each other, because these would wait for each other
/// forever.
pub fn refuse_cycles(topology: &Topology) -> Result<(), Error> {
    let nodes = &topology.template().nodes;
    let has_operations = |index: usize| !is_computed(&nodes[index].operations);
    let requires = |index: usize| -> Vec<usize> {
        let targets = nodes[index].requirements.iter();
        let targets = targets.filter_map(|r| nodes.get_index_of(r.target.as_ref()?));
        targets
            .filter(|target| *target != index && has_operations(*target))
            .collect()
    };
    let roots = (0..nodes.len()).filter(|index| has_operations(*index));
    let Some(Cycle(path)) = find_cycle(roots, requires) else {
        return Ok(());
    };
    let next = path.get(1).map(|index| &nodes[*index].name);
    let mut stated = nodes[path[0]].requirements.iter();
    let requirement = stated.find(|r| r.target.as_ref() == next);
    Err(Error::Cycle {
        span: requirement.map_or(nodes[path[0]].span, |requirement| requirement.span),
        path: path
            .into_iter()
            .map(|index| nodes[index].name.clone())
            .collect(),
    })
}

/// Returns the template that a template is hosted on, unless it is the template itself or belongs to
/// another topology.
pub(super) fn host_of(topology: &Topology, node: &NodeTemplate) -> Option<TemplateName> {
    let host = node.host().filter(|host| **host != node.name)?;
    let found = topology.template().nodes.get(host);
    let is_near = found.is_none_or(|host| host.nested_in == node.nested_in);
    is_near.then(|| host.clone())
}
