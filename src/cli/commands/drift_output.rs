//! The formats of the command `drift`.

use clap::ValueEnum;

use crate::cli::output::Context;
use crate::drift::DriftAnswer;
use crate::system::console::StandardStream;
use crate::ui::{
    DriftStyle, NextCommands, drift_json, drift_junit, drift_markdown, drift_sarif, drift_text,
};

/// The formats of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum DriftOutput {
    /// Text for people
    #[default]
    Text,
    /// A single JSON document; `unfurl schema drift` prints its schema
    Json,
    /// XML for the test pages of CI systems: drift is a failure
    Junit,
    /// SARIF 2.1.0 for code hosts and editors
    Sarif,
    /// A table for the page of a pipeline or a comment
    Markdown,
}

/// The parts of the answers that are shown.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct DriftDetail<'a> {
    /// Findings that a rule ignores, too.
    pub(in crate::cli) with_ignored: bool,
    /// Long texts and long lists in full.
    pub(in crate::cli) is_full: bool,
    /// The commands to type next, for text.
    pub(in crate::cli) next: Option<&'a NextCommands>,
}

/// Shows answers in a format.
pub(in crate::cli) fn show(
    answers: &[DriftAnswer],
    format: DriftOutput,
    detail: DriftDetail<'_>,
    cx: &Context,
) {
    match format {
        DriftOutput::Text => {
            let style = cx.output.plan_style(StandardStream::Stdout, detail.is_full);
            let style = DriftStyle {
                layout: style.layout,
                with_ignored: detail.with_ignored,
                next: detail.next,
            };
            cx.output.print_styled_result(&drift_text(answers, style));
        }
        DriftOutput::Json => cx.output.json(&drift_json(answers)),
        DriftOutput::Junit => cx.output.print_result(&drift_junit(answers)),
        DriftOutput::Sarif => cx.output.json(&drift_sarif(answers)),
        DriftOutput::Markdown => cx.output.print_result(&drift_markdown(answers)),
    }
}
