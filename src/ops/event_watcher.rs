//! Forwards the events of a job to its log file and to its frontend.

use std::collections::HashSet;

use super::failure::{Failure, FailureKind};
use super::frontend::{Decision, JobFrontend};
use super::request::JobRequest;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources};
use crate::ensemble::LogFile;
use crate::host::Stream;
use crate::job::{EventSink, JobEvent, Proposal};
use crate::system::fs;

/// An event sink that writes to the log and the frontend, and collects problems for the report.
pub(super) struct EventWatcher<'v> {
    pub(super) view: &'v mut dyn JobFrontend,
    pub(super) log: LogFile,
    pub(super) sources: Sources,
    pub(super) problems: Diagnostics,
    /// The problems reported so far, with their positions, to suppress duplicates.
    reported: HashSet<(String, Option<(SourceId, u32)>)>,
}

/// Opens the log of a job at the path that the user chose, or at a temporary one.
pub(super) fn open_log(request: &JobRequest) -> Result<LogFile, Failure> {
    LogFile::open(request.session.logfile.as_deref()).map_err(log_failure)
}

/// Opens the log of a plan at the path that the user chose, or in memory.
pub(super) fn open_log_of_plan(request: &JobRequest) -> Result<LogFile, Failure> {
    LogFile::open_for_plan(request.session.logfile.as_deref()).map_err(log_failure)
}

fn log_failure(error: fs::Error) -> Failure {
    let hint = "choose another file with `--logfile`, or omit the option";
    Failure::new(FailureKind::Refused, error, Some(hint.to_owned()))
}

impl<'v> EventWatcher<'v> {
    pub(super) fn new(view: &'v mut dyn JobFrontend, log: LogFile, sources: &Sources) -> Self {
        Self {
            view,
            log,
            sources: sources.clone(),
            problems: Diagnostics::default(),
            reported: HashSet::new(),
        }
    }

    /// Asks the user to approve the plan.
    pub(super) fn approve(&mut self, plan: &dyn Fn() -> Proposal, place: &str) -> Decision {
        self.view.approve(plan, &self.sources, place)
    }

    pub(super) fn handle_all(&mut self, events: &[JobEvent]) {
        for event in events {
            self.event(event);
        }
    }
}

impl EventSink for EventWatcher<'_> {
    fn event(&mut self, event: &JobEvent) {
        let JobEvent::Problem(problem) = event else {
            self.log.event(event);
            self.view.event(event, &self.sources);
            return;
        };
        let place = problem.span().map(|span| (span.source, span.start));
        if !self.reported.insert((problem.message.clone(), place)) {
            return;
        }
        self.log.problem(problem, &self.sources);
        self.view.problem(problem, &self.sources);
        self.problems.push(Diagnostic::clone(problem));
    }

    fn output(&mut self, task: usize, stream: Stream, bytes: &[u8]) {
        self.view.output(task, stream, bytes);
    }

    fn output_ended(&mut self, task: usize) {
        self.view.output_ended(task);
    }
}
