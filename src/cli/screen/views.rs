//! Chooses the view of a job by the place where the program runs.

use std::io::IsTerminal as _;

use jiff::Timestamp;

use crate::cli::args::global::ProgressMode;
use crate::cli::display::TerminalUse;
use crate::cli::output::Output;
use crate::job::LogLevel;
use crate::system::clock;
use crate::ui::{
    EndLines, GitlabLog, JsonEvents, LiveBlock, LiveSettings, Paint, PlainLog, ProgressView,
};

/// Returns the view for the log of a GitHub or GitLab pipeline. None elsewhere.
fn pipeline_view(output: &Output, start: Timestamp) -> Option<Box<dyn ProgressView>> {
    if output.is_github_log() {
        return Some(Box::new(output.github_log()));
    }
    if output.variable("GITLAB_CI") == Some("true") && !output.terminal {
        return Some(Box::new(GitlabLog::new(start, Paint::new(output.colour))));
    }
    None
}

/// Returns true if the display of a job shows usual times and the time left.
pub(in crate::cli) fn has_estimates(output: &Output) -> bool {
    output.progress != ProgressMode::None
}

/// Returns the view of a job that starts now, and its use of the terminal.
///
/// `shown_problems` are the messages of problems that were shown before.
pub(in crate::cli) fn job_view(
    output: &Output,
    shown_problems: Vec<String>,
) -> (Box<dyn ProgressView>, TerminalUse) {
    view(output, clock::now(), shown_problems)
}

fn view(
    output: &Output,
    start: Timestamp,
    shown_problems: Vec<String>,
) -> (Box<dyn ProgressView>, TerminalUse) {
    let no_use = TerminalUse::default();
    let end_lines = end_lines(output);
    match output.progress {
        ProgressMode::Json => return (Box::new(JsonEvents::new(start)), no_use),
        ProgressMode::None => return (live_view(output, false, shown_problems).0, no_use),
        ProgressMode::Auto => {
            if let Some(view) = pipeline_view(output, start) {
                return (view, no_use);
            }
            if has_live_terminal(output) {
                return live_view(output, true, shown_problems);
            }
        }
        ProgressMode::Plain => {}
    }
    let paint = Paint::new(output.colour);
    let view = PlainLog::new(paint, end_lines, shown_problems);
    (Box::new(view), no_use)
}

/// Returns true if a block can be redrawn at the end of the error output.
pub(in crate::cli) fn has_live_terminal(output: &Output) -> bool {
    let is_ci = output
        .variable("CI")
        .is_some_and(|ci| !matches!(ci, "" | "false" | "0"));
    output.progress == ProgressMode::Auto && output.terminal && !is_ci
}

/// Returns the live view, with or without its block.
fn live_view(
    output: &Output,
    has_block: bool,
    shown_problems: Vec<String>,
) -> (Box<dyn ProgressView>, TerminalUse) {
    let terminal_use = TerminalUse {
        size: has_block,
        keys: has_block && std::io::stdin().is_terminal(),
        max_columns: output.max_width,
    };
    let settings = LiveSettings {
        paint: Paint::new(output.colour),
        has_block,
        end_lines: if has_block {
            end_lines(output)
        } else {
            EndLines::Failures
        },
        has_taskbar: has_block && shows_taskbar(output),
        shown_problems,
    };
    let size = terminal_use.size().unwrap_or((output.width, 0));
    (Box::new(LiveBlock::new(settings, size)), terminal_use)
}

/// Returns the view of the states that run on machines: their results are printed later.
pub(in crate::cli) fn states_view(output: &Output) -> (Box<dyn ProgressView>, TerminalUse) {
    let terminal_use = TerminalUse {
        size: true,
        keys: false,
        max_columns: output.max_width,
    };
    let settings = LiveSettings {
        paint: Paint::new(output.colour),
        has_block: true,
        end_lines: EndLines::Failures,
        has_taskbar: shows_taskbar(output),
        shown_problems: Vec::new(),
    };
    let size = terminal_use.size().unwrap_or((output.width, 0));
    (Box::new(LiveBlock::new(settings, size)), terminal_use)
}

/// Returns the ends of tasks that get a line.
fn end_lines(output: &Output) -> EndLines {
    match output.level {
        LogLevel::Debug | LogLevel::Verbose => EndLines::All,
        LogLevel::Info => EndLines::News,
        LogLevel::Warning | LogLevel::Error => EndLines::Failures,
    }
}

/// Returns true if the terminal is known to show progress in its window (OSC 9;4).
fn shows_taskbar(output: &Output) -> bool {
    output.variable("WT_SESSION").is_some()
        || output.variable("ConEmuANSI") == Some("ON")
        || output.variable("TERM_PROGRAM") == Some("ghostty")
}

/// Returns the view that shows a finished job again, and its use of the terminal.
pub(in crate::cli) fn replay_view(
    output: &Output,
    start: Option<Timestamp>,
) -> (Box<dyn ProgressView>, TerminalUse) {
    view(output, start.unwrap_or_default(), Vec::new())
}
