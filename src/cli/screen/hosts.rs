//! Shows runs over hosts on a terminal or in a log, and asks for passwords and answers.
//!
//! [`HostScreen`] implements the port `HostsView` of `fleet::tasks`; `ui` renders its lines.

use std::time::{Duration, Instant};

use crate::cli::args::format::HostOutput;
use crate::cli::output::Output;
use crate::cli::prompt::{self, AnswerSource};
use crate::fleet::tasks::{HostsView, TasksReport};
use crate::host::{Question, Secret};
use crate::job::LogLevel;
use crate::system::console::StandardStream;
use crate::system::signals::Interrupts;
use crate::tasks::HostEvent;
use crate::ui::{
    HostColours, HostDetail, HostLines, HostSummary, OutputChannel, Paint, TransferLine, host_event,
};

/// The time between two lines about the progress of transfers.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// The view of a run over hosts: prints events as lines or JSON.
#[derive(Debug)]
pub(in crate::cli) struct HostScreen<'a> {
    output: &'a Output,
    format: HostOutput,
    lines: HostLines,
    summary: HostSummary,
    transfers: TransferLine,
    /// The time when the progress of transfers was shown last.
    shown_at: Option<Instant>,
    interrupts: Interrupts,
    answers: AnswerSource,
}

impl<'a> HostScreen<'a> {
    pub(in crate::cli) fn new(
        output: &'a Output,
        format: HostOutput,
        interrupts: Interrupts,
    ) -> Self {
        let detail = if output.level <= LogLevel::Verbose {
            HostDetail::Steps
        } else {
            HostDetail::Output
        };
        let coloured = HostColours {
            stdout: StandardStream::Stdout.has_colours(),
            stderr: StandardStream::Stderr.has_colours(),
        };
        Self {
            output,
            format,
            lines: HostLines::new(detail).coloured(coloured),
            summary: HostSummary::default(),
            transfers: TransferLine::default(),
            shown_at: None,
            interrupts,
            answers: AnswerSource::Stdin,
        }
    }

    /// Reads answers from a source.
    #[must_use]
    pub(in crate::cli) fn answered_from(mut self, source: AnswerSource) -> Self {
        self.answers = source;
        self
    }

    /// Asks for a line on the standard input, or at the terminal. None without an answer.
    fn ask(&self, question: &str, hidden: bool) -> Option<String> {
        match self.answers {
            AnswerSource::Stdin => prompt::line(question, hidden, &self.interrupts, self.output),
            AnswerSource::Terminal => {
                prompt::terminal_line(question, hidden, &self.interrupts).unwrap_or(None)
            }
        }
    }

    /// Prints the progress of transfers, unless it was printed a moment ago.
    fn show_transfers(&mut self) {
        let is_recent = |shown: Instant| shown.elapsed() < PROGRESS_INTERVAL;
        if self.output.level > LogLevel::Info || self.shown_at.is_some_and(is_recent) {
            return;
        }
        self.shown_at = Some(Instant::now());
        self.output
            .print_stderr(&format!("{}\n", self.transfers.text()));
    }

    /// Prints the summary of the run.
    pub(in crate::cli) fn end(&self, report: &TasksReport) {
        let not_reached: Vec<String> = report
            .not_reached
            .iter()
            .map(|it| format!("`{it}`"))
            .collect();
        match self.format {
            HostOutput::Json => {
                let mut line = self.summary.json(report.exit_code);
                if !not_reached.is_empty() {
                    let not_reached: Vec<&str> =
                        report.not_reached.iter().map(AsRef::as_ref).collect();
                    line["notReached"] = not_reached.into();
                }
                self.output.print_result(&format!("{line}\n"));
            }
            HostOutput::Text => {
                if self.output.level <= LogLevel::Info {
                    let paint = Paint::new(self.output.colour);
                    self.output.print_styled_stderr(&self.summary.text(paint));
                }
                if !not_reached.is_empty() {
                    let message = format!("not reached: {}", not_reached.join(", "));
                    self.output.message(LogLevel::Warning, &message);
                }
            }
        }
    }
}

impl HostsView for HostScreen<'_> {
    fn event(&mut self, event: &HostEvent) {
        self.summary.event(event);
        match self.format {
            HostOutput::Json => {
                if let Some(line) = host_event(event) {
                    self.output.print_result(&format!("{line}\n"));
                }
            }
            HostOutput::Text => {
                if self.transfers.event(event) {
                    return self.show_transfers();
                }
                if self.output.quiet && matches!(event, HostEvent::Warning(_)) {
                    return;
                }
                for line in self.lines.event(event) {
                    match line.channel {
                        OutputChannel::Stdout => self.output.print_styled_result(&line.text),
                        OutputChannel::Stderr => self.output.print_styled_stderr(&line.text),
                    }
                }
            }
        }
    }

    fn prompt_secret(&mut self, question: &Question) -> Option<Secret> {
        let text = question.to_string();
        let text = text.strip_prefix("the ").unwrap_or(&text);
        let question = format!("{text}: ");
        self.ask(&question, true).map(Secret::new)
    }

    fn prompt(&mut self, text: &str, default: Option<&str>, secret: bool) -> Option<String> {
        let text = text.trim();
        let question = match default.filter(|_| !secret) {
            Some(default) => format!("{text} [{default}] "),
            None => format!("{text} "),
        };
        self.ask(&question, secret)
    }
}
