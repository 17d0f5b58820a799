//! The interface between a job and a user interface: approval of the plan, events and the final report.

use std::sync::Arc;

use super::failure::Failure;
use super::query::QueryResult;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::ensemble::CommitReport;
use crate::exec::ActionRunner;
use crate::host::Stream;
use crate::job::{Forecast, JobEvent, Proposal, Report};

/// The user's decision about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Proceed,
    Decline,
}

/// A user interface for a job, such as the command line.
pub trait JobFrontend {
    /// Shows warnings before the job starts.
    fn warnings(&mut self, warnings: &Diagnostics, sources: &Sources);

    /// Shows a problem of the job with its source positions.
    fn problem(&mut self, problem: &Diagnostic, sources: &Sources);

    /// Shows a message for the user.
    fn notice(&mut self, text: &str);

    /// Shows the plan and asks for approval if required. `plan` computes the plan only when called. `place` is
    /// the name under which people know the ensemble or its environment.
    fn approve(&mut self, plan: &dyn Fn() -> Proposal, sources: &Sources, place: &str) -> Decision;

    /// Asks whether operations that may have been completed already should run again. The default answer is
    /// no.
    fn confirm_redo(&mut self, _doubts: &[String]) -> bool {
        false
    }

    /// Offers an estimate of the times of the job, which is about to run. `forecast` computes the estimate only when
    /// called.
    fn estimate(&mut self, _forecast: &dyn Fn() -> Forecast) {}

    /// Returns the message for the commit of the job's record; `None` for the one that Unfurl writes.
    fn commit_message(&self, _job: &Report) -> Option<String> {
        None
    }

    /// Returns the runner that performs the job's actions; `None` uses this computer. A simulation returns
    /// its own.
    fn performer(&mut self) -> Option<Box<dyn ActionRunner>> {
        None
    }

    /// Handles an event of the running job.
    fn event(&mut self, event: &JobEvent, sources: &Sources);

    /// Shows the next bytes that a command of a task wrote. `task` is [`TaskRecord::task`].
    ///
    /// [`TaskRecord::task`]: crate::job::TaskRecord::task
    fn output(&mut self, _task: usize, _stream: Stream, _bytes: &[u8]) {}

    /// Handles the end of the output of one command of a task.
    fn output_ended(&mut self, _task: usize) {}
}

/// The report of a job for user interfaces.
#[derive(Debug)]
pub struct JobReport {
    pub job: Report,
    /// The plan, if the job did not run.
    pub plan: Option<Proposal>,
    /// The result of the expression that the user requested, if any.
    pub query: Option<Result<QueryResult, Failure>>,
    /// The problems of planning and running, with source positions.
    pub problems: Diagnostics,
    /// The texts to which the problems point.
    pub sources: Sources,
    /// The time from the start of planning to the end.
    pub elapsed: std::time::Duration,
    /// Whether the user declined the plan.
    pub declined: bool,
    /// The inputs whose values were saved in `spec.inputs`; None without the request to save them.
    pub saved_inputs: Option<Vec<Arc<str>>>,
    /// The commits of the job's record, with warnings and failures.
    pub commits: CommitReport,
}
