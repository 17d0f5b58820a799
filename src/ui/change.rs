//! Renders changes of values, from old to new, as text and as JSON.
//!
//! Plans and explanations embed a [`ChangeView`] for each difference that the job found. Secret
//! values are never shown: only the parts of a value that are secret are hidden.

use serde_json::{Map, Value as Json};

use super::layout::Layout;
use super::paint::Tone;
use super::value_diff::{PartChange, PartDifference, compare};
use super::value_text::{inline_value, text_counts, value_text};
use super::words;
use crate::diagnostic::SourcePosition;
use crate::job::{Difference, DifferenceKind, DifferenceSide};
use crate::text::diff;
use crate::value::Value;

/// The maximum size of a value in JSON, in bytes. Longer values are cut.
const MAX_BYTES: usize = 64 << 10;
/// The minimum number of characters of a value that the text shows, even on a narrow screen.
const MIN_WIDTH: usize = 12;
/// The number of equal characters shown before the first difference of two long values.
const SHARED_CHARS: usize = 8;

/// The maximum number of differing parts of a value that the text shows.
const MAX_PARTS: usize = 10;
/// The maximum number of lines of a difference of texts.
const MAX_LINES: usize = 10;
/// The size of the largest texts that are compared by lines, in bytes.
const MAX_TEXT: usize = 1 << 20;

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

/// The text of a difference: words with their meaning, and lines below them.
#[derive(Debug, Default)]
struct ChangeText {
    words: Vec<(Option<Tone>, String)>,
    lines: Vec<(Option<Tone>, String)>,
}

impl ChangeText {
    fn plain(text: impl Into<String>) -> Self {
        Self {
            words: vec![(None, text.into())],
            lines: Vec::new(),
        }
    }

    fn sides(old: String, new: String) -> Self {
        let words = [
            (Some(Tone::Bad), old),
            (None, " -> ".to_owned()),
            (Some(Tone::Good), new),
        ];
        Self {
            words: words.into(),
            lines: Vec::new(),
        }
    }
}

impl ChangeView {
    /// Appends the change as one line, or as several: if the position does not fit, and for differences of
    /// long texts and of several parts.
    pub(super) fn write(&self, text: &mut String, indent: usize, layout: Layout) {
        let difference = &self.difference;
        let mut head = format!(
            "{} {}",
            difference.kind.as_str(),
            words::one_line(&difference.name)
        );
        if let Some(of) = &difference.of {
            words::append(&mut head, format_args!(" of {}", words::one_line(of)));
        }
        let follows = if self.follows.is_empty() {
            String::new()
        } else {
            format!(" (follows from {})", self.follows.join(", "))
        };
        let follows = words::one_line(&follows).into_owned();
        let place = self.location.as_ref().map(ToString::to_string);
        let change = Change {
            head,
            follows,
            place,
        };
        let parts = match (&difference.old, &difference.new) {
            (DifferenceSide::Value(old), DifferenceSide::Value(new)) => compare(old, new),
            _ => Vec::new(),
        };
        match <[PartDifference; 1]>::try_from(parts) {
            Ok([part]) => change.write_part(text, indent, &part, layout),
            Err(parts) if parts.is_empty() => {
                let body = self.whole(change.room(indent, layout), layout);
                change.write(text, indent, &body, layout);
            }
            Err(parts) => change.write_parts(text, indent, &parts, layout),
        }
    }

    /// Describes a difference without parts.
    fn whole(&self, room: usize, layout: Layout) -> ChangeText {
        let difference = &self.difference;
        if difference.secret && !matches!(difference.new, DifferenceSide::Failed(_)) {
            return ChangeText::plain("changed (secret)");
        }
        if difference.old == DifferenceSide::Unknown && difference.kind == DifferenceKind::File {
            return ChangeText::plain("contents changed");
        }
        whole_text(&difference.old, &difference.new, room, layout)
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

/// The parts of a change's line besides its values.
struct Change {
    head: String,
    /// The causes, in brackets.
    follows: String,
    place: Option<String>,
}

impl Change {
    /// Returns the number of characters that are left for values.
    fn room(&self, indent: usize, layout: Layout) -> usize {
        let used = indent + self.head.chars().count() + 2 + self.follows.chars().count();
        layout.width.saturating_sub(used)
    }

    fn write(&self, text: &mut String, indent: usize, body: &ChangeText, layout: Layout) {
        let mut line = format!("{}: ", self.head);
        let mut length = line.chars().count();
        for (tone, words) in &body.words {
            length += words.chars().count();
            line.push_str(&painted(layout, *tone, words));
        }
        length += self.follows.chars().count();
        line.push_str(&self.follows);
        layout.line_with_place(text, indent, (&line, length), self.place.as_deref());
        for (tone, below) in &body.lines {
            let below = painted(layout, *tone, below);
            words::append(text, format_args!("{:1$}{below}\n", "", indent + 4));
        }
    }

    fn write_part(&self, text: &mut String, indent: usize, part: &PartDifference, layout: Layout) {
        let change = Self {
            head: format!("{}{}", self.head, part.path.trim_end()),
            follows: self.follows.clone(),
            place: self.place.clone(),
        };
        let body = part_text(&part.change, change.room(indent, layout), layout);
        change.write(text, indent, &body, layout);
    }

    fn write_parts(
        &self,
        text: &mut String,
        indent: usize,
        parts: &[PartDifference],
        layout: Layout,
    ) {
        let body = ChangeText::plain(words::count(parts.len(), "difference"));
        self.write(text, indent, &body, layout);
        let max = if layout.is_full {
            usize::MAX
        } else {
            MAX_PARTS
        };
        for part in parts.iter().take(max) {
            let change = Self {
                head: part.path.trim().to_owned(),
                follows: String::new(),
                place: None,
            };
            let body = part_text(&part.change, change.room(indent + 4, layout), layout);
            change.write(text, indent + 4, &body, layout);
        }
        if let Some(more) = parts.len().checked_sub(max).filter(|more| *more > 0) {
            let more = words::thousands(more);
            words::append(
                text,
                format_args!(
                    "{:1$}and {more} more (`--detail` shows all)\n",
                    "",
                    indent + 4
                ),
            );
        }
    }
}

fn painted(layout: Layout, tone: Option<Tone>, words: &str) -> String {
    match tone {
        Some(tone) => layout.paint.tone(tone, words),
        None => words.to_owned(),
    }
}

/// Describes the difference of a part.
fn part_text(change: &PartChange, room: usize, layout: Layout) -> ChangeText {
    let value = |value: &Value| DifferenceSide::Value(value.clone());
    let missing = DifferenceSide::Missing;
    match change {
        PartChange::Changed(old, new) => match (old, new) {
            (Value::Str(old), Value::Str(new)) if old.contains('\n') || new.contains('\n') => {
                lines_text(old, new, layout)
            }
            _ => whole_text(&value(old), &value(new), room, layout),
        },
        PartChange::Added(new) => whole_text(&missing, &value(new), room, layout),
        PartChange::Removed(old) => whole_text(&value(old), &missing, room, layout),
        PartChange::Renamed(to) => ChangeText::plain(format!("renamed to {}", words::one_line(to))),
        PartChange::Reordered(items) => ChangeText::plain(format!(
            "the same {}, in another order",
            words::count(*items, "item")
        )),
    }
}

/// Describes the difference of texts by their lines.
fn lines_text(old: &str, new: &str, layout: Layout) -> ChangeText {
    if old.len().max(new.len()) > MAX_TEXT {
        return ChangeText::sides(text_counts(old, ""), text_counts(new, ""));
    }
    let lines = diff::unified_diff(&diff::lines(old), &diff::lines(new));
    let lines = lines.get(2..).unwrap_or_default();
    let count = |sign: char| lines.iter().filter(|line| line.starts_with(sign)).count();
    let (added, removed) = (count('+'), count('-'));
    let changes = format!(", {} changed: +{added} -{removed}", added + removed);
    let mut body = ChangeText::plain(text_counts(new, &changes));
    if layout.is_full || lines.len() <= MAX_LINES {
        let shown = lines
            .iter()
            .filter(|line| layout.is_full || !line.starts_with("@@"));
        let tone = |line: &str| match line.chars().next() {
            Some('+') => Some(Tone::Good),
            Some('-') => Some(Tone::Bad),
            _ => None,
        };
        body.lines = shown
            .map(|line| {
                (
                    tone(line),
                    words::one_line(line.trim_end_matches('\n')).into_owned(),
                )
            })
            .collect();
    }
    body
}

/// Describes two sides of a difference in about `room` characters. Long values become counts.
fn whole_text(
    old: &DifferenceSide,
    new: &DifferenceSide,
    room: usize,
    layout: Layout,
) -> ChangeText {
    let one = |value: &Value| {
        if layout.is_full {
            inline_value(value)
        } else {
            truncate(&value_text(value, false), room, 0)
        }
    };
    match (old, new) {
        (
            DifferenceSide::Value(old @ Value::Str(_)),
            DifferenceSide::Value(new @ Value::Str(_)),
        ) if !layout.is_full => {
            // Of long texts, the part that differs is shown.
            let (old, new) = short_sides(old, new, room);
            ChangeText::sides(old, new)
        }
        (DifferenceSide::Value(old), DifferenceSide::Value(new)) => {
            let half = room.saturating_sub(4) / 2;
            let short = |value: &Value| {
                if layout.is_full {
                    inline_value(value)
                } else {
                    truncate(&value_text(value, false), half, 0)
                }
            };
            ChangeText::sides(short(old), short(new))
        }
        (DifferenceSide::Value(old), DifferenceSide::Missing) => {
            ChangeText::sides(one(old), "removed".to_owned())
        }
        (DifferenceSide::Missing, DifferenceSide::Value(new)) => ChangeText {
            words: vec![(None, "added, ".to_owned()), (Some(Tone::Good), one(new))],
            lines: Vec::new(),
        },
        (DifferenceSide::Unknown, DifferenceSide::Value(new)) => {
            ChangeText::plain(format!("changed, now {}", one(new)))
        }
        _ => ChangeText::plain(sides(old, new, room)),
    }
}

/// Shortens two values to the parts that differ.
fn short_sides(old: &Value, new: &Value, room: usize) -> (String, String) {
    let (old, new) = (inline_value(old), inline_value(new));
    let half = room.saturating_sub(4) / 2;
    let skipped = shared_prefix_to_skip(&old, &new, half.max(MIN_WIDTH));
    (truncate(&old, half, skipped), truncate(&new, half, skipped))
}

/// Describes the old and the new value in about `room` characters.
pub(super) fn sides(old: &DifferenceSide, new: &DifferenceSide, room: usize) -> String {
    let one = |value: &Value| truncate(&inline_value(value), room, 0);
    match (old, new) {
        (DifferenceSide::Value(old), DifferenceSide::Value(new)) => {
            let (old, new) = short_sides(old, new, room);
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
        change.write(&mut text, 2, Layout::plain(width));
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
    fn one_secret_leaf_hides_only_itself() {
        let map = |port: i64| {
            Value::map([
                ("password", Value::from("<<REDACTED>>")),
                ("port", Value::Int(port)),
            ])
        };
        let mut view = change(value(map(1)), value(map(2)));
        view.difference.secret = true;
        let mut same = change(value(map(1)), value(map(1)));
        same.difference.secret = true;
        let lines = [view, same].map(|change| written(&change, 100));
        insta::assert_snapshot!(lines.concat(), @r"
          property port of db.port: 1 -> 2   ensemble.yaml:12:15
          property port of db: changed (secret)   ensemble.yaml:12:15
        ");
    }

    #[test]
    fn several_parts_are_listed_and_long_lists_are_cut() {
        let config = |from: i64, host: &str| {
            let ports = Value::list((from..from + 14).map(|port| Value::Int(port * 10)));
            Value::map([("host", Value::from(host)), ("ports", ports)])
        };
        let few = change(value(config(1, "a\nb\n")), value(config(1, "a\nc\n")));
        insta::assert_snapshot!(written(&few, 100), @r"
          property port of db.host: text, 2 lines, 2 changed: +1 -1, sha256 b72cf6d79181…
             ensemble.yaml:12:15
               a
              -b
              +c
        ");
        let many = change(value(config(1, "a")), value(config(100, "b")));
        let text = written(&many, 60);
        assert!(text.starts_with("  property port of db: 15 differences   ensemble.yaml:12:15\n"));
        assert!(
            text.ends_with("      and 5 more (`--detail` shows all)\n"),
            "{text}"
        );
        let full = Layout {
            is_full: true,
            ..Layout::plain(60)
        };
        let mut text = String::new();
        many.write(&mut text, 2, full);
        assert_eq!(text.lines().count(), 16);
    }

    #[test]
    fn of_long_texts_the_changed_lines_are_counted() {
        let text = |from: usize| {
            let lines = (0..120).map(|n| if n % 10 == 3 { n + from } else { n });
            let lines: Vec<String> = lines.map(|n| format!("line {n}\n")).collect();
            value(lines.concat())
        };
        let change = change(text(0), text(500));
        insta::assert_snapshot!(written(&change, 100), @r"
          property port of db: text, 120 lines, 24 changed: +12 -12, sha256 3756306e0b52…
             ensemble.yaml:12:15
        ");
        let mut full = String::new();
        let layout = Layout {
            is_full: true,
            ..Layout::plain(100)
        };
        change.write(&mut full, 2, layout);
        assert!(full.contains("      -line 3\n      +line 503\n"), "{full}");
    }

    #[test]
    fn coloured_changes_have_the_same_words() {
        let change = change(value(80), value("a\nb"));
        let coloured = Layout {
            paint: super::super::paint::Paint::new(true),
            ..Layout::plain(100)
        };
        let mut text = String::new();
        change.write(&mut text, 2, coloured);
        assert!(
            text.contains("\u{1b}[31m80\u{1b}[0m -> \u{1b}[32m"),
            "{text:?}"
        );
        assert_eq!(
            super::super::paint::without_colours(&text),
            written(&change, 100)
        );
    }

    #[test]
    fn a_very_long_value_is_cut_for_machines_too() {
        let long = Value::from("é".repeat(MAX_BYTES));
        let json = limited_json(&long);
        assert!(json.as_str().unwrap().len() < MAX_BYTES + 8);
        assert_eq!(limited_json(&Value::from(1)), Json::from(1));
    }
}
