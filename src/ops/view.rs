//! What a face must do for a job: approve its plan, watch it.

use super::committing::Commits;
use super::failure::{Failure, FailureKind};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::job::{self, Engine, Event};
use crate::value::Value;

/// What somebody decided about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Run it.
    Proceed,
    /// Leave everything as it is.
    Decline,
}

/// A face of a job.
pub trait View {
    /// Shows what people should know before the job begins.
    fn warnings(&mut self, warnings: &Diagnostics, sources: &Sources);

    /// Shows what went wrong in the job, with its places.
    fn problem(&mut self, problem: &Diagnostic, sources: &Sources);

    /// Shows a notice.
    fn notice(&mut self, text: &str);

    /// Shows the plan, and asks where that is needed.
    fn approve(&mut self, engine: &Engine, sources: &Sources) -> Decision;

    /// Asks whether what may have been done already is to be done again, where somebody can be
    /// asked who has not been asked yet.
    fn redo(&mut self, _doubts: &[String]) -> bool {
        false
    }

    /// Who performs the effects of the job where it is not this machine, as in a simulation.
    fn runner(&mut self) -> Option<Box<dyn job::Runner>> {
        None
    }

    /// Hears an event of the running job.
    fn event(&mut self, event: &Event);
}

/// What came of a job.
#[derive(Debug)]
pub struct JobReport {
    /// The job as it ended.
    pub engine: Engine,
    /// The outputs of the topology.
    pub outputs: crate::value::Map,
    /// Whether an output could not be evaluated.
    pub outputs_failed: bool,
    /// What went wrong while it was planned and run, with places.
    pub problems: Diagnostics,
    /// The texts that the problems point into.
    pub sources: Sources,
    /// How long it took.
    pub elapsed: std::time::Duration,
    /// Whether it was declined.
    pub declined: bool,
    /// Whether anything was planned.
    pub ran: bool,
    /// What became of its record in git.
    pub commits: Commits,
}

/// What an expression gives in a job as it is now, and what it read: nothing if `depth` is 0, the
/// attributes that it names if 1, those that they are computed from as well if more.
pub fn query(
    engine: &Engine,
    sources: &Sources,
    expression: &str,
    depth: u8,
) -> Result<(Value, Vec<(String, Value)>), Failure> {
    engine.query(expression, depth).map_err(|error| {
        let nowhere = |_: &str| Span::NONE;
        let problem = job::explain(&engine.topology, error.to_string(), &error, &nowhere);
        Failure::with_places(FailureKind::Refused, problem, sources.clone())
    })
}
