//! Common phrases of messages: counts, durations, lists of names, shortened texts.
//!
//! Every message uses these functions, so that the wording is the same everywhere.

use std::borrow::Cow;
use std::fmt::{Arguments, Write as _};
use std::time::Duration;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::text::escape_controls;

/// Returns a count with its noun, such as `1 task` or `2 tasks`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {}", plural(noun))
    }
}

fn plural(noun: &str) -> String {
    let before_y = noun.strip_suffix('y');
    if let Some(stem) = before_y.filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        format!("{stem}ies")
    } else if noun.ends_with(['s', 'x']) || noun.ends_with("ch") || noun.ends_with("sh") {
        format!("{noun}es")
    } else {
        format!("{noun}s")
    }
}

/// Formats a number with separators between groups of three digits, such as `3,000`.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration in seconds with milliseconds, such as `0.108s`.
pub fn seconds(time: Duration) -> String {
    format!("{:.3}s", time.as_secs_f64())
}

/// Formats a duration for people: `40 ms`, `0.3 s`, `12 s`, `3m10s`, `2h05m`.
pub fn duration(time: Duration) -> String {
    let milliseconds = time.as_micros().saturating_add(500) / 1000;
    if (1..95).contains(&milliseconds) {
        return format!("{milliseconds} ms");
    }
    let tenths = time.saturating_add(Duration::from_millis(50)).as_millis() / 100;
    let seconds = time.saturating_add(Duration::from_millis(500)).as_secs();
    match (tenths % 10, seconds / 60, seconds % 60) {
        (1.., 0, _) if tenths < 100 => format!("{}.{} s", tenths / 10, tenths % 10),
        (_, 0, _) => format!("{seconds} s"),
        (_, minutes @ ..60, 0) => format!("{minutes}m"),
        (_, minutes @ ..60, seconds) => format!("{minutes}m{seconds:02}s"),
        (_, minutes, _) if minutes % 60 == 0 => format!("{}h", minutes / 60),
        (_, minutes, _) => format!("{}h{:02}m", minutes / 60, minutes % 60),
    }
}

/// Lists names as a sentence does: `` `a`, `b` and `c` ``.
///
/// More than `max_names` names are counted: `` `a`, `b` and 2 others ``.
pub fn names<T: AsRef<str>>(names: &[T], max_names: usize) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(max_names.max(1))
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    let hidden = names.len() - shown.len();
    if hidden > 0 {
        return format!("{} and {}", shown.join(", "), count(hidden, "other"));
    }
    match shown.split_last() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

/// Shows control characters, which could steer a terminal, as escapes. Line breaks and tabs become
/// spaces.
pub fn one_line(text: &str) -> Cow<'_, str> {
    match escape_controls(text) {
        shown if shown.contains(['\n', '\t']) => Cow::Owned(shown.replace(['\n', '\t'], " ")),
        shown => shown,
    }
}

/// Cuts a text to `width` characters and marks the cut with an ellipsis.
pub fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().nth(width).is_none() {
        return Cow::Borrowed(text);
    }
    let retained = text.chars().take(width.saturating_sub(1));
    Cow::Owned(retained.chain(['…']).collect())
}

/// Cuts a text to `columns` columns of a terminal and marks the cut with an ellipsis.
pub fn shorten_to_columns(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars() {
        let Some(rest) = left.checked_sub(c.width().unwrap_or(0)) else {
            break;
        };
        left = rest;
        shown.push(c);
    }
    if columns > 0 {
        shown.push('…');
    }
    Cow::Owned(shown)
}

/// Formats a time of the records (`2026-11-21-16-13-35-276629`) for people.
pub fn recorded_time(stamp: &str) -> Cow<'_, str> {
    let parts: Vec<&str> = stamp.split('-').collect();
    match parts.as_slice() {
        [year, month, day, hour, minute, second, ..] => Cow::Owned(format!(
            "{}-{month}-{day} {hour}:{minute}:{second} UTC",
            one_line(year)
        )),
        _ => one_line(stamp),
    }
}

/// Formats an enumeration word like Unfurl: `Status.ok`, or `None`.
pub(super) fn upstream(kind: &str, word: Option<impl std::fmt::Display>) -> String {
    word.map_or_else(|| "None".to_owned(), |word| format!("{kind}.{word}"))
}

/// Appends formatted text to a string.
pub(super) fn append(text: &mut String, words: Arguments<'_>) {
    text.write_fmt(words).expect("a string takes all text");
}

/// Appends a line with a label and a fact.
pub(super) fn fact(text: &mut String, label: &str, fact: &str) {
    append(text, format_args!("  {label}: {}\n", one_line(fact)));
}

/// Appends a line with the number of entries that are not shown, if any.
pub(super) fn and_more(text: &mut String, hidden: usize, noun: &str) {
    if hidden > 0 {
        append(text, format_args!("- and {}\n", count(hidden, noun)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!(count(0, "task"), "0 tasks");
        assert_eq!(count(1, "task"), "1 task");
        assert_eq!(count(2, "repository"), "2 repositories");
        assert_eq!(count(2, "key"), "2 keys");
        assert_eq!(count(3, "address"), "3 addresses");
    }

    #[test]
    fn digits_of_large_numbers_are_grouped() {
        let all = [0, 999, 1_000, 45_678, 1_234_567].map(thousands);
        assert_eq!(all, ["0", "999", "1,000", "45,678", "1,234,567"]);
    }

    #[test]
    fn seconds_have_three_decimals() {
        assert_eq!(seconds(Duration::from_micros(108_400)), "0.108s");
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let shown = |millis| duration(Duration::from_millis(millis));
        assert_eq!(shown(0), "0 s");
        assert_eq!(duration(Duration::from_micros(400)), "0 s");
        assert_eq!(shown(49), "49 ms");
        assert_eq!(shown(95), "0.1 s");
        assert_eq!(shown(310), "0.3 s");
        assert_eq!(shown(3_000), "3 s");
        assert_eq!(shown(9_960), "10 s");
        assert_eq!(shown(12_400), "12 s");
        assert_eq!(shown(59_700), "1m");
        assert_eq!(shown(185_000), "3m05s");
        assert_eq!(shown(190_000), "3m10s");
        assert_eq!(shown(7_500_000), "2h05m");
        assert_eq!(shown(7_200_000), "2h");
        assert!(duration(Duration::MAX).ends_with('h'));
    }

    #[test]
    fn texts_are_cut_by_the_columns_that_they_take() {
        assert_eq!(shorten_to_columns("日本語", 6), "日本語");
        assert_eq!(shorten_to_columns("日本語", 5), "日本…");
        assert_eq!(shorten_to_columns("日本語", 4), "日…");
        assert_eq!(shorten_to_columns("abc", 0), "");
    }

    #[test]
    fn names_are_listed_as_a_sentence_does() {
        let none: [&str; 0] = [];
        assert_eq!(names(&none, 3), "none");
        assert_eq!(names(&["a"], 3), "`a`");
        assert_eq!(names(&["a", "b", "c"], 3), "`a`, `b` and `c`");
        assert_eq!(names(&["a", "b", "c", "d"], 2), "`a`, `b` and 2 others");
    }

    #[test]
    fn text_of_others_cannot_steer_the_terminal() {
        assert_eq!(one_line("a\nb\x1b[31m\u{7}c"), r"a b\u001b[31m\u0007c");
        assert_eq!(shorten("déjà vu", 5), "déjà…");
        assert_eq!(shorten("déjà", 4), "déjà");
    }
}
