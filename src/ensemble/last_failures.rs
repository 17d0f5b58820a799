//! Finds the last failure of instances in the records of jobs.
//!
//! A task that failed without a change is in the full record of its job only, which stays on this machine.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::history::{read_log, records_of};
use crate::name::ChangeId;
use crate::value::Value;

/// The maximum number of jobs whose records are read.
const MAX_JOBS: usize = 30;

/// The beginnings of the results of tasks that never ran, because another task had failed.
const BLOCKED: [&str; 4] = [
    "could not run: required dependencies not ready",
    "the step before it failed",
    "previous operation failed",
    "Never ran: ",
];

/// A recorded operation that failed, or that was not reached because another one had failed.
#[derive(Debug, Clone)]
pub struct RecordedFailure {
    pub job: ChangeId,
    /// The name of the operation, such as `configure`.
    pub operation: String,
    /// The end time in the format of records.
    pub time: Option<String>,
    pub messages: Vec<String>,
    /// Whether the operation never ran.
    pub is_blocked: bool,
}

/// Returns the failures of instances whose last recorded operation failed, by the key of the instance.
///
/// `keys` are keys that are unique in the whole topology. Records that cannot be read are passed over.
pub fn last_failures(
    manifest: &Path,
    folder: &Path,
    mut keys: HashSet<String>,
) -> HashMap<String, RecordedFailure> {
    let mut failures = HashMap::new();
    if keys.is_empty() {
        return failures;
    }
    let log = read_log(manifest, folder);
    for (id, job) in log.jobs().rev().take(MAX_JOBS) {
        if job.status.as_deref() == Some("ok") {
            // All tasks succeeded, so their instances have no failure that still counts.
            for task in log.tasks_of(job) {
                let key = task.get("digestOf").or_else(|| task.get("target"));
                keys.remove(key.unwrap_or_default());
            }
        } else {
            let records = records_of(&log, job, &mut Vec::new());
            let mut settled = HashSet::new();
            // The last task that ran counts; those after a failure are blocked.
            for record in records.iter().rev() {
                let key = record.get("digestOf").or_else(|| record.get("target"));
                let key = key.map(ToString::to_string).unwrap_or_default();
                if !keys.contains(&key) || settled.contains(&key) {
                    continue;
                }
                match failure_of(id, record) {
                    Some(failure) if failure.is_blocked => {
                        failures.entry(key).or_insert(failure);
                    }
                    Some(failure) => {
                        failures.insert(key.clone(), failure);
                        settled.insert(key);
                    }
                    None => {
                        settled.insert(key);
                    }
                }
            }
            keys.retain(|key| !settled.contains(key) && !failures.contains_key(key));
        }
        if keys.is_empty() {
            break;
        }
    }
    failures
}

fn failure_of(job: ChangeId, record: &Value) -> Option<RecordedFailure> {
    let status = record.get("readyState").and_then(|it| it.get("local"));
    if status.and_then(Value::as_str) != Some("error") {
        return None;
    }
    let text = |value: Option<&Value>| value.map(|value| value.redacted().to_string());
    let listed = record.get("messages").and_then(Value::as_list);
    let mut messages: Vec<String> = listed
        .into_iter()
        .flatten()
        .map(|message| message.redacted().to_string())
        .collect();
    let result = record.get("result").and_then(Value::as_str);
    let is_blocked = result.is_some_and(|text| BLOCKED.iter().any(|start| text.starts_with(start)));
    if messages.is_empty() {
        messages.extend(result.map(str::to_owned));
    }
    let implementation = record.get("implementation");
    Some(RecordedFailure {
        job,
        operation: text(implementation.and_then(|it| it.get("operation"))).unwrap_or_default(),
        time: text(record.get("endTime")),
        messages,
        is_blocked,
    })
}
