//! The face of what runs over hosts, on a terminal or in a log.

use crate::cli::args::format::HostOutput;
use crate::cli::output::Output;
use crate::cli::prompt;
use crate::fleet::tasks::{HostsView, RunbookReport};
use crate::host::{Question, Secret};
use crate::job::Level;
use crate::runbook::Event;
use crate::system::signals::Interrupts;
use crate::ui::{Channel, HostDetail, HostLines, HostSummary, host_event};

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
        let question = format!("{text}: ");
        prompt::line(&question, true, &self.interrupts, self.output).map(Secret::new)
    }

    fn prompt(&mut self, text: &str, default: Option<&str>, secret: bool) -> Option<String> {
        let text = text.trim();
        let question = match default.filter(|_| !secret) {
            Some(default) => format!("{text} [{default}] "),
            None => format!("{text} "),
        };
        prompt::line(&question, secret, &self.interrupts, self.output)
    }
}
