//! The standard output and the error output of this process: the only place that writes to them.
//!
//! Text is escaped here, whatever it consists of, so that nothing from outside steers the terminal.
//! Only the colours of [`write_styled`] pass, and only to a terminal that shows colours. The display of
//! a job moves the cursor ([`write_display`]): its text was escaped before.
#![expect(
    clippy::disallowed_methods,
    reason = "this module alone writes to the standard streams"
)]

use std::io::{IsTerminal as _, Result, Write};
use std::sync::OnceLock;

use super::env::Env;
use super::{env, machine};
use crate::text::{
    Delivery, LinkBase, OutputFilter, escape_controls, escape_except_colours, escape_with_links,
};

/// An output stream of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandardStream {
    Stdout,
    Stderr,
}

impl StandardStream {
    /// Whether the stream leads to a terminal.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Stdout => std::io::stdout().is_terminal(),
            Self::Stderr => std::io::stderr().is_terminal(),
        }
    }

    /// Whether the stream leads to a terminal that shows colours, and `NO_COLOR` is not set.
    pub fn has_colours(self) -> bool {
        static COLOURS: OnceLock<[bool; 2]> = OnceLock::new();
        let colours = COLOURS.get_or_init(|| {
            let env = Env::of_this_process();
            let wanted = env.get("TERM") != Some("dumb") && env.non_empty("NO_COLOR").is_none();
            [Self::Stdout, Self::Stderr].map(|stream| wanted && stream.is_terminal())
        });
        colours[self as usize]
    }

    fn write_all(self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(bytes)?;
                stdout.flush()
            }
            Self::Stderr => std::io::stderr().lock().write_all(bytes),
        }
    }
}

/// A function that gives text another form, such as that of JSON documents, one per line.
pub type TextForm = fn(&str) -> String;

/// The form of all text on the error output, if it has another one than plain text.
static ERROR_FORM: OnceLock<TextForm> = OnceLock::new();

/// Sets the form of all text that is written to the error output from now on. The first form stays.
pub fn set_error_form(form: TextForm) {
    ERROR_FORM.set(form).ok();
}

/// Writes text that has the form of the error output already.
///
/// # Errors
///
/// The stream cannot be written.
pub fn write_error_document(text: &str) -> Result<()> {
    StandardStream::Stderr.write_all(escape_controls(text).as_bytes())
}

/// Writes text. Control characters of any origin are shown as escapes.
///
/// # Errors
///
/// The stream cannot be written.
pub fn write(stream: StandardStream, text: &str) -> Result<()> {
    match ERROR_FORM.get() {
        Some(form) if stream == StandardStream::Stderr => write_error_document(&form(text)),
        _ => stream.write_all(escape_controls(text).as_bytes()),
    }
}

/// Clears the terminal of the standard output and puts the cursor at its start. Does nothing without a terminal.
pub fn clear_screen() {
    if StandardStream::Stdout.is_terminal() {
        StandardStream::Stdout.write_all(b"\x1b[H\x1b[2J").ok();
    }
}

/// Writes text with colours. Anything else that could steer the terminal is shown as an escape.
///
/// # Errors
///
/// The stream cannot be written.
pub fn write_styled(stream: StandardStream, text: &str) -> Result<()> {
    let has_form = stream == StandardStream::Stderr && ERROR_FORM.get().is_some();
    if has_form || !stream.has_colours() {
        return write(stream, text);
    }
    let escaped = match link_base() {
        Some(base) => escape_with_links(text, base),
        None => escape_except_colours(text),
    };
    stream.write_all(escaped.as_bytes())
}

/// Returns the base of links to files. None if the terminal is not known to show links.
fn link_base() -> Option<&'static LinkBase> {
    static BASE: OnceLock<Option<LinkBase>> = OnceLock::new();
    let base = BASE.get_or_init(|| {
        let env = Env::of_this_process();
        if !shows_links(&env) {
            return None;
        }
        Some(LinkBase {
            host: machine::hostname(),
            folder: env::current_dir().ok()?.to_str()?.to_owned(),
        })
    });
    base.as_ref()
}

/// Returns true for a terminal that shows links. In CI and within a multiplexer, texts stay as they are.
fn shows_links(env: &Env) -> bool {
    if env.non_empty("CI").is_some() || env.non_empty("TMUX").is_some() {
        return false;
    }
    let vte = env.get("VTE_VERSION").and_then(|it| it.parse::<u32>().ok());
    let program = matches!(
        env.get("TERM_PROGRAM"),
        Some("iTerm.app" | "WezTerm" | "vscode" | "ghostty" | "Hyper")
    );
    let term = env.get("TERM").unwrap_or_default();
    let term = ["xterm-kitty", "xterm-ghostty", "alacritty", "foot"]
        .iter()
        .any(|it| term.starts_with(it));
    let windows = env.non_empty("WT_SESSION").is_some();
    // Older releases of VTE print the sequence as text.
    vte.is_some_and(|version| version >= 5000) || program || term || windows
}

/// Writes text of the display of a running job to the error output, unchanged and with one call. The
/// display has escaped all text of others.
///
/// # Errors
///
/// The stream cannot be written.
pub fn write_display(text: &str) -> Result<()> {
    StandardStream::Stderr.write_all(text.as_bytes())
}

/// A writer for an error output that is passed to others. Text is escaped as by [`write()`].
#[derive(Debug)]
pub struct EscapedStderr;

impl Write for EscapedStderr {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        write(StandardStream::Stderr, &String::from_utf8_lossy(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The output of an interactive session.
///
/// A session at a terminal gets it unchanged, as its programs draw on it. A file or a pipe gets
/// filtered text.
#[derive(Debug)]
pub struct SessionOutput {
    stream: StandardStream,
    /// None if a person sits at a terminal.
    filter: Option<OutputFilter>,
}

impl SessionOutput {
    pub fn new(stream: StandardStream) -> Self {
        let is_interactive = stream.is_terminal() && std::io::stdin().is_terminal();
        let filter = || OutputFilter::new(stream.has_colours(), Delivery::AtOnce);
        Self {
            stream,
            filter: (!is_interactive).then(filter),
        }
    }

    /// Writes output of the session.
    ///
    /// # Errors
    ///
    /// The stream cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.filter {
            None => self.stream.write_all(bytes),
            Some(filter) => write_styled(self.stream, &filter.push(bytes)),
        }
    }

    /// Writes the rest at the end of the session.
    ///
    /// # Errors
    ///
    /// The stream cannot be written.
    pub fn finish(mut self) -> Result<()> {
        match &mut self.filter {
            None => Ok(()),
            Some(filter) => write_styled(self.stream, &filter.finish()),
        }
    }
}
