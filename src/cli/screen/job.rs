//! The face of a job on a terminal or in a log.

use std::io::{BufRead, IsTerminal as _, Write};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::cli::output::{Output, relative};
use crate::cli::views::{self, Audience};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::job::{Event, Level, Proposal, TaskRecord};
use crate::ops::{Decision, View};
use crate::system::signals::Interrupts;
use crate::ui::{Progress, approved, confirmed};

/// How often it is looked whether somebody asked for an end, while an answer is awaited.
const LOOK: Duration = Duration::from_millis(20);

/// Asks a question on one stream and reads the answer from another.
type Ask = fn(&str, &mut dyn BufRead, &mut dyn Write) -> std::io::Result<bool>;

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

    /// Asks on the terminal; an interruption is no answer.
    fn asks(&self, question: String, ask: Ask) -> bool {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        let interrupts = self.interrupts.clone();
        // Who waits for an answer cannot hear of anything else.
        let asker = std::thread::Builder::new().name("question".to_owned());
        let asker = asker.spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let yes = ask(&question, &mut stdin, &mut std::io::stderr());
            answer.send(yes.unwrap_or(false)).ok();
        });
        while asker.is_ok() {
            match answered.recv_timeout(LOOK) {
                Ok(yes) => return yes,
                Err(RecvTimeoutError::Timeout) if interrupts.first().is_none() => {}
                Err(_) => break,
            }
        }
        self.output.complain("\n");
        false
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
        if self.asks("proceed with job?".to_owned(), approved) {
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
        self.asks(question, confirmed)
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
