//! The lines of `drift.tsv`: answers and findings, with percent-encoded fields that are separated by tabs.

use std::sync::Arc;

use jiff::Timestamp;

use super::answer::Verdict;
use super::finding::{Difference, DriftKind, Finding, FindingId, LastSet, Subject};
use crate::name::{EnumWords, InstanceName};
use crate::text::is_unsafe;
use crate::value::{decode_percent, encode_percent};

/// The instances that an answer is about: all of them, or those that a filter selected.
pub type Scope = Option<Vec<InstanceName>>;

/// An answer, repeated as long as nothing changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// The time of the first answer.
    pub first: Timestamp,
    /// The time of the last answer that was the same.
    pub last: Timestamp,
    /// The number of answers from the first to the last.
    pub count: u32,
    pub verdict: Verdict,
    pub looked_at: usize,
    pub total: usize,
    pub environment: Option<Arc<str>>,
    /// The instances that the answer is about.
    pub scope: Scope,
}

impl RecordedAnswer {
    /// Returns true if both are parts of the same row of equal answers, so that one continues the other.
    pub(super) fn continues(&self, other: &Self) -> bool {
        let same = |it: &Self| (it.verdict, it.looked_at, it.total);
        same(self) == same(other)
            && self.environment == other.environment
            && self.scope == other.scope
    }

    /// Returns true if the answer is about an instance.
    pub(super) fn covers(&self, instance: Option<&InstanceName>) -> bool {
        match (&self.scope, instance) {
            (None, _) => true,
            (Some(scope), Some(instance)) => scope.contains(instance),
            (Some(_), None) => false,
        }
    }
}

/// The change of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingEvent {
    /// The answer before did not have it.
    New,
    /// The values or the kind are others than before.
    Changed,
    /// The difference is no longer there.
    Gone,
    /// The rule that ignores it is another, or there is none now. The finding itself is the same.
    Ruled,
}

impl EnumWords for FindingEvent {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::New, "new", "The answer before did not have it"),
        (Self::Changed, "changed", "The values or the kind changed"),
        (Self::Gone, "gone", "The difference is no longer there"),
        (Self::Ruled, "ruled", "Another rule ignores it, or none"),
    ];
}

/// A line about a finding that is new, changed or gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFinding {
    pub at: Timestamp,
    pub event: FindingEvent,
    pub id: FindingId,
    pub environment: Option<Arc<str>>,
    /// The digest of kind, attribute and both sides.
    pub cause: Arc<str>,
    /// The digest of the whole difference as lines. The lines themselves may be shortened.
    pub digest: Option<Arc<str>>,
    pub finding: Finding,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineContent {
    Answer(RecordedAnswer),
    Finding(Box<RecordedFinding>),
    /// An empty line, a comment, or a line of a newer version.
    Other,
    /// The reason why a line is not readable.
    Corrupt(String),
}

/// The verdicts with their words.
const VERDICTS: [(Verdict, &str); 4] = [
    (Verdict::Clean, "clean"),
    (Verdict::CannotTell, "cannot-tell"),
    (Verdict::Invalid, "invalid"),
    (Verdict::Drifted, "drifted"),
];

/// Returns the word for a verdict: `clean`, `drifted`, `cannot-tell` or `invalid`.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    let row = VERDICTS.iter().find(|(own, _)| *own == verdict);
    row.map_or("", |(_, word)| word)
}

/// Reads a line without its end.
pub(super) fn read_line(raw: &[u8]) -> LineContent {
    let Ok(text) = std::str::from_utf8(raw) else {
        return LineContent::Corrupt("it is not UTF-8 text".to_owned());
    };
    let text = text.trim_end_matches('\r');
    if text.trim().is_empty() || text.starts_with('#') {
        return LineContent::Other;
    }
    read_text(text).unwrap_or_else(LineContent::Corrupt)
}

fn read_text(text: &str) -> Result<LineContent, String> {
    let mut terms = text.split('\t');
    let time = terms.next().unwrap_or_default();
    let at = read_time(time).map_err(|_| "it does not begin with a time".to_owned())?;
    let fields = Fields(terms.filter_map(|term| term.split_once('=')).collect());
    let Some((word, value)) = fields.0.first().copied() else {
        return Err("it has no fields".to_owned());
    };
    if word == "answer" {
        return match VERDICTS.iter().find(|(_, own)| *own == value) {
            Some((verdict, _)) => read_answer(at, *verdict, &fields).map(LineContent::Answer),
            None => Ok(LineContent::Other),
        };
    }
    let Some(event) = FindingEvent::parse(word) else {
        return Ok(LineContent::Other);
    };
    let kind = match fields.get("kind") {
        None => DriftKind::Outside,
        Some(kind) => match DriftKind::parse(&kind) {
            Some(kind) => kind,
            None => return Ok(LineContent::Other),
        },
    };
    read_finding(at, event, kind, &fields).map(|it| LineContent::Finding(Box::new(it)))
}

fn read_answer(
    first: Timestamp,
    verdict: Verdict,
    fields: &Fields<'_>,
) -> Result<RecordedAnswer, String> {
    let last = read_time(fields.raw("last").unwrap_or_default())
        .map_err(|_| "the field `last` is no time".to_owned())?;
    let scope = fields.raw("only").map(|names| {
        let names = names.split(',').filter(|name| !name.is_empty());
        names
            .map(|name| InstanceName::new(decode_percent(name)))
            .collect()
    });
    Ok(RecordedAnswer {
        first,
        last: last.max(first),
        count: fields.number::<u32>("count")?.max(1),
        verdict,
        looked_at: fields.number("looked")?,
        total: fields.number("total")?,
        environment: fields.get("environment"),
        scope,
    })
}

fn read_finding(
    at: Timestamp,
    event: FindingEvent,
    kind: DriftKind,
    fields: &Fields<'_>,
) -> Result<RecordedFinding, String> {
    let id = fields.get(event.as_str()).filter(|id| !id.is_empty());
    let id = FindingId(id.ok_or_else(|| "the finding has no id".to_owned())?);
    let needed = |name: &str| {
        let text = fields.get(name);
        match event {
            FindingEvent::New | FindingEvent::Changed => {
                text.ok_or_else(|| format!("the field `{name}` is missing"))
            }
            FindingEvent::Gone | FindingEvent::Ruled => Ok(text.unwrap_or_default()),
        }
    };
    let subject = Subject {
        instance: fields.get("instance").map(InstanceName::new),
        host: fields.get("host"),
        attribute: needed("attribute")?,
    };
    let difference = Difference {
        from: fields.get("from"),
        to: fields.get("to"),
        lines: fields.get("lines"),
    };
    let mut finding = Finding::new(subject, kind, difference);
    finding.reason = fields.get("reason");
    finding.left_by = fields.get("left_by");
    finding.place = fields.get("place");
    finding.ignored_by = fields.get("rule");
    finding.last_set = fields.get("job").map(|job| LastSet {
        job,
        task: fields.get("task"),
        commit: fields.get("commit"),
        person: fields.get("person"),
        time: fields.raw("set").and_then(|time| read_time(time).ok()),
    });
    Ok(RecordedFinding {
        at,
        event,
        id,
        environment: fields.get("environment"),
        cause: needed("cause")?,
        digest: fields.get("digest"),
        finding,
    })
}

fn read_time(text: &str) -> Result<Timestamp, jiff::Error> {
    text.parse()
}

/// The fields of a line: names and encoded values.
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    fn raw(&self, name: &str) -> Option<&'a str> {
        let mut fields = self.0.iter();
        fields
            .find(|(own, _)| *own == name)
            .map(|(_, value)| *value)
    }

    fn get(&self, name: &str) -> Option<Arc<str>> {
        self.raw(name).map(|value| decode_percent(value).into())
    }

    fn number<N: std::str::FromStr>(&self, name: &str) -> Result<N, String> {
        let number = self.raw(name).and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("the field `{name}` is no number"))
    }
}

/// Formats an answer as a line without its end.
pub(super) fn answer_line(answer: &RecordedAnswer) -> String {
    let mut line = answer.first.to_string();
    push(&mut line, "answer", verdict_word(answer.verdict));
    push(&mut line, "last", &answer.last.to_string());
    push(&mut line, "count", &answer.count.to_string());
    push(&mut line, "looked", &answer.looked_at.to_string());
    push(&mut line, "total", &answer.total.to_string());
    push_some(&mut line, "environment", answer.environment.as_deref());
    if let Some(scope) = &answer.scope {
        let names = scope.iter().map(|name| encode_within_list(name.as_str()));
        // The encoded names are the value as it is.
        line.push_str("\tonly=");
        line.push_str(&names.collect::<Vec<_>>().join(","));
    }
    line
}

/// Formats the change of a finding as a line without its end.
pub(super) fn finding_line(recorded: &RecordedFinding) -> String {
    let RecordedFinding {
        at, event, finding, ..
    } = recorded;
    let Subject {
        instance,
        host,
        attribute,
    } = &finding.subject;
    let mut line = at.to_string();
    push(&mut line, event.as_str(), &recorded.id.0);
    push_some(&mut line, "environment", recorded.environment.as_deref());
    let has_details = matches!(event, FindingEvent::New | FindingEvent::Changed);
    if has_details {
        push(&mut line, "kind", finding.kind.as_str());
    }
    let instance = instance.as_ref().map(InstanceName::as_str);
    push_some(&mut line, "instance", instance);
    push_some(&mut line, "host", host.as_deref());
    push(&mut line, "attribute", attribute);
    if has_details {
        push_details(&mut line, recorded);
    }
    if *event != FindingEvent::Gone {
        push_some(&mut line, "rule", finding.ignored_by.as_deref());
    }
    line
}

fn push_details(line: &mut String, recorded: &RecordedFinding) {
    let finding = &recorded.finding;
    let set = finding.last_set.as_ref();
    let time = set.and_then(|set| set.time).map(|time| time.to_string());
    push(line, "cause", &recorded.cause);
    let fields = [
        ("from", finding.difference.from.as_deref()),
        ("to", finding.difference.to.as_deref()),
        ("lines", finding.difference.lines.as_deref()),
        ("digest", recorded.digest.as_deref()),
        ("reason", finding.reason.as_deref()),
        ("left_by", finding.left_by.as_deref()),
        ("place", finding.place.as_deref()),
        ("job", set.map(|set| &*set.job)),
        ("task", set.and_then(|set| set.task.as_deref())),
        ("commit", set.and_then(|set| set.commit.as_deref())),
        ("person", set.and_then(|set| set.person.as_deref())),
        ("set", time.as_deref()),
    ];
    for (name, text) in fields {
        push_some(line, name, text);
    }
}

fn push_some(line: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        push(line, name, text);
    }
}

fn push(line: &mut String, name: &str, text: &str) {
    line.push('\t');
    line.push_str(name);
    line.push('=');
    line.push_str(&encode(text, |_| false));
}

fn encode_within_list(text: &str) -> String {
    encode(text, |c| c == ',')
}

/// Encodes the characters that would split a line or confuse a terminal.
fn encode(text: &str, is_separator: impl Fn(char) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '\t' | '\n') || is_separator(c) || is_unsafe(c) {
            encoded.push_str(&encode_percent(c.encode_utf8(&mut [0; 4]), b""));
        } else {
            encoded.push(c);
        }
    }
    encoded
}
