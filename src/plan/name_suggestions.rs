//! Diagnostics for names that users give and that match nothing, with "did you mean" suggestions.

use super::error::Error;
use super::goal::{JobGoal, WorkflowKind};
use super::operation::find_operation;
use super::step::Plan;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::name::{InstanceName, OperationRef, TemplateName};
use crate::text::did_you_mean;
use crate::topology::Topology;
use crate::tosca::Operations;

/// The name by which users refer to the topology itself.
const ROOT: &str = "root";

/// The maximum number of names that a hint lists.
const MAX_LISTED: usize = 8;

/// Converts a planning error to a diagnostic, with a suggestion for a misspelled name.
pub fn diagnose_error(error: Error, topology: &Topology) -> Diagnostic {
    let resembling = match &error {
        Error::UnknownTemplate(name) => did_you_mean(name.as_str(), templates(topology)),
        Error::UnknownInstance(name) | Error::UnknownExcluded(name) => {
            similar_instance(name, topology)
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

/// Returns a suggestion for the name of an instance: of those that exist, of the templates, of the orphans.
fn similar_instance(name: &InstanceName, topology: &Topology) -> Option<String> {
    let instances = topology.nodes().into_iter();
    let instances = instances.map(|node| topology.entity(node).name.as_str());
    let orphans = topology.orphans().map(|orphan| orphan.name.as_str());
    let all: Vec<&str> = instances
        .chain(templates(topology))
        .chain(orphans)
        .collect();
    // Expressions write a name with colons before it.
    let bare = name.as_str().trim_start_matches(':');
    if all.contains(&bare) {
        return Some(format!("did you mean `{bare}`?"));
    }
    did_you_mean(bare, all)
}

/// Returns errors for names that select nothing: instances of a filter, and an operation that no selected instance
/// and no template has. An operation that only templates have is a warning, and any other if `accepts_operation`
/// is set.
pub fn unknown_names(
    goal: &JobGoal,
    plan: &Plan,
    topology: &Topology,
    accepts_operation: bool,
) -> Diagnostics {
    let mut problems = Diagnostics::default();
    for name in &goal.instances {
        if is_instance(name, topology) {
            continue;
        }
        let message =
            format!("`--instance {name}` selects nothing: no instance or template has this name");
        let help = similar_instance(name, topology).unwrap_or_else(|| {
            "use the name of a template, or of an instance that `unfurl status` shows".to_owned()
        });
        problems.push(Diagnostic::error(message).help(help));
    }
    let wanted = goal.ad_hoc.operation.as_ref();
    if let Some(wanted) = wanted.filter(|_| plan.steps.is_empty() && !problems.has_errors()) {
        let mut problem = operation_problem(wanted, goal, topology);
        if accepts_operation {
            problem.severity = Severity::Warning;
        }
        problems.push(problem);
    }
    problems
}

fn is_instance(name: &InstanceName, topology: &Topology) -> bool {
    let name = name.as_str();
    name == ROOT
        || topology.template().nodes.contains_key(name)
        || topology.find(name).is_some()
        || topology
            .orphans()
            .any(|orphan| orphan.name.as_str() == name)
}

/// Returns the problem of an operation that a run would do on no instance.
fn operation_problem(wanted: &OperationRef, goal: &JobGoal, topology: &Topology) -> Diagnostic {
    let all = operations(goal, topology);
    let name = wanted.operation.as_str();
    let interface = wanted.interface.as_str();
    let has = |operations: &&Operations| match interface {
        "" => operations
            .interfaces()
            .any(|it| find_operation(operations, it.name.as_str(), name, goal.dry_run).is_some()),
        interface => find_operation(operations, interface, name, goal.dry_run).is_some(),
    };
    if all.iter().any(has) {
        let message =
            format!("no instance that exists has the operation `{wanted}`, so nothing runs");
        let help = "`unfurl deploy` creates the instances of the templates that have it";
        return Diagnostic::warning(message).help(help);
    }
    let whose = if goal.instances.is_empty() {
        "no instance and no template"
    } else {
        "no selected instance"
    };
    let message = format!("{whose} has an implementation of `{wanted}`");
    let names = operation_names(&all, interface.is_empty());
    let shown = wanted.to_string();
    let resembling = did_you_mean(&shown, names.iter().map(String::as_str)).or_else(|| {
        let short = operation_names(&all, true);
        did_you_mean(name, short.iter().map(String::as_str))
    });
    let help = resembling.unwrap_or_else(|| match names.len() {
        0 => "its type declares operations under `interfaces`".to_owned(),
        count => {
            let listed: Vec<String> = names
                .iter()
                .take(MAX_LISTED)
                .map(|name| format!("`{name}`"))
                .collect();
            let more = if count > MAX_LISTED { ", …" } else { "" };
            format!("the operations are {}{more}", listed.join(", "))
        }
    });
    Diagnostic::error(message).help(help)
}

/// Returns the operations of the selected instances and templates, or of all if none is selected.
fn operations<'t>(goal: &JobGoal, topology: &'t Topology) -> Vec<&'t Operations> {
    let is_selected = |name: &str| {
        goal.instances.is_empty() || goal.instances.iter().any(|wanted| wanted.as_str() == name)
    };
    let instances = topology
        .nodes()
        .into_iter()
        .map(|node| topology.entity(node));
    let instances = instances
        .filter(|entity| is_selected(entity.name.as_str()))
        .filter_map(|entity| Some(&*entity.node()?.template.operations));
    let templates = topology.template().nodes.iter();
    let templates = templates
        .filter(|(name, _)| is_selected(name.as_str()))
        .map(|(_, template)| &*template.operations);
    instances.chain(templates).collect()
}

/// Returns the names of implemented operations, sorted, without duplicates. If `short`, the interface is left out.
fn operation_names(all: &[&Operations], short: bool) -> Vec<String> {
    let implemented = all
        .iter()
        .flat_map(|operations| operations.iter())
        .filter(|operation| operation.is_implemented());
    let mut names: Vec<String> = implemented
        .map(|operation| {
            let reference = &operation.reference;
            if short {
                reference.operation.to_string()
            } else {
                reference.to_string()
            }
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
