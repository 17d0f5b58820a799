//! Diagnostics for names that users give and that match nothing, with "did you mean" suggestions.

use std::sync::Arc;

use super::error::Error;
use super::goal::{JobGoal, WorkflowKind};
use super::step::Plan;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::name::TemplateName;
use crate::text::did_you_mean;
use crate::topology::Topology;
use crate::tosca::Operation;

/// Converts a planning error to a diagnostic, with a suggestion for a misspelled name.
pub fn diagnose_error(error: Error, topology: &Topology) -> Diagnostic {
    let resembling = match &error {
        Error::UnknownTemplate(name) => did_you_mean(name.as_str(), templates(topology)),
        Error::UnknownInstance(name) | Error::UnknownExcluded(name) => {
            let instances = topology.nodes();
            let instances = instances
                .iter()
                .map(|it| topology.entity(*it).name.as_str());
            did_you_mean(name.as_str(), instances.chain(templates(topology)))
        }
        Error::UnknownWorkflow(name) => {
            let own = topology.template().workflows.keys();
            let all = own.map(|name| &**name).chain(WorkflowKind::BUILT_IN);
            did_you_mean(name, all)
        }
        _ => None,
    };
    let diagnostic = Diagnostic::from(error);
    match resembling {
        Some(resembling) => diagnostic.help(resembling),
        None => diagnostic,
    }
}

fn templates(topology: &Topology) -> impl Iterator<Item = &str> {
    topology.template().nodes.keys().map(TemplateName::as_str)
}

/// Returns warnings for names without effect: unknown instances of a filter, and an operation that no
/// instance has.
pub fn ineffective_names(goal: &JobGoal, plan: &Plan, topology: &Topology) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    let nodes = &topology.template().nodes;
    let unknown = goal.instances.iter().filter(|name| {
        let name = name.as_str();
        name != "root" && !nodes.contains_key(name) && topology.find(name).is_none()
    });
    for name in unknown {
        let message =
            format!("`--instance {name}` selects nothing: no instance or template has this name");
        let instances = topology.nodes();
        let instances = instances
            .iter()
            .map(|it| topology.entity(*it).name.as_str());
        let resembling = did_you_mean(name.as_str(), instances.chain(templates(topology)));
        let help = resembling.unwrap_or_else(|| {
            "use the name of a template, or of an instance that `unfurl status` shows".to_owned()
        });
        warnings.push(Diagnostic::warning(message).help(help));
    }
    if let Some(wanted) = goal
        .ad_hoc
        .operation
        .as_ref()
        .filter(|_| plan.steps.is_empty())
    {
        let message = format!("no instance has an implementation of `{wanted}`, so nothing runs");
        let diagnostic = Diagnostic::warning(message);
        let short = wanted.interface.as_str().is_empty();
        let all = operations(topology, short);
        let resembling = did_you_mean(&wanted.to_string(), all.iter().map(String::as_str));
        warnings.push(match resembling {
            Some(resembling) => diagnostic.help(resembling),
            None => diagnostic,
        });
    }
    warnings
}

/// Returns the names of all templates' operations, sorted, without duplicates. If `short`, the interface
/// is left out.
fn operations(topology: &Topology, short: bool) -> Vec<String> {
    let nodes = topology.template().nodes.values();
    let all = nodes.flat_map(|node| node.operations.iter());
    let implemented = all.filter(|operation| operation.is_implemented());
    let name = |operation: &Arc<Operation>| {
        let reference = &operation.reference;
        if short {
            reference.operation.to_string()
        } else {
            reference.to_string()
        }
    };
    let mut names: Vec<String> = implemented.map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
