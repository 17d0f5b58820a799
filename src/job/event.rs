//! Events of a running job. The journal stores them, the job's record is built from them, and sinks such
//! as the screen observe them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::task_record::TaskRecord;
use crate::diagnostic::Diagnostic;
use crate::host::Stream;
use crate::name::{ChangeId, ChangeIdError};
use crate::plan::{GroupId, JobGoal};
use crate::value::{Map, Value};

/// The severity of a log message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    /// Details that most users do not need.
    Verbose,
    Info,
    Warning,
    Error,
}

impl LogLevel {
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

/// The fields of a job's record, besides its tasks, that are known when the job starts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobFacts {
    /// The id of the previous job.
    pub previous: Option<String>,
    pub options: Map,
    /// The commit of the ensemble when the job started.
    pub start_commit: Option<String>,
    pub spec_digest: String,
}

/// The head of a job's record.
#[derive(Debug, Clone, PartialEq)]
pub struct JobHead {
    pub id: ChangeId,
    pub start: jiff::Timestamp,
    pub workflow: String,
    pub facts: JobFacts,
}

/// The description of a job when it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct JobStart {
    pub head: JobHead,
    /// The time at which tasks begin to run.
    pub started: jiff::Timestamp,
    pub steps: usize,
    /// The job's goal, including the progress of a job that it resumes.
    pub goal: JobGoal,
    /// The planned operations by the key of their target.
    pub planned: BTreeMap<String, Vec<String>>,
}

/// A new state of an instance's record.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceChange {
    /// The path of keys from the `status` section to the record.
    pub record_path: Vec<String>,
    /// The instance's own record, without hosted and nested instances. None if the record is removed.
    pub record: Option<Map>,
}

/// An event of a running job.
#[derive(Debug, Clone, PartialEq)]
pub enum JobEvent {
    JobStarted(Box<JobStart>),
    /// A task is about to perform effects.
    TaskStarted(Arc<TaskRecord>),
    /// A running task has reported something that must not be forgotten, such as a resource that its tool has made.
    TaskProgress {
        /// The number of the task within the job.
        task: usize,
        message: String,
    },
    TaskFinished(Arc<TaskRecord>),
    /// The record of a finished task has changed.
    TaskAmended(Arc<TaskRecord>),
    /// A task has added a node template.
    TemplateAdded {
        name: Arc<str>,
        /// The template as written, with secrets redacted.
        template: Value,
    },
    /// Every step of these groups is done.
    GroupsSettled(Vec<GroupId>),
    InstanceChanged(InstanceChange),
    Message {
        level: LogLevel,
        text: String,
    },
    /// A problem with source positions, shown to users. The journal does not store it.
    Problem(Box<Diagnostic>),
    JobFinished {
        id: ChangeId,
        status: &'static str,
    },
}

impl JobEvent {
    /// Whether the event concerns tasks or the end of the job, so that related changes are published with
    /// it.
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

/// Durable storage of events. Events are stored before later actions rely on them; this can fail.
pub trait EventJournal {
    /// Appends events without waiting for the disk; see [`Self::sync`].
    fn append(&mut self, events: &[JobEvent]) -> Result<(), JournalError>;

    /// Waits until all appended events are on disk.
    fn sync(&mut self) -> Result<(), JournalError>;
}

/// The reason why events cannot be stored durably.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the job's journal cannot be written: {message}")]
pub struct JournalError {
    pub message: String,
    pub hint: Option<String>,
}

/// A journal that stores no events, for jobs without a record.
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

/// An observer of events that are already durable. Observing cannot fail.
pub trait EventSink {
    /// Receives one event. Calls are in order and never concurrent.
    fn event(&mut self, event: &JobEvent);

    /// Receives the next bytes that a command of a task wrote. The start of the task was reported before.
    ///
    /// `task` is the number of the task within the job ([`TaskRecord::task`]).
    fn output(&mut self, _task: usize, _stream: Stream, _bytes: &[u8]) {}

    /// Receives the end of the output of one command of a task.
    fn output_ended(&mut self, _task: usize) {}
}

/// The reason why a job cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan names an instance that neither exists nor is drafted.
    #[error("the plan names the instance `{0}`, which does not exist")]
    UnknownInstance(String),
    /// A change id cannot be created.
    #[error(transparent)]
    ChangeId(#[from] ChangeIdError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The runner of effects has stopped.
    #[error("the thread that performs effects has stopped: {0}")]
    Runner(String),
}
