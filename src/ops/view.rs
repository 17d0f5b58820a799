//! What a face must do for a job: approve its plan, watch it.

use crate::diagnostic::{Diagnostics, Sources};
use crate::job::{Engine, Event};

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

    /// Shows a notice.
    fn notice(&mut self, text: &str);

    /// Shows the plan, and asks where that is needed.
    fn approve(&mut self, engine: &Engine) -> Decision;

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
    /// How long it took.
    pub elapsed: std::time::Duration,
    /// Whether it was declined.
    pub declined: bool,
    /// Whether anything was planned.
    pub ran: bool,
}
