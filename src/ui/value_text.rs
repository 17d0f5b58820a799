//! Renders values as short texts: in full, cut, or as counts and a digest.

use std::io;

use sha2::{Digest as _, Sha256};

use super::words;
use crate::value::{Value, canonical_sha256, hex};

/// The number of characters from which a value is shown as counts.
const MAX_CHARS: usize = 200;
/// The number of lines from which a text is shown as counts.
const MAX_LINES: usize = 10;
/// The number of digits of a digest that are shown.
const DIGEST_DIGITS: usize = 12;

/// Renders a value as JSON on one line.
pub(super) fn inline_value(value: &Value) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    words::one_line(&text).into_owned()
}

/// Returns true if a value is too long to be shown beside others. The time does not grow with the value.
pub(super) fn is_long(value: &Value) -> bool {
    let mut start = Start::default();
    if serde_json::to_writer(&mut start, value).is_err() {
        return true;
    }
    let has_many_lines = |text: &str| text.lines().nth(MAX_LINES).is_some();
    value.as_str().is_some_and(has_many_lines)
        || words::one_line(&String::from_utf8_lossy(&start.bytes))
            .chars()
            .nth(MAX_CHARS)
            .is_some()
}

/// Takes the first bytes of a text, and refuses more than [`MAX_CHARS`] characters can have.
#[derive(Default)]
struct Start {
    bytes: Vec<u8>,
}

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_CHARS * char::MAX.len_utf8() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Describes a long value by counts and a digest.
pub(super) fn counts(value: &Value) -> String {
    let size = match value {
        Value::Str(text) => return text_counts(text, ""),
        Value::List(items) => format!("list, {}", words::count(items.len(), "item")),
        Value::Map(map) => format!("map, {}", words::count(map.len(), "key")),
        other => other.kind().to_owned(),
    };
    format!("{size}, {}", short_digest(&canonical_sha256(value)))
}

/// Describes a text by counts and a digest. `changes` comes between them.
pub(super) fn text_counts(text: &str, changes: &str) -> String {
    let lines = text.lines().count();
    let size = if lines > 1 {
        words::count(lines, "line")
    } else {
        words::count(text.chars().count(), "character")
    };
    let digest = short_digest(&hex(&Sha256::digest(text)));
    format!("text, {size}{changes}, {digest}")
}

fn short_digest(digest: &str) -> String {
    let end = DIGEST_DIGITS.min(digest.len());
    format!("sha256 {}…", &digest[..end])
}

/// Renders a value: long ones as counts, unless `is_full` is set.
pub(super) fn value_text(value: &Value, is_full: bool) -> String {
    if !is_full && is_long(value) {
        counts(value)
    } else {
        inline_value(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_become_counts() {
        assert_eq!(value_text(&"a\nb".into(), false), r#""a\nb""#);
        let lines = Value::from("x\n".repeat(11));
        insta::assert_snapshot!(value_text(&lines, false), @"text, 11 lines, sha256 177099a7bce9…");
        let long = Value::from("é".repeat(201));
        assert!(value_text(&long, false).starts_with("text, 201 characters, sha256 "));
        assert_eq!(value_text(&long, true).chars().count(), 203);
        let list = Value::list((0..100).map(Value::Int));
        assert!(value_text(&list, false).starts_with("list, 100 items, sha256 "));
    }
}
