//! The log of a job in a GitLab pipeline: collapsed sections for tasks that succeeded, failures outside.

use std::time::Duration;

use jiff::Timestamp;

use super::event::{FinishedTask, ProgressEvent, ProgressView};
use super::task_output::TaskOutput;
use super::tasks::{Silence, Tasks};
use super::titles::task_title;
use crate::job::LogLevel;
use crate::text::escape_except_colours;
use crate::ui::paint::{Paint, Tone};
use crate::ui::summary::TaskEnd;
use crate::ui::words;

/// The view of a job in a GitLab pipeline.
#[derive(Debug)]
pub struct GitlabLog {
    output: TaskOutput,
    tasks: Tasks,
    silence: Silence,
    /// The time from which the times of events count.
    start: Timestamp,
    /// The id of the job, which makes the names of sections unique.
    job: String,
    paint: Paint,
}

impl GitlabLog {
    /// Creates the view of a job that starts at this time.
    pub fn new(start: Timestamp, paint: Paint) -> Self {
        Self {
            output: TaskOutput::default(),
            tasks: Tasks::default(),
            silence: Silence::default(),
            start,
            job: String::new(),
            paint,
        }
    }

    fn unix(&self, at: Duration) -> i64 {
        let time = self.start.checked_add(at).unwrap_or(self.start);
        time.as_second()
    }

    fn finish_task(&mut self, at: Duration, finished: &FinishedTask, out: &mut String) {
        let FinishedTask {
            task,
            instance,
            operation,
            end,
            elapsed,
            errors,
            place,
            ..
        } = finished;
        let output = self.output.take(*task);
        let title = task_title(instance, operation, *end, *elapsed);
        match end {
            TaskEnd::Success if !output.text.is_empty() => {
                let (from, to) = (self.unix(output.started), self.unix(at));
                let name = format!("unfurl_{}_{task}", self.job);
                words::append(
                    out,
                    format_args!(
                        "\x1b[0Ksection_start:{from}:{name}[collapsed=true]\r\x1b[0K{title}\n"
                    ),
                );
                add(&output.text, out);
                words::append(
                    out,
                    format_args!("\x1b[0Ksection_end:{to}:{name}\r\x1b[0K\n"),
                );
            }
            TaskEnd::Failed => {
                add(&self.paint.tone(Tone::Bad, &title), out);
                add(&output.text, out);
                let place = place.as_ref().map(|place| format!(" ({place})"));
                for error in errors {
                    let error = words::one_line(error);
                    let label = self.paint.tone(Tone::Bad, "error");
                    let place = words::one_line(place.as_deref().unwrap_or_default());
                    words::append(out, format_args!("{label}: {error}{place}\n"));
                }
            }
            TaskEnd::Success | TaskEnd::Blocked => add(&title, out),
            TaskEnd::Skipped => {}
        }
    }

    fn message(&self, level: LogLevel, text: &str, styled: Option<&str>, out: &mut String) {
        let tone = match level {
            LogLevel::Warning => Tone::Warning,
            LogLevel::Error => Tone::Bad,
            _ => Tone::Dim,
        };
        let text = crate::text::escape_controls(text);
        let plain = format!("{}: {text}", self.paint.tone(tone, level.as_str()));
        add(styled.unwrap_or(&plain), out);
    }
}

impl ProgressView for GitlabLog {
    fn event(&mut self, at: Duration, event: &ProgressEvent, out: &mut String) {
        let before = out.len();
        self.tasks.update(at, event);
        match event {
            ProgressEvent::JobStarted { id, .. } => self.job.clone_from(id),
            ProgressEvent::TaskStarted { task, .. } => self.output.start(*task, at),
            ProgressEvent::Output { task, text, .. } => {
                if let Some(text) = self.output.add(*task, text) {
                    add(&self.tasks.output_so_far(*task), out);
                    add(&text, out);
                }
            }
            ProgressEvent::TaskFinished(finished) => self.finish_task(at, finished, out),
            ProgressEvent::Message {
                level,
                text,
                styled,
            } => {
                self.message(*level, text, styled.as_deref(), out);
            }
            ProgressEvent::Problem(problem) => {
                add(problem.styled.as_deref().unwrap_or(&problem.text), out);
            }
            ProgressEvent::Remaining(_) | ProgressEvent::JobFinished { .. } => {}
        }
        if out.len() > before {
            self.silence.end(at);
        }
    }

    fn tick(&mut self, at: Duration, out: &mut String) {
        self.silence.tick(at, &self.tasks, out);
    }

    fn finish(&mut self, _at: Duration, out: &mut String) {
        for task in self.output.take_all() {
            add(&task.text, out);
        }
    }
}

/// Appends text with a line end. A marker of a section needs control characters, so that text has none.
fn add(text: &str, out: &mut String) {
    out.push_str(&escape_except_colours(text));
    if !text.is_empty() && !text.ends_with('\n') {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::ui::paint::without_colours;

    fn shown(paint: Paint) -> String {
        let start = "2026-11-24T01:00:00Z".parse().unwrap();
        samples::show(&mut GitlabLog::new(start, paint))
    }

    #[test]
    fn successes_are_collapsed_sections_and_failures_stand_outside() {
        let text = shown(Paint::plain());
        let text = text.replace('\r', "<CR>").replace('\x1b', "<ESC>");
        insta::assert_snapshot!(text, @r"
        <ESC>[0Ksection_start:1795482000:unfurl_A6BL7ntS0000_1[collapsed=true]<CR><ESC>[0Kdb: create (1.2 s)
        creating
        50 %
        <ESC>[0Ksection_end:1795482001:unfurl_A6BL7ntS0000_1<CR><ESC>[0K
        info: the plan has 2 steps
        warning: 100 % full,
        ::set-env name=a::b
        warning: the key `x` has no effect
         --> a,b/ensemble.yaml:12:7
        web: configure failed (1m05s)
        ::error::x
        ##[error]y
        section_end:1:unfurl_1
        error: exit code 3: 50 % ::warning::y (a,b/ensemble.yaml:12:7)
        app:1: create was blocked
        dns: check (10 ms)
        ");
    }

    #[test]
    fn colours_do_not_change_the_words() {
        let markers = |text: &str| text.replace("\x1b[0K", "<K>");
        let coloured = markers(&shown(Paint::new(true)));
        assert_ne!(coloured, markers(&shown(Paint::plain())));
        assert_eq!(without_colours(&coloured), markers(&shown(Paint::plain())));
    }

    #[test]
    fn output_cannot_end_a_section() {
        let mut out = String::new();
        let mut view = GitlabLog::new(Timestamp::UNIX_EPOCH, Paint::plain());
        let hostile = "\x1b[0Ksection_end:1:unfurl__1\r\x1b[0K\n";
        let output = ProgressEvent::Output {
            task: 1,
            stream: crate::host::Stream::Stdout,
            text: hostile.to_owned(),
        };
        view.event(Duration::ZERO, &output, &mut out);
        view.finish(Duration::ZERO, &mut out);
        assert!(!out.contains('\r'), "{out:?}");
    }
}
