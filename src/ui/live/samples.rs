//! The events of an example job, for the tests of views.

use std::path::PathBuf;
use std::time::Duration;

use super::event::{FinishedTask, ProgressEvent, ProgressProblem, ProgressView};
use crate::diagnostic::SourcePosition;
use crate::host::Stream;
use crate::job::LogLevel;
use crate::name::Status;
use crate::ui::summary::TaskEnd;

fn place() -> SourcePosition {
    SourcePosition {
        path: PathBuf::from("a,b/ensemble.yaml"),
        line: 12,
        column: 7,
    }
}

fn started(task: usize, instance: &str, operation: &str, usual: Option<u64>) -> ProgressEvent {
    ProgressEvent::TaskStarted {
        task,
        instance: instance.to_owned(),
        operation: operation.to_owned(),
        usual: usual.map(Duration::from_secs),
    }
}

fn output(task: usize, stream: Stream, text: &str) -> ProgressEvent {
    ProgressEvent::Output {
        task,
        stream,
        text: text.to_owned(),
    }
}

fn finished(
    task: usize,
    (instance, operation): (&str, &str),
    end: TaskEnd,
    millis: u64,
    error: Option<&str>,
) -> ProgressEvent {
    ProgressEvent::TaskFinished(FinishedTask {
        task,
        instance: instance.to_owned(),
        operation: operation.to_owned(),
        end,
        changed: end == TaskEnd::Success,
        elapsed: Duration::from_millis(millis),
        errors: error.into_iter().map(str::to_owned).collect(),
        place: error.map(|_| place()),
    })
}

fn message(level: LogLevel, text: &str) -> ProgressEvent {
    ProgressEvent::Message {
        level,
        text: text.to_owned(),
        styled: None,
    }
}

fn problem() -> ProgressEvent {
    ProgressEvent::Problem(Box::new(ProgressProblem {
        level: LogLevel::Warning,
        message: "the key `x` has no effect".to_owned(),
        place: Some(place()),
        json: serde_json::json!({"severity": "warning", "message": "the key `x` has no effect"}),
        text: "warning: the key `x` has no effect\n --> a,b/ensemble.yaml:12:7\n".to_owned(),
        styled: None,
    }))
}

/// Returns the events of a job with a success, a failure, hostile output and messages, with their times in
/// milliseconds.
pub(super) fn job() -> Vec<(u64, ProgressEvent)> {
    let head = ProgressEvent::JobStarted {
        id: "A6BL7ntS0000".to_owned(),
        workflow: "deploy".to_owned(),
        tasks: 4,
    };
    let hostile = "::error::x\n##[error]y\nsection_end:1:unfurl_1\n";
    let warning = "100 % full,\r\n::set-env name=a::b";
    let error = "exit code 3: 50 %\n::warning::y";
    let (db, web) = (("db", "create"), ("web", "configure"));
    let status = Status::Error;
    vec![
        (0, head),
        (10, started(1, "db", "create", Some(4))),
        (20, ProgressEvent::Remaining(Duration::from_millis(4500))),
        (30, started(2, "web", "configure", None)),
        (900, output(1, Stream::Stdout, "creating\n")),
        (950, output(2, Stream::Stderr, hostile)),
        (1_000, output(1, Stream::Stdout, "50 %\n")),
        (1_250, finished(1, db, TaskEnd::Success, 1_240, None)),
        (1_300, message(LogLevel::Info, "the plan has 2 steps")),
        (1_310, message(LogLevel::Warning, warning)),
        (1_320, problem()),
        (
            65_030,
            finished(2, web, TaskEnd::Failed, 65_000, Some(error)),
        ),
        (
            65_040,
            finished(3, ("app:1", "create"), TaskEnd::Blocked, 0, None),
        ),
        (65_050, started(4, "dns", "check", None)),
        (
            65_060,
            finished(4, ("dns", "check"), TaskEnd::Success, 10, None),
        ),
        (65_100, ProgressEvent::JobFinished { status }),
    ]
}

/// Returns the text of a view for the example job.
pub(super) fn show(view: &mut dyn ProgressView) -> String {
    let mut text = String::new();
    for (at, event) in job() {
        view.event(Duration::from_millis(at), &event, &mut text);
    }
    view.finish(Duration::from_millis(65_100), &mut text);
    text
}
