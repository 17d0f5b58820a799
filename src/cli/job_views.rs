//! Converts plans and reports of jobs to the view types that `ui` renders.
//!
//! The commands `plan`, `explain` and those that run a job use it. No text is written here.

use std::collections::HashMap;

use crate::cli::args::format::TextFormatArg;
use crate::cli::args::job::JobArgs;
use crate::cli::job_result;
use crate::diagnostic::{SourceLocator, Sources};
use crate::job::{
    Comparison, Difference, DifferenceSide, InstanceAction, Proposal, ProposedTask, ReportedTask,
    TaskRecord,
};
use crate::name::{InstanceName, Status};
use crate::ops::{JobReport, PlannedInput};
use crate::plan::{PlanItem, RunCondition, StepActivity, StepGroup, StepTarget};
use crate::topology::{Creator, Orphan, Topology};
use crate::ui::{
    ChangeView, InputView, OrphanLine, PlanEntry, PlanNode, PlanTask, PlanText, PlanView,
    QueryView, SkippedView, SummaryView, TaskEnd, TaskRow, upstream,
};
use crate::value::{Handle, Map, Value};

/// The reader of a plan, who decides which steps are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanDetail {
    /// For people: only the steps that will run.
    Planned,
    /// For programs: also the steps that were considered and left out.
    Considered,
}

/// A plan to show, and a locator for positions in its source files.
#[derive(Debug)]
struct PlanSource<'a> {
    proposal: &'a Proposal,
    locator: SourceLocator<'a>,
}

/// Converts a plan to its view.
///
/// Steps that were compared and have not changed are only listed with [`PlanDetail::Considered`].
pub(super) fn plan(proposal: &Proposal, sources: &Sources, detail: PlanDetail) -> PlanView {
    let shown = &PlanSource {
        proposal,
        locator: SourceLocator::new(sources),
    };
    let mut nodes: Vec<PlanNode> = Vec::new();
    let mut current = None;
    for item in &proposal.plan.items {
        let Some(target) = target_of(proposal, *item) else {
            continue;
        };
        if !included(proposal, *item, detail) {
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
        skipped: skipped_view(&proposal.topology, &proposal.plan.skipped),
        ensemble: proposal.ensemble.clone(),
        instances: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        unchanged: 0,
        drifted: Vec::new(),
    }
}

/// Returns the plan as text: that of Unfurl, or our own.
pub(super) fn plan_text(
    mut plan: PlanView,
    format: TextFormatArg,
    options: &Map,
    style: PlanText,
) -> String {
    if !format.is_unfurl() {
        return plan.text(style);
    }
    let workflow = (plan.workflow != "deploy").then(|| ("workflow", plan.workflow.clone()));
    let workflow = workflow.into_iter();
    let workflow = workflow.map(|(name, value)| (name.to_owned(), value));
    let others = options.iter();
    let others = others.map(|(name, value)| (name.to_string(), value.to_string()));
    plan.options = workflow.chain(others).collect();
    upstream::plan_text(&plan)
}

/// Returns the instances that tasks will run for, with the effect on each, in the order of the plan.
pub(super) fn instance_actions(proposal: &Proposal) -> Vec<(String, InstanceAction)> {
    let actions = proposal.instance_actions().into_iter();
    let named = |(target, action)| (proposal.topology.entity(target).name.to_string(), action);
    actions.map(named).collect()
}

/// Converts the inputs of a plan to their views.
pub(super) fn inputs(inputs: &[PlannedInput], sources: &Sources) -> Vec<InputView> {
    let locator = SourceLocator::new(sources);
    let view = |input: &PlannedInput| InputView {
        name: input.name.to_string(),
        value: input.value.clone(),
        kind: input.source.kind(),
        source: input.source.label(),
        place: locator.locate(input.source.span()),
        last: input.last.clone(),
        is_changed_secret: input.is_changed_secret,
    };
    inputs.iter().map(view).collect()
}

/// Lists the instances that a job leaves alone, with the reasons.
///
/// Virtual instances are not listed.
fn skipped_view(topology: &Topology, skipped: &[(InstanceName, String)]) -> SkippedView {
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
            .map_or(Value::Null, Creator::to_value),
        last_change: orphan.last_change(),
        not_removed_reason: orphan.retention_reason.clone(),
    };
    SkippedView {
        skipped: skipped
            .map(|(name, why)| (name.to_string(), why.clone()))
            .collect(),
        orphans: topology.orphans().map(orphan).collect(),
    }
}

fn target_of(proposal: &Proposal, item: PlanItem) -> Option<Handle> {
    let group = match item {
        PlanItem::Step(step) => return proposal.target_of(step),
        PlanItem::Group(group) => &proposal.plan.groups[group],
    };
    match &group.target {
        StepTarget::Node(name) if !group.items.is_empty() => proposal.topology.find(name.as_str()),
        StepTarget::Node(_) | StepTarget::Relationship { .. } => None,
    }
}

fn included(proposal: &Proposal, item: PlanItem, detail: PlanDetail) -> bool {
    let shown = |task: &ProposedTask| {
        task.is_included && (detail == PlanDetail::Considered || !task.is_skipped())
    };
    let mut stack = vec![item];
    while let Some(item) = stack.pop() {
        match item {
            PlanItem::Step(step) if proposal.task_of(step).is_none_or(shown) => return true,
            PlanItem::Step(_) => {}
            PlanItem::Group(group) => stack.extend(&proposal.plan.groups[group].items),
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
            .map_or(Value::Null, Creator::to_value),
        entries: Vec::new(),
    }
}

fn entry(shown: &PlanSource<'_>, item: PlanItem, within: Handle) -> PlanEntry {
    let proposal = shown.proposal;
    let step = match item {
        PlanItem::Step(step) => step,
        PlanItem::Group(group) => {
            let group = &proposal.plan.groups[group];
            return PlanEntry::Group {
                workflow: Some(purpose(group)),
                sequence: sequence(shown, &group.items, within),
            };
        }
    };
    let stated = &proposal.plan.steps[step];
    match (&stated.activity, proposal.task_of(step)) {
        (StepActivity::SetState(word), _) => PlanEntry::SetState(word.to_string()),
        (StepActivity::Operation { .. }, Some(task)) => {
            PlanEntry::Task(task_of_plan(task, &shown.locator))
        }
        (StepActivity::Operation { reference, .. }, None) => PlanEntry::Task(PlanTask {
            operation: reference.operation.to_string(),
            reason: stated.reason.to_string(),
            ..PlanTask::default()
        }),
    }
}

/// Converts a planned task to its view, with the reason for which it runs.
pub(super) fn task_of_plan(task: &ProposedTask, places: &SourceLocator<'_>) -> PlanTask {
    let mut shown = PlanTask {
        operation: task.operation.to_string(),
        reason: task.reason.to_string(),
        rendered: task.folders.clone(),
        note: task.note().map(str::to_owned),
        reason_text: task.reason_text.clone(),
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

/// Describes a group of steps: its workflow, and the steps that must have failed before it runs.
fn purpose(group: &StepGroup) -> String {
    match &group.condition {
        RunCondition::Failed(causes) => {
            let steps: Vec<_> = causes.iter().map(|(_, step)| format!("`{step}`")).collect();
            format!("{} (if step {} fails)", group.workflow, steps.join(" or "))
        }
        RunCondition::Always | RunCondition::Succeeded(_) => group.workflow.to_string(),
    }
}

/// Converts the items of a group.
///
/// Items for another target are nested below an entry for that target.
fn sequence(shown: &PlanSource<'_>, items: &[PlanItem], within: Handle) -> Vec<PlanEntry> {
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

/// Converts the report of a job to its summary.
///
/// `timed` says whether the elapsed time is shown.
pub(super) fn summary(
    report: &JobReport,
    args: &JobArgs,
    query: Option<QueryView>,
    timed: bool,
) -> SummaryView {
    let job = &report.job;
    SummaryView {
        id: job.head.id,
        status: job.status,
        elapsed: timed.then_some(report.elapsed),
        tasks: job.tasks.iter().map(row).collect(),
        outputs: Value::from(job.values.outputs.clone()),
        external: Vec::new(),
        // A plan that was shown has named these instances.
        skipped: match &report.plan {
            Some(plan) => skipped_view(&job.topology, &plan.plan.skipped),
            None => skipped_view(&job.topology, &[]),
        },
        query,
        result: job_result::job_result(report, args, timed),
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

/// Adds to a planned task the changes since its operation last ran.
fn add_changes(comparison: &Comparison, places: &SourceLocator<'_>, task: &mut PlanTask) {
    task.changes = changes(comparison, places);
    task.candidates.clone_from(&comparison.candidates);
    let is_known = |difference: &Difference| difference.old != DifferenceSide::Unknown;
    if !comparison.differences.iter().any(is_known) {
        task.unknown.clone_from(&comparison.unknown);
    }
}

fn changes(comparison: &Comparison, places: &SourceLocator<'_>) -> Vec<ChangeView> {
    let all = &comparison.differences;
    let names: HashMap<&str, &str> = all
        .iter()
        .map(|difference| (difference.key.as_str(), difference.name.as_str()))
        .collect();
    let view = |difference: &Difference| ChangeView {
        difference: difference.clone(),
        location: places.locate(difference.span),
        follows: difference
            .follows
            .iter()
            .map(|key| (*names.get(key.as_str()).unwrap_or(&key.as_str())).to_owned())
            .collect(),
    };
    all.iter().map(view).collect()
}
