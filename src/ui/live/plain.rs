//! The view of a job without a terminal: one block of lines for each task.
//!
//! A task's output is printed when the task ends, below a line `== web created in 1.2 s`. After a minute
//! without any text, a line says what runs.

use std::collections::HashMap;
use std::time::Duration;

use super::block::EndLines;
use super::event::{FinishedTask, ProgressEvent, ProgressView};
use super::tasks::{Silence, TaskFailure, Tasks, is_news, message, success};
use crate::job::LogLevel;
use crate::text::{escape_controls, escape_except_colours};
use crate::ui::paint::{Paint, Tone};
use crate::ui::summary::TaskEnd;
use crate::ui::words;

/// The size of a task's output at which it is printed before the task ends, in bytes.
const MAX_BUFFER_BYTES: usize = 1 << 20;

/// The view of a job without a terminal.
#[derive(Debug)]
pub struct PlainLog {
    paint: Paint,
    end_lines: EndLines,
    tasks: Tasks,
    /// The output of running tasks.
    outputs: HashMap<usize, TaskOutput>,
    silence: Silence,
}

/// The output of a running task that was not printed yet.
#[derive(Debug, Default)]
struct TaskOutput {
    text: String,
    /// Whether earlier output of the task was printed.
    is_continued: bool,
}

impl PlainLog {
    /// Creates a view. It leaves out problems that were shown before the job.
    pub fn new(paint: Paint, end_lines: EndLines, shown_problems: Vec<String>) -> Self {
        let mut tasks = Tasks::default();
        tasks.note_problems(shown_problems);
        Self {
            paint,
            end_lines,
            tasks,
            outputs: HashMap::new(),
            silence: Silence::default(),
        }
    }

    fn add_output(&mut self, task: usize, text: &str, out: &mut String) {
        let Some(running) = self.tasks.get(task).filter(|_| !self.tasks.is_single()) else {
            out.push_str(text);
            return;
        };
        let output = self.outputs.entry(task).or_default();
        output.text.push_str(text);
        if output.text.len() > MAX_BUFFER_BYTES {
            let name = format!("{}: {}", running.instance, running.operation);
            let title = output.title(&name, "output so far");
            out.push_str(&head(&title, self.paint));
            out.push_str(&std::mem::take(&mut output.text));
            output.is_continued = true;
        }
    }

    fn end(&mut self, finished: &FinishedTask, out: &mut String) {
        let FinishedTask {
            task,
            instance,
            operation,
            end,
            changed,
            elapsed,
            errors,
            place,
        } = finished;
        let output = self.outputs.remove(task).unwrap_or_default();
        match end {
            TaskEnd::Success => {
                let is_shown = match self.end_lines {
                    EndLines::Failures => false,
                    EndLines::News => is_news(operation, *changed),
                    EndLines::All => true,
                };
                if is_shown || !output.text.is_empty() {
                    let title = success(instance, operation, *elapsed, self.paint);
                    let title = output.title(&title, "");
                    // The output of an only task stands above its end.
                    let mark = if self.tasks.is_single() { "" } else { "== " };
                    words::append(out, format_args!("{mark}{title}\n{}", output.text));
                }
            }
            TaskEnd::Failed => {
                if !output.text.is_empty() {
                    let (instance, operation) =
                        (words::one_line(instance), words::one_line(operation));
                    let title = output.title(&format!("{instance}: {operation}"), "");
                    out.push_str(&head(&title, self.paint));
                    out.push_str(&output.text);
                }
                let failure = self.tasks.failure(&TaskFailure {
                    instance,
                    operation,
                    elapsed: *elapsed,
                    errors,
                    place: place.as_ref(),
                });
                out.push_str(&message(LogLevel::Error, &failure, self.paint));
            }
            TaskEnd::Blocked | TaskEnd::Skipped => {}
        }
    }
}

impl TaskOutput {
    /// Completes the title of this part of a task's output.
    fn title(&self, title: &str, more: &str) -> String {
        let more = if self.is_continued { "continued" } else { more };
        if more.is_empty() {
            return title.to_owned();
        }
        format!("{title}, {more}")
    }
}

/// Returns a line above the output of a task.
fn head(title: &str, paint: Paint) -> String {
    format!("== {}\n", paint.tone(Tone::Strong, title))
}

impl ProgressView for PlainLog {
    fn event(&mut self, at: Duration, event: &ProgressEvent, out: &mut String) {
        let before = out.len();
        self.tasks.update(at, event);
        match event {
            ProgressEvent::Output { task, text, .. } => self.add_output(*task, text, out),
            ProgressEvent::TaskFinished(finished) => self.end(finished, out),
            ProgressEvent::Message {
                styled,
                level,
                text,
            } => match styled {
                Some(styled) => out.push_str(&escape_except_colours(styled)),
                None => out.push_str(&message(*level, text, self.paint)),
            },
            ProgressEvent::Problem(problem) => match &problem.styled {
                Some(styled) => out.push_str(&escape_except_colours(styled)),
                None => out.push_str(&escape_controls(&problem.text)),
            },
            _ => {}
        }
        if out.len() > before {
            self.silence.end(at);
        }
    }

    fn tick(&mut self, at: Duration, out: &mut String) {
        if self.end_lines != EndLines::Failures {
            self.silence.tick(at, &self.tasks, out);
        }
    }

    fn finish(&mut self, _at: Duration, out: &mut String) {
        for task in self.tasks.numbers() {
            let Some(running) = self.tasks.get(task) else {
                continue;
            };
            let output = self.outputs.remove(&task).unwrap_or_default();
            if !output.text.is_empty() {
                let name = format!("{}: {}", running.instance, running.operation);
                let title = output.title(&name, "cut off");
                out.push_str(&head(&title, self.paint));
                out.push_str(&output.text);
            }
        }
    }
}
