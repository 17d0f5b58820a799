//! The words for drift that all formats use: sections, differences, times and places.

use std::borrow::Cow;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::diagnostic::SourcePosition;
use crate::drift::{Difference, DriftKind, Finding, LoadProblem, OnDrift, Sightings};
use crate::name::InstanceName;
use crate::text::diff::{lines, unified_diff};
use crate::ui::paint::Tone;
use crate::ui::words;

/// The sections of an answer, in the order in which people read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Section {
    Drifted,
    CannotTell,
    Pending,
    Unmanaged,
    Ignored,
}

impl Section {
    pub(super) const ALL: [Self; 5] = [
        Self::Drifted,
        Self::CannotTell,
        Self::Pending,
        Self::Unmanaged,
        Self::Ignored,
    ];

    pub(super) fn of(finding: &Finding) -> Self {
        match finding.kind {
            _ if finding.ignored_by.is_some() => Self::Ignored,
            DriftKind::Outside => Self::Drifted,
            DriftKind::CannotTell => Self::CannotTell,
            DriftKind::Pending => Self::Pending,
            DriftKind::Unmanaged => Self::Unmanaged,
        }
    }

    pub(super) const fn symbol(self) -> &'static str {
        match self {
            Self::Drifted => "!",
            Self::CannotTell => "?",
            Self::Pending => "~",
            Self::Unmanaged => "+",
            Self::Ignored => "·",
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Drifted => "drifted",
            Self::CannotTell => "cannot tell",
            Self::Pending => "pending",
            Self::Unmanaged => "unmanaged",
            Self::Ignored => "ignored",
        }
    }

    pub(super) const fn tone(self) -> Tone {
        match self {
            Self::Drifted => Tone::Bad,
            Self::CannotTell => Tone::Doubt,
            Self::Pending => Tone::Note,
            Self::Unmanaged => Tone::Warning,
            Self::Ignored => Tone::Dim,
        }
    }
}

/// Returns the kind of a finding in words.
pub(super) const fn kind_word(kind: DriftKind) -> &'static str {
    match kind {
        DriftKind::Outside => Section::Drifted.word(),
        DriftKind::CannotTell => Section::CannotTell.word(),
        DriftKind::Pending => Section::Pending.word(),
        DriftKind::Unmanaged => Section::Unmanaged.word(),
    }
}

/// Returns the thing that a finding is about: `web1 on host: status`.
pub(super) fn subject(finding: &Finding) -> String {
    let attribute = words::one_line(&finding.subject.attribute);
    match name(finding) {
        "" => attribute.into_owned(),
        name => format!("{}{}: {attribute}", words::one_line(name), on_host(finding)),
    }
}

/// Returns the name of the instance, or of the host without one.
pub(super) fn name(finding: &Finding) -> &str {
    let instance = finding.subject.instance.as_ref().map(InstanceName::as_str);
    instance.or(finding.subject.host.as_deref()).unwrap_or("")
}

fn on_host(finding: &Finding) -> String {
    match (&finding.subject.instance, &finding.subject.host) {
        (Some(_), Some(host)) => format!(" on {}", words::one_line(host)),
        _ => String::new(),
    }
}

/// Returns both sides on one line: `ok → error`. None without sides, and for texts that are shown as lines.
pub(super) fn sides(difference: &Difference) -> Option<String> {
    let Difference { from, to, .. } = difference;
    if from.is_none() && to.is_none() {
        return None;
    }
    if is_long(difference) {
        return Some("the text differs".to_owned());
    }
    Some(format!(
        "{} → {}",
        side(from.as_deref()),
        side(to.as_deref())
    ))
}

fn side(side: Option<&str>) -> Cow<'_, str> {
    match side {
        None => Cow::Borrowed("nothing"),
        Some("") => Cow::Borrowed("an empty text"),
        Some(text) => words::one_line(text),
    }
}

/// Returns true if both sides are texts of several lines.
fn is_long(difference: &Difference) -> bool {
    let Difference { from, to, lines } = difference;
    let has_lines = |side: &Option<std::sync::Arc<str>>| {
        let text = side.as_deref().map(str::trim_end);
        text.is_some_and(|text| text.contains('\n'))
    };
    lines.is_none() && from.is_some() && to.is_some() && (has_lines(from) || has_lines(to))
}

/// Returns the difference of a file or of a long text as lines. `-` was found, `+` is what a repair writes.
pub(super) fn diff_lines(difference: &Difference) -> Vec<String> {
    let safe = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| words::one_line(line).into_owned());
        lines.collect()
    };
    if let Some(lines) = &difference.lines {
        return safe(lines);
    }
    if !is_long(difference) {
        return Vec::new();
    }
    let text = |side: &Option<std::sync::Arc<str>>| format!("{}\n", side.as_deref().unwrap_or(""));
    let (wanted, found) = (text(&difference.from), text(&difference.to));
    let all = unified_diff(&lines(&found), &lines(&wanted));
    safe(&all.get(2..).unwrap_or_default().concat())
}

/// Returns a time with its distance from now: `2 days (2026-01-01 10:00 UTC)`.
pub(super) fn since(time: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", age(time, now), minute(time))
}

/// Returns a time to the minute.
fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

fn age(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(time).as_secs();
    let seconds = usize::try_from(seconds).unwrap_or(0);
    match seconds {
        ..60 => "less than a minute".to_owned(),
        60..3_600 => words::count(seconds / 60, "minute"),
        3_600..172_800 => words::count(seconds / 3_600, "hour"),
        _ => words::count(seconds / 86_400, "day"),
    }
}

/// Returns the history of a finding: `since 2 days (…), seen 14 times`.
pub(super) fn seen(sightings: &Sightings, now: Timestamp) -> String {
    match sightings.count {
        ..=1 => "new".to_owned(),
        count => format!("since {}, seen {count} times", since(sightings.since, now)),
    }
}

/// Returns a count of answers or sightings: `14 times`, or `once`.
pub(super) fn times(count: u32) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}

/// Returns the policy of a finding in words. None for the usual one.
pub(super) const fn policy(finding: &Finding) -> Option<&'static str> {
    match finding.on_drift {
        OnDrift::Report => None,
        OnDrift::Ask => Some("`on_drift: ask`: a schedule asks before a repair"),
        OnDrift::Repair => Some("`on_drift: repair`: a schedule repairs this"),
    }
}

/// Returns the problem of an ensemble that was not looked at: a word and the message.
pub(super) fn problem(problem: &LoadProblem) -> (&'static str, &str) {
    match problem {
        LoadProblem::Invalid(message) => ("cannot be loaded", message),
        LoadProblem::Locked(message) => ("is locked", message),
    }
}

/// Reads a place that stands as `file:line:column` at the end of a text.
pub(super) fn read_place(text: &str) -> Option<SourcePosition> {
    let mut parts = text.rsplitn(3, ':');
    let (column, line, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some(SourcePosition {
        path: PathBuf::from(path),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    })
}

/// Splits the text of a problem that begins with its place: `file:line:column: message`.
pub(super) fn split_place(text: &str) -> (Option<SourcePosition>, &str) {
    let mut from = 0;
    while let Some(at) = text[from..].find(": ") {
        let end = from + at;
        if let Some(place) = read_place(&text[..end]) {
            return (Some(place), &text[end + 2..]);
        }
        from = end + 2;
    }
    (None, text)
}
