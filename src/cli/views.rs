//! A plan and a report of a job as the views that `ui` shows.

use std::collections::HashMap;

use crate::diagnostic::{Places, Sources};
use crate::job::{Comparison, Difference, Proposal, ProposedTask, ReportedTask, Side, TaskRecord};
use crate::name::{InstanceName, Status};
use crate::ops::JobReport;
use crate::plan::{Activity, Group, Item, Target, When};
use crate::topology::{Created, Orphan, Topology};
use crate::ui::{
    ChangeView, LeftAlone, OrphanLine, PlanEntry, PlanNode, PlanTask, PlanView, Query, SummaryView,
    TaskEnd, TaskRow,
};
use crate::value::{Handle, Value};

/// Who reads a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// A person: what will be done.
    Person,
    /// A machine: what was considered, too.
    Machine,
}

/// A plan that is shown, and the texts that it was made from.
#[derive(Debug)]
struct Shown<'a> {
    proposal: &'a Proposal,
    places: Places<'a>,
}

/// A plan. What was compared and has not changed is listed for machines only.
pub(super) fn plan(proposal: &Proposal, sources: &Sources, audience: Audience) -> PlanView {
    let shown = &Shown {
        proposal,
        places: Places::new(sources),
    };
    let mut nodes: Vec<PlanNode> = Vec::new();
    let mut current = None;
    for item in &proposal.plan.items {
        let Some(target) = target_of(proposal, *item) else {
            continue;
        };
        if !included(proposal, *item, audience) {
            continue;
        }
        if current != Some(target) {
            nodes.push(node(&proposal.topology, target));
            current = Some(target);
        }
        if let Some(node) = nodes.last_mut() {
            node.entries.push(entry(shown, *item, target));
        }
    }
    PlanView {
        workflow: proposal.goal.workflow.to_string(),
        options: Vec::new(),
        external: Vec::new(),
        nodes,
        left: left(&proposal.topology, &proposal.plan.skipped),
    }
}

/// What a job leaves alone and why; not what is no thing of its own.
fn left(topology: &Topology, skipped: &[(InstanceName, String)]) -> LeftAlone {
    let skipped = skipped.iter();
    let skipped = skipped.filter(|(_, why)| why != "virtual instance");
    let orphan = |orphan: &Orphan| OrphanLine {
        instance: orphan.name.to_string(),
        template: orphan.template.to_string(),
        status: orphan.status(),
        state: orphan.state(),
        created: orphan
            .created()
            .as_ref()
            .map_or(Value::Null, Created::to_value),
        last_change: orphan.last_change(),
        stays: orphan.stays.clone(),
    };
    LeftAlone {
        skipped: skipped
            .map(|(name, why)| (name.to_string(), why.clone()))
            .collect(),
        orphans: topology.orphans().map(orphan).collect(),
    }
}

fn target_of(proposal: &Proposal, item: Item) -> Option<Handle> {
    let group = match item {
        Item::Step(step) => return proposal.target_of(step),
        Item::Group(group) => &proposal.plan.groups[group],
    };
    match &group.target {
        Target::Node(name) if !group.items.is_empty() => proposal.topology.find(name.as_str()),
        Target::Node(_) | Target::Relationship { .. } => None,
    }
}

fn included(proposal: &Proposal, item: Item, audience: Audience) -> bool {
    let shown = |task: &ProposedTask| {
        task.is_included && (audience == Audience::Machine || !task.is_skipped())
    };
    let mut stack = vec![item];
    while let Some(item) = stack.pop() {
        match item {
            Item::Step(step) if proposal.task_of(step).is_none_or(shown) => return true,
            Item::Step(_) => {}
            Item::Group(group) => stack.extend(&proposal.plan.groups[group].items),
        }
    }
    false
}

fn node(topology: &Topology, target: Handle) -> PlanNode {
    let entity = topology.entity(target);
    PlanNode {
        instance: entity.local_name().to_owned(),
        nested_name: entity.name.to_string(),
        status: Some(topology.effective(target)),
        local_status: entity.local,
        state: entity.state,
        managed: entity
            .created
            .as_ref()
            .map_or(Value::Null, Created::to_value),
        entries: Vec::new(),
    }
}

fn entry(shown: &Shown<'_>, item: Item, within: Handle) -> PlanEntry {
    let proposal = shown.proposal;
    let step = match item {
        Item::Step(step) => step,
        Item::Group(group) => {
            let group = &proposal.plan.groups[group];
            return PlanEntry::Group {
                workflow: Some(purpose(group)),
                sequence: sequence(shown, &group.items, within),
            };
        }
    };
    let stated = &proposal.plan.steps[step];
    match (&stated.activity, proposal.task_of(step)) {
        (Activity::SetState(word), _) => PlanEntry::SetState(word.to_string()),
        (Activity::Operation { .. }, Some(task)) => {
            PlanEntry::Task(task_of_plan(task, &shown.places))
        }
        (Activity::Operation { reference, .. }, None) => PlanEntry::Task(PlanTask {
            operation: reference.operation.to_string(),
            reason: stated.reason.to_string(),
            ..PlanTask::default()
        }),
    }
}

/// A task with why it is there.
pub(super) fn task_of_plan(task: &ProposedTask, places: &Places<'_>) -> PlanTask {
    let mut shown = PlanTask {
        operation: task.operation.to_string(),
        reason: task.reason.to_string(),
        rendered: task.folders.clone(),
        note: task.note().map(str::to_owned),
        because: task.because.clone(),
        ..PlanTask::default()
    };
    if task.change.is_change()
        && !task.is_skipped()
        && let Some(comparison) = &task.comparison
    {
        add_changes(comparison, places, &mut shown);
    }
    shown
}

/// What a group is for: its workflow, and what must have happened.
fn purpose(group: &Group) -> String {
    match &group.when {
        When::Failed(causes) => {
            let steps: Vec<_> = causes.iter().map(|(_, step)| format!("`{step}`")).collect();
            format!("{} (if step {} fails)", group.workflow, steps.join(" or "))
        }
        When::Always | When::Succeeded(_) => group.workflow.to_string(),
    }
}

/// The items of a group; those for another target stand below that target.
fn sequence(shown: &Shown<'_>, items: &[Item], within: Handle) -> Vec<PlanEntry> {
    let proposal = shown.proposal;
    let mut entries: Vec<PlanEntry> = Vec::new();
    let mut current = within;
    for item in items {
        let Some(target) = target_of(proposal, *item) else {
            continue;
        };
        let entry = entry(shown, *item, target);
        if target != current {
            entries.push(PlanEntry::Node(node(&proposal.topology, target)));
            current = target;
        }
        match entries.last_mut() {
            Some(PlanEntry::Node(node)) => node.entries.push(entry),
            _ => entries.push(entry),
        }
    }
    entries
}

/// The summary of a job.
pub(super) fn summary(report: &JobReport, query: Option<Query>, timed: bool) -> SummaryView {
    let job = &report.job;
    SummaryView {
        id: job.head.id,
        status: job.status,
        elapsed: timed.then_some(report.elapsed),
        tasks: job.tasks.iter().map(row).collect(),
        outputs: Value::from(job.values.outputs.clone()),
        external: Vec::new(),
        left: left(&job.topology, &[]),
        query,
    }
}

fn row(task: &ReportedTask) -> TaskRow {
    let record = &*task.record;
    let end = match (record.status(), record.is_blocked()) {
        (Some(_), true) => TaskEnd::Blocked,
        (Some(Status::Ok), false) => TaskEnd::Success,
        (Some(_), false) => TaskEnd::Failed,
        (None, _) => TaskEnd::Skipped,
    };
    TaskRow {
        end,
        status: record.status(),
        target: record.target.name.clone(),
        nested_name: record.target.nested_name.clone(),
        operation: record.operation.operation.to_string(),
        template: record.target.template.clone(),
        type_name: record.target.type_name.clone(),
        target_status: record.target_state.status,
        final_status: Some(task.final_status),
        target_state: record.target_state.state,
        changed: record.has_changed(),
        configurator: record.class_name.to_owned(),
        priority: record.priority,
        reason: record.reason.clone(),
        output: output(record),
    }
}

fn output(record: &TaskRecord) -> Value {
    let (result, errors) = (&record.data.result, &record.data.messages);
    match result {
        Value::Null if !errors.is_empty() => Value::from(errors.join("; ")),
        other => other.clone(),
    }
}

/// Adds to a task of a plan what has changed since its operation ran last.
fn add_changes(comparison: &Comparison, places: &Places<'_>, task: &mut PlanTask) {
    task.changes = changes(comparison, places);
    task.candidates.clone_from(&comparison.candidates);
    let told = |difference: &Difference| difference.old != Side::Unknown;
    if !comparison.differences.iter().any(told) {
        task.unknown.clone_from(&comparison.unknown);
    }
}

fn changes(comparison: &Comparison, places: &Places<'_>) -> Vec<ChangeView> {
    let all = &comparison.differences;
    let names: HashMap<&str, &str> = all
        .iter()
        .map(|difference| (difference.key.as_str(), difference.name.as_str()))
        .collect();
    let view = |difference: &Difference| ChangeView {
        difference: difference.clone(),
        place: places.of(difference.place),
        follows: difference
            .follows
            .iter()
            .map(|key| (*names.get(key.as_str()).unwrap_or(&key.as_str())).to_owned())
            .collect(),
    };
    all.iter().map(view).collect()
}
