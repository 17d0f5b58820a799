//! Merges two versions of `drift.tsv` by union.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::record_line::{LineContent, RecordedAnswer, answer_line, read_line};

/// Merges two versions of `drift.tsv` that began with `base`: keeps the lines of both. Equal answers that both sides
/// added to a row of answers count together.
pub fn merge_drift_records(base: &str, first: &str, second: &str) -> String {
    let known: HashSet<&str> = base.lines().collect();
    let rows_of_base = rows(base);
    let rows_of_first = rows(first);
    let rows_of_second = rows(second);
    let mut lines: Vec<String> = Vec::new();
    for line in first.lines() {
        let Some((key, answer)) = row_of(line) else {
            lines.push(line.to_owned());
            continue;
        };
        lines.push(match rows_of_second.get(&key) {
            Some(other) => united(&answer, other, rows_of_base.get(&key)),
            None => line.to_owned(),
        });
    }
    let seen: HashSet<&str> = first.lines().collect();
    let added = second.lines().filter(|line| {
        let is_row = row_of(line).is_some_and(|(key, _)| rows_of_first.contains_key(&key));
        !known.contains(line) && !seen.contains(line) && !is_row
    });
    lines.extend(added.map(str::to_owned));
    // Lines without a time stay behind the line before them.
    let mut last = Timestamp::MIN;
    let mut timed: Vec<(Timestamp, String)> = Vec::with_capacity(lines.len());
    for line in lines {
        last = time_of(&line).unwrap_or(last);
        timed.push((last, line));
    }
    timed.sort_by_key(|(time, _)| *time);
    let mut text = String::with_capacity(first.len() + second.len());
    for (_, line) in timed {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Returns the rows of answers by the line without count and last time.
fn rows(text: &str) -> HashMap<String, RecordedAnswer> {
    text.lines().filter_map(row_of).collect()
}

fn row_of(line: &str) -> Option<(String, RecordedAnswer)> {
    let LineContent::Answer(answer) = read_line(line.as_bytes()) else {
        return None;
    };
    let row = RecordedAnswer {
        last: answer.first,
        count: 0,
        ..answer.clone()
    };
    Some((answer_line(&row), answer))
}

/// Returns the line of a row that both sides may have continued.
fn united(one: &RecordedAnswer, other: &RecordedAnswer, base: Option<&RecordedAnswer>) -> String {
    let common = base.map_or(0, |base| base.count);
    let added = other.count.saturating_sub(common);
    answer_line(&RecordedAnswer {
        last: one.last.max(other.last),
        count: one.count.saturating_add(added).max(other.count),
        ..one.clone()
    })
}

fn time_of(line: &str) -> Option<Timestamp> {
    match read_line(line.as_bytes()) {
        LineContent::Answer(answer) => Some(answer.first),
        LineContent::Finding(finding) => Some(finding.at),
        LineContent::Other | LineContent::Corrupt(_) => None,
    }
}
