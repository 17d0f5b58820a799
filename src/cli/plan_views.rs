//! Converts a plan to the instances, inputs and outputs that its text shows.

use indexmap::IndexMap;

use crate::cli::job_views::{PlanDetail, plan, task_of_plan};
use crate::diagnostic::{SourceLocator, Sources};
use crate::job::{DifferenceSide, Proposal, ProposedTask, ProposedValue};
use crate::ops::drift::RecordedDrift;
use crate::plan::{RunCondition, StepActivity, StepId, WorkflowKind};
use crate::topology::Topology;
use crate::ui::{PlanInstance, PlanOperation, PlanTask, PlanValue, PlanView, drift_note};
use crate::value::Handle;

/// Converts a plan to its view for people.
pub(super) fn plan_for_people(proposal: &Proposal, sources: &Sources) -> PlanView {
    let mut view = plan(proposal, sources, PlanDetail::Planned);
    add_instances(proposal, &SourceLocator::new(sources), &mut view);
    view
}

/// Returns the instances that had drifted when somebody looked last, with a note each.
pub(super) fn drifted(topology: &Topology, drift: &RecordedDrift) -> Vec<(String, String)> {
    let nodes = topology.nodes().into_iter();
    let notes = nodes.filter_map(|handle| {
        let note = drift_note(&drift.alarms_of(topology, handle))?;
        Some((topology.entity(handle).name.to_string(), note))
    });
    notes.collect()
}

/// Adds the touched instances, the inputs and outputs that change, and the number of unchanged instances.
fn add_instances(proposal: &Proposal, places: &SourceLocator<'_>, view: &mut PlanView) {
    let topology = &proposal.topology;
    let mut instances: IndexMap<Handle, PlanInstance> = IndexMap::new();
    for (of, action) in proposal.instance_actions() {
        let entity = topology.entity(of);
        let place = entity
            .node()
            .and_then(|node| places.locate(node.template.span));
        let values = proposal.values.get(&of).into_iter().flatten();
        let values = values.map(|(name, value)| {
            let value = match value {
                DifferenceSide::Value(value) => Some(value.clone()),
                _ => None,
            };
            (name.to_string(), value)
        });
        let instance = PlanInstance {
            name: match entity.node() {
                Some(_) => entity.name.to_string(),
                None => "this machine".to_owned(),
            },
            type_name: entity.type_name().to_owned(),
            action,
            place,
            operations: Vec::new(),
            values: values.collect(),
            is_detailed: proposal.detailed.contains(&of),
        };
        instances.insert(of, instance);
    }
    for step in 0..proposal.tasks.len() {
        let owner = proposal.owner_of(step);
        if let Some(owner) = owner
            && let Some(instance) = instances.get_mut(&owner)
            && let Some(operation) = operation(proposal, step, instance.is_detailed, places)
        {
            instance.operations.push(operation);
        }
    }
    view.unchanged = unchanged(proposal, &instances);
    view.instances = instances.into_values().collect();
    view.inputs = inputs(proposal, places);
    let outputs = proposal.outputs.iter();
    view.outputs = outputs.map(|output| value(output, places)).collect();
}

/// Converts a step to its view. None if it does not run, or if its instance has no details and no errors.
fn operation(
    proposal: &Proposal,
    step: StepId,
    is_detailed: bool,
    places: &SourceLocator<'_>,
) -> Option<PlanOperation> {
    let task = proposal.task_of(step);
    if task.is_some_and(|task| !task.is_included || task.is_skipped()) {
        return None;
    }
    let errors = task.map_or_else(Vec::new, errors_of);
    if !is_detailed && errors.is_empty() {
        return None;
    }
    let target = proposal.target_of(step)?;
    let is_owner = proposal.owner_of(step) == Some(target);
    let requirement = (!is_owner).then(|| proposal.topology.entity(target).local_name().to_owned());
    let shown = match (&proposal.plan.steps[step].activity, task) {
        (_, Some(task)) => task_of_plan(task, places),
        (StepActivity::SetState(word), None) => PlanTask {
            operation: format!("state {word}"),
            ..PlanTask::default()
        },
        (StepActivity::Operation { reference, .. }, None) => PlanTask {
            operation: reference.operation.to_string(),
            reason: proposal.plan.steps[step].reason.to_string(),
            ..PlanTask::default()
        },
    };
    Some(PlanOperation {
        task: shown,
        requirement,
        work: task.and_then(|task| task.work.clone()),
        condition: condition(proposal, step),
        errors,
    })
}

fn errors_of(task: &ProposedTask) -> Vec<String> {
    match task.readiness {
        crate::job::Readiness::Unrenderable => task.errors.clone(),
        _ => Vec::new(),
    }
}

/// Names the workflow steps one of which must fail before a step runs.
fn condition(proposal: &Proposal, step: StepId) -> Option<String> {
    let mut group = proposal.plan.steps[step].group;
    while let Some(id) = group {
        let within = &proposal.plan.groups[id];
        if let RunCondition::Failed(causes) = &within.condition {
            let steps: Vec<_> = causes.iter().map(|(_, step)| format!("`{step}`")).collect();
            return Some(format!("step {}", steps.join(" or ")));
        }
        group = within.parent;
    }
    None
}

/// Counts the instances that exist and that the job neither touches nor leaves alone for a reason.
fn unchanged(proposal: &Proposal, touched: &IndexMap<Handle, PlanInstance>) -> usize {
    let topology = &proposal.topology;
    let skipped: std::collections::HashSet<&str> = proposal
        .plan
        .skipped
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let nodes = topology.nodes().into_iter().filter(|of| {
        let entity = topology.entity(*of);
        !touched.contains_key(of) && !skipped.contains(entity.name.as_str())
    });
    nodes.count()
}

/// Returns the inputs of a job that uses them.
fn inputs(proposal: &Proposal, places: &SourceLocator<'_>) -> Vec<PlanValue> {
    if matches!(
        proposal.goal.workflow,
        WorkflowKind::Undeploy | WorkflowKind::Run
    ) {
        return Vec::new();
    }
    let inputs = proposal.inputs.iter();
    inputs.map(|input| value(input, places)).collect()
}

fn value(of: &ProposedValue, places: &SourceLocator<'_>) -> PlanValue {
    let place = places.locate(of.span).map(|place| place.to_string());
    let source: Vec<String> = of.source.iter().cloned().chain(place).collect();
    PlanValue {
        name: of.name.clone(),
        old: of.old.clone(),
        new: of.new.clone(),
        is_secret: of.is_secret,
        source: source.join(", "),
    }
}
