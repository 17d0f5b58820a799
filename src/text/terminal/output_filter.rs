//! Filters the output of commands, however it is split into pieces.

use super::colours::permitted_colours;
use super::escape::push_colour;
use super::pieces::{Piece, Pieces, SequenceEnd};
use super::unsafe_chars::safe_prefix;

/// The longest incomplete line that is held back, in bytes.
const MAX_LINE_BYTES: usize = 64 << 10;
/// The longest incomplete sequence that is held back when a line is cut, in bytes.
const MAX_TAIL_BYTES: usize = 64;

/// The time at which filtered output is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// After the end of each line. Text that a carriage return overwrites is left out.
    Lines,
    /// At once, so that prompts are seen. Carriage returns are removed.
    AtOnce,
}

/// A filter that removes control characters and escape sequences from an output stream.
///
/// A sequence without an end ends with its line.
#[derive(Debug)]
pub struct OutputFilter {
    has_colours: bool,
    delivery: Delivery,
    pending: Vec<u8>,
    /// Whether the text passed on so far ends within the payload of a sequence.
    in_string: bool,
}

impl OutputFilter {
    /// Creates a filter. It keeps colours, up to the end of a line, if `has_colours` is set.
    pub fn new(has_colours: bool, delivery: Delivery) -> Self {
        Self {
            has_colours,
            delivery,
            pending: Vec::new(),
            in_string: false,
        }
    }

    /// Filters a whole text and removes colours.
    pub fn plain(text: &str) -> String {
        Self::new(false, Delivery::Lines).filter(text.as_bytes().to_vec())
    }

    /// Adds output and returns the text that can be shown.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let before = self.pending.len();
        self.pending.extend_from_slice(bytes);
        let newline = bytes.iter().rposition(|byte| *byte == b'\n');
        let end = match (self.delivery, newline) {
            (Delivery::AtOnce, _) => self.pending.len() - open_tail(&self.pending),
            (Delivery::Lines, Some(newline)) => before + newline + 1,
            (Delivery::Lines, None) => self.cut_long_line(),
        };
        let rest = self.pending.split_off(end);
        let whole = std::mem::replace(&mut self.pending, rest);
        self.filter(whole)
    }

    /// Returns the rest at the end of the output.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.pending);
        let shown = self.filter(rest);
        self.in_string = false;
        shown
    }

    /// Returns the number of bytes of an incomplete line to show: 0 unless it is too long.
    fn cut_long_line(&mut self) -> usize {
        if self.pending.len() <= MAX_LINE_BYTES {
            return 0;
        }
        let overwriting = self.pending.trim_ascii_end();
        if let Some(start) = overwriting.iter().rposition(|byte| *byte == b'\r') {
            self.pending.drain(..start);
        }
        match self.pending.len() {
            length if length > MAX_LINE_BYTES => length - open_tail(&self.pending),
            _ => 0,
        }
    }

    fn filter(&mut self, bytes: Vec<u8>) -> String {
        let text = decode(bytes);
        if !self.in_string && safe_prefix(&text) == text.len() {
            return text;
        }
        let mut shown = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let (body, end) = match line.strip_suffix('\n') {
                Some(body) => (body, "\n"),
                None => (line, ""),
            };
            let is_open = self.add_line(body, &mut shown);
            self.in_string = is_open && end.is_empty();
            shown.push_str(end);
        }
        shown
    }

    /// Appends a line without its end. Returns whether it ends within the payload of a sequence.
    fn add_line(&self, line: &str, shown: &mut String) -> bool {
        let start = shown.len();
        let mut pieces = if self.in_string {
            Pieces::within_string(line)
        } else {
            Pieces::new(line)
        };
        let (mut is_coloured, mut is_overwritten) = (false, false);
        // Colours that were set since the carriage return.
        let mut colours = String::new();
        for (piece, _) in pieces.by_ref() {
            match piece {
                Piece::Text(text) => {
                    if std::mem::take(&mut is_overwritten) {
                        shown.truncate(start);
                        is_coloured = false;
                    }
                    is_coloured |= !colours.is_empty();
                    shown.push_str(&std::mem::take(&mut colours));
                    shown.push_str(text);
                }
                Piece::Control('\r') => is_overwritten = self.delivery == Delivery::Lines,
                Piece::Control(c) if is_space(c) => shown.push(' '),
                Piece::Colour(parameters) if self.has_colours => {
                    if let Some(codes) = permitted_colours(parameters) {
                        push_colour(&mut colours, &codes);
                    }
                }
                Piece::Control(_) | Piece::Colour(_) | Piece::Sequence => {}
            }
        }
        if is_coloured {
            push_colour(shown, "0");
        }
        pieces.end() == SequenceEnd::OpenString
    }
}

/// Whether a control character separates words or lines.
fn is_space(c: char) -> bool {
    matches!(c, '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Decodes UTF-8. An invalid byte 0x80–0x9F counts as the control character that it is in terminals
/// of 8 bits; others become U+FFFD.
fn decode(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        match chunk.invalid() {
            [] => {}
            [byte @ 0x80..0xa0] => text.push(char::from(*byte)),
            _ => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    text
}

/// Returns the length of an incomplete character, line end or short sequence at the end of a text.
fn open_tail(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(MAX_TAIL_BYTES);
    let tail = &bytes[from..];
    if let Some(start) = tail.iter().rposition(|byte| *byte == 0x1b) {
        let text = decode(tail[start..].to_vec());
        let mut pieces = Pieces::new(&text);
        while pieces.next().is_some() {}
        if pieces.end() == SequenceEnd::Open {
            return tail.len() - start;
        }
    }
    if tail.ends_with(b"\r") {
        return 1;
    }
    let lead = tail.iter().rposition(|byte| !(0x80..0xc0).contains(byte));
    match lead.map(|at| (tail[at], tail.len() - at)) {
        Some((0xc0..0xe0, have @ 1) | (0xe0..0xf0, have @ 1..3) | (0xf0.., have @ 1..4)) => have,
        _ => 0,
    }
}
