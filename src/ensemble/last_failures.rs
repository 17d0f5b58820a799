//! Finds the last failure of instances in the records of jobs, or the findings of the last check.
//!
//! A task that failed without a change is in the full record of its job only, which stays on this machine.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::history::{read_log, records_of};
use crate::name::ChangeId;
use crate::value::Value;

/// The maximum number of jobs whose records are read.
const MAX_JOBS: usize = 30;

/// The operation that looks at an instance and changes nothing.
const CHECK: &str = "check";

/// The maximum number of lines of a check's result.
const MAX_LINES: usize = 20;

/// The beginnings of the results of tasks that never ran, because another task had failed.
const BLOCKED: [&str; 4] = [
    "could not run: required dependencies not ready",
    "the step before it failed",
    "previous operation failed",
    "Never ran: ",
];

/// A recorded operation that failed, that was not reached because another one had failed, or a check that found an
/// instance in another status than ok.
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
    /// True if the operation ran well, and its result is the reason why the instance is not ok.
    pub is_finding: bool,
}

/// Returns the failures of instances whose last recorded operation failed, and the findings of checks, by the key of the
/// instance.
///
/// `keys` are the keys of instances that are not ok. They are unique in the whole topology. Records that cannot be read are passed over.
pub fn last_failures(
    manifest: &Path,
    folder: &Path,
    keys: HashSet<String>,
) -> HashMap<String, RecordedFailure> {
    failures(manifest, folder, keys, true)
}

/// Returns the failures of instances whose last operation failed that was no check.
pub(super) fn last_failed_operations(
    manifest: &Path,
    folder: &Path,
    keys: HashSet<String>,
) -> HashMap<String, RecordedFailure> {
    failures(manifest, folder, keys, false)
}

fn failures(
    manifest: &Path,
    folder: &Path,
    mut keys: HashSet<String>,
    with_checks: bool,
) -> HashMap<String, RecordedFailure> {
    let mut failures = HashMap::new();
    if keys.is_empty() {
        return failures;
    }
    let log = read_log(manifest, folder);
    for (id, job) in log.jobs().rev().take(MAX_JOBS) {
        let tasks = log
            .tasks_of(job)
            .filter(|task| with_checks || task.get("operation") != Some(CHECK));
        let tasks: Vec<_> = tasks.collect();
        let checked = tasks.iter().any(|task| {
            let key = task.get("digestOf").or_else(|| task.get("target"));
            task.get("operation") == Some(CHECK) && keys.contains(key.unwrap_or_default())
        });
        if job.status.as_deref() == Some("ok") && !checked {
            // All tasks succeeded, so their instances have no failure that still counts.
            for task in &tasks {
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
                let is_left_out = !with_checks && operation_of(record).as_deref() == Some(CHECK);
                if is_left_out || !keys.contains(&key) || settled.contains(&key) {
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

fn operation_of(record: &Value) -> Option<String> {
    let operation = record.get("implementation")?.get("operation")?;
    Some(operation.redacted().to_string())
}

fn failure_of(job: ChangeId, record: &Value) -> Option<RecordedFailure> {
    let status = record.get("readyState").and_then(|it| it.get("local"));
    let text = |value: Option<&Value>| value.map(|value| value.redacted().to_string());
    let operation = operation_of(record).unwrap_or_default();
    let listed = record.get("messages").and_then(Value::as_list);
    let mut messages: Vec<String> = listed
        .into_iter()
        .flatten()
        .map(|message| message.redacted().to_string())
        .collect();
    let has_failed = status.and_then(Value::as_str) == Some("error");
    let is_finding = operation == CHECK && (!has_failed || messages.is_empty());
    let result = record.get("result");
    if is_finding {
        messages = found_lines(result);
        if messages.is_empty() && !has_failed {
            return None;
        }
    } else if !has_failed {
        return None;
    }
    let result = result.and_then(Value::as_str);
    let is_blocked = result.is_some_and(is_blocked);
    if messages.is_empty() {
        messages.extend(result.map(str::to_owned));
    }
    Some(RecordedFailure {
        job,
        operation,
        time: text(record.get("endTime")),
        messages,
        is_blocked,
        is_finding: is_finding && !is_blocked,
    })
}

fn is_blocked(result: &str) -> bool {
    BLOCKED.iter().any(|start| result.starts_with(start))
}

/// Returns the reason for which a recorded task never ran. None if it ran.
pub fn not_run_reason(record: &Value) -> Option<String> {
    let result = record.get("result")?.as_str()?;
    let reason = is_blocked(result).then_some(result)?;
    Some(reason.trim_start_matches("could not run: ").to_owned())
}

/// Returns the first lines of what a check said: its message, else its output.
fn found_lines(result: Option<&Value>) -> Vec<String> {
    let text = |key: &str| {
        let text = result?.get(key)?.redacted().to_string();
        (!text.trim().is_empty()).then_some(text)
    };
    let said = text("message")
        .or_else(|| text("stderr"))
        .or_else(|| text("stdout"));
    let said = said.unwrap_or_default();
    let lines = said.lines().filter(|line| !line.trim().is_empty());
    lines.take(MAX_LINES).map(str::to_owned).collect()
}
