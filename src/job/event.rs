//! What happens while a job runs: all that the journal keeps, the record is made of, and those hear
//! who watch.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::task_record::TaskRecord;
use crate::diagnostic::Diagnostic;
use crate::name::{ChangeId, ChangeIdError};
use crate::plan::{GroupId, JobGoal};
use crate::value::{Map, Value};

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
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

impl LogLevel {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Verbose => "verbose",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a job's record says besides its tasks, as far as it is known when the job begins.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobFacts {
    /// The id of the job before it.
    pub previous: Option<String>,
    /// The options that the user set.
    pub options: Map,
    /// The commit that the ensemble was at.
    pub start_commit: Option<String>,
    /// The digest of the specification.
    pub spec_digest: String,
}

/// The head of a job's record.
#[derive(Debug, Clone, PartialEq)]
pub struct JobHead {
    /// Its change id.
    pub id: ChangeId,
    /// When it began.
    pub start: jiff::Timestamp,
    /// The workflow's name.
    pub workflow: String,
    /// What else is known when it begins.
    pub facts: JobFacts,
}

/// The beginning of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobStart {
    /// The head of its record.
    pub head: JobHead,
    /// When its tasks begin to run.
    pub started: jiff::Timestamp,
    /// How many steps are planned.
    pub steps: usize,
    /// What it is to reach, and what a job that it goes on with has done.
    pub goal: JobGoal,
    /// What is planned: operations by the keys of their targets.
    pub planned: BTreeMap<String, Vec<String>>,
}

/// The record of an instance from here on.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceChange {
    /// The way from the `status` section to it, key by key.
    pub route: Vec<String>,
    /// Its record without what stands on it and within it; none if there is nothing to record any
    /// more.
    pub record: Option<Map>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum JobEvent {
    /// The job begins.
    JobStarted(Box<JobStart>),
    /// A task is about to act on the world.
    TaskStarted(Arc<TaskRecord>),
    /// A task has ended.
    TaskFinished(Arc<TaskRecord>),
    /// The record of a task that has ended is another one now.
    TaskAmended(Arc<TaskRecord>),
    /// A task has added a node template.
    TemplateAdded {
        /// Its name.
        name: Arc<str>,
        /// What it says, secrets redacted.
        template: Value,
    },
    /// Of these groups of steps, all are done.
    GroupsSettled(Vec<GroupId>),
    /// The record of an instance has changed.
    InstanceChanged(InstanceChange),
    /// A message for the log.
    Message {
        /// How grave it is.
        level: LogLevel,
        /// What it says.
        text: String,
    },
    /// Something is wrong, with its places in the text; for people, not for the journal.
    Problem(Box<Diagnostic>),
    /// The job has ended.
    JobFinished {
        /// Its change id.
        id: ChangeId,
        /// How it ended.
        status: &'static str,
    },
}

impl JobEvent {
    /// Whether it is about tasks, or the end of the job, so that what changed with it is told at once.
    pub(super) fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::TaskStarted(_)
                | Self::TaskFinished(_)
                | Self::TaskAmended(_)
                | Self::JobFinished { .. }
        )
    }
}

/// Makes events durable before anything relies on them; may fail.
pub trait EventJournal {
    /// Adds events of a job.
    fn append(&mut self, events: &[JobEvent]) -> Result<(), JournalError>;

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
pub struct NullJournal;

impl EventJournal for NullJournal {
    fn append(&mut self, _events: &[JobEvent]) -> Result<(), JournalError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        Ok(())
    }
}

/// Hears events once they are durable; cannot fail.
pub trait EventSink {
    /// Takes one event; called in order, never at the same time.
    fn event(&mut self, event: &JobEvent);
}

/// Why a job cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan names an instance that neither exists nor is drafted.
    #[error("the plan names the instance `{0}`, which does not exist")]
    UnknownInstance(String),
    /// Change ids cannot be made.
    #[error(transparent)]
    ChangeId(#[from] ChangeIdError),
    /// Events cannot be made durable.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The runner is gone.
    #[error("the runner of effects has stopped: {0}")]
    Runner(String),
}
