//! The face of a job on a terminal or in a log.

use std::io::IsTerminal as _;

use super::output::{Output, relative};
use super::views::{self, Audience};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::job::{Engine, Event, Level};
use crate::ops::{Decision, View};
use crate::ui::{Progress, approved, confirmed};

/// Shows a job while it runs.
#[derive(Debug)]
pub(super) struct Screen<'a> {
    output: &'a Output,
    approve: bool,
    progress: Progress,
}

impl<'a> Screen<'a> {
    pub(super) fn new(output: &'a Output, approve: bool) -> Self {
        Self {
            output,
            approve,
            progress: Progress::silent(),
        }
    }

    /// Takes the progress off the screen.
    pub(super) fn done(&mut self) {
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

    fn approve(&mut self, engine: &Engine, sources: &Sources) -> Decision {
        if self.approve && self.output.level > Level::Info {
            return Decision::Proceed;
        }
        let view = views::plan(engine, &relative(sources), Audience::Person);
        let text = view.text(self.output.width);
        if self.approve {
            self.output.message(Level::Info, text.trim_end());
            return Decision::Proceed;
        }
        self.output.complain(&text);
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            self.output.message(
                Level::Info,
                "nobody can be asked; `--approve` runs without asking",
            );
        }
        let answer = approved(
            "proceed with job?",
            &mut stdin.lock(),
            &mut std::io::stderr(),
        );
        if answer.unwrap_or(false) {
            Decision::Proceed
        } else {
            Decision::Decline
        }
    }

    fn redo(&mut self, doubts: &[String]) -> bool {
        let stdin = std::io::stdin();
        if self.approve || !stdin.is_terminal() {
            return false;
        }
        let question = format!(
            "a job was cut off, and nobody knows whether {} was done; run it again?",
            doubts.join(", ")
        );
        let answer = confirmed(&question, &mut stdin.lock(), &mut std::io::stderr());
        answer.unwrap_or(false)
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Message { level, text } => self.say(*level, text),
            Event::JobStarted { steps, .. } if self.output.terminal && !self.output.quiet => {
                self.progress = Progress::on_stderr(*steps as u64);
            }
            Event::TaskStarted {
                target, operation, ..
            } => {
                self.progress.started(&format!("{operation} {target}"));
            }
            Event::TaskFinished(finished) => {
                self.progress
                    .finished(&format!("{} {}", finished.operation, finished.target));
                if finished.success {
                    let text = format!("{} on {} succeeded", finished.operation, finished.target);
                    self.say(Level::Verbose, &text);
                } else if !finished.blocked {
                    let why = finished.errors.join("; ");
                    let colon = if why.is_empty() { "" } else { ": " };
                    let text = format!(
                        "{} on {} failed{colon}{why}",
                        finished.operation, finished.target
                    );
                    self.say(Level::Error, &text);
                }
            }
            Event::JobStarted { .. } | Event::JobFinished { .. } | Event::Problem(_) => {}
        }
    }
}
