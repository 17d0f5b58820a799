//! The report of a run of `ansible-playbook`: reads the lines of the callback plugin, one JSON object each.

use std::collections::VecDeque;

use indexmap::IndexMap;
use serde_json::Value as Json;

use crate::text::{OutputFilter, without_controls};
use crate::value::{Map, Value};

/// The start of each line of the callback plugin.
const LINE_START: &str = "{\"unfurl\":";
/// The maximum number of other lines that are kept, the last ones.
const MAX_OTHER_LINES: usize = 20;
/// The maximum number of failures and of changes that are kept.
const MAX_ENTRIES: usize = 1000;

/// The report of a run, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct PlaybookReport {
    /// The version of ansible-core. None if the callback plugin has not started.
    pub(super) version: Option<String>,
    /// The values of results under the names that `resultTemplate` has; later results override earlier ones.
    pub(super) values: Map,
    /// The names of the other values of the last result.
    pub(super) ignored: Vec<Value>,
    /// The facts that are outputs of the operation.
    pub(super) facts: Map,
    /// The failures, also those that the playbook handled.
    pub(super) failures: Vec<HostFailure>,
    pub(super) changes: Vec<HostChange>,
    /// The number of results that report a change.
    pub(super) changed: usize,
    /// The number of results.
    pub(super) results: usize,
    /// True if a result reports both a failure and a change.
    pub(super) has_failed_change: bool,
    /// True if any task has started.
    pub(super) has_started: bool,
    /// The counts at the end, by host. None if the end was not reached.
    pub(super) end: Option<IndexMap<String, HostCounts>>,
    /// The last lines that were not of the plugin.
    pub(super) other_lines: VecDeque<String>,
    /// True if a play matched no host.
    pub(super) has_unmatched_play: bool,
    /// The task whose results come, with their counts.
    current: Option<TaskCounts>,
}

/// A failure of a task on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostFailure {
    pub(super) host: String,
    pub(super) task: String,
    /// The message of the module.
    pub(super) message: String,
    pub(super) is_unreachable: bool,
    /// True if the task has `ignore_errors`.
    pub(super) is_ignored: bool,
}

/// A change that a task made on a host, or would make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostChange {
    pub(super) host: String,
    pub(super) task: String,
    /// The difference, if the module reports one.
    pub(super) diff: Option<String>,
}

/// The counts of a host at the end of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HostCounts {
    pub(super) failures: i64,
    pub(super) unreachable: i64,
}

/// A task of the playbook with the counts of its results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TaskCounts {
    name: String,
    ok: usize,
    changed: usize,
    skipped: usize,
    failed: usize,
}

/// A line about the progress of a playbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) text: String,
    pub(super) is_failure: bool,
}

impl PlaybookReport {
    /// Reads one line of the output. Returns the line about the progress that it gives.
    pub(super) fn read_line(&mut self, line: &str) -> Option<Progress> {
        let trimmed = line.trim();
        let parsed = trimmed
            .starts_with(LINE_START)
            .then(|| serde_json::from_str::<Json>(trimmed).ok());
        let Some(Some(event)) = parsed else {
            self.keep_other(trimmed);
            return None;
        };
        match text_of(&event, "unfurl").as_str() {
            "start" => self.version = Some(text_of(&event, "version")),
            "task" => return self.start_task(&event),
            "result" => return self.add_result(&event),
            "no-hosts-matched" => self.has_unmatched_play = true,
            "end" => {
                let done = self.end_task();
                self.end = Some(counts_of(&event));
                return done;
            }
            _ => {}
        }
        None
    }

    fn keep_other(&mut self, line: &str) {
        let line = OutputFilter::plain(line);
        if line.trim().is_empty() {
            return;
        }
        if self.other_lines.len() == MAX_OTHER_LINES {
            self.other_lines.pop_front();
        }
        self.other_lines.push_back(shortened(line.trim()));
    }

    fn start_task(&mut self, event: &Json) -> Option<Progress> {
        self.has_started = true;
        let done = self.end_task();
        self.current = Some(TaskCounts {
            name: plain_text(event, "name"),
            ..TaskCounts::default()
        });
        done
    }

    /// Returns the line about the task that ended.
    fn end_task(&mut self) -> Option<Progress> {
        let task = self.current.take()?;
        let counts = [
            ("ok", task.ok),
            ("changed", task.changed),
            ("skipped", task.skipped),
            ("failed", task.failed),
        ];
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(name, count)| format!("{name}={count}"))
            .collect();
        let text = format!("task `{}`: {}", task.name, counts.join(" "));
        let is_failure = false;
        (!counts.is_empty()).then_some(Progress { text, is_failure })
    }

    fn add_result(&mut self, event: &Json) -> Option<Progress> {
        self.results += 1;
        let status = text_of(event, "status");
        let changed = event["changed"] == Json::Bool(true);
        self.changed += usize::from(changed);
        if let Some(task) = &mut self.current {
            let count = match &*status {
                "failed" | "unreachable" => &mut task.failed,
                "skipped" => &mut task.skipped,
                _ if changed => &mut task.changed,
                _ => &mut task.ok,
            };
            *count += 1;
        }
        self.values.extend(map_of(&event["values"]));
        self.facts.extend(map_of(&event["facts"]));
        let ignored = event["ignored"]
            .as_array()
            .or_else(|| event["keys"].as_array());
        self.ignored = ignored.into_iter().flatten().map(value_of).collect();
        let host = plain_text(event, "host");
        let task = plain_text(event, "task");
        if matches!(&*status, "failed" | "unreachable") {
            self.has_failed_change |= changed;
            return Some(self.add_failure(HostFailure {
                host,
                task,
                message: plain_text(event, "message"),
                is_unreachable: status == "unreachable",
                is_ignored: event["ignored_failure"] == Json::Bool(true),
            }));
        }
        if changed && self.changes.len() < MAX_ENTRIES {
            let diff = plain_text(event, "diff");
            self.changes.push(HostChange {
                host,
                task,
                diff: Some(diff).filter(|diff| !diff.is_empty()),
            });
        }
        None
    }

    fn add_failure(&mut self, failure: HostFailure) -> Progress {
        let text = failure.to_string();
        let is_failure = !failure.is_ignored;
        if self.failures.len() < MAX_ENTRIES {
            self.failures.push(failure);
        }
        Progress { text, is_failure }
    }

    /// Returns true if the run reached its end without a failure that counts.
    pub(super) fn is_success(&self) -> bool {
        let Some(hosts) = &self.end else {
            return false;
        };
        let fails = |counts: &HostCounts| counts.failures > 0 || counts.unreachable > 0;
        !hosts.values().any(fails) && !self.matched_nothing()
    }

    /// Returns true if the run ended, but no play had a host.
    pub(super) fn matched_nothing(&self) -> bool {
        self.has_unmatched_play && self.results == 0 && self.end.is_some()
    }

    /// Returns the failures that count: those of hosts that failed, without ignored ones.
    pub(super) fn failures_that_count(&self) -> impl Iterator<Item = &HostFailure> {
        let failed = |host: &str| match &self.end {
            Some(hosts) => hosts
                .get(host)
                .is_none_or(|it| it.failures > 0 || it.unreachable > 0),
            None => true,
        };
        let failures = self.failures.iter().filter(|it| !it.is_ignored);
        failures.filter(move |it| failed(&it.host))
    }
}

impl std::fmt::Display for HostFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            host,
            task,
            message,
            ..
        } = self;
        let what = match (self.is_unreachable, self.is_ignored) {
            (true, _) => "the host is unreachable",
            (false, true) => "failed, which the playbook ignores",
            (false, false) => "failed",
        };
        write!(f, "{host}: task `{task}`: {what}")?;
        if message.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", message.trim())
    }
}

fn text_of(event: &Json, key: &str) -> String {
    event[key].as_str().unwrap_or_default().to_owned()
}

/// Returns a text without control characters.
fn plain_text(event: &Json, key: &str) -> String {
    let text = event[key].as_str().unwrap_or_default();
    without_controls(text).into_owned()
}

/// Returns a line that is short enough for a message.
fn shortened(line: &str) -> String {
    const LENGTH: usize = 500;
    let mut short: String = line.chars().take(LENGTH).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

fn counts_of(event: &Json) -> IndexMap<String, HostCounts> {
    let hosts = event["hosts"].as_object().into_iter().flatten();
    let counts = hosts.map(|(host, counts)| {
        let count = |key: &str| counts[key].as_i64().unwrap_or_default();
        let counts = HostCounts {
            failures: count("failures"),
            unreachable: count("unreachable"),
        };
        (host.clone(), counts)
    });
    counts.collect()
}

fn map_of(json: &Json) -> Map {
    let entries = json.as_object().into_iter().flatten();
    entries
        .map(|(key, item)| (key.as_str().into(), value_of(item)))
        .collect()
}

/// Returns JSON as a value, with texts without control characters.
fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => number.as_f64().map_or(Value::Null, Value::Float),
        },
        Json::String(text) => Value::from(without_controls(text).as_ref()),
        Json::Array(items) => Value::list(items.iter().map(value_of)),
        Json::Object(_) => Value::from(map_of(json)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(lines: &[&str]) -> (PlaybookReport, Vec<String>) {
        let mut report = PlaybookReport::default();
        let progress = lines.iter().filter_map(|line| report.read_line(line));
        let progress = progress.map(|it| it.text).collect();
        (report, progress)
    }

    #[test]
    fn results_are_merged_and_tasks_are_counted() {
        let (report, progress) = report(&[
            r#"{"unfurl": "start", "version": "2.15.9"}"#,
            "a line of another plugin",
            r#"{"unfurl": "task", "name": "install", "action": "apt"}"#,
            r#"{"unfurl": "result", "status": "ok", "host": "a", "task": "install", "changed": true, "values": {"stdout": "1", "msg": ""}, "ignored": ["rc"], "facts": {"x": 1}, "diff": "--- a\n+++ b"}"#,
            r#"{"unfurl": "result", "status": "ok", "host": "b", "task": "install", "changed": false, "values": {"stdout": "2"}, "ignored": ["cmd"], "facts": {}}"#,
            r#"{"unfurl": "task", "name": "start"}"#,
            r#"{"unfurl": "result", "status": "failed", "host": "b", "task": "start", "changed": false, "values": {}, "ignored": [], "message": "no unit"}"#,
            r#"{"unfurl": "end", "hosts": {"a": {"failures": 0, "unreachable": 0}, "b": {"failures": 1, "unreachable": 0}}}"#,
        ]);
        assert_eq!(
            progress,
            [
                "task `install`: ok=1 changed=1",
                "b: task `start`: failed: no unit",
                "task `start`: failed=1"
            ]
        );
        assert_eq!(report.values["stdout"].as_str(), Some("2"));
        assert_eq!(report.facts["x"], Value::Int(1));
        assert_eq!((report.changed, report.results), (1, 3));
        assert_eq!(report.other_lines, ["a line of another plugin"]);
        assert!(!report.is_success());
        assert_eq!(report.failures_that_count().count(), 1);
    }

    #[test]
    fn a_failure_that_the_playbook_handles_does_not_count() {
        let (report, _) = report(&[
            r#"{"unfurl": "result", "status": "failed", "host": "a", "task": "x", "ignored_failure": true}"#,
            r#"{"unfurl": "result", "status": "failed", "host": "a", "task": "rescued"}"#,
            r#"{"unfurl": "end", "hosts": {"a": {"failures": 0, "unreachable": 0}}}"#,
        ]);
        assert!(report.is_success());
        assert_eq!(report.failures_that_count().count(), 0);
    }

    #[test]
    fn nonsense_is_kept_as_the_last_lines() {
        let lines: Vec<String> = (0..30)
            .map(|number| format!("{{\"unfurl\": {number}"))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (report, _) = report(&lines);
        assert_eq!(report.other_lines.len(), MAX_OTHER_LINES);
        assert!(!report.is_success() && !report.has_started);
    }
}
