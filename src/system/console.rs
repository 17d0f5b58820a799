//! The standard output and the error output of this process: the only place that writes to them.
//!
//! Text is escaped here, whatever it consists of, so that nothing from outside steers the terminal.
//! Only the colours of [`write_styled`] pass, and only to a terminal that shows colours. The bars of
//! `ui::Progress` are drawn by a library, from labels that were escaped before.
#![expect(
    clippy::disallowed_methods,
    reason = "this module alone writes to the standard streams"
)]

use std::io::{IsTerminal as _, Result, Write};
use std::sync::OnceLock;

use super::env::Env;
use crate::text::{Delivery, OutputFilter, escape_controls, escape_except_colours};

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

/// Writes text. Control characters of any origin are shown as escapes.
///
/// # Errors
///
/// The stream cannot be written.
pub fn write(stream: StandardStream, text: &str) -> Result<()> {
    stream.write_all(escape_controls(text).as_bytes())
}

/// Writes text with colours. Anything else that could steer the terminal is shown as an escape.
///
/// # Errors
///
/// The stream cannot be written.
pub fn write_styled(stream: StandardStream, text: &str) -> Result<()> {
    if !stream.has_colours() {
        return write(stream, text);
    }
    stream.write_all(escape_except_colours(text).as_bytes())
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
