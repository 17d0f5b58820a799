//! Shows the events of a job through a display.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::cli::display::Display;
use crate::cli::output::{Output, shown_path};
use crate::cli::screen::views;
use crate::diagnostic::{Diagnostic, Diagnostics, SourcePosition, Sources};
use crate::host::Stream;
use crate::job::{Forecast, JobEvent, LogLevel, TaskRecord};
use crate::name::Status;
use crate::system::console::{self, StandardStream};
use crate::text::{Delivery, OutputFilter};
use crate::ui::{FinishedTask, ProgressEvent, TaskEnd};

/// Turns events of a job into events of its display, which exists from the start to the end of the job.
#[derive(Debug)]
pub(super) struct JobDisplay<'a> {
    output: &'a Output,
    display: Option<Display>,
    /// The estimates of times; None if the display shows none.
    forecast: Option<Forecast>,
    /// The filter of each output of a running task.
    filters: HashMap<(usize, Stream), OutputFilter>,
    /// The starts of the running tasks.
    starts: HashMap<usize, Instant>,
    /// The messages of the problems that were shown before the job.
    shown_problems: Vec<String>,
}

impl<'a> JobDisplay<'a> {
    pub(super) fn new(output: &'a Output) -> Self {
        Self {
            output,
            display: None,
            forecast: None,
            filters: HashMap::new(),
            starts: HashMap::new(),
            shown_problems: Vec::new(),
        }
    }

    /// Removes the display from the screen.
    pub(super) fn end(&mut self) {
        self.display = None;
    }

    /// Takes the estimates of a job that is about to run, if the display shows them.
    pub(super) fn estimate(&mut self, forecast: &dyn Fn() -> Forecast) {
        self.forecast = views::has_estimates(self.output).then(forecast);
    }

    /// Shows a message, if its level is high enough.
    pub(super) fn message(&self, level: LogLevel, text: &str) {
        match &self.display {
            Some(display) if level >= self.output.level => display.send(ProgressEvent::Message {
                level,
                text: text.to_owned(),
                styled: None,
            }),
            Some(_) => {}
            None => self.output.message(level, text),
        }
    }

    /// Shows a note, whatever the level.
    pub(super) fn notice(&self, text: &str) {
        let line = format!("note: {text}\n");
        match &self.display {
            Some(display) => display.send(ProgressEvent::Message {
                level: LogLevel::Info,
                text: text.to_owned(),
                styled: Some(line),
            }),
            None => self.output.print_stderr(&line),
        }
    }

    /// Shows a problem with its place in the files.
    pub(super) fn problem(&mut self, problem: &Diagnostic, sources: &Sources) {
        let problems = Diagnostics::from(problem.clone());
        let Some(display) = &self.display else {
            self.shown_problems.push(problem.message.clone());
            self.output.diagnostics(&problems, sources);
            return;
        };
        for problem in self.output.problem_events(&problems, sources) {
            display.send(ProgressEvent::Problem(Box::new(problem)));
        }
    }

    pub(super) fn event(&mut self, event: &JobEvent, sources: &Sources) {
        match event {
            JobEvent::Message { level, text } => self.message(*level, text),
            JobEvent::JobStarted(start) => {
                let problems = std::mem::take(&mut self.shown_problems);
                let (view, terminal_use) = views::job_view(self.output, problems);
                self.display = Display::start(view, terminal_use);
                self.show(ProgressEvent::JobStarted {
                    id: start.head.id.to_string(),
                    workflow: start.head.workflow.clone(),
                    tasks: start.steps,
                });
            }
            JobEvent::TaskStarted(task) => self.task_started(task),
            JobEvent::TaskFinished(task) => self.task_finished(task, sources),
            JobEvent::JobFinished { status, .. } => {
                let status = Status::parse(status).unwrap_or(Status::Unknown);
                self.show(ProgressEvent::JobFinished { status });
                self.end();
            }
            _ => {}
        }
    }

    fn task_started(&mut self, task: &TaskRecord) {
        self.starts.insert(task.task, Instant::now());
        let usual = self.forecast.as_ref().and_then(|it| it.usual(task));
        if let (Some(forecast), Some(display)) = (&mut self.forecast, &self.display) {
            forecast.start(task.task, display.elapsed());
        }
        self.show(ProgressEvent::TaskStarted {
            task: task.task,
            instance: instance_name(task),
            operation: task.operation.operation.to_string(),
            usual,
        });
        self.update_estimate();
    }

    fn task_finished(&mut self, task: &TaskRecord, sources: &Sources) {
        self.output_ended(task.task);
        let started = self.starts.remove(&task.task);
        if let Some(forecast) = &mut self.forecast {
            forecast.finish(task.task);
        }
        let end = match task.status() {
            Some(_) if task.is_blocked() => TaskEnd::Blocked,
            Some(Status::Ok) => TaskEnd::Success,
            Some(_) => TaskEnd::Failed,
            None => TaskEnd::Skipped,
        };
        let place = (end == TaskEnd::Failed)
            .then(|| relative_place(sources, task))
            .flatten();
        self.show(ProgressEvent::TaskFinished(FinishedTask {
            task: task.task,
            instance: instance_name(task),
            operation: task.operation.operation.to_string(),
            end,
            changed: task.has_changed(),
            elapsed: started.map_or(Duration::ZERO, |started| started.elapsed()),
            errors: task.errors().into_iter().map(str::to_owned).collect(),
            place,
        }));
        self.update_estimate();
    }

    fn update_estimate(&mut self) {
        if let (Some(forecast), Some(display)) = (&mut self.forecast, &self.display)
            && let Some(left) = forecast.update(display.elapsed())
        {
            display.send(ProgressEvent::Remaining(left));
        }
    }

    pub(super) fn output(&mut self, task: usize, stream: Stream, bytes: &[u8]) {
        let filter = self.filters.entry((task, stream)).or_insert_with(|| {
            OutputFilter::new(self.output.has_coloured_output(), Delivery::Lines)
        });
        let text = filter.push(bytes);
        self.show_output(task, stream, text);
    }

    /// Ends the lines that a command has begun.
    pub(super) fn output_ended(&mut self, task: usize) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let filter = self.filters.remove(&(task, stream));
            let rest = filter.map_or_else(String::new, |mut filter| filter.finish());
            self.show_output(task, stream, rest);
        }
    }

    fn show_output(&self, task: usize, stream: Stream, mut text: String) {
        if text.is_empty() {
            return;
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        self.show(ProgressEvent::Output { task, stream, text });
    }

    /// Shows an event. Without a display, only output and failures are printed.
    fn show(&self, event: ProgressEvent) {
        match (&self.display, event) {
            (Some(display), event) => display.send(event),
            (None, ProgressEvent::Output { text, .. }) => {
                console::write_styled(StandardStream::Stderr, &text).ok();
            }
            (
                None,
                ProgressEvent::TaskFinished(FinishedTask {
                    end: TaskEnd::Failed,
                    instance,
                    operation,
                    errors,
                    ..
                }),
            ) => {
                let text = format!("{instance}: {operation} failed: {}", errors.join("; "));
                self.output.message(LogLevel::Error, &text);
            }
            (None, _) => {}
        }
    }
}

/// Returns the name of a task's target for people.
fn instance_name(task: &TaskRecord) -> String {
    let target = &task.target;
    if target.is_nested {
        target.nested_name.clone()
    } else {
        target.name.clone()
    }
}

/// Returns the place of a task's operation in the files, relative to the current folder.
fn relative_place(sources: &Sources, task: &TaskRecord) -> Option<SourcePosition> {
    let mut place = sources.position(task.place)?;
    place.path = shown_path(&place.path).into();
    Some(place)
}
