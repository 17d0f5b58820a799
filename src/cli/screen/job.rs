//! The face of a job on a terminal or in a log.

use std::io::IsTerminal as _;

use crate::cli::output::{Output, relative};
use crate::cli::prompt;
use crate::cli::views::{self, Audience};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::job::{Event, Level, Proposal, TaskRecord};
use crate::ops::{Decision, View};
use crate::system::signals::Interrupts;
use crate::ui::{Progress, approved, confirmed};

/// Shows a job while it runs.
#[derive(Debug)]
pub(in crate::cli) struct Screen<'a> {
    output: &'a Output,
    approve: bool,
    progress: Progress,
    interrupts: Interrupts,
}

impl<'a> Screen<'a> {
    pub(in crate::cli) fn new(output: &'a Output, approve: bool, interrupts: Interrupts) -> Self {
        Self {
            output,
            approve,
            progress: Progress::silent(),
            interrupts,
        }
    }

    /// Takes the progress off the screen.
    pub(in crate::cli) fn done(&mut self) {
        self.progress.done();
    }

    fn say(&self, level: Level, text: &str) {
        self.progress.aside(|| self.output.message(level, text));
    }
}

impl View for Screen<'_> {
    fn warnings(&mut self, warnings: &Diagnostics, sources: &Sources) {
        self.output.diagnostics(warnings, sources);
    }

    fn problem(&mut self, problem: &Diagnostic, sources: &Sources) {
        let problems = Diagnostics::from(problem.clone());
        self.progress
            .aside(|| self.output.diagnostics(&problems, sources));
    }

    fn notice(&mut self, text: &str) {
        self.output.complain(&format!("note: {text}\n"));
    }

    fn approve(&mut self, plan: &dyn Fn() -> Proposal, sources: &Sources) -> Decision {
        if self.approve && self.output.level > Level::Info {
            return Decision::Proceed;
        }
        let view = views::plan(&plan(), &relative(sources), Audience::Person);
        let text = view.text(self.output.width);
        if self.approve {
            self.output.message(Level::Info, text.trim_end());
            return Decision::Proceed;
        }
        self.output.complain(&text);
        if !std::io::stdin().is_terminal() {
            self.output.message(
                Level::Info,
                "nobody can be asked; `--approve` runs without asking",
            );
        }
        let question = "proceed with job?".to_owned();
        if prompt::yes_or_no(question, approved, &self.interrupts, self.output) {
            Decision::Proceed
        } else {
            Decision::Decline
        }
    }

    fn redo(&mut self, doubts: &[String]) -> bool {
        if self.approve || !std::io::stdin().is_terminal() {
            return false;
        }
        let question = format!(
            "a job was cut off, and nobody knows whether {} was done; run it again?",
            doubts.join(", ")
        );
        prompt::yes_or_no(question, confirmed, &self.interrupts, self.output)
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Message { level, text } => self.say(*level, text),
            Event::JobStarted(start) if self.output.terminal && !self.output.quiet => {
                self.progress = Progress::on_stderr(start.steps as u64);
            }
            Event::TaskStarted(task) => {
                let TaskRecord {
                    operation, target, ..
                } = &**task;
                self.progress
                    .started(&format!("{operation} {}", target.key));
            }
            Event::TaskFinished(task) => {
                let (operation, target) = (&task.operation, &task.target.key);
                self.progress.finished(&format!("{operation} {target}"));
                if task.is_ok() {
                    let text = format!("{operation} on {target} succeeded");
                    self.say(Level::Verbose, &text);
                } else if !task.is_blocked() {
                    let why = task.errors().join("; ");
                    let colon = if why.is_empty() { "" } else { ": " };
                    let text = format!("{operation} on {target} failed{colon}{why}");
                    self.say(Level::Error, &text);
                }
            }
            _ => {}
        }
    }
}
