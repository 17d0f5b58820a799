//! The tasks of a running job, and the words for their starts and ends. Shared by the views for people.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::event::{FinishedTask, ProgressEvent};
use crate::diagnostic::SourcePosition;
use crate::job::LogLevel;
use crate::text::escape_controls;
use crate::ui::action::operation_participle;
use crate::ui::paint::{Paint, Tone};
use crate::ui::summary::TaskEnd;
use crate::ui::words;

/// The time from which on a slow task is compared with its usual time.
const MIN_SLOW: Duration = Duration::from_secs(5);

/// The time without any text after which a line says what runs.
const MAX_SILENCE: Duration = Duration::from_mins(1);
/// The maximum number of tasks that the line about running tasks names.
const MAX_NAMED: usize = 3;

/// A log that says what runs after a minute without any text.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// The time of the last text.
    last_text: Duration,
}

impl Silence {
    /// Notes that text was printed.
    pub(super) fn end(&mut self, at: Duration) {
        self.last_text = at;
    }

    /// Appends a line about the running tasks if nothing was printed for too long.
    pub(super) fn tick(&mut self, at: Duration, tasks: &Tasks, out: &mut String) {
        if at >= self.last_text + MAX_SILENCE && tasks.running().len() > 0 {
            out.push_str(&tasks.heartbeat(at));
            self.last_text = at;
        }
    }
}

/// A task that runs.
#[derive(Debug)]
pub(super) struct RunningTask {
    pub(super) instance: String,
    pub(super) operation: String,
    pub(super) started: Duration,
    pub(super) usual: Option<Duration>,
    /// The prefix of its lines, such as `[web] `. Empty for the only task of a job.
    pub(super) prefix: String,
}

impl RunningTask {
    /// Compares the time of the task with its usual time, in words. Also returns whether the task is slow.
    pub(super) fn comparison(&self, at: Duration) -> Option<(String, bool)> {
        let usual = self.usual?;
        let elapsed = at.saturating_sub(self.started);
        let times = elapsed.as_millis().checked_div(usual.as_millis());
        Some(match times {
            Some(times @ 2..) if elapsed >= MIN_SLOW => {
                (format!("{times} times longer than usual"), true)
            }
            _ => (format!("usually {}", words::duration(usual)), false),
        })
    }

    /// Describes the running task in words: `web: configure running 12 s, usually 4m`.
    pub(super) fn description(&self, at: Duration) -> String {
        let elapsed = whole_seconds(at.saturating_sub(self.started));
        let comparison = self.comparison(at);
        let comparison = comparison.map_or_else(String::new, |(words, _)| format!(", {words}"));
        let (instance, operation) = (&self.instance, &self.operation);
        format!("{instance}: {operation} running {elapsed}{comparison}")
    }
}

/// The counts and the running tasks of a job.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    planned: usize,
    pub(super) failed: usize,
    pub(super) blocked: usize,
    pub(super) done: usize,
    /// The running tasks in the order in which they started.
    running: BTreeMap<usize, RunningTask>,
    /// The places of running tasks in `running`.
    places: HashMap<usize, usize>,
    started: usize,
    /// The instances that a task has started for.
    instances: HashSet<String>,
    /// The last estimate of the time left, and the time when it was made.
    remaining: Option<(Duration, Duration)>,
    /// Problems that were shown before. A failure does not repeat them.
    shown_problems: HashSet<String>,
}

impl Tasks {
    /// Notes problems that were shown before the job.
    pub(super) fn note_problems(&mut self, problems: Vec<String>) {
        for problem in problems {
            self.note_problem(&problem);
        }
    }

    fn note_problem(&mut self, message: &str) {
        // The message begins with the task and a colon.
        if let Some((_, why)) = message.split_once(": ") {
            self.shown_problems.insert(why.to_owned());
        }
        self.shown_problems.insert(message.to_owned());
    }

    /// Updates the counts. Returns the task that has ended, if it had started.
    pub(super) fn update(&mut self, at: Duration, event: &ProgressEvent) -> Option<RunningTask> {
        match event {
            ProgressEvent::JobStarted { tasks, .. } => self.planned = *tasks,
            ProgressEvent::TaskStarted {
                task,
                instance,
                operation,
                usual,
            } => self.start(at, *task, (instance, operation), *usual),
            ProgressEvent::TaskFinished(FinishedTask { task, end, .. }) => {
                self.done += 1;
                self.failed += usize::from(*end == TaskEnd::Failed);
                self.blocked += usize::from(*end == TaskEnd::Blocked);
                let place = self.places.remove(task)?;
                return self.running.remove(&place);
            }
            ProgressEvent::Remaining(time) => self.remaining = Some((at, *time)),
            ProgressEvent::Problem(problem) => self.note_problem(&problem.message),
            _ => {}
        }
        None
    }

    fn start(
        &mut self,
        at: Duration,
        task: usize,
        (instance, operation): (&str, &str),
        usual: Option<Duration>,
    ) {
        self.started += 1;
        let instance = words::one_line(instance).into_owned();
        let operation = words::one_line(operation).into_owned();
        let is_first = self.instances.insert(instance.clone());
        let prefix = if self.is_single() {
            String::new()
        } else if is_first {
            format!("[{instance}] ")
        } else {
            format!("[{instance}: {operation}] ")
        };
        self.places.insert(task, self.started);
        let running = RunningTask {
            instance,
            operation,
            started: at,
            usual,
            prefix,
        };
        self.running.insert(self.started, running);
    }

    /// Whether the job has only one task, as far as it is known.
    pub(super) fn is_single(&self) -> bool {
        self.planned <= 1 && self.started <= 1
    }

    /// Returns the number of tasks. More may be added later.
    pub(super) fn total(&self) -> usize {
        self.planned.max(self.done + self.running.len())
    }

    /// Returns the running tasks in the order in which they started.
    pub(super) fn running(&self) -> impl ExactSizeIterator<Item = &RunningTask> {
        self.running.values()
    }

    /// Returns a running task.
    pub(super) fn get(&self, task: usize) -> Option<&RunningTask> {
        self.running.get(self.places.get(&task)?)
    }

    /// Returns the title of output that a task has printed so far.
    pub(super) fn output_so_far(&self, task: usize) -> String {
        let name = self
            .get(task)
            .map(|task| format!("{}: {}, ", task.instance, task.operation));
        format!("{}output so far", name.unwrap_or_default())
    }

    /// Returns the numbers of the running tasks in the order in which they started.
    pub(super) fn numbers(&self) -> Vec<usize> {
        let mut numbers: Vec<(usize, usize)> = self
            .places
            .iter()
            .map(|(task, place)| (*place, *task))
            .collect();
        numbers.sort_unstable();
        numbers.into_iter().map(|(_, task)| task).collect()
    }

    /// Returns the time left, in words, if it is known: `about 2m left`.
    pub(super) fn time_left(&self, at: Duration) -> Option<String> {
        let (estimated, time) = self.remaining?;
        let left = time.checked_sub(at.saturating_sub(estimated))?.as_secs();
        let left = match left {
            0 => return None,
            1..10 => left,
            10..60 => left.div_ceil(10) * 10,
            _ => left.div_ceil(60) * 60,
        };
        let left = words::duration(Duration::from_secs(left));
        Some(format!("about {left} left"))
    }

    /// Returns the line about running tasks:
    /// `12 of 40 done; db: configure running 3m10s, usually 4m`.
    fn heartbeat(&self, at: Duration) -> String {
        let mut line = format!("{} of {} done", self.done, self.total());
        if self.failed > 0 {
            words::append(&mut line, format_args!(", {} failed", self.failed));
        }
        for running in self.running().take(MAX_NAMED) {
            words::append(&mut line, format_args!("; {}", running.description(at)));
        }
        let hidden = self.running().len().saturating_sub(MAX_NAMED);
        if hidden > 0 {
            words::append(&mut line, format_args!("; and {hidden} more"));
        }
        if let Some(left) = self.time_left(at) {
            words::append(&mut line, format_args!("; {left}"));
        }
        line.push('\n');
        line
    }

    /// Returns the words for a failure, and its reasons unless they were shown before.
    pub(super) fn failure(&self, failure: &TaskFailure<'_>) -> String {
        let errors = failure.errors.iter();
        let new: Vec<&str> = errors
            .filter(|error| !self.shown_problems.contains(*error))
            .map(|error| error.trim_end())
            .collect();
        let mut text = failure.head();
        if !new.is_empty() {
            words::append(
                &mut text,
                format_args!(": {}", escape_controls(&new.join("; "))),
            );
            if let Some(place) = failure.place {
                let place = place.to_string();
                words::append(&mut text, format_args!(" ({})", words::one_line(&place)));
            }
        }
        text
    }
}

/// A task that failed.
#[derive(Debug)]
pub(super) struct TaskFailure<'a> {
    pub(super) instance: &'a str,
    pub(super) operation: &'a str,
    pub(super) elapsed: Duration,
    pub(super) errors: &'a [String],
    pub(super) place: Option<&'a SourcePosition>,
}

impl TaskFailure<'_> {
    fn head(&self) -> String {
        let instance = words::one_line(self.instance);
        let operation = words::one_line(self.operation);
        match time_taken(self.elapsed) {
            Some(time) => format!("{instance}: {operation} failed after {time}"),
            None => format!("{instance}: {operation} failed"),
        }
    }
}

/// Returns the words for the end of a task that succeeded: `web created in 1.2 s`.
pub(super) fn success(instance: &str, operation: &str, elapsed: Duration, paint: Paint) -> String {
    let instance = words::one_line(instance);
    let what = match operation_participle(operation) {
        Some(participle) => format!("{instance} {}", paint.tone(Tone::Good, participle)),
        None => {
            let done = paint.tone(Tone::Good, "done");
            format!("{instance}: {} {done}", words::one_line(operation))
        }
    };
    match time_taken(elapsed) {
        Some(time) => format!("{what} in {time}"),
        None => what,
    }
}

/// Whether the end of a successful task is worth a line: reads that found nothing new are only counted.
pub(super) fn is_news(operation: &str, changed: bool) -> bool {
    changed || !matches!(operation, "check" | "discover")
}

/// Formats the time that a task took. None if it is too short to be measured.
fn time_taken(time: Duration) -> Option<String> {
    (time >= Duration::from_millis(50)).then(|| words::duration(time))
}

/// Formats a time that still runs, in seconds.
pub(super) fn whole_seconds(time: Duration) -> String {
    words::duration(Duration::from_secs(time.as_secs()))
}

/// Returns a message as a line with its level.
pub(super) fn message(level: LogLevel, text: &str, paint: Paint) -> String {
    let word = level.as_str();
    let word = match level {
        LogLevel::Error => paint.tone(Tone::Bad, word),
        LogLevel::Warning => paint.tone(Tone::Warning, word),
        LogLevel::Info | LogLevel::Verbose | LogLevel::Debug => word.to_owned(),
    };
    format!("{word}: {}\n", escape_controls(text))
}
