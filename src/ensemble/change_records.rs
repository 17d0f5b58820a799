//! Builds the records of a job and of its tasks in Unfurl's format (rule U-h).
//!
//! [`task_record`] and [`job_record`] produce the final records; the `…_start_record` functions produce what
//! the journal keeps in case the process crashes. Writing them to files is the work of `record` and
//! `record_files`.

use std::sync::Arc;

use super::jobs_tsv::{CRASH_KEY, join_keys, key_fields};
use super::record_time::stamp;
use crate::job::{Completion, JobHead, JobStart, Report, TaskDigest, TaskRecord};
use crate::name::Status;
use crate::value::{Map, Value, insert_some};

/// Counts of a job's tasks by outcome, as shown in summaries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobStats {
    pub total: usize,
    /// Tasks that changed their target, whether or not they succeeded.
    pub changed: usize,
    pub ok: usize,
    /// Tasks that failed, including tasks that left their target in error.
    pub error: usize,
    /// Tasks that did not run because an earlier step or operation failed.
    pub blocked: usize,
    /// Tasks whose result is not known, because the job crashed while they ran.
    pub unknown: usize,
    /// Tasks that were planned but not needed.
    pub skipped: usize,
}

impl JobStats {
    pub fn of<'t>(tasks: impl Iterator<Item = &'t TaskRecord>) -> Self {
        let mut stats = Self::default();
        for task in tasks {
            stats.total += 1;
            stats.changed += usize::from(task.has_changed());
            let is_error = task.target_state.status == Some(Status::Error);
            let count = if task.is_blocked() {
                &mut stats.blocked
            } else if is_error || task.status() == Some(Status::Error) {
                &mut stats.error
            } else if task.is_ok() {
                &mut stats.ok
            } else {
                &mut stats.skipped
            };
            *count += 1;
        }
        stats
    }

    /// Returns the summary line that records and the console show.
    pub fn line(&self) -> String {
        format!(
            "{} tasks ({} changed, {} ok, {} failed, {} blocked, {} unknown, {} skipped)",
            self.total, self.changed, self.ok, self.error, self.blocked, self.unknown, self.skipped
        )
    }
}

/// Returns the record of a job that has ended.
pub(super) fn job_record(report: &Report, ended: jiff::Timestamp) -> Map {
    let stats = JobStats::of(report.records());
    head_record(&report.head, &stats, ended, report.status)
}

/// Returns the record of a job that has just started: the known values only, keys in their final order.
pub(super) fn job_start_record(start: &JobStart) -> Map {
    let nothing = JobStats::default();
    head_record(&start.head, &nothing, start.started, Status::Unknown)
}

fn head_record(head: &JobHead, stats: &JobStats, ended: jiff::Timestamp, status: Status) -> Map {
    let facts = &head.facts;
    let mut record = Map::new();
    insert_some(&mut record, "changeId", Value::from(head.id.as_str()));
    insert_some(&mut record, "startTime", Value::from(stamp(head.start)));
    insert_some(&mut record, "endTime", Value::from(stamp(ended)));
    let previous = facts.previous.as_ref().map(|id| Value::from(id.as_str()));
    insert_some(&mut record, "previousId", previous);
    insert_some(&mut record, "workflow", Value::from(head.workflow.as_str()));
    insert_some(&mut record, "options", Value::from(facts.options.clone()));
    let changed = i64::try_from(stats.changed).unwrap_or(i64::MAX);
    insert_some(&mut record, "changed", Value::Int(changed));
    insert_some(&mut record, "summary", Value::from(stats.line()));
    let commit = facts.start_commit.as_ref();
    insert_some(
        &mut record,
        "startCommit",
        commit.map(|id| Value::from(id.as_str())),
    );
    insert_some(
        &mut record,
        "specDigest",
        Value::from(facts.spec_digest.as_str()),
    );
    insert_some(&mut record, "readyState", ready_state(status));
    record
}

fn ready_state(status: Status) -> Value {
    Value::map([("local", Value::from(status.as_str()))])
}

/// Returns the record of a task that has just started. It is used only if the task's end is never recorded.
pub(super) fn task_start_record(task: &TaskRecord) -> Map {
    let mut record = Map::new();
    let started = Value::from(stamp(task.started));
    record.insert("startTime".into(), started.clone());
    record.insert("endTime".into(), started);
    record.insert("target".into(), Value::Str(Arc::clone(&task.target.key)));
    record.insert("priority".into(), Value::from(task.priority.as_str()));
    record.insert("readyState".into(), ready_state(Status::Unknown));
    record.insert("implementation".into(), implementation(task));
    record.insert("reason".into(), Value::from(task.reason.as_str()));
    insert_some(&mut record, "inputs", non_empty(&task.data.inputs));
    add_whole_key(task, &mut record);
    record.insert("changed".into(), Value::Bool(true));
    record.insert("summary".into(), Value::from(task.summary()));
    record
}

fn implementation(task: &TaskRecord) -> Value {
    Value::map([
        ("operation", Value::from(task.operation.operation.as_str())),
        ("className", Value::from(task.class_name)),
    ])
}

fn add_whole_key(task: &TaskRecord, record: &mut Map) {
    if task.target.is_nested {
        // Targets of different topologies can share a key; the whole key is unique.
        let whole = task.target.unique_key.as_str();
        record.insert("digestOf".into(), Value::from(whole));
    }
}

/// Returns the record of a task with its result. A task that never ran gets the id of its job.
pub(super) fn task_record(task: &TaskRecord, job: &str) -> Map {
    let mut record = Map::new();
    let end = task.end.as_ref();
    let id = end.map_or(job, |end| end.id.as_str());
    record.insert("changeId".into(), Value::from(id));
    let ended = end.map_or(task.started, |end| end.time);
    record.insert("startTime".into(), Value::from(stamp(task.started)));
    record.insert("endTime".into(), Value::from(stamp(ended)));
    let previous = end.and_then(|end| end.previous);
    insert_some(
        &mut record,
        "previousId",
        previous.map(|id| Value::from(id.as_str())),
    );
    record.insert("target".into(), Value::Str(Arc::clone(&task.target.key)));
    if let Some(end) = end {
        record.insert("priority".into(), Value::from(task.priority.as_str()));
        let shown = if end.completion == Completion::InDoubt {
            Status::Unknown
        } else {
            end.status
        };
        record.insert("readyState".into(), ready_state(shown));
    }
    record.insert("implementation".into(), implementation(task));
    record.insert("reason".into(), Value::from(task.reason.as_str()));
    insert_some(&mut record, "inputs", non_empty(&task.data.inputs));
    insert_some(&mut record, "changes", non_empty(&task.data.changes));
    let messages = task.data.messages.iter();
    let messages = Value::list(messages.map(|message| Value::from(message.as_str())));
    insert_some(
        &mut record,
        "messages",
        Some(messages).filter(Value::is_truthy),
    );
    add_dependencies(task, &mut record);
    add_result(task, &mut record);
    add_digest(&task.digest, &mut record);
    add_whole_key(task, &mut record);
    let is_left = matches!(
        end.map(|end| end.completion),
        Some(Completion::HalfDone | Completion::InDoubt)
    );
    let turn = || Value::from(task.unit.instance.as_str());
    insert_some(&mut record, CRASH_KEY, is_left.then(turn));
    record.insert("changed".into(), Value::Bool(task.has_changed()));
    record.insert("summary".into(), Value::from(task.summary()));
    record
}

/// Returns a map as a value; `None` if the map is empty.
fn non_empty(map: &Map) -> Option<Value> {
    (!map.is_empty()).then(|| Value::from(map.clone()))
}

fn add_dependencies(task: &TaskRecord, record: &mut Map) {
    let dependencies = task.data.dependencies.iter().map(|dependency| {
        let key = Value::from(dependency.key.as_str());
        let mut entry = Map::from_iter([("ref".into(), key)]);
        let expected = Some(&dependency.value).filter(|value| !value.is_null());
        insert_some(&mut entry, "expected", expected.cloned());
        insert_some(&mut entry, "required", Value::Bool(true));
        let write_only = dependency.write_only.then_some(Value::Bool(true));
        insert_some(&mut entry, "writeOnly", write_only);
        Value::from(entry)
    });
    let dependencies = Value::list(dependencies);
    insert_some(
        record,
        "dependencies",
        Some(dependencies).filter(Value::is_truthy),
    );
}

fn add_result(task: &TaskRecord, record: &mut Map) {
    if task.end.is_none() {
        record.insert("result".into(), Value::from("skipped"));
        return;
    }
    insert_some(
        record,
        "outputs",
        task.data.outputs.as_ref().and_then(non_empty),
    );
    let result = Some(&task.data.result).filter(|result| result.is_truthy());
    insert_some(record, "result", result.cloned());
}

fn add_digest(digest: &TaskDigest, record: &mut Map) {
    let ours = |keys: &[String]| Value::from(join_keys(keys));
    record.insert("digestKeys".into(), Value::from(digest.keys.join(",")));
    record.insert("digestValue".into(), Value::from(digest.value.as_str()));
    record.insert("digestPut".into(), Value::from(digest.put.join(",")));
    if !digest.exact_keys.is_empty() {
        record.insert("digestRead".into(), ours(&digest.exact_keys));
        record.insert(
            "digestSha256".into(),
            Value::from(digest.exact_value.as_str()),
        );
    }
    if let Some(secret) = &digest.secret {
        record.insert("digestSecretRead".into(), ours(&secret.keys));
        record.insert("digestSecret".into(), Value::from(secret.value.as_str()));
        for (name, text) in key_fields(&secret.key) {
            record.insert(name.into(), Value::from(text));
        }
    }
}
