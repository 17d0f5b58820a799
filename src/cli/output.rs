//! Where text goes: answers to the standard output, everything else to the error output.

use std::io::{IsTerminal as _, Write as _};

use serde_json::Value as Json;

use super::args::global::Global;
use crate::diagnostic::{Diagnostics, Sources};
use crate::job::LogLevel;
use crate::ops::Failure;
use crate::system::env::Env;
use crate::ui::{DiagnosticRenderer, pretty};

/// The context of every command.
#[derive(Debug)]
pub(super) struct Context {
    /// The options that stand before the command.
    pub(super) global: Global,
    /// Where text goes.
    pub(super) output: Output,
}

/// What is shown, and how.
#[derive(Debug)]
pub(super) struct Output {
    /// The least level of messages shown.
    pub(super) level: LogLevel,
    /// Whether only errors are shown.
    pub(super) quiet: bool,
    /// Whether to use colour.
    pub(super) colour: bool,
    /// How many columns there are.
    pub(super) width: u16,
    /// Whether somebody watches a terminal.
    pub(super) terminal: bool,
    env: Env,
    /// Whether an answer could not be written.
    has_write_failed: std::cell::Cell<bool>,
}

impl Output {
    /// Reads the options and the environment.
    pub(super) fn new(global: &Global) -> Self {
        let env = Env::of_this_process();
        let terminal = std::io::stderr().is_terminal();
        let dumb = env.get("TERM") == Some("dumb");
        let colour = terminal && !dumb && env.non_empty("NO_COLOR").is_none();
        let columns = env.get("COLUMNS").and_then(|columns| columns.parse().ok());
        let width = columns.unwrap_or_else(terminal_width);
        let quiet = global.quiet && global.loglevel.is_none();
        let level = level_of(global, quiet);
        Self {
            level,
            quiet,
            colour,
            width,
            terminal: terminal && !dumb,
            env,
            has_write_failed: std::cell::Cell::new(false),
        }
    }

    /// A variable of the environment.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.env.get(name)
    }

    /// Prints an answer.
    pub(super) fn print_result(&self, text: &str) {
        let mut stdout = std::io::stdout();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        match written {
            Ok(()) => {}
            // Nobody reads any more: there is nobody to tell.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            Err(error) => {
                self.print_stderr(&format!(
                    "error: the answer could not be written: {error}\n"
                ));
                self.has_write_failed.set(true);
            }
        }
    }

    /// Whether an answer could not be written.
    pub(super) fn has_lost_output(&self) -> bool {
        self.has_write_failed.get()
    }

    /// Prints an answer for machines.
    pub(super) fn json(&self, value: &serde_json::Value) {
        self.print_result(&format!("{}\n", pretty(value)));
    }

    /// Prints a message.
    pub(super) fn message(&self, level: LogLevel, text: &str) {
        if level < self.level {
            return;
        }
        self.print_stderr(&format!("{}: {text}\n", level.as_str()));
    }

    /// Prints to the error output, whatever the level.
    #[expect(
        clippy::unused_self,
        reason = "where messages go is this type's to say"
    )]
    pub(super) fn print_stderr(&self, text: &str) {
        std::io::stderr().write_all(text.as_bytes()).ok();
    }

    /// Prints diagnostics with their places.
    pub(super) fn diagnostics(&self, diagnostics: &Diagnostics, sources: &Sources) {
        if diagnostics.is_empty() || (self.quiet && !diagnostics.has_errors()) {
            return;
        }
        let sources = relative(sources);
        let mut renderer =
            DiagnosticRenderer::new(&sources, usize::from(self.width)).colour(self.colour);
        self.print_stderr(&renderer.render(diagnostics));
    }

    /// Diagnostics with their places, for machines.
    pub(super) fn json_of(&self, diagnostics: &Diagnostics, sources: &Sources) -> Vec<Json> {
        let sources = relative(sources);
        let mut renderer = DiagnosticRenderer::new(&sources, usize::from(self.width));
        match renderer.json(diagnostics) {
            Json::Array(items) => items,
            other => vec![other],
        }
    }

    /// Prints why a command failed; gives the exit code.
    pub(super) fn failure(&self, failure: &Failure, json: bool) -> u8 {
        if json {
            let problems = self.json_of(&failure.problems, &failure.sources);
            self.json(&serde_json::json!({ "errors": problems }));
        }
        self.diagnostics(&failure.problems, &failure.sources);
        failure.kind.exit_code()
    }
}

/// A path as people name it: without the current folder.
pub(super) fn shown_path(path: &std::path::Path) -> String {
    let here = crate::system::env::current_dir();
    let path = here.map_or(path, |here| path.strip_prefix(here).unwrap_or(path));
    path.display().to_string()
}

/// Paths as people name them: those below the current folder without it.
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

/// The width of the terminal; 100 where there is none.
fn terminal_width() -> u16 {
    crate::system::terminal::width().unwrap_or(100)
}
