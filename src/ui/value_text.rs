//! Renders values as short texts: in full, cut, or as counts and a digest.

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

/// Returns true if a value is too long to be shown beside others.
pub(super) fn is_long(value: &Value) -> bool {
    let lines = value.as_str().map_or(0, |text| text.lines().count());
    lines > MAX_LINES || inline_value(value).chars().nth(MAX_CHARS).is_some()
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
