//! What happens while a job runs, for the journal and for those who watch.

use serde::Serialize;

use super::engine::Engine;
use crate::diagnostic::Diagnostic;
use crate::value::Value;

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every detail.
    Debug,
    /// More than most want to know.
    Verbose,
    /// How it goes.
    Info,
    /// Something is probably wrong.
    Warning,
    /// Something is wrong.
    Error,
}

/// One thing that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The job begins.
    JobStarted {
        /// Its change id.
        id: String,
        /// The workflow's name.
        workflow: String,
        /// How many steps are planned.
        steps: usize,
    },
    /// A task is about to act on the world.
    TaskStarted {
        /// The number of the task within the job, in the order of starting, from 1.
        task: usize,
        /// The key of its target.
        target: String,
        /// `interface.operation`.
        operation: String,
        /// Why it runs.
        reason: String,
        /// The node state that it enters.
        state: Option<&'static str>,
    },
    /// A task has ended.
    TaskFinished(Box<TaskFinished>),
    /// A message for the log.
    Message {
        /// How grave it is.
        level: Level,
        /// What it says.
        text: String,
    },
    /// Something is wrong, with its places in the text; for people, not for the journal.
    #[serde(skip)]
    Problem(Box<Diagnostic>),
    /// The job has ended.
    JobFinished {
        /// Its change id.
        id: String,
        /// How it ended.
        status: &'static str,
    },
}

/// How a task ended, with all that it changed.
#[derive(Debug, Clone, Serialize)]
pub struct TaskFinished {
    /// The number of the task within the job, in the order of starting, from 1.
    pub task: usize,
    /// Its change id.
    pub id: String,
    /// The key of its target.
    pub target: String,
    /// `interface.operation`.
    pub operation: String,
    /// Whether it did what it is for.
    pub success: bool,
    /// Whether it never ran because something it needs failed.
    pub blocked: bool,
    /// The target's own status after it.
    pub status: Option<&'static str>,
    /// The target's node state after it.
    pub state: Option<&'static str>,
    /// Attributes that it set, by entity.
    pub changes: Value,
    /// What went wrong, in words.
    pub errors: Vec<String>,
}

/// Makes events durable before anything relies on them; may fail.
pub trait Journal {
    /// Adds events of a job, with what it has changed since the last call.
    fn append(&mut self, job: &mut Engine, events: &[Event]) -> Result<(), JournalError>;

    /// Returns once all events added are on disk.
    fn sync(&mut self) -> Result<(), JournalError>;
}

/// Why events cannot be made durable.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the job's journal cannot be written: {message}")]
pub struct JournalError {
    /// Why.
    pub message: String,
    /// What people can do about it.
    pub hint: Option<String>,
}

/// A journal that keeps nothing, for jobs whose record nobody wants.
#[derive(Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn append(&mut self, _job: &mut Engine, _events: &[Event]) -> Result<(), JournalError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        Ok(())
    }
}

/// Hears events once they are durable; cannot fail.
pub trait Sink {
    /// Takes one event; called in order, never at the same time.
    fn event(&mut self, event: &Event);
}
