//! The face of what runs over hosts, on a terminal or in a log.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::cli::args::host::HostOutput;
use crate::cli::output::Output;
use crate::host::{Question, Secret};
use crate::job::Level;
use crate::ops::runbook::{HostsView, RunbookReport};
use crate::runbook::Event;
use crate::system::signals::Interrupts;
use crate::system::terminal::HiddenInput;
use crate::ui::{Channel, HostDetail, HostLines, HostSummary, host_event};

/// How often it is looked whether somebody asked for an end, while an answer is awaited.
const LOOK: Duration = Duration::from_millis(20);

/// Shows what runs over hosts.
#[derive(Debug)]
pub(in crate::cli) struct HostScreen<'a> {
    output: &'a Output,
    format: HostOutput,
    lines: HostLines,
    summary: HostSummary,
    interrupts: Interrupts,
}

impl<'a> HostScreen<'a> {
    pub(in crate::cli) fn new(
        output: &'a Output,
        format: HostOutput,
        interrupts: Interrupts,
    ) -> Self {
        let detail = if output.level <= Level::Verbose {
            HostDetail::Steps
        } else {
            HostDetail::Output
        };
        Self {
            output,
            format,
            lines: HostLines::new(detail),
            summary: HostSummary::default(),
            interrupts,
        }
    }

    /// Shows what came of all.
    pub(in crate::cli) fn end(&self, report: &RunbookReport) {
        let left: Vec<String> = report
            .not_reached
            .iter()
            .map(|it| format!("`{it}`"))
            .collect();
        match self.format {
            HostOutput::Json => {
                let mut line = self.summary.json(report.exit_code);
                if !left.is_empty() {
                    let left: Vec<&str> = report.not_reached.iter().map(AsRef::as_ref).collect();
                    line["notReached"] = left.into();
                }
                self.output.answer(&format!("{line}\n"));
            }
            HostOutput::Text => {
                if self.output.level <= Level::Info {
                    self.output.complain(&self.summary.table(self.output.width));
                }
                if !left.is_empty() {
                    let message = format!("not come to: {}", left.join(", "));
                    self.output.message(Level::Warning, &message);
                }
            }
        }
    }

    /// Asks on the terminal; an interruption is no answer, and neither is the end of the input.
    fn asks(&self, question: &str, hidden: bool) -> Option<String> {
        let _hidden = (hidden && std::io::stdin().is_terminal()).then(HiddenInput::begin);
        self.output.complain(question);
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        // Who waits for an answer cannot hear of anything else.
        let asker = std::thread::Builder::new().name("question".to_owned());
        let asker = asker.spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            answer
                .send(read.is_ok_and(|read| read > 0).then_some(line))
                .ok();
        });
        while asker.is_ok() {
            match answered.recv_timeout(LOOK) {
                Ok(Some(line)) => return Some(line.trim_end_matches(['\r', '\n']).to_owned()),
                Err(RecvTimeoutError::Timeout) if self.interrupts.first().is_none() => {}
                Ok(None) | Err(_) => break,
            }
        }
        self.output.complain("\n");
        None
    }
}

impl HostsView for HostScreen<'_> {
    fn event(&mut self, event: &Event) {
        self.summary.event(event);
        match self.format {
            HostOutput::Json => {
                if let Some(line) = host_event(event) {
                    self.output.answer(&format!("{line}\n"));
                }
            }
            HostOutput::Text => {
                if self.output.quiet && matches!(event, Event::Warning(_)) {
                    return;
                }
                for line in self.lines.event(event) {
                    match line.channel {
                        Channel::Answer => self.output.answer(&line.text),
                        Channel::Aside => self.output.complain(&line.text),
                    }
                }
            }
        }
    }

    fn ask(&mut self, question: &Question) -> Option<Secret> {
        let text = question.to_string();
        let text = text.strip_prefix("the ").unwrap_or(&text);
        self.asks(&format!("{text}: "), true).map(Secret::new)
    }

    fn prompt(&mut self, text: &str, default: Option<&str>, secret: bool) -> Option<String> {
        let text = text.trim();
        let question = match default.filter(|_| !secret) {
            Some(default) => format!("{text} [{default}] "),
            None => format!("{text} "),
        };
        self.asks(&question, secret)
    }
}
