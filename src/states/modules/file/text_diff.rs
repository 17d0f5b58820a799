//! Text handling as in Python, and the differences of contents that results show.
//!
//! Splits lines at all line ends that Python's `str.splitlines` knows, detects binary content, and
//! decides how much of a difference is visible.

use crate::text::diff;
use crate::value::REDACTED;

/// The number of leading bytes that are examined to detect binary content.
const BINARY_SNIFF_BYTES: usize = 512;

/// The size of the largest content whose difference is shown, in bytes.
pub(super) const MAX_DIFF_BYTES: u64 = 1 << 20;

/// Whether results show the difference of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffVisibility {
    Visible,
    /// Hidden because the state sets `show_changes: false`.
    Suppressed,
    /// Hidden because the content is secret.
    Secret,
}

impl DiffVisibility {
    /// Derives the visibility from `show_changes` and from whether the content is secret. Secrecy prevails.
    pub(super) fn from_flags(show: bool, secret: bool) -> Self {
        match (show, secret) {
            (_, true) => Self::Secret,
            (true, false) => Self::Visible,
            (false, false) => Self::Suppressed,
        }
    }
}

/// Whether bytes count as binary: they contain a zero byte, or more than 30 % of them are no text.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(BINARY_SNIFF_BYTES)];
    if bytes.is_empty() {
        return false;
    }
    if bytes.contains(&0) {
        return true;
    }
    let is_text = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // The examined part may end within a multi-byte character, which is no error.
        Err(error) => error.error_len().is_none(),
    };
    let is_nontext = |byte: &&u8| {
        !(matches!(**byte, 32..=126 | b'\n' | b'\r' | b'\t' | 0x0c | 0x08)
            || is_text && **byte >= 128)
    };
    bytes.iter().filter(is_nontext).count() * 10 > bytes.len() * 3
}

/// Returns the difference of two contents as results show it; empty if they are equal.
pub(super) fn content_diff(before: &[u8], after: &[u8], shown: DiffVisibility) -> String {
    if before == after {
        return String::new();
    }
    match shown {
        DiffVisibility::Visible => {}
        DiffVisibility::Suppressed => return "<show_changes=False>".to_owned(),
        DiffVisibility::Secret => return REDACTED.to_owned(),
    }
    match (is_binary(before), is_binary(after)) {
        (true, true) => return "Replace binary file".to_owned(),
        (true, false) => return "Replace binary file with text file".to_owned(),
        (false, true) => return "Replace text file with binary file".to_owned(),
        (false, false) => {}
    }
    if before.len().max(after.len()) as u64 > MAX_DIFF_BYTES {
        return "Replace large file".to_owned();
    }
    let (before, after) = (decode(before), decode(after));
    diff::unified_diff(&diff::lines(&before), &diff::lines(&after)).concat()
}

/// Decodes bytes as UTF-8, or as Latin-1 if they are not valid UTF-8.
pub(super) fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Whether split lines keep their line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    Keep,
    Strip,
}

/// Splits a text at every line end that Python's `str.splitlines` knows.
pub(super) fn split_lines(text: &str, ends: LineEnds) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut signs = text.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        let is_end = matches!(
            sign,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        );
        if !is_end {
            continue;
        }
        let mut end = at + sign.len_utf8();
        if sign == '\r' && signs.next_if(|(_, next)| *next == '\n').is_some() {
            end += 1;
        }
        lines.push(match ends {
            LineEnds::Keep => &text[start..end],
            LineEnds::Strip => &text[start..at],
        });
        start = end;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// Returns the text of all parts, in which every line ends with a newline.
pub(super) fn with_newlines<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for part in parts {
        for line in split_lines(part, LineEnds::Strip) {
            all.push_str(line);
            all.push('\n');
        }
    }
    all
}
