//! The requests that use cases take: which ensemble, what a job is to do, and how.

use std::time::Duration;

use super::failure::Failure;
use super::query::QueryRequest;
use crate::ensemble::CommitRequest;
use crate::host::ChainSpec;
use crate::job::Recording;
use crate::plan::JobGoal;
use crate::session::SessionOptions;
use crate::system::signals::Interrupts;
use crate::value::Map;

/// How the tasks of a job run.
#[derive(Debug, Clone, Default)]
pub struct RunSettings {
    /// How many tasks may run at the same time.
    pub parallel: usize,
    /// Whether the output of commands is shown.
    pub echo: bool,
    /// The executors that the user asks for, with their options.
    pub executors: ChainSpec,
    /// How long tasks may go on after somebody asked for an end.
    pub grace: Duration,
}

/// How the record of a job is kept.
#[derive(Debug, Clone, Default)]
pub struct SaveSettings {
    /// Whether what the job did goes into the record.
    pub record: bool,
    /// Whether the job is refused where something is not committed.
    pub refuse_dirty: bool,
    /// Whether what others have pushed is looked for first.
    pub check_upstream: bool,
    /// How its record is committed, if it is.
    pub commit: Option<CommitRequest>,
}

/// What a job is to do, and how.
#[derive(Debug, Clone, Default)]
pub struct JobRequest {
    /// Which ensemble.
    pub session: SessionOptions,
    /// What to reach.
    pub goal: JobGoal,
    /// `--starttime`.
    pub start: Option<String>,
    /// Whether it goes on with the job that was interrupted last.
    pub resume: bool,
    /// An expression that is evaluated once the job has ended.
    pub query: Option<QueryRequest>,
    /// How its tasks run.
    pub run: RunSettings,
    /// How its record is kept.
    pub save: SaveSettings,
    /// The options that the user set, for the record.
    pub recorded_options: Map,
    /// The command line, for the lock's owner file.
    pub command: String,
    /// How long to wait for locks that others hold.
    pub lock_timeout: Duration,
    /// Tells whether somebody asked for an end.
    pub interrupts: Interrupts,
}

impl JobRequest {
    /// How the events of the job are kept: where nothing is saved, nothing is; a dry run leaves no
    /// journal.
    pub(super) fn recording(&self) -> Recording {
        if !self.save.record {
            Recording::Disabled
        } else if self.goal.dry_run || cfg!(feature = "without-journal") {
            Recording::AtEnd
        } else {
            Recording::Journal
        }
    }

    /// Fails if somebody asked for an end. For the time before anything runs.
    pub(super) fn check_interrupt(&self) -> Result<(), Failure> {
        match self.interrupts.acknowledge() {
            None => Ok(()),
            Some(signal) => Err(Failure::interrupted(signal)),
        }
    }
}
