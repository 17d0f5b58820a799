//! A task of a finished job as its record tells how it ran.

use jiff::Timestamp;

use super::record_time::parse_stamp;
use crate::value::Value;

/// A recorded task of a finished job. Secrets are redacted.
#[derive(Debug, Clone, PartialEq)]
pub struct PastTask {
    /// The key of the task's target, such as `::web`.
    pub target: String,
    pub operation: String,
    /// The start and the end. None if the record lacks them, as those of Unfurl (Python) do.
    pub times: Option<(Timestamp, Timestamp)>,
    pub end: PastEnd,
    pub changed: bool,
    pub errors: Vec<String>,
    /// The recorded output of the task's command.
    pub stdout: String,
    pub stderr: String,
}

/// How a recorded task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastEnd {
    Ok,
    Failed,
    /// The task never ran, because a task before it failed.
    Blocked,
    /// The task was planned but not needed.
    Skipped,
    /// The job was killed while the task ran.
    Unknown,
}

impl PastTask {
    /// Reads the record of a task. `job_start` is the start of the job in the format of records.
    pub fn of(record: &Value, job_start: Option<&str>) -> Self {
        let record = record.redacted();
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        let within = |key: &str, inner: &str| record.get(key)?.get(inner)?.as_str();
        let shown = |key: &str| within("result", key).unwrap_or_default().to_owned();
        let stamps = text("startTime").zip(text("endTime"));
        let times = stamps.and_then(|(start, end)| parse_stamp(start).zip(parse_stamp(end)));
        // A task that never ran has the start time of the job.
        let never_ran = stamps.is_some_and(|(start, _)| Some(start) == job_start);
        let ready = within("readyState", "effective").or_else(|| within("readyState", "local"));
        let end = match ready {
            Some("ok" | "degraded") => PastEnd::Ok,
            Some("error") if never_ran => PastEnd::Blocked,
            Some("error") => PastEnd::Failed,
            Some(_) => PastEnd::Unknown,
            None => PastEnd::Skipped,
        };
        let messages = record.get("messages").and_then(Value::as_list);
        let messages = messages.into_iter().flatten().map(ToString::to_string);
        let mut errors: Vec<String> = messages.collect();
        if errors.is_empty() && matches!(end, PastEnd::Failed | PastEnd::Blocked) {
            errors.extend(text("result").map(str::to_owned));
        }
        Self {
            target: text("digestOf")
                .or_else(|| text("target"))
                .unwrap_or_default()
                .to_owned(),
            operation: within("implementation", "operation")
                .unwrap_or_default()
                .to_owned(),
            times: times.filter(|_| !never_ran),
            end,
            changed: record.get("changed").is_some_and(Value::is_truthy),
            errors,
            stdout: shown("stdout"),
            stderr: shown("stderr"),
        }
    }

    /// Returns the name of the instance or relationship, such as `web` or `outer:web`.
    pub fn instance(&self) -> String {
        self.target.trim_start_matches("::").replace(":::", ":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Schema, parse_text};

    fn task(text: &str) -> PastTask {
        let record = parse_text(Schema::Core, text).unwrap().to_value();
        PastTask::of(&record, Some("2026-11-24-01-19-11-000000"))
    }

    #[test]
    fn a_record_tells_how_its_task_ran() {
        let ran = task(
            "{startTime: 2026-11-24-01-19-12-000000, endTime: 2026-11-24-01-19-13-500000, target: '::web', \
             readyState: {local: error}, implementation: {operation: create}, messages: [a, b], changed: true, \
             result: {stdout: \"x\\n\", stderr: y}}",
        );
        let (start, end) = ran.times.unwrap();
        assert_eq!(end.duration_since(start).as_millis(), 1500);
        assert_eq!(
            (ran.instance().as_str(), ran.operation.as_str()),
            ("web", "create")
        );
        assert_eq!((ran.end, ran.changed), (PastEnd::Failed, true));
        assert_eq!(ran.errors, ["a", "b"]);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("x\n", "y"));
    }

    #[test]
    fn a_task_that_never_ran_has_no_times() {
        let blocked = task(
            "{startTime: 2026-11-24-01-19-11-000000, endTime: 2026-11-24-01-19-13-500000, digestOf: 'a:::b', \
             target: '::b', readyState: {local: error}, result: previous operation failed}",
        );
        assert_eq!((blocked.end, blocked.times), (PastEnd::Blocked, None));
        assert_eq!(blocked.instance(), "a:b");
        assert_eq!(blocked.errors, ["previous operation failed"]);
        assert_eq!(
            task("{target: '::a', result: skipped}").end,
            PastEnd::Skipped
        );
        assert_eq!(
            task("{target: '::a', readyState: {local: unknown}}").end,
            PastEnd::Unknown
        );
        assert_eq!(task("{}").end, PastEnd::Skipped);
    }

    #[test]
    fn a_record_of_unfurl_has_no_times() {
        let of_unfurl =
            task("{target: '::web', readyState: {effective: ok, local: ok}, startTime: 1}");
        assert_eq!((of_unfurl.end, of_unfurl.times), (PastEnd::Ok, None));
    }

    #[test]
    fn a_secret_of_a_record_stays_hidden() {
        let secret = task(
            "{readyState: {local: error}, result: {stdout: !sensitive hunter2}, messages: [!sensitive pw]}",
        );
        let text = format!("{secret:?}");
        assert!(!text.contains("hunter2") && !text.contains("pw"), "{text}");
    }
}
