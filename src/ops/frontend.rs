//! What a face must do for a job: approve its plan, watch it.

use super::failure::Failure;
use super::query::QueryResult;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::ensemble::CommitReport;
use crate::exec::ActionRunner;
use crate::job::{JobEvent, Proposal, Report};

/// What somebody decided about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Run it.
    Proceed,
    /// Leave everything as it is.
    Decline,
}

/// A face of a job.
pub trait JobFrontend {
    /// Shows what people should know before the job begins.
    fn warnings(&mut self, warnings: &Diagnostics, sources: &Sources);

    /// Shows what went wrong in the job, with its places.
    fn problem(&mut self, problem: &Diagnostic, sources: &Sources);

    /// Shows a notice.
    fn notice(&mut self, text: &str);

    /// Shows the plan, which is made where it is asked for, and asks where that is needed.
    fn approve(&mut self, plan: &dyn Fn() -> Proposal, sources: &Sources) -> Decision;

    /// Asks whether what may have been done already is to be done again, where somebody can be
    /// asked who has not been asked yet.
    fn redo(&mut self, _doubts: &[String]) -> bool {
        false
    }

    /// Who performs the effects of the job where it is not this machine, as in a simulation.
    fn performer(&mut self) -> Option<Box<dyn ActionRunner>> {
        None
    }

    /// Hears an event of the running job.
    fn event(&mut self, event: &JobEvent);
}

/// What came of a job.
#[derive(Debug)]
pub struct JobReport {
    /// The job as it ended.
    pub job: Report,
    /// The plan, where nothing of it was run.
    pub plan: Option<Proposal>,
    /// What the expression gave that the user asked for, if it could be evaluated.
    pub query: Option<Result<QueryResult, Failure>>,
    /// What went wrong while it was planned and run, with places.
    pub problems: Diagnostics,
    /// The texts that the problems point into.
    pub sources: Sources,
    /// How long it took.
    pub elapsed: std::time::Duration,
    /// Whether it was declined.
    pub declined: bool,
    /// What became of its record in git.
    pub commits: CommitReport,
}
