//! The request for a job: the ensemble, the goal, and how to run and save it.

use std::time::Duration;

use super::failure::Failure;
use super::query::QueryRequest;
use crate::ensemble::CommitRequest;
use crate::host::ChainSpec;
use crate::job::{Adopted, ProposalExtent, Recording};
use crate::plan::JobGoal;
use crate::session::SessionOptions;
use crate::system::signals::Interrupts;
use crate::value::Map;

/// The settings for running the tasks of a job.
#[derive(Debug, Clone, Default)]
pub struct RunSettings {
    /// The maximum number of tasks running at the same time.
    pub parallel: usize,
    /// Whether to show the output of commands.
    pub echo: bool,
    /// The maximum size of long outputs of a command that are kept whole. None for the default.
    pub capture: Option<u64>,
    /// The executors that the user requested, with their options.
    pub executors: ChainSpec,
    /// The time that running tasks get to end after an interrupt.
    pub grace: Duration,
}

/// Settings for saving the record of a job.
#[derive(Debug, Clone, Default)]
pub struct SaveSettings {
    /// Whether to save a record at all.
    pub record: bool,
    /// Whether to refuse the job if there are uncommitted changes.
    pub refuse_dirty: bool,
    /// Whether to fetch the commits of others first.
    pub check_upstream: bool,
    /// The commit of the record; `None` makes no commit.
    pub commit: Option<CommitRequest>,
}

/// A request to run a job.
#[derive(Debug, Clone, Default)]
pub struct JobRequest {
    pub session: SessionOptions,
    /// The workflow with its filters and options.
    pub goal: JobGoal,
    /// The value of `--starttime`: an hour, or a time in the format of records.
    pub start: Option<String>,
    /// Whether to resume the job that was interrupted last.
    pub resume: bool,
    /// Whether to keep the values of inputs that the user gave in `spec.inputs`.
    pub save_inputs: bool,
    /// The outputs that the user asked to see although they are secrets.
    pub reveal: Vec<String>,
    /// An expression to evaluate after the job.
    pub query: Option<QueryRequest>,
    /// Whether an operation that no instance has is only a warning, as in Unfurl.
    pub accepts_unknown_operation: bool,
    /// The instances that exist already: their operations are recorded and do not run.
    pub adopted: Vec<Adopted>,
    /// How much of the plan is computed to be shown.
    pub extent: ProposalExtent,
    pub run: RunSettings,
    pub save: SaveSettings,
    /// The options that the user set, as the record contains them.
    pub recorded_options: Map,
    /// The command line, for the lock's owner file.
    pub command: String,
    /// The maximum time to wait for locks.
    pub lock_timeout: Duration,
    /// The termination signals received so far.
    pub interrupts: Interrupts,
}

impl JobRequest {
    /// Returns how events are recorded: not at all without a record, at the end for a dry run, else in a
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

    /// Fails if a signal was received. For use before anything runs.
    pub(super) fn check_interrupt(&self) -> Result<(), Failure> {
        match self.interrupts.acknowledge() {
            None => Ok(()),
            Some(signal) => Err(Failure::interrupted(signal)),
        }
    }
}
