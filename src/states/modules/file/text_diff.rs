//! Texts as Python takes them apart, and the differences that are shown of them.

use crate::states::diff;
use crate::value::REDACTED;

/// How much of a file is looked at to tell whether it is text.
const BINARY_SNIFF_BYTES: usize = 512;

/// The longest text of which a difference is shown, in bytes.
pub(super) const MAX_DIFF_BYTES: u64 = 1 << 20;

/// Whether changes of a content are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffVisibility {
    /// They are.
    Visible,
    /// Who wrote the state does not want them.
    Suppressed,
    /// Nobody may see them.
    Secret,
}

impl DiffVisibility {
    /// By `show_changes` and whether the content is secret.
    pub(super) fn from_flags(show: bool, secret: bool) -> Self {
        match (show, secret) {
            (_, true) => Self::Secret,
            (true, false) => Self::Visible,
            (false, false) => Self::Suppressed,
        }
    }
}

/// Whether bytes are taken for binary: a zero byte, or more than three in ten that text does not
/// have.
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
        // Characters that are cut off at the end are no fault.
        Err(error) => error.error_len().is_none(),
    };
    let is_nontext = |byte: &&u8| {
        !(matches!(**byte, 32..=126 | b'\n' | b'\r' | b'\t' | 0x0c | 0x08)
            || is_text && **byte >= 128)
    };
    bytes.iter().filter(is_nontext).count() * 10 > bytes.len() * 3
}

/// What is shown of the difference of two contents; nothing if they are equal.
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

/// Bytes as text: UTF-8, or else each byte a character.
pub(super) fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Whether lines keep what ends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// They do.
    Keep,
    /// They do not.
    Strip,
}

/// The lines of a text: whatever Unicode says ends one does.
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

/// A text of which each line ends with a newline, as states write texts.
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
