//! Splits text into what a terminal shows and what it obeys: control characters and escape
//! sequences (ECMA-48).

use super::unsafe_chars::safe_prefix;

const ESCAPE: char = '\u{1b}';
const CSI: char = '\u{9b}';

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Text without unsafe characters.
    Text(&'t str),
    /// An unsafe character that begins no sequence.
    Control(char),
    /// A sequence that sets colours and the like, with its parameters.
    Colour(&'t str),
    /// Any other sequence, with its payload.
    Sequence,
}

/// The end of the last sequence of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequenceEnd {
    Complete,
    /// The text ends within a sequence.
    Open,
    /// The text ends within the payload of a string sequence, such as a window title.
    OpenString,
}

/// An iterator over the pieces of a text, each with the part of the text that it stands for.
#[derive(Debug)]
pub(super) struct Pieces<'t> {
    rest: &'t str,
    end: SequenceEnd,
}

impl<'t> Pieces<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            rest: text,
            end: SequenceEnd::Complete,
        }
    }

    /// Returns the pieces of a text that continues the payload of a sequence.
    pub(super) fn within_string(text: &'t str) -> Self {
        let mut pieces = Self::new(text);
        let length = pieces.string_length(text);
        pieces.rest = &text[length..];
        pieces
    }

    /// Says how the last sequence ended, once the iterator is exhausted.
    pub(super) fn end(&self) -> SequenceEnd {
        self.end
    }

    /// Parses the sequence after its first character. Returns its kind and length.
    fn sequence(&mut self, first: char, body: &'t str) -> (Piece<'t>, usize) {
        match first {
            ESCAPE => self.escape_sequence(body),
            CSI => self.control_sequence(body),
            // DCS, SOS, OSC, PM and APC.
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => {
                (Piece::Sequence, self.string_length(body))
            }
            other => (Piece::Control(other), 0),
        }
    }

    fn escape_sequence(&mut self, body: &'t str) -> (Piece<'t>, usize) {
        let after_first = body.get(1..).unwrap_or_default();
        match body.as_bytes().first() {
            Some(b'[') => {
                let (piece, length) = self.control_sequence(after_first);
                (piece, length + 1)
            }
            Some(b'P' | b'X' | b']' | b'^' | b'_') => {
                (Piece::Sequence, 1 + self.string_length(after_first))
            }
            _ => {
                let length = run_length(body, 0x20..0x30);
                match body.as_bytes().get(length) {
                    Some(0x30..0x7f) => (Piece::Sequence, length + 1),
                    Some(_) => (Piece::Sequence, length),
                    None => {
                        self.end = SequenceEnd::Open;
                        (Piece::Sequence, length)
                    }
                }
            }
        }
    }

    fn control_sequence(&mut self, body: &'t str) -> (Piece<'t>, usize) {
        let length = run_length(body, 0x20..0x40);
        let parameters = &body[..length];
        let is_plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b';' | b':');
        match body.as_bytes().get(length) {
            Some(b'm') if parameters.bytes().all(is_plain) => {
                (Piece::Colour(parameters), length + 1)
            }
            Some(0x40..0x7f) => (Piece::Sequence, length + 1),
            Some(_) => (Piece::Sequence, length),
            None => {
                self.end = SequenceEnd::Open;
                (Piece::Sequence, length)
            }
        }
    }

    /// Returns the length of a payload with its terminator.
    ///
    /// A line ends it too, so that a missing terminator does not hide all later output.
    fn string_length(&mut self, body: &str) -> usize {
        let bytes = body.as_bytes();
        let is_end = |at: &usize| match bytes[*at] {
            0x07 | 0x18 | 0x1a | 0x1b | b'\n' => true,
            byte => byte == 0xc2 && bytes.get(at + 1) == Some(&0x9c),
        };
        let Some(end) = (0..bytes.len()).find(is_end) else {
            self.end = SequenceEnd::OpenString;
            return bytes.len();
        };
        match (bytes[end], bytes.get(end + 1)) {
            (0x1b, Some(b'\\')) | (0xc2, _) => end + 2,
            // Another sequence begins, or the line ends.
            (0x1b | b'\n', _) => end,
            _ => end + 1,
        }
    }
}

impl<'t> Iterator for Pieces<'t> {
    type Item = (Piece<'t>, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let safe = safe_prefix(self.rest);
        let (piece, length) = if safe > 0 {
            (Piece::Text(&self.rest[..safe]), safe)
        } else {
            let first = self.rest.chars().next()?;
            self.end = SequenceEnd::Complete;
            let (piece, length) = self.sequence(first, &self.rest[first.len_utf8()..]);
            (piece, length + first.len_utf8())
        };
        let (raw, rest) = self.rest.split_at(length);
        self.rest = rest;
        if safe > 0 {
            self.end = SequenceEnd::Complete;
        }
        Some((piece, raw))
    }
}

/// Returns the number of bytes within a range at the start of a text.
fn run_length(text: &str, range: std::ops::Range<u8>) -> usize {
    let bytes = text.bytes();
    bytes.take_while(|byte| range.contains(byte)).count()
}
