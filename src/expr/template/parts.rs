//! Documents that a template writes in parts: the text of the template itself, and the data between it.
//!
//! The output of a template has no marks. While a document is rendered, each value that is written after the
//! template has accessed data becomes a part of its own, so that data never becomes structure.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::value::Value;

/// A rendered document.
pub(in crate::expr) enum Document {
    /// A document without data, or one that is a single value.
    Whole(Value),
    Parts(Vec<Part>),
}

/// A part of a rendered document.
#[derive(Debug, Clone)]
pub(in crate::expr) enum Part {
    /// Text whose structure counts.
    Text(String),
    /// A value that may come from outside.
    Data {
        value: Value,
        /// The text of the value in the document.
        text: String,
        /// Whether the text before it ends with a quotation mark.
        is_quoted: bool,
    },
}

/// The parts of a document that is being rendered.
#[derive(Debug, Clone, Default)]
pub(super) struct PartsWriter(Arc<Mutex<WriterState>>);

#[derive(Debug, Default)]
struct WriterState {
    parts: Vec<Part>,
    /// The value that the template writes at the moment, if it may come from outside.
    current: Option<Value>,
}

impl PartsWriter {
    fn state(&self) -> MutexGuard<'_, WriterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the value that the template writes next, or None if its text is part of the document.
    pub(super) fn begin_value(&self, value: Option<Value>) {
        self.state().current = value;
    }

    pub(super) fn take(&self) -> Vec<Part> {
        std::mem::take(&mut self.state().parts)
    }
}

/// Receives the output of the document itself. Text that a block captures does not arrive here: the template
/// writes the captured text later as one value.
impl Write for PartsWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let mut state = self.state();
        if let Some(value) = state.current.take() {
            let before = match state.parts.last() {
                Some(Part::Text(before)) => before.as_str(),
                _ => "",
            };
            let is_quoted = before.ends_with(['"', '\'']);
            state.parts.push(Part::Data {
                value,
                text: text.into_owned(),
                is_quoted,
            });
        } else if let Some(Part::Text(before)) = state.parts.last_mut() {
            before.push_str(&text);
        } else {
            state.parts.push(Part::Text(text.into_owned()));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
