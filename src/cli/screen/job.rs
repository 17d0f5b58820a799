//! Shows a job on a terminal or in a log, and asks the user to approve the plan.
//!
//! [`JobScreen`] implements the port `JobFrontend` of `ops`.

use std::io::IsTerminal as _;

use crate::cli::job_views::{self, PlanDetail};
use crate::cli::output::{Output, relative};
use crate::cli::prompt;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::job::{JobEvent, LogLevel, Proposal, TaskRecord};
use crate::ops::{Decision, JobFrontend};
use crate::system::signals::Interrupts;
use crate::ui::{Progress, read_approval, read_confirmation};

/// The front end of a running job.
#[derive(Debug)]
pub(in crate::cli) struct JobScreen<'a> {
    output: &'a Output,
    approve: bool,
    progress: Progress,
    interrupts: Interrupts,
}

impl<'a> JobScreen<'a> {
    pub(in crate::cli) fn new(output: &'a Output, approve: bool, interrupts: Interrupts) -> Self {
        Self {
            output,
            approve,
            progress: Progress::silent(),
            interrupts,
        }
    }

    /// Removes the progress bar from the screen.
    pub(in crate::cli) fn clear_progress(&mut self) {
        self.progress.clear();
    }

    fn print_message(&self, level: LogLevel, text: &str) {
        self.progress.suspend(|| self.output.message(level, text));
    }
}

impl JobFrontend for JobScreen<'_> {
    fn warnings(&mut self, warnings: &Diagnostics, sources: &Sources) {
        self.output.diagnostics(warnings, sources);
    }

    fn problem(&mut self, problem: &Diagnostic, sources: &Sources) {
        let problems = Diagnostics::from(problem.clone());
        self.progress
            .suspend(|| self.output.diagnostics(&problems, sources));
    }

    fn notice(&mut self, text: &str) {
        self.output.print_stderr(&format!("note: {text}\n"));
    }

    fn approve(&mut self, plan: &dyn Fn() -> Proposal, sources: &Sources) -> Decision {
        if self.approve && self.output.level > LogLevel::Info {
            return Decision::Proceed;
        }
        let view = job_views::plan(&plan(), &relative(sources), PlanDetail::Planned);
        let text = view.text(self.output.width);
        if self.approve {
            self.output.message(LogLevel::Info, text.trim_end());
            return Decision::Proceed;
        }
        self.output.print_stderr(&text);
        if !std::io::stdin().is_terminal() {
            self.output.message(
                LogLevel::Info,
                "the plan needs approval, but the input is not a terminal; use `--approve`",
            );
        }
        let question = "proceed with job?".to_owned();
        if prompt::yes_or_no(question, read_approval, &self.interrupts, self.output) {
            Decision::Proceed
        } else {
            Decision::Decline
        }
    }

    fn confirm_redo(&mut self, doubts: &[String]) -> bool {
        if self.approve || !std::io::stdin().is_terminal() {
            return false;
        }
        let question = format!(
            "an earlier job crashed, and it is unknown whether {} completed; run it again?",
            doubts.join(", ")
        );
        prompt::yes_or_no(question, read_confirmation, &self.interrupts, self.output)
    }

    fn event(&mut self, event: &JobEvent) {
        match event {
            JobEvent::Message { level, text } => self.print_message(*level, text),
            JobEvent::JobStarted(start) if self.output.terminal && !self.output.quiet => {
                self.progress = Progress::on_stderr(start.steps as u64);
            }
            JobEvent::TaskStarted(task) => {
                let TaskRecord {
                    operation, target, ..
                } = &**task;
                self.progress
                    .started(&format!("{operation} {}", target.key));
            }
            JobEvent::TaskFinished(task) => {
                let (operation, target) = (&task.operation, &task.target.key);
                self.progress.finished(&format!("{operation} {target}"));
                if task.is_ok() {
                    let text = format!("{operation} on {target} succeeded");
                    self.print_message(LogLevel::Verbose, &text);
                } else if !task.is_blocked() {
                    let why = task.errors().join("; ");
                    let colon = if why.is_empty() { "" } else { ": " };
                    let text = format!("{operation} on {target} failed{colon}{why}");
                    self.print_message(LogLevel::Error, &text);
                }
            }
            _ => {}
        }
    }
}
