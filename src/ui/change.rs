//! Renders changes of values, from old to new, as text and as JSON.
//!
//! Plans and explanations embed a [`ChangeView`] for each difference that the job found. Secret
//! values are never shown.

use serde_json::{Map, Value as Json};

use super::words;
use crate::diagnostic::SourcePosition;
use crate::job::{Difference, DifferenceKind, DifferenceSide};
use crate::value::Value;

/// The maximum size of a value in JSON, in bytes. Longer values are cut.
const MAX_BYTES: usize = 64 << 10;
/// The minimum number of characters of a value that the text shows, even on a narrow screen.
const MIN_WIDTH: usize = 12;
/// The number of equal characters shown before the first difference of two long values.
const SHARED_CHARS: usize = 8;

/// A changed value with its position and causes.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeView {
    /// The changed key with its old and new value.
    pub difference: Difference,
    /// The position of the new value in its source file.
    pub location: Option<SourcePosition>,
    /// The names of other changes that caused this one.
    pub follows: Vec<String>,
}

impl ChangeView {
    /// Appends the change as one line of about `width` characters, or as two if the position does
    /// not fit.
    pub(super) fn write(&self, text: &mut String, indent: usize, width: usize) {
        let mut line = format!(
            "{} {}",
            self.difference.kind.as_str(),
            words::one_line(&self.difference.name)
        );
        if let Some(of) = &self.difference.of {
            words::append(&mut line, format_args!(" of {}", words::one_line(of)));
        }
        let place = self.location.as_ref().map(ToString::to_string);
        let follows = if self.follows.is_empty() {
            String::new()
        } else {
            format!(" (follows from {})", self.follows.join(", "))
        };
        let room = width.saturating_sub(indent + line.chars().count() + 2);
        let room = room.saturating_sub(follows.chars().count());
        let (sides, follows) = (self.sides(room), words::one_line(&follows));
        words::append(&mut line, format_args!(": {sides}{follows}"));
        words::append(text, format_args!("{:indent$}{line}", ""));
        if let Some(place) = place {
            let used = indent + line.chars().count() + 3 + place.chars().count();
            if used <= width {
                words::append(text, format_args!("   {place}"));
            } else {
                words::append(text, format_args!("\n{:1$}{place}", "", indent + 3));
            }
        }
        text.push('\n');
    }

    fn sides(&self, room: usize) -> String {
        if self.difference.secret {
            "changed (secret)".to_owned()
        } else if self.difference.old == DifferenceSide::Unknown
            && self.difference.kind == DifferenceKind::File
        {
            "contents changed".to_owned()
        } else {
            sides(&self.difference.old, &self.difference.new, room)
        }
    }

    pub fn json(&self) -> Json {
        let mut change = Map::new();
        let mut put = |key: &str, value: Json| drop(change.insert(key.to_owned(), value));
        put("kind", self.difference.kind.as_str().into());
        put("key", self.difference.key.as_str().into());
        put("name", self.difference.name.as_str().into());
        if let Some(of) = &self.difference.of {
            put("instance", of.as_str().into());
        }
        if self.difference.secret {
            put("secret", true.into());
        }
        for (key, side) in [("old", &self.difference.old), ("new", &self.difference.new)] {
            match side {
                DifferenceSide::Value(value) => put(key, limited_json(value)),
                DifferenceSide::Failed(why) => put("error", why.as_str().into()),
                DifferenceSide::Unknown | DifferenceSide::Missing => {}
            }
        }
        put("place", location_json(self.location.as_ref()));
        if !self.follows.is_empty() {
            put("followsFrom", self.follows.clone().into());
        }
        Json::Object(change)
    }
}

/// Describes the old and the new value in about `room` characters.
pub(super) fn sides(old: &DifferenceSide, new: &DifferenceSide, room: usize) -> String {
    let one = |value: &Value| truncate(&inline_value(value), room, 0);
    match (old, new) {
        (DifferenceSide::Value(old), DifferenceSide::Value(new)) => {
            let (old, new) = (inline_value(old), inline_value(new));
            let half = room.saturating_sub(4) / 2;
            let skipped = shared_prefix_to_skip(&old, &new, half.max(MIN_WIDTH));
            let (old, new) = (truncate(&old, half, skipped), truncate(&new, half, skipped));
            format!("{old} -> {new}")
        }
        (DifferenceSide::Value(old), DifferenceSide::Missing) => format!("{} -> removed", one(old)),
        (DifferenceSide::Value(old), DifferenceSide::Failed(why)) => {
            let why = words::one_line(why);
            format!("{} -> cannot be evaluated: {why}", one(old))
        }
        (_, DifferenceSide::Missing) => "removed".to_owned(),
        (DifferenceSide::Missing, DifferenceSide::Value(new)) => format!("added, {}", one(new)),
        (_, DifferenceSide::Value(new)) => format!("changed, now {}", one(new)),
        (_, DifferenceSide::Failed(why)) => {
            format!("cannot be evaluated: {}", words::one_line(why))
        }
        (_, DifferenceSide::Unknown) => "changed".to_owned(),
    }
}

/// Returns a source position as JSON, or null.
pub(super) fn location_json(place: Option<&SourcePosition>) -> Json {
    place.map_or(Json::Null, |place| {
        serde_json::json!({
            "file": place.path.display().to_string(),
            "line": place.line,
            "column": place.column,
        })
    })
}

/// Returns a value as JSON. A very long value becomes a cut text.
pub(super) fn limited_json(value: &Value) -> Json {
    let text = inline_value(value);
    if text.len() <= MAX_BYTES {
        return serde_json::to_value(value).unwrap_or_default();
    }
    let end = text.floor_char_boundary(MAX_BYTES);
    format!("{}…", &text[..end]).into()
}

/// Renders a value as JSON on one line.
pub(super) fn inline_value(value: &Value) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    words::one_line(&text).into_owned()
}

/// Renders a value as JSON on one line of at most `width` characters.
pub(super) fn inline_value_within(value: &Value, width: usize) -> String {
    truncate(&inline_value(value), width, 0)
}

/// Returns how many equal characters to skip at the start, so that the difference is within the
/// first `width` characters.
fn shared_prefix_to_skip(old: &str, new: &str, width: usize) -> usize {
    let longest = old.chars().count().max(new.chars().count());
    if longest <= width {
        return 0;
    }
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
    let same = same.count().saturating_sub(SHARED_CHARS);
    // The skipped part is replaced by one ellipsis.
    same.min(longest + 1 - width)
}

/// Removes the first characters of a text and cuts the rest to a width.
fn truncate(text: &str, width: usize, skipped: usize) -> String {
    let width = width.max(MIN_WIDTH);
    if skipped == 0 {
        return words::shorten(text, width).into_owned();
    }
    let rest: String = std::iter::once('…')
        .chain(text.chars().skip(skipped))
        .collect();
    words::shorten(&rest, width).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Span;

    fn change(old: DifferenceSide, new: DifferenceSide) -> ChangeView {
        ChangeView {
            difference: Difference {
                kind: DifferenceKind::Property,
                key: "::db::port".to_owned(),
                name: "port".to_owned(),
                of: Some("db".to_owned()),
                old,
                new,
                secret: false,
                span: Span::NONE,
                follows: Vec::new(),
            },
            location: Some(SourcePosition {
                path: "ensemble.yaml".into(),
                line: 12,
                column: 15,
            }),
            follows: Vec::new(),
        }
    }

    fn written(change: &ChangeView, width: usize) -> String {
        let mut text = String::new();
        change.write(&mut text, 2, width);
        text
    }

    fn value(value: impl Into<Value>) -> DifferenceSide {
        DifferenceSide::Value(value.into())
    }

    #[test]
    fn a_change_says_from_what_to_what_and_where() {
        let sides = [
            (value(80), value("80")),
            (DifferenceSide::Missing, value(1)),
            (value(1), DifferenceSide::Missing),
            (DifferenceSide::Unknown, value(1)),
            (
                value(1),
                DifferenceSide::Failed("no such\nthing".to_owned()),
            ),
        ];
        let lines = sides.map(|(old, new)| written(&change(old, new), 100));
        insta::assert_snapshot!(lines.concat(), @r#"
          property port of db: 80 -> "80"   ensemble.yaml:12:15
          property port of db: added, 1   ensemble.yaml:12:15
          property port of db: 1 -> removed   ensemble.yaml:12:15
          property port of db: changed, now 1   ensemble.yaml:12:15
          property port of db: 1 -> cannot be evaluated: no such thing   ensemble.yaml:12:15
        "#);
    }

    #[test]
    fn secrets_and_files_only_say_that_they_changed() {
        let mut secret = change(value("<<REDACTED>>"), value("<<REDACTED>>"));
        secret.difference.secret = true;
        let mut file = change(DifferenceSide::Unknown, value("a.txt"));
        file.difference.kind = DifferenceKind::File;
        file.location = None;
        let lines = [secret, file].map(|change| written(&change, 100));
        insta::assert_snapshot!(lines.concat(), @r"
          property port of db: changed (secret)   ensemble.yaml:12:15
          file port of db: contents changed
        ");
    }

    #[test]
    fn of_long_values_the_part_that_differs_is_shown() {
        let text = |end: &str| value(format!("{}{end}", "abc ".repeat(40)));
        let change = change(text("1"), text("2"));
        insta::assert_snapshot!(written(&change, 70), @r#"
          property port of db: …c abc abc abc abc 1" -> …c abc abc abc abc 2"
             ensemble.yaml:12:15
        "#);
        let start = |start: &str| value(format!("{start}{}", " abc".repeat(40)));
        let change = self::change(start("1"), start("2"));
        insta::assert_snapshot!(written(&change, 70), @r#"
          property port of db: "1 abc abc abc abc a… -> "2 abc abc abc abc a…
             ensemble.yaml:12:15
        "#);
        for width in 0..40 {
            assert!(!written(&change, width).is_empty());
        }
    }

    #[test]
    fn a_very_long_value_is_cut_for_machines_too() {
        let long = Value::from("é".repeat(MAX_BYTES));
        let json = limited_json(&long);
        assert!(json.as_str().unwrap().len() < MAX_BYTES + 8);
        assert_eq!(limited_json(&Value::from(1)), Json::from(1));
    }
}
