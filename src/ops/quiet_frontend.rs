//! A frontend that shows nothing: it has one answer to every plan, and collects the messages.

use super::frontend::{Decision, JobFrontend};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::job::{JobEvent, Proposal};

/// The messages of a job that runs as a part of another command.
#[derive(Debug)]
pub(super) struct QuietFrontend {
    decision: Decision,
    pub(super) warnings: Vec<String>,
    pub(super) notices: Vec<String>,
    pub(super) problems: Diagnostics,
}

impl QuietFrontend {
    /// Creates a frontend with an answer to every plan.
    pub(super) fn new(decision: Decision) -> Self {
        Self {
            decision,
            warnings: Vec::new(),
            notices: Vec::new(),
            problems: Diagnostics::default(),
        }
    }
}

impl JobFrontend for QuietFrontend {
    fn warnings(&mut self, warnings: &Diagnostics, _sources: &Sources) {
        let messages = warnings.iter().map(|it| it.message.clone());
        self.warnings.extend(messages);
    }

    fn problem(&mut self, problem: &Diagnostic, _sources: &Sources) {
        self.problems.push(problem.clone());
    }

    fn notice(&mut self, text: &str) {
        self.notices.push(text.to_owned());
    }

    fn approve(
        &mut self,
        _plan: &dyn Fn() -> Proposal,
        _sources: &Sources,
        _place: &str,
    ) -> Decision {
        self.decision
    }

    fn event(&mut self, _event: &JobEvent, _sources: &Sources) {}
}
