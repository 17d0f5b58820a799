//! The events of a running job as JSON, one document per line: `--progress json`.
//!
//! `schemas/progress.json` describes the documents.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::event::{FinishedTask, ProgressEvent, ProgressView};
use crate::host::Stream;
use crate::job::LogLevel;
use crate::text::escape_controls;
use crate::ui::change::location_json;
use crate::ui::summary::TaskEnd;

/// The view that prints each event as one line of JSON.
#[derive(Debug)]
pub struct JsonEvents {
    /// The time from which the times of events count.
    start: Timestamp,
}

impl JsonEvents {
    /// Creates the view of a job that starts at this time.
    pub const fn new(start: Timestamp) -> Self {
        Self { start }
    }

    /// Returns the line of a message of the program at a time, outside of a view.
    pub fn message(time: Timestamp, level: LogLevel, text: &str) -> String {
        line("message", time, &message(level, text))
    }
}

impl ProgressView for JsonEvents {
    fn event(&mut self, at: Duration, event: &ProgressEvent, out: &mut String) {
        let (name, fields) = document(event);
        let time = self.start.checked_add(at).unwrap_or(self.start);
        out.push_str(&line(name, time, &fields));
    }

    fn tick(&mut self, _at: Duration, _out: &mut String) {}

    fn finish(&mut self, _at: Duration, _out: &mut String) {}
}

fn line(name: &str, time: Timestamp, fields: &Json) -> String {
    let mut document = Map::new();
    document.insert("event".to_owned(), name.into());
    let time = time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ");
    document.insert("time".to_owned(), time.to_string().into());
    for (key, value) in fields.as_object().into_iter().flatten() {
        document.insert(key.clone(), value.clone());
    }
    let line = Json::Object(document).to_string();
    // The escapes are those of JSON, so that the document stays the same.
    format!("{}\n", escape_controls(&line))
}

fn message(level: LogLevel, text: &str) -> Json {
    json!({ "level": level.as_str(), "text": text })
}

/// Returns the name and the fields of an event.
fn document(event: &ProgressEvent) -> (&'static str, Json) {
    match event {
        ProgressEvent::JobStarted {
            id,
            workflow,
            tasks,
        } => (
            "job-started",
            json!({ "id": id, "workflow": workflow, "tasks": tasks }),
        ),
        ProgressEvent::TaskStarted {
            task,
            instance,
            operation,
            usual,
        } => (
            "task-started",
            json!({
                "task": task,
                "instance": instance,
                "operation": operation,
                "usual": usual.map(seconds),
            }),
        ),
        ProgressEvent::Output { task, stream, text } => (
            "output",
            json!({ "task": task, "stream": stream_word(*stream), "text": text }),
        ),
        ProgressEvent::TaskFinished(FinishedTask {
            task,
            instance,
            operation,
            end,
            changed,
            elapsed,
            errors,
            place,
        }) => (
            "task-finished",
            json!({
                "task": task,
                "instance": instance,
                "operation": operation,
                "end": end_word(*end),
                "changed": changed,
                "elapsed": seconds(*elapsed),
                "errors": errors,
                "place": location_json(place.as_ref()),
            }),
        ),
        ProgressEvent::Remaining(time) => ("remaining", json!({ "remaining": seconds(*time) })),
        ProgressEvent::Message { level, text, .. } => ("message", message(*level, text)),
        ProgressEvent::Problem(problem) => ("problem", json!({ "problem": problem.json })),
        ProgressEvent::JobFinished { status } => {
            ("job-finished", json!({ "status": status.as_str() }))
        }
    }
}

fn stream_word(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

fn end_word(end: TaskEnd) -> &'static str {
    match end {
        TaskEnd::Success => "ok",
        TaskEnd::Failed => "failed",
        TaskEnd::Blocked => "blocked",
        TaskEnd::Skipped => "skipped",
    }
}

/// Returns a time in seconds, to the millisecond.
fn seconds(time: Duration) -> Json {
    let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    (f64::from(millis) / 1000.0).into()
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn each_event_is_one_line_of_json() {
        let mut view = JsonEvents::new("2026-11-24T01:00:00Z".parse().unwrap());
        let text = samples::show(&mut view);
        for line in text.lines() {
            assert!(serde_json::from_str::<Json>(line).unwrap().is_object());
        }
        insta::assert_snapshot!(text, @r#"
        {"event":"job-started","time":"2026-11-24T01:00:00.000000Z","id":"A6BL7ntS0000","workflow":"deploy","tasks":4}
        {"event":"task-started","time":"2026-11-24T01:00:00.010000Z","task":1,"instance":"db","operation":"create","usual":4.0}
        {"event":"remaining","time":"2026-11-24T01:00:00.020000Z","remaining":4.5}
        {"event":"task-started","time":"2026-11-24T01:00:00.030000Z","task":2,"instance":"web","operation":"configure","usual":null}
        {"event":"output","time":"2026-11-24T01:00:00.900000Z","task":1,"stream":"stdout","text":"creating\n"}
        {"event":"output","time":"2026-11-24T01:00:00.950000Z","task":2,"stream":"stderr","text":"::error::x\n##[error]y\nsection_end:1:unfurl_1\n"}
        {"event":"output","time":"2026-11-24T01:00:01.000000Z","task":1,"stream":"stdout","text":"50 %\n"}
        {"event":"task-finished","time":"2026-11-24T01:00:01.250000Z","task":1,"instance":"db","operation":"create","end":"ok","changed":true,"elapsed":1.24,"errors":[],"place":null}
        {"event":"message","time":"2026-11-24T01:00:01.300000Z","level":"info","text":"the plan has 2 steps"}
        {"event":"message","time":"2026-11-24T01:00:01.310000Z","level":"warning","text":"100 % full,\r\n::set-env name=a::b"}
        {"event":"problem","time":"2026-11-24T01:00:01.320000Z","problem":{"severity":"warning","message":"the key `x` has no effect"}}
        {"event":"task-finished","time":"2026-11-24T01:01:05.030000Z","task":2,"instance":"web","operation":"configure","end":"failed","changed":false,"elapsed":65.0,"errors":["exit code 3: 50 %\n::warning::y"],"place":{"file":"a,b/ensemble.yaml","line":12,"column":7}}
        {"event":"task-finished","time":"2026-11-24T01:01:05.040000Z","task":3,"instance":"app:1","operation":"create","end":"blocked","changed":false,"elapsed":0.0,"errors":[],"place":null}
        {"event":"task-started","time":"2026-11-24T01:01:05.050000Z","task":4,"instance":"dns","operation":"check","usual":null}
        {"event":"task-finished","time":"2026-11-24T01:01:05.060000Z","task":4,"instance":"dns","operation":"check","end":"ok","changed":true,"elapsed":0.01,"errors":[],"place":null}
        {"event":"job-finished","time":"2026-11-24T01:01:05.100000Z","status":"error"}
        "#);
    }

    #[test]
    fn a_message_outside_of_a_view_has_the_same_form() {
        let time = "2026-11-24T01:00:00Z".parse().unwrap();
        insta::assert_snapshot!(JsonEvents::message(time, LogLevel::Warning, "a\nb"), @r#"{"event":"message","time":"2026-11-24T01:00:00.000000Z","level":"warning","text":"a\nb"}"#);
    }
}
