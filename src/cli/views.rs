//! A job's types as the views that `ui` shows.

use super::changes;
use crate::diagnostic::{Places, Sources};
use crate::job::{Engine, Stage, Task, TaskIndex};
use crate::name::Status;
use crate::ops::JobReport;
use crate::plan::{Activity, Group, Item, When};
use crate::topology::{Created, Orphan};
use crate::ui::{
    LeftAlone, OrphanLine, PlanEntry, PlanNode, PlanTask, PlanView, Query, SummaryView, TaskEnd,
    TaskRow,
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

/// A job that is shown, and the texts that it was planned from.
#[derive(Debug)]
struct Shown<'a> {
    engine: &'a Engine,
    places: Places<'a>,
}

/// The plan of a job. What was compared and has not changed is listed for machines only.
pub(super) fn plan(engine: &Engine, sources: &Sources, audience: Audience) -> PlanView {
    let shown = &Shown {
        engine,
        places: Places::new(sources),
    };
    let mut nodes: Vec<PlanNode> = Vec::new();
    let mut current = None;
    for item in &engine.plan.items {
        let Some(target) = target_of(engine, *item) else {
            continue;
        };
        if !included(engine, *item, audience) {
            continue;
        }
        if current != Some(target) {
            nodes.push(node(engine, target));
            current = Some(target);
        }
        if let Some(node) = nodes.last_mut() {
            node.entries.push(entry(shown, *item, target));
        }
    }
    PlanView {
        workflow: engine.options.goal.workflow.to_string(),
        options: Vec::new(),
        external: Vec::new(),
        nodes,
        left: left(engine),
    }
}

/// What a job leaves alone and why; not what is no thing of its own.
fn left(engine: &Engine) -> LeftAlone {
    let skipped = engine.plan.skipped.iter();
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
        orphans: engine.topology.orphans().map(orphan).collect(),
    }
}

fn target_of(engine: &Engine, item: Item) -> Option<Handle> {
    match item {
        Item::Step(step) => engine.target_of(step),
        Item::Group(group) => match &engine.plan.groups[group].target {
            crate::plan::Target::Node(name) => engine.topology.find(name.as_str()),
            crate::plan::Target::Relationship { .. } => None,
        }
        .filter(|_| !engine.plan.groups[group].items.is_empty()),
    }
}

fn included(engine: &Engine, item: Item, audience: Audience) -> bool {
    let shown = |task: usize| {
        let skipped = engine.task(task).is_skipped();
        engine.includes(task) && (audience == Audience::Machine || !skipped)
    };
    let mut stack = vec![item];
    while let Some(item) = stack.pop() {
        match item {
            Item::Step(step) if engine.task_of(step).is_none_or(shown) => return true,
            Item::Step(_) => {}
            Item::Group(group) => stack.extend(&engine.plan.groups[group].items),
        }
    }
    false
}

fn node(engine: &Engine, target: Handle) -> PlanNode {
    let entity = engine.topology.entity(target);
    PlanNode {
        instance: entity.local_name().to_owned(),
        nested_name: entity.name.to_string(),
        status: Some(engine.topology.effective(target)),
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
    let engine = shown.engine;
    match item {
        Item::Step(step) => match (&engine.plan.steps[step].activity, engine.task_of(step)) {
            (Activity::SetState(word), _) => PlanEntry::SetState(word.to_string()),
            (Activity::Operation { .. }, Some(task)) => {
                PlanEntry::Task(task_of_plan(engine, task, &shown.places))
            }
            (Activity::Operation { reference, .. }, None) => PlanEntry::Task(PlanTask {
                operation: reference.operation.to_string(),
                reason: engine.plan.steps[step].reason.to_string(),
                ..PlanTask::default()
            }),
        },
        Item::Group(group) => PlanEntry::Group {
            workflow: Some(purpose(&engine.plan.groups[group])),
            sequence: sequence(shown, &engine.plan.groups[group].items, within),
        },
    }
}

/// A task with why it is there.
pub(super) fn task_of_plan(engine: &Engine, index: TaskIndex, places: &Places<'_>) -> PlanTask {
    let task = engine.task(index);
    let mut shown = PlanTask {
        operation: task.spec.reference.operation.to_string(),
        reason: task.spec.reason.to_string(),
        rendered: task.folders.clone(),
        note: note(task),
        because: engine.because(index),
        ..PlanTask::default()
    };
    if task.change.is_change() && !task.is_skipped() {
        changes::add(engine, index, places, &mut shown);
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
    let engine = shown.engine;
    let mut entries: Vec<PlanEntry> = Vec::new();
    let mut current = within;
    for item in items {
        let Some(target) = target_of(engine, *item) else {
            continue;
        };
        let entry = entry(shown, *item, target);
        if target != current {
            entries.push(PlanEntry::Node(node(engine, target)));
            current = target;
        }
        match entries.last_mut() {
            Some(PlanEntry::Node(node)) => node.entries.push(entry),
            _ => entries.push(entry),
        }
    }
    entries
}

fn note(task: &Task) -> Option<String> {
    match &task.stage {
        Stage::Deferred => Some("render waiting for dependents".to_owned()),
        Stage::Unrenderable => Some("errors while rendering".to_owned()),
        _ => task.note().map(str::to_owned),
    }
}

/// The summary of a job.
pub(super) fn summary(
    report: &JobReport,
    query: Option<Query>,
    timed: bool,
) -> Option<SummaryView> {
    let engine = &report.engine;
    let id = engine.id().ok()?;
    let tasks = engine.listed().map(|task| row(engine, task)).collect();
    Some(SummaryView {
        id,
        status: engine.status(),
        elapsed: timed.then_some(report.elapsed),
        tasks,
        outputs: Value::from(report.outputs.clone()),
        external: Vec::new(),
        left: LeftAlone {
            skipped: Vec::new(),
            ..left(engine)
        },
        query,
    })
}

fn row(engine: &Engine, task: &Task) -> TaskRow {
    let target = engine.topology.entity(task.spec.target);
    let end = match (task.status(), task.is_blocked()) {
        (Some(_), true) => TaskEnd::Blocked,
        (Some(Status::Ok), false) => TaskEnd::Success,
        (Some(_), false) => TaskEnd::Failed,
        (None, _) => TaskEnd::Skipped,
    };
    TaskRow {
        end,
        status: task.status(),
        target: target.local_name().to_owned(),
        nested_name: target.name.to_string(),
        operation: task.spec.reference.operation.to_string(),
        template: target.template_name().to_owned(),
        type_name: target.type_name().to_owned(),
        target_status: task.target_state.status,
        final_status: Some(engine.topology.effective(task.spec.target)),
        target_state: task.target_state.state,
        changed: task.has_changed(),
        configurator: task.class_name().to_owned(),
        priority: task.spec.priority,
        reason: task.spec.reason.to_string(),
        output: output(task),
    }
}

fn output(task: &Task) -> Value {
    let finished = task.finished();
    let result = finished.and_then(|finished| finished.outcome.result.clone());
    let errors = &task.errors;
    match result {
        None | Some(Value::Null) if !errors.is_empty() => Value::from(errors.join("; ")),
        other => other.unwrap_or_default().redacted(),
    }
}
