//! Converts the report of a job to the result that people read: effects by instance, failures, and the
//! commands that continue.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use indexmap::IndexMap;

use crate::cli::args::job::JobArgs;
use crate::cli::output::relative;
use crate::diagnostic::{SourceLocator, Span};
use crate::job::{Completion, InstanceAction, Report, StepState, TaskRecord};
use crate::name::Status;
use crate::ops::JobReport;
use crate::plan::{StepActivity, WorkflowKind};
use crate::text::shlex_quote;
use crate::topology::Topology;
use crate::ui::{InstanceOutcome, InstanceRow, JobEnd, JobResult, TaskFailure, is_trouble};
use crate::value::{Handle, Value};

/// The tasks of one instance, summed up.
#[derive(Debug, Default)]
struct InstanceTasks<'a> {
    failed: Option<&'a TaskRecord>,
    in_doubt: Option<&'a TaskRecord>,
    is_blocked: bool,
    /// Tasks that succeeded, or that a dry run could not try.
    action: Option<InstanceAction>,
    has_changed: bool,
    operations: usize,
    elapsed: Duration,
}

/// Converts the report of a job to its result.
///
/// `timed` says whether the times of tasks are shown.
pub(super) fn job_result(report: &JobReport, args: &JobArgs, timed: bool) -> JobResult {
    let job = &report.job;
    let instances = tasks_by_instance(job);
    let failed = failed_instances(&instances);
    let rows = rows(job, &instances, timed);
    let affected: HashSet<Handle> = rows.iter().map(|(handle, _)| *handle).collect();
    let others = unaffected(job, &instances, &affected);
    let mut troubled: Vec<(Status, usize)> = Vec::new();
    for status in others.iter().filter(|status| is_trouble(**status)) {
        match troubled.iter_mut().find(|(known, _)| known == status) {
            Some((_, count)) => *count += 1,
            None => troubled.push((*status, 1)),
        }
    }
    JobResult {
        workflow: job.goal.workflow.to_string(),
        end: end_of(job, &failed),
        instances: rows.into_iter().map(|(_, row)| row).collect(),
        unchanged: others.len(),
        troubled,
        failures: failures(report),
        aborted: job.aborted.clone(),
        next: next_commands(job, args, &instances),
    }
}

/// Returns the message of the commit of a job's record: workflow, counts and instances.
pub(super) fn commit_message(job: &Report) -> String {
    let rows = rows(job, &tasks_by_instance(job), false);
    let result = JobResult {
        workflow: job.goal.workflow.to_string(),
        instances: rows.into_iter().map(|(_, row)| row).collect(),
        ..JobResult::default()
    };
    result.commit_message(job.head.id)
}

fn failed_instances(instances: &IndexMap<Handle, InstanceTasks<'_>>) -> HashSet<Handle> {
    let failed = instances.iter().filter(|(_, tasks)| tasks.failed.is_some());
    failed.map(|(handle, _)| *handle).collect()
}

fn rows(
    job: &Report,
    instances: &IndexMap<Handle, InstanceTasks<'_>>,
    timed: bool,
) -> Vec<(Handle, InstanceRow)> {
    let failed = failed_instances(instances);
    let row = |(handle, tasks): (&Handle, &InstanceTasks<'_>)| {
        let mut row = tasks.row(&job.topology, *handle, timed)?;
        if job.is_dry_run() {
            // The status is that of now, not the one that the job would lead to.
            row.status = None;
        }
        if row.outcome == InstanceOutcome::NotRun && job.interrupted.is_none() {
            let cause = failed_cause(&job.topology, *handle, &failed);
            row.cause = cause.map(|name| format!("`{name}` failed"));
        }
        Some((*handle, row))
    };
    instances.iter().filter_map(row).collect()
}

fn end_of(job: &Report, failed: &HashSet<Handle>) -> JobEnd {
    let has_failed = job.status >= Status::Error || !failed.is_empty();
    match (job.interrupted, job.is_dry_run(), has_failed) {
        (Some(_), ..) => JobEnd::Interrupted,
        (None, true, false) => JobEnd::DryRun,
        (None, true, true) => JobEnd::DryRunFailed,
        (None, false, _) if job.status >= Status::Error => JobEnd::Failed,
        (None, false, _) => JobEnd::Done,
    }
}

/// Sums up the tasks by instance, in the order of the plan. Tasks of a relationship count for the instance
/// that has the requirement.
fn tasks_by_instance(job: &Report) -> IndexMap<Handle, InstanceTasks<'_>> {
    let records = job.records().map(|record| (record.task, record));
    let records: HashMap<usize, &TaskRecord> = records.collect();
    let mut instances: IndexMap<Handle, InstanceTasks<'_>> = IndexMap::new();
    for (step, reported) in job.plan.steps.iter().zip(&job.steps) {
        let (Some(task), StepActivity::Operation { reference, .. }) =
            (reported.task, &step.activity)
        else {
            continue;
        };
        if !reported.is_included {
            continue;
        }
        let owner = job.topology.source_of(reported.target);
        let tasks = instances
            .entry(owner.unwrap_or(reported.target))
            .or_default();
        let reason = step.reason.to_string();
        match (records.get(&task), reported.state) {
            (_, StepState::Untried) => {
                tasks.add_action(InstanceAction::of_task(reference, &reason));
                tasks.has_changed = true;
            }
            (Some(record), _) if record.end.is_some() => tasks.add(record),
            (_, StepState::Open | StepState::Deferred) => tasks.is_blocked = true,
            _ => {}
        }
    }
    instances
}

impl<'a> InstanceTasks<'a> {
    fn add_action(&mut self, action: InstanceAction) {
        self.action = Some(self.action.map_or(action, |known| known.combine(action)));
    }

    fn add(&mut self, record: &'a TaskRecord) {
        let Some(end) = &record.end else { return };
        if end.blocked {
            self.is_blocked = true;
            return;
        }
        self.operations += 1;
        let elapsed = end.time.duration_since(record.started);
        self.elapsed += elapsed.unsigned_abs();
        match end.completion {
            Completion::InDoubt | Completion::Interrupted => self.in_doubt = Some(record),
            _ if end.status == Status::Error => self.failed = Some(record),
            _ => {
                let action = InstanceAction::of_task(&record.operation, &record.reason);
                self.add_action(action);
                self.has_changed |= end.changed;
            }
        }
    }

    /// Returns the row of an instance; `None` if it needed nothing. An operation that reported no change has run,
    /// but has not changed the instance.
    fn row(&self, topology: &Topology, handle: Handle, timed: bool) -> Option<InstanceRow> {
        let operation = |record: &TaskRecord| record.operation.operation.to_string();
        let outcome = match (self.failed, self.in_doubt, self.is_blocked, self.action) {
            (Some(record), ..) => InstanceOutcome::Failed {
                operation: operation(record),
            },
            (None, Some(record), ..) => InstanceOutcome::InDoubt {
                operation: operation(record),
            },
            (None, None, true, _) => InstanceOutcome::NotRun,
            (None, None, false, None) => return None,
            (None, None, false, Some(InstanceAction::Change)) if !self.has_changed => {
                InstanceOutcome::Done(InstanceAction::Run)
            }
            (None, None, false, Some(action)) => InstanceOutcome::Done(action),
        };
        let is_gone = outcome == InstanceOutcome::Done(InstanceAction::Delete);
        Some(InstanceRow {
            name: topology.entity(handle).name.to_string(),
            outcome,
            operations: self.operations,
            elapsed: (timed && self.operations > 0).then_some(self.elapsed),
            status: (!is_gone).then(|| topology.effective(handle)),
            cause: None,
        })
    }
}

/// Returns the name of the failed instance because of which another one could not be reached.
fn failed_cause(topology: &Topology, of: Handle, failed: &HashSet<Handle>) -> Option<String> {
    let mut seen = HashSet::new();
    let mut at = of;
    while seen.insert(at) {
        if at != of && failed.contains(&at) {
            return Some(topology.entity(at).name.to_string());
        }
        let Some(blamed) = topology.blamed_for_status(at) else {
            break;
        };
        at = topology.target_of(blamed).unwrap_or(blamed);
    }
    match failed.iter().next() {
        Some(only) if failed.len() == 1 => Some(topology.entity(*only).name.to_string()),
        _ => None,
    }
}

/// Returns the statuses of the existing instances in the scope of the job for which nothing ran.
fn unaffected(
    job: &Report,
    instances: &IndexMap<Handle, InstanceTasks<'_>>,
    affected: &HashSet<Handle>,
) -> Vec<Status> {
    let goal = &job.goal;
    let is_whole = goal.template.is_none() && goal.instances.is_empty() && goal.excluded.is_empty();
    let topology = &job.topology;
    let nodes = topology.nodes().into_iter();
    let others = nodes
        .filter(|handle| !affected.contains(handle))
        .filter(|handle| {
            let entity = topology.entity(*handle);
            let is_virtual = entity
                .node()
                .is_some_and(|node| node.template.has_directive("virtual"));
            let exists = entity
                .local
                .is_some_and(|local| !matches!(local, Status::Pending | Status::Absent));
            let is_selected = || {
                instances.contains_key(handle)
                    || goal.instances.contains(&entity.name)
                    || goal
                        .template
                        .as_ref()
                        .is_some_and(|template| template.as_str() == entity.template_name())
            };
            exists && !is_virtual && !entity.computed && (is_whole || is_selected())
        });
    others.map(|handle| topology.effective(handle)).collect()
}

/// Returns the failed tasks with their errors, the end of their output, and their positions.
fn failures(report: &JobReport) -> Vec<TaskFailure> {
    let job = &report.job;
    let sources = relative(&report.sources);
    let locator = SourceLocator::new(&sources);
    let places: HashMap<usize, Span> = operation_spans(job);
    let failed = job
        .records()
        .filter(|record| record.status() == Some(Status::Error) && !record.is_blocked());
    let failure = |record: &TaskRecord| {
        let output = last_output(&record.data.result);
        TaskFailure {
            instance: record.target.nested_name.clone(),
            operation: record.operation.operation.to_string(),
            errors: record.errors().into_iter().map(str::to_owned).collect(),
            output,
            place: places
                .get(&record.task)
                .and_then(|span| locator.locate(*span)),
        }
    };
    failed.map(failure).collect()
}

/// Returns the positions of the operations that tasks run, by the number of the task.
fn operation_spans(job: &Report) -> HashMap<usize, Span> {
    let steps = job.plan.steps.iter().zip(&job.steps);
    let spans = steps.filter_map(|(step, reported)| {
        let StepActivity::Operation { operation, .. } = &step.activity else {
            return None;
        };
        Some((reported.task?, operation.span))
    });
    spans.collect()
}

/// Returns the lines that a command wrote, those of the error output last.
fn last_output(result: &Value) -> Vec<String> {
    let result = result.redacted();
    let streams = ["stdout", "stderr"].map(|key| result.get(key).cloned().unwrap_or_default());
    let lines = streams
        .iter()
        .filter_map(Value::as_str)
        .flat_map(str::lines);
    lines
        .filter(|line| !line.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the commands that continue after a failure or an interruption, each with its purpose.
fn next_commands(
    job: &Report,
    args: &JobArgs,
    instances: &IndexMap<Handle, InstanceTasks<'_>>,
) -> Vec<(String, &'static str)> {
    if job.is_dry_run() {
        return Vec::new();
    }
    let ensemble = args.ensemble.ensemble.as_str();
    let (place, option) = if ensemble.is_empty() {
        (String::new(), "")
    } else {
        (format!(" {}", shlex_quote(ensemble)), " --ensemble")
    };
    let command = command_of(&job.goal.workflow);
    let first = |wanted: fn(&InstanceTasks<'_>) -> bool| {
        let found = instances.iter().find(|(_, tasks)| wanted(tasks));
        found.map(|(handle, _)| job.topology.entity(*handle).name.to_string())
    };
    let mut next = Vec::new();
    let failed = first(|tasks| tasks.failed.is_some());
    let in_doubt = first(|tasks| tasks.in_doubt.is_some());
    if let Some(name) = failed.as_ref().or(in_doubt.as_ref()) {
        let name = shlex_quote(name);
        next.push((
            format!("unfurl explain {name}{option}{place}"),
            "shows the cause, and what the next deploy would do",
        ));
    }
    let is_run = job.goal.workflow == WorkflowKind::Run;
    if job.interrupted.is_some() && !is_run {
        next.push((
            format!("unfurl {command}{place} --resume"),
            "runs the rest of this job",
        ));
    }
    if in_doubt.is_some() && !is_run {
        next.push((
            format!("unfurl {command}{place} --redo-in-doubt"),
            "also runs again what was cut off",
        ));
    }
    if failed.is_some() && job.interrupted.is_none() && !is_run {
        next.push((
            format!("unfurl {command}{place}"),
            "runs what is still to do, after the cause is removed",
        ));
    }
    if !next.is_empty() && job.values.status_section.is_some() {
        next.push((
            format!("unfurl history {}{option}{place}", job.head.id),
            "lists all tasks of this job",
        ));
    }
    next
}

/// Returns the command that runs a workflow, without the name of the program.
fn command_of(workflow: &WorkflowKind) -> String {
    match workflow {
        WorkflowKind::Undeploy => "teardown".to_owned(),
        WorkflowKind::Custom(name) => format!("deploy --workflow {}", shlex_quote(name)),
        other => other.to_string(),
    }
}
