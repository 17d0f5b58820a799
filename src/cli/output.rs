//! The output of the program: results go to the standard output, everything else to the error
//! output. Both are written by `system::console`, which escapes control characters.
//!
//! Every command gets an [`Output`] in its [`Context`]. It knows level, width and colour.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value as Json;

use super::args::format::OutputFormat;
use super::args::global::{Global, ProgressMode};
use super::github;
use crate::diagnostic::{Diagnostics, Sources};
use crate::job::LogLevel;
use crate::ops::Failure;
use crate::system::clock;
use crate::system::console::{self, StandardStream};
use crate::system::env::Env;
use crate::text::{OutputFilter, is_unsafe};
use crate::ui::{
    DiagnosticRenderer, GithubLog, JsonEvents, Layout, Paint, PlanText, ProgressEvent,
    ProgressProblem, ProgressView as _, TableLayout, pretty,
};

/// The context that every command gets.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) global: Global,
    pub(super) output: Output,
}

/// The form of everything on the error output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorForm {
    /// Text for people.
    Text,
    /// JSON documents, one per line: `--progress json`.
    Json,
    /// Text for the log of a GitHub workflow, in which some lines are commands to the runner.
    Github,
}

/// The destination and the style of output.
#[derive(Debug)]
pub(super) struct Output {
    /// The lowest level of messages that is printed.
    pub(super) level: LogLevel,
    pub(super) quiet: bool,
    /// Diagnostics have colours if this is set.
    pub(super) colour: bool,
    /// The width of the terminal in columns.
    pub(super) width: u16,
    /// The error output is a terminal that can show progress if this is set.
    pub(super) terminal: bool,
    /// The maximum width that the user wants, if any.
    pub(super) max_width: Option<u16>,
    /// The display of running work.
    pub(super) progress: ProgressMode,
    env: Env,
    error_form: ErrorForm,
    /// The writing of a result has failed if this is set. See [`Output::has_lost_output`].
    has_write_failed: std::cell::Cell<bool>,
}

impl Output {
    /// Decides the style of output from the global options and the environment.
    pub(super) fn new(global: &Global) -> Self {
        let env = Env::of_this_process();
        let terminal = StandardStream::Stderr.is_terminal();
        let dumb = env.get("TERM") == Some("dumb");
        let columns = env.get("COLUMNS").and_then(|columns| columns.parse().ok());
        let width = columns.unwrap_or_else(terminal_width);
        let quiet = global.quiet && global.loglevel.is_none();
        let level = level_of(global, quiet);
        let is_github = env.get("GITHUB_ACTIONS") == Some("true") && !terminal;
        let error_form = match global.progress {
            ProgressMode::Json => ErrorForm::Json,
            ProgressMode::Auto if is_github => ErrorForm::Github,
            _ => ErrorForm::Text,
        };
        if error_form == ErrorForm::Json {
            console::set_error_form(json_lines);
        }
        Self {
            error_form,
            level,
            quiet,
            colour: StandardStream::Stderr.has_colours(),
            width,
            terminal: terminal && !dumb,
            max_width: columns,
            progress: if quiet && error_form != ErrorForm::Json {
                ProgressMode::None
            } else {
                global.progress
            },
            env,
            has_write_failed: std::cell::Cell::new(false),
        }
    }

    /// Returns the layout of tables that are printed as a result.
    pub(super) fn table_layout(&self) -> TableLayout {
        TableLayout {
            width: self.width,
            for_programs: !StandardStream::Stdout.is_terminal(),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.env.get(name)
    }

    pub(super) fn print_result(&self, text: &str) {
        let text = self.guarded(text);
        self.check_written(console::write(StandardStream::Stdout, &text));
    }

    /// Prints a result in which colours are kept, if the standard output shows them.
    pub(super) fn print_styled_result(&self, text: &str) {
        let text = self.guarded(text);
        self.check_written(console::write_styled(StandardStream::Stdout, &text));
    }

    /// Returns text of which the runner of a GitHub workflow executes no line. JSON stays as it is.
    fn guarded<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.error_form == ErrorForm::Github && !text.starts_with(['{', '[']) {
            GithubLog::guarded(text, github::token)
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Returns true if the error output is the log of a GitHub workflow.
    pub(super) fn is_github_log(&self) -> bool {
        self.error_form == ErrorForm::Github
    }

    /// Returns the view for the log of a GitHub workflow.
    pub(super) fn github_log(&self) -> GithubLog {
        github::github_log(&self.env)
    }

    /// Prints an event in the form of the error output. Returns false if the form is text for people.
    fn print_event(&self, event: &ProgressEvent) -> bool {
        let mut text = String::new();
        match self.error_form {
            ErrorForm::Text => return false,
            ErrorForm::Json => {
                JsonEvents::new(clock::now()).event(Duration::ZERO, event, &mut text);
            }
            ErrorForm::Github => {
                self.github_log().event(Duration::ZERO, event, &mut text);
            }
        }
        console::write_error_document(&text).ok();
        true
    }

    /// Returns the style of a plan that is printed to a stream.
    pub(super) fn plan_style(&self, stream: StandardStream, is_full: bool) -> PlanText {
        PlanText {
            layout: Layout {
                paint: Paint::new(stream.has_colours()),
                width: usize::from(self.width),
                is_full,
            },
            lists_skipped: is_full || self.level <= LogLevel::Verbose,
        }
    }

    /// Returns the painter for results on the standard output.
    #[expect(clippy::unused_self, reason = "this type decides how results look")]
    pub(super) fn result_paint(&self) -> Paint {
        Paint::new(StandardStream::Stdout.has_colours())
    }

    fn check_written(&self, written: std::io::Result<()>) {
        match written {
            Ok(()) => {}
            // A closed pipe means that the reader has gone. Reporting an error helps nobody.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            Err(error) => {
                self.print_stderr(&format!(
                    "error: the output could not be written: {error}\n"
                ));
                self.has_write_failed.set(true);
            }
        }
    }

    /// Returns true if a result could not be written.
    pub(super) fn has_lost_output(&self) -> bool {
        self.has_write_failed.get()
    }

    /// Prints a result in the format that was asked for.
    pub(super) fn result(
        &self,
        format: OutputFormat,
        json: impl FnOnce() -> serde_json::Value,
        text: impl FnOnce() -> String,
    ) {
        match format {
            OutputFormat::Json => self.json(&json()),
            OutputFormat::Text => self.print_result(&text()),
            OutputFormat::None => {}
        }
    }

    /// Prints a result as formatted JSON to the standard output.
    pub(super) fn json(&self, value: &serde_json::Value) {
        self.print_result(&format!("{}\n", pretty(value)));
    }

    /// Prints a message to the error output, if its level is high enough.
    pub(super) fn message(&self, level: LogLevel, text: &str) {
        if level < self.level {
            return;
        }
        let event = ProgressEvent::Message {
            level,
            text: text.to_owned(),
            styled: None,
        };
        if !self.print_event(&event) {
            self.print_stderr(&format!("{}: {text}\n", level.as_str()));
        }
    }

    /// Prints to the error output, whatever the level.
    pub(super) fn print_stderr(&self, text: &str) {
        console::write(StandardStream::Stderr, &self.guarded(text)).ok();
    }

    /// Prints text with colours to the error output.
    pub(super) fn print_styled_stderr(&self, text: &str) {
        console::write_styled(StandardStream::Stderr, &self.guarded(text)).ok();
    }

    /// Returns true if the error output shows the colours that tasks print.
    #[expect(
        clippy::unused_self,
        reason = "this type decides where messages are printed"
    )]
    pub(super) fn has_coloured_output(&self) -> bool {
        StandardStream::Stderr.has_colours()
    }

    /// Prints diagnostics with the source lines that they refer to.
    pub(super) fn diagnostics(&self, diagnostics: &Diagnostics, sources: &Sources) {
        self.print_diagnostics(diagnostics, sources, false);
    }

    /// Prints diagnostics like [`Self::diagnostics`], with the names of the checks.
    pub(super) fn named_diagnostics(&self, diagnostics: &Diagnostics, sources: &Sources) {
        self.print_diagnostics(diagnostics, sources, true);
    }

    fn print_diagnostics(&self, diagnostics: &Diagnostics, sources: &Sources, names_checks: bool) {
        if self.error_form != ErrorForm::Text {
            for problem in self.problem_events(diagnostics, sources) {
                self.print_event(&ProgressEvent::Problem(Box::new(problem)));
            }
            return;
        }
        match self.diagnostics_text(diagnostics, sources, names_checks) {
            Some((_, Some(styled))) => self.print_styled_stderr(&styled),
            Some((plain, None)) => self.print_stderr(&plain),
            None => {}
        }
    }

    /// Returns diagnostics as text, and as text with colours if the error output shows them. None if there
    /// is nothing to print.
    pub(super) fn diagnostics_text(
        &self,
        diagnostics: &Diagnostics,
        sources: &Sources,
        names_checks: bool,
    ) -> Option<(String, Option<String>)> {
        if diagnostics.is_empty() || (self.quiet && !diagnostics.has_errors()) {
            return None;
        }
        let sources = relative(sources);
        let renderer = DiagnosticRenderer::new(&sources, usize::from(self.width));
        let mut renderer = renderer.names_checks(names_checks);
        let plain = renderer.render(diagnostics);
        // Without control characters in the plain text, all colours are those of the renderer.
        let is_styled = self.colour && !plain.contains(is_unsafe);
        let styled = is_styled.then(|| renderer.colour(true).render(diagnostics));
        Some((plain, styled))
    }

    /// Converts diagnostics to events, sorted by position. Empty if they are not to be shown.
    pub(super) fn problem_events(
        &self,
        diagnostics: &Diagnostics,
        sources: &Sources,
    ) -> Vec<ProgressProblem> {
        if self.quiet && !diagnostics.has_errors() {
            return Vec::new();
        }
        let sources = relative(sources);
        let renderer = || DiagnosticRenderer::new(&sources, usize::from(self.width));
        let mut events = renderer().events(diagnostics);
        if self.colour {
            let coloured = renderer().colour(true).events(diagnostics);
            for (event, coloured) in events.iter_mut().zip(coloured) {
                // Without control characters in the plain text, all colours are those of the renderer.
                let is_styled = !event.text.contains(is_unsafe);
                event.styled = is_styled.then_some(coloured.text);
            }
        }
        events
    }

    /// Returns diagnostics with their source positions as JSON.
    pub(super) fn json_of(&self, diagnostics: &Diagnostics, sources: &Sources) -> Vec<Json> {
        let sources = relative(sources);
        let mut renderer = DiagnosticRenderer::new(&sources, usize::from(self.width));
        match renderer.json(diagnostics) {
            Json::Array(items) => items,
            other => vec![other],
        }
    }

    /// Prints the reason of a failure, as JSON too if `json` is set, and returns the exit code.
    pub(super) fn failure(&self, failure: &Failure, json: bool) -> u8 {
        if json {
            let problems = self.json_of(&failure.problems, &failure.sources);
            self.json(&serde_json::json!({ "errors": problems }));
        }
        self.diagnostics(&failure.problems, &failure.sources);
        failure.kind.exit_code()
    }
}

/// Gives text of the error output the form of `--progress json`.
fn json_lines(text: &str) -> String {
    let text = OutputFilter::plain(text);
    match text.trim_matches('\n') {
        "" => String::new(),
        text => JsonEvents::message(clock::now(), LogLevel::Info, text),
    }
}

/// Returns a path relative to the current folder if it is below it.
pub(super) fn shown_path(path: &std::path::Path) -> String {
    let here = crate::system::env::current_dir();
    let path = here.map_or(path, |here| path.strip_prefix(here).unwrap_or(path));
    path.display().to_string()
}

/// Returns the sources with paths relative to the current folder, where they are below it.
pub(super) fn relative(sources: &Sources) -> Sources {
    let Ok(here) = crate::system::env::current_dir() else {
        return sources.clone();
    };
    let mut shown = Sources::default();
    for (_, source) in sources.iter() {
        let path = source.path.strip_prefix(&here).unwrap_or(&source.path);
        shown.add(
            path,
            std::sync::Arc::clone(&source.text),
            source.included_from,
        );
    }
    shown
}

fn level_of(global: &Global, quiet: bool) -> LogLevel {
    let named = global.loglevel.as_deref().map(str::to_ascii_lowercase);
    match named.as_deref() {
        Some("trace" | "debug") => LogLevel::Debug,
        Some("verbose") => LogLevel::Verbose,
        Some("warning" | "warn") => LogLevel::Warning,
        Some("error" | "critical") => LogLevel::Error,
        Some(_) => LogLevel::Info,
        None if quiet => LogLevel::Error,
        None => match global.verbose {
            0 => LogLevel::Info,
            1 => LogLevel::Verbose,
            _ => LogLevel::Debug,
        },
    }
}

/// Returns the width of the terminal in columns, or 100 without a terminal.
fn terminal_width() -> u16 {
    crate::system::terminal::width().unwrap_or(100)
}
