//! The output of the program: results go to the standard output, everything else to the error
//! output. Both are written by `system::console`, which escapes control characters.
//!
//! Every command gets an [`Output`] in its [`Context`]. It knows level, width and colour.

use serde_json::Value as Json;

use super::args::global::Global;
use crate::diagnostic::{Diagnostics, Sources};
use crate::job::LogLevel;
use crate::ops::Failure;
use crate::system::console::{self, StandardStream};
use crate::system::env::Env;
use crate::text::is_unsafe;
use crate::ui::{DiagnosticRenderer, pretty};

/// The context that every command gets.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) global: Global,
    pub(super) output: Output,
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
    env: Env,
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
        Self {
            level,
            quiet,
            colour: StandardStream::Stderr.has_colours(),
            width,
            terminal: terminal && !dumb,
            env,
            has_write_failed: std::cell::Cell::new(false),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.env.get(name)
    }

    pub(super) fn print_result(&self, text: &str) {
        self.check_written(console::write(StandardStream::Stdout, text));
    }

    /// Prints a result in which colours are kept, if the standard output shows them.
    pub(super) fn print_styled_result(&self, text: &str) {
        self.check_written(console::write_styled(StandardStream::Stdout, text));
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

    /// Prints a result as formatted JSON to the standard output.
    pub(super) fn json(&self, value: &serde_json::Value) {
        self.print_result(&format!("{}\n", pretty(value)));
    }

    /// Prints a message to the error output, if its level is high enough.
    pub(super) fn message(&self, level: LogLevel, text: &str) {
        if level < self.level {
            return;
        }
        self.print_stderr(&format!("{}: {text}\n", level.as_str()));
    }

    /// Prints to the error output, whatever the level.
    #[expect(
        clippy::unused_self,
        reason = "this type decides where messages are printed"
    )]
    pub(super) fn print_stderr(&self, text: &str) {
        console::write(StandardStream::Stderr, text).ok();
    }

    /// Prints text with colours to the error output.
    #[expect(
        clippy::unused_self,
        reason = "this type decides where messages are printed"
    )]
    pub(super) fn print_styled_stderr(&self, text: &str) {
        console::write_styled(StandardStream::Stderr, text).ok();
    }

    /// Prints diagnostics with the source lines that they refer to.
    pub(super) fn diagnostics(&self, diagnostics: &Diagnostics, sources: &Sources) {
        if diagnostics.is_empty() || (self.quiet && !diagnostics.has_errors()) {
            return;
        }
        let sources = relative(sources);
        let mut renderer = DiagnosticRenderer::new(&sources, usize::from(self.width));
        let plain = renderer.render(diagnostics);
        if self.colour && !plain.contains(is_unsafe) {
            // Without control characters in the plain text, all colours are those of the renderer.
            let mut renderer = renderer.colour(true);
            self.print_styled_stderr(&renderer.render(diagnostics));
        } else {
            self.print_stderr(&plain);
        }
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
