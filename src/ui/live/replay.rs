//! Turns the recorded tasks of a finished job into the events that its display showed.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;

use super::event::{FinishedTask, ProgressEvent, ProgressView};
use crate::ensemble::history::{PastEnd, PastTask};
use crate::host::Stream;
use crate::name::Status;
use crate::text::OutputFilter;
use crate::ui::summary::TaskEnd;

/// The longest time that a replay takes unless the user chooses a speed.
const USUAL_TIME: Duration = Duration::from_secs(20);

/// A finished job that can be shown again.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The start of the first task, if any start is recorded.
    pub start: Option<Timestamp>,
    /// The events with their times since the start of the first task, in order.
    pub events: Vec<(Duration, ProgressEvent)>,
}

/// The view of a job that is shown again: the times of the job instead of those of the display.
pub struct ReplayView {
    view: Box<dyn ProgressView>,
    /// The speed compared with the job itself; 0 shows everything at once.
    speed: f64,
    /// The times of the next events.
    times: VecDeque<Duration>,
    /// The time of the last event.
    last: Duration,
}

impl std::fmt::Debug for ReplayView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayView").finish_non_exhaustive()
    }
}

impl ReplayView {
    /// Shows the events of a replay, which come in their order, in a view.
    pub fn new(view: Box<dyn ProgressView>, replay: &Replay, speed: f64) -> Self {
        Self {
            view,
            speed,
            times: replay.events.iter().map(|(at, _)| *at).collect(),
            last: Duration::ZERO,
        }
    }

    /// Returns the time of the job at a time of the display: between the last event and the next one.
    fn job_time(&self, at: Duration) -> Duration {
        let next = self.times.front().copied().unwrap_or(self.last);
        at.mul_f64(self.speed).clamp(self.last, next.max(self.last))
    }
}

impl ProgressView for ReplayView {
    fn event(&mut self, _at: Duration, event: &ProgressEvent, out: &mut String) {
        self.last = self.times.pop_front().unwrap_or(self.last);
        self.view.event(self.last, event, out);
    }

    fn tick(&mut self, at: Duration, out: &mut String) {
        self.view.tick(self.job_time(at), out);
    }

    fn pause(&mut self, out: &mut String) {
        self.view.pause(out);
    }

    fn resize(&mut self, size: (u16, u16)) {
        self.view.resize(size);
    }

    fn key(&mut self, at: Duration, key: char, out: &mut String) {
        self.view.key(self.job_time(at), key, out);
    }

    fn finish(&mut self, at: Duration, out: &mut String) {
        self.view.finish(self.job_time(at), out);
    }
}

/// The head of a job that is shown again.
#[derive(Debug, Clone)]
pub struct ReplayedJob {
    pub id: String,
    pub workflow: String,
    pub status: Status,
}

impl Replay {
    /// Creates the events of a job from its tasks, which are in the order of the record.
    ///
    /// A task without times comes where the record has it.
    pub fn new(job: &ReplayedJob, tasks: &[PastTask]) -> Self {
        let starts = tasks
            .iter()
            .filter_map(|task| task.times)
            .map(|times| times.0);
        // The start of the job itself may be any time that the user chose.
        let start = starts.min();
        let since = |time: Timestamp| -> Duration {
            let since = start.map(|start| time.duration_since(start));
            since
                .and_then(|since| since.try_into().ok())
                .unwrap_or_default()
        };
        let head = ProgressEvent::JobStarted {
            id: job.id.clone(),
            workflow: job.workflow.clone(),
            tasks: tasks
                .iter()
                .filter(|task| task.end != PastEnd::Skipped)
                .count(),
        };
        let mut events = vec![(Duration::ZERO, head)];
        let mut last = Duration::ZERO;
        for (place, task) in tasks.iter().enumerate() {
            if task.end == PastEnd::Skipped {
                continue;
            }
            let times = task.times.map(|(start, end)| (since(start), since(end)));
            let (start, end) = times.unwrap_or((last, last));
            let end = end.max(start);
            last = last.max(end);
            add_task(&mut events, place + 1, task, (start, end));
        }
        // Events of the same time stay in the order of the record.
        events.sort_by_key(|(at, _)| *at);
        events.push((last, ProgressEvent::JobFinished { status: job.status }));
        Self { start, events }
    }

    /// Returns the time of the last event.
    pub fn length(&self) -> Duration {
        self.events.last().map_or(Duration::ZERO, |(at, _)| *at)
    }

    /// Returns the speed at which the job is shown: as it was, or faster if it took long.
    pub fn usual_speed(&self) -> f64 {
        (self.length().as_secs_f64() / USUAL_TIME.as_secs_f64()).max(1.0)
    }
}

fn add_task(
    events: &mut Vec<(Duration, ProgressEvent)>,
    number: usize,
    task: &PastTask,
    (start, end): (Duration, Duration),
) {
    let (instance, operation) = (task.instance(), task.operation.clone());
    if task.end != PastEnd::Blocked {
        let started = ProgressEvent::TaskStarted {
            task: number,
            instance: instance.clone(),
            operation: operation.clone(),
            usual: None,
        };
        events.push((start, started));
    }
    for (stream, text) in [
        (Stream::Stdout, &task.stdout),
        (Stream::Stderr, &task.stderr),
    ] {
        let mut text = OutputFilter::plain(text);
        if text.is_empty() {
            continue;
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let output = ProgressEvent::Output {
            task: number,
            stream,
            text,
        };
        events.push((end, output));
    }
    let mut errors = task.errors.clone();
    if task.end == PastEnd::Unknown {
        errors.push("the job ended while the task ran".to_owned());
    }
    let finished = ProgressEvent::TaskFinished(FinishedTask {
        task: number,
        instance,
        operation,
        end: match task.end {
            PastEnd::Ok => TaskEnd::Success,
            PastEnd::Failed | PastEnd::Unknown => TaskEnd::Failed,
            PastEnd::Blocked => TaskEnd::Blocked,
            PastEnd::Skipped => TaskEnd::Skipped,
        },
        changed: task.changed,
        elapsed: end.saturating_sub(start),
        errors,
        place: None,
    });
    events.push((end, finished));
}

#[cfg(test)]
mod tests {
    use super::super::gitlab::GitlabLog;
    use super::super::json_events::JsonEvents;
    use super::*;
    use crate::ui::paint::Paint;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_482_000 + second).unwrap()
    }

    fn task(instance: &str, times: Option<(i64, i64)>, end: PastEnd) -> PastTask {
        PastTask {
            target: format!("::{instance}"),
            operation: "create".to_owned(),
            times: times.map(|(start, end)| (second(start), second(end))),
            end,
            changed: true,
            errors: Vec::new(),
            stdout: String::new(),
            stderr: String::new(),
        }
    }

    fn replay(tasks: &[PastTask]) -> Replay {
        let job = ReplayedJob {
            id: "A6BL7ntS0000".to_owned(),
            workflow: "deploy".to_owned(),
            status: Status::Error,
        };
        Replay::new(&job, tasks)
    }

    #[test]
    fn tasks_run_again_in_their_own_order_with_their_output() {
        let mut db = task("db", Some((1, 41)), PastEnd::Ok);
        db.stdout = "one\n\x1b[2Jtwo".to_owned();
        let mut web = task("web", Some((2, 3)), PastEnd::Failed);
        web.stderr = "no space left\n".to_owned();
        web.errors.push("exit code 1".to_owned());
        let blocked = task("app", None, PastEnd::Blocked);
        let skipped = task("dns", None, PastEnd::Skipped);
        let replay = replay(&[db, web, blocked, skipped]);
        assert_eq!(
            (replay.start, replay.length().as_secs()),
            (Some(second(1)), 40)
        );
        assert!((replay.usual_speed() - 2.0).abs() < 1e-9);
        let mut view = GitlabLog::new(second(1), Paint::plain());
        let mut text = String::new();
        for (at, event) in &replay.events {
            view.event(*at, event, &mut text);
        }
        let text = text.replace('\r', "<CR>").replace('\x1b', "<ESC>");
        insta::assert_snapshot!(text, @r"
        web: create failed (1 s)
        no space left
        error: exit code 1
        <ESC>[0Ksection_start:1795482001:unfurl_A6BL7ntS0000_1[collapsed=true]<CR><ESC>[0Kdb: create (40 s)
        one
        two
        <ESC>[0Ksection_end:1795482041:unfurl_A6BL7ntS0000_1<CR><ESC>[0K
        app: create was blocked
        ");
    }

    #[test]
    fn tasks_without_times_come_at_once_in_the_order_of_the_record() {
        let tasks = [
            task("b", None, PastEnd::Ok),
            task("a", None, PastEnd::Unknown),
        ];
        let replay = replay(&tasks);
        assert_eq!((replay.length(), replay.start), (Duration::ZERO, None));
        let mut view = JsonEvents::new(Timestamp::UNIX_EPOCH);
        let mut text = String::new();
        for (at, event) in &replay.events {
            view.event(*at, event, &mut text);
        }
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split('"').nth(3))
            .collect();
        assert_eq!(
            names,
            [
                "job-started",
                "task-started",
                "task-finished",
                "task-started",
                "task-finished",
                "job-finished"
            ]
        );
        assert!(text.contains("the job ended while the task ran"), "{text}");
    }
}
