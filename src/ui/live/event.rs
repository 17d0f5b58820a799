//! Events of a running job for its views, and the interface of a view.

use std::time::Duration;

use crate::diagnostic::SourcePosition;
use crate::host::Stream;
use crate::job::LogLevel;
use crate::name::Status;
use crate::ui::summary::TaskEnd;

/// An event of a running job, for people and for programs that watch the job.
///
/// `task` is the number of the task within the job, from 1. Names and texts are those of the job: a view
/// escapes them. Only `Output::text` and `Message::styled` are ready to be shown.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgressEvent {
    JobStarted {
        id: String,
        workflow: String,
        /// The number of planned tasks. More may be added while the job runs.
        tasks: usize,
    },
    TaskStarted {
        task: usize,
        instance: String,
        operation: String,
        /// The median time of earlier runs.
        usual: Option<Duration>,
    },
    /// Whole lines that a command of the task wrote, filtered by `OutputFilter`. Each ends with a newline.
    Output {
        task: usize,
        stream: Stream,
        text: String,
    },
    /// A task has ended. A blocked task never started; nor did others that had nothing to run.
    TaskFinished(FinishedTask),
    /// An estimate of the time to the end of the job.
    Remaining(Duration),
    /// Any other text of the program during the job.
    Message {
        level: LogLevel,
        text: String,
        /// The text in its final form, with colours and line breaks, if it has one.
        styled: Option<String>,
    },
    /// A problem with its place in the files.
    Problem(Box<ProgressProblem>),
    JobFinished {
        status: Status,
    },
}

/// A task at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedTask {
    pub task: usize,
    pub instance: String,
    pub operation: String,
    pub end: TaskEnd,
    /// Whether the task changed its instance.
    pub changed: bool,
    pub elapsed: Duration,
    pub errors: Vec<String>,
    /// The place in the files that is responsible for the errors.
    pub place: Option<SourcePosition>,
}

/// A diagnostic that is shown while a job runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressProblem {
    pub level: LogLevel,
    pub message: String,
    pub place: Option<SourcePosition>,
    /// The diagnostic in the form of `--output json`.
    pub json: serde_json::Value,
    /// The diagnostic with its lines of the files, as text in its final form.
    pub text: String,
    pub styled: Option<String>,
}

/// A view of a running job: turns events into text for the error output.
///
/// `at` is the time since the start of the job. The text may contain sequences that move the cursor, so a
/// view escapes all text of others.
pub trait ProgressView: Send {
    /// Takes an event.
    fn event(&mut self, at: Duration, event: &ProgressEvent, out: &mut String);

    /// Called at least ten times a second while the job runs, and after each batch of events.
    fn tick(&mut self, at: Duration, out: &mut String);

    /// Takes the new size of the terminal in columns and rows.
    fn resize(&mut self, _size: (u16, u16)) {}

    /// Takes a key that the user pressed.
    fn key(&mut self, _at: Duration, _key: char, _out: &mut String) {}

    /// Removes what is redrawn from the screen, until the next tick.
    fn pause(&mut self, _out: &mut String) {}

    /// Ends the view: nothing but finished text stays on the screen.
    fn finish(&mut self, at: Duration, out: &mut String);
}
