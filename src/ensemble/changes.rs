//! The records of a job and its tasks (spec/unfurl.md § (h)).

use std::sync::Arc;

use super::jobs_tsv::{CUT_OFF, join_keys};
use super::templates::KeptIndex;
use crate::job::{Digest, Engine, Finished, Task};
use crate::name::Status;
use crate::value::{Map, Value};

/// How many tasks ended in which way, as summaries count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// All tasks listed.
    pub total: usize,
    /// Those that changed their target.
    pub changed: usize,
    /// Those that did what they are for.
    pub ok: usize,
    /// Those that failed.
    pub error: usize,
    /// Those that something else kept from running.
    pub blocked: usize,
    /// Those that nobody can tell of.
    pub unknown: usize,
    /// Those that were left out.
    pub skipped: usize,
}

impl Stats {
    /// Counts the tasks of a job.
    pub fn of(engine: &Engine) -> Self {
        let mut stats = Self::default();
        for task in engine.listed() {
            stats.total += 1;
            stats.changed += usize::from(task.has_changed());
            let count = if task.is_blocked() {
                &mut stats.blocked
            } else if task.target_state.status == Some(Status::Error) || task.has_failed() {
                &mut stats.error
            } else if task.status() == Some(Status::Ok) {
                &mut stats.ok
            } else {
                &mut stats.skipped
            };
            *count += 1;
        }
        stats
    }

    /// The line that records and summaries carry.
    pub fn line(&self) -> String {
        format!(
            "{} tasks ({} changed, {} ok, {} failed, {} blocked, {} unknown, {} skipped)",
            self.total, self.changed, self.ok, self.error, self.blocked, self.unknown, self.skipped
        )
    }
}

/// What a job's record says besides its tasks.
#[derive(Debug, Clone)]
pub struct JobFacts {
    /// The id of the job before it.
    pub previous: Option<String>,
    /// The options that the user set.
    pub options: Map,
    /// The commit that the ensemble was at.
    pub start_commit: Option<String>,
    /// The digest of the specification.
    pub spec_digest: String,
    /// The node templates that earlier records keep.
    pub kept_templates: Arc<KeptIndex>,
    /// When the job ended.
    pub ended: jiff::Timestamp,
}

/// A time as records write it.
pub fn stamp(time: jiff::Timestamp) -> String {
    let utc = time.to_zoned(jiff::tz::TimeZone::UTC);
    let micros = utc.subsec_nanosecond() / 1000;
    format!("{}-{micros:06}", utc.strftime("%Y-%m-%d-%H-%M-%S"))
}

/// The record of the job itself.
pub fn job_record(engine: &Engine, id: &str, facts: &JobFacts) -> Map {
    let stats = Stats::of(engine);
    let mut record = Map::new();
    let mut put = |key: &str, value: Value| {
        record.insert(key.into(), value);
    };
    put("changeId", Value::from(id));
    put("startTime", Value::from(stamp(engine.options.start)));
    put("endTime", Value::from(stamp(facts.ended)));
    if let Some(previous) = &facts.previous {
        put("previousId", Value::from(previous.as_str()));
    }
    put(
        "workflow",
        Value::from(engine.options.goal.workflow.as_str()),
    );
    put("options", Value::from(facts.options.clone()));
    put(
        "changed",
        Value::Int(i64::try_from(stats.changed).unwrap_or(i64::MAX)),
    );
    put("summary", Value::from(stats.line()));
    if let Some(commit) = &facts.start_commit {
        put("startCommit", Value::from(commit.as_str()));
    }
    put("specDigest", Value::from(facts.spec_digest.as_str()));
    put("readyState", ready_state(engine.status()));
    record
}

fn ready_state(status: Status) -> Value {
    Value::map([("local", Value::from(status.as_str()))])
}

/// The record of a job that begins: what is known of it then, in the order of records.
pub fn begun_record(engine: &Engine, id: &str, facts: &JobFacts) -> Map {
    let mut record = job_record(engine, id, facts);
    record.insert("readyState".into(), ready_state(Status::Unknown));
    record
}

/// The record of a task that begins, for the case that nobody ever hears of its end.
pub fn intent_record(engine: &Engine, task: &Task) -> Map {
    let mut record = Map::new();
    let started = Value::from(stamp(started_of(engine, task)));
    record.insert("startTime".into(), started.clone());
    record.insert("endTime".into(), started);
    let target = engine.topology.entity(task.spec.target);
    record.insert("target".into(), Value::Str(target.key.shared()));
    record.insert("priority".into(), Value::from(task.spec.priority.as_str()));
    record.insert("readyState".into(), ready_state(Status::Unknown));
    record.insert("implementation".into(), implementation(task));
    record.insert("reason".into(), Value::from(task.spec.reason.to_string()));
    add_inputs(task, &mut record);
    add_whole_key(engine, task, &mut record);
    record.insert("changed".into(), Value::Bool(true));
    record.insert("summary".into(), Value::from(task_line(engine, task)));
    record
}

/// When a task started, or else when the job did.
fn started_of(engine: &Engine, task: &Task) -> jiff::Timestamp {
    task.started().unwrap_or(engine.options.start)
}

fn implementation(task: &Task) -> Value {
    Value::map([
        (
            "operation",
            Value::from(task.spec.reference.operation.as_str()),
        ),
        ("className", Value::from(task.class_name())),
    ])
}

fn add_whole_key(engine: &Engine, task: &Task, record: &mut Map) {
    let topology = &engine.topology;
    if topology.root_of(task.spec.target) != topology.root() {
        // Which of the targets of this key it is.
        let whole = topology.whole_key(task.spec.target);
        record.insert("digestOf".into(), Value::from(whole));
    }
}

/// The record of one task, with its result.
pub fn task_record(engine: &Engine, task: &Task) -> Map {
    let mut record = Map::new();
    let finished = task.finished();
    let id = finished.map_or_else(
        || engine.id().map(|id| id.to_string()).unwrap_or_default(),
        |finished| finished.id.to_string(),
    );
    record.insert("changeId".into(), Value::from(id));
    let started = started_of(engine, task);
    let ended = finished.map_or(started, |finished| finished.ended);
    record.insert("startTime".into(), Value::from(stamp(started)));
    record.insert("endTime".into(), Value::from(stamp(ended)));
    if let Some(previous) = finished.and_then(|finished| finished.previous) {
        record.insert("previousId".into(), Value::from(previous.as_str()));
    }
    let target = engine.topology.entity(task.spec.target);
    record.insert("target".into(), Value::Str(target.key.shared()));
    if let Some(status) = task.status() {
        record.insert("priority".into(), Value::from(task.spec.priority.as_str()));
        let in_doubt = engine.is_in_doubt(task);
        let told = if in_doubt { Status::Unknown } else { status };
        record.insert("readyState".into(), ready_state(told));
    }
    record.insert("implementation".into(), implementation(task));
    record.insert("reason".into(), Value::from(task.spec.reason.to_string()));
    add_inputs_and_changes(engine, task, &mut record);
    add_dependencies(engine, task, &mut record);
    add_result(task, &mut record);
    add_digest(&engine.digest(task), &mut record);
    add_whole_key(engine, task, &mut record);
    if engine.is_half_done(task) || engine.is_in_doubt(task) {
        record.insert(CUT_OFF.into(), Value::from(engine.turn_of(task)));
    }
    record.insert("changed".into(), Value::Bool(task.has_changed()));
    record.insert("summary".into(), Value::from(task_line(engine, task)));
    record
}

fn add_inputs(task: &Task, record: &mut Map) {
    if !task.reads.resolved.is_empty() {
        let inputs = task
            .reads
            .resolved
            .iter()
            .map(|(name, value)| (Arc::clone(name), value.redacted()));
        record.insert("inputs".into(), Value::from(inputs.collect::<Map>()));
    }
}

fn add_inputs_and_changes(engine: &Engine, task: &Task, record: &mut Map) {
    add_inputs(task, record);
    let mut changes = Map::new();
    for (of, change) in &task.changes {
        let mut entries: Map = change.attributes.clone();
        if let Some(status) = change.status {
            entries.insert(".status".into(), Value::from(status.as_str()));
        }
        if let Some(added) = &change.added {
            entries.insert(".added".into(), added.clone());
        }
        if !entries.is_empty() {
            let key = engine.topology.entity(*of).key.shared();
            changes.insert(key, Value::from(entries).redacted());
        }
    }
    if !changes.is_empty() {
        record.insert("changes".into(), Value::from(changes));
    }
    if !task.errors.is_empty() {
        let messages = task.errors.iter().map(|error| Value::from(error.as_str()));
        record.insert("messages".into(), Value::list(messages));
    }
}

fn add_dependencies(engine: &Engine, task: &Task, record: &mut Map) {
    let dependencies = task
        .reads
        .dependencies
        .iter()
        .map(|((of, name), dependency)| {
            let key = format!("{}::{name}", engine.topology.entity(*of).key);
            let mut entry = Map::from_iter([("ref".into(), Value::from(key))]);
            if !dependency.value.is_null() {
                entry.insert("expected".into(), dependency.value.redacted());
            }
            entry.insert("required".into(), Value::Bool(true));
            if dependency.write_only {
                entry.insert("writeOnly".into(), Value::Bool(true));
            }
            Value::from(entry)
        });
    let dependencies: Vec<_> = dependencies.collect();
    if !dependencies.is_empty() {
        record.insert("dependencies".into(), Value::from(dependencies));
    }
}

fn add_result(task: &Task, record: &mut Map) {
    match task.finished() {
        None => {
            record.insert("result".into(), Value::from("skipped"));
        }
        Some(Finished { outcome, .. }) => {
            if let Some(outputs) = outcome
                .outputs
                .as_ref()
                .filter(|outputs| !outputs.is_empty())
            {
                record.insert("outputs".into(), Value::from(outputs.clone()).redacted());
            }
            if let Some(result) = outcome.result.as_ref().filter(|result| result.is_truthy()) {
                record.insert("result".into(), result.redacted());
            }
        }
    }
}

fn add_digest(digest: &Digest, record: &mut Map) {
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
        record.insert("digestKey".into(), Value::from(secret.key.as_str()));
    }
}

/// A task in one line, as records and `jobs.tsv` carry it.
pub(super) fn task_line(engine: &Engine, task: &Task) -> String {
    let target = engine.topology.entity(task.spec.target);
    let template = target.template_name();
    let name = match target.local_name() {
        name if name == template => name.to_owned(),
        name => format!("{name} ({template})"),
    };
    let status = task.target_state.status;
    let status = status.map_or("None", Status::as_str);
    format!(
        "{} on instance {name} (type {}, status {status}) using configurator for {}: {} ({}), \
         priority: {}, reason: {}",
        task.spec.reference.operation,
        target.type_name(),
        task.spec.reason,
        task.spec.reference,
        task.class_name(),
        task.spec.priority,
        task.spec.reason
    )
}

/// Whether a task's record belongs to what is committed: it ran, and it did not fail without
/// changing anything.
pub fn is_committed(task: &Task) -> bool {
    match task.status() {
        // Whatever it has done, the next job must know.
        Some(_) if task.was_cut_off() => true,
        None => false,
        Some(Status::Error) => task.has_changed(),
        Some(_) => true,
    }
}
