//! Compares an answer with the drift record, and adds the answer to the record.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::{Timestamp, Unit};

use super::answer::{AnswerRow, DriftAnswer, Transitions};
use super::finding::{Difference, DriftKind, Finding, FindingId, Sightings, text_digest};
use super::record::DriftRecord;
use super::record_line::{FindingEvent, RecordedAnswer, RecordedFinding, Scope};
use super::record_state::{DriftState, KnownFinding, is_same_thing};

/// The maximum number of lines of a difference in the record.
const MAX_LINES: usize = 40;
/// The maximum number of characters of a text in the record.
const MAX_CHARACTERS: usize = 2_000;

/// The place of an answer in the record: its environment and the instances that it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerScope {
    pub environment: Option<Arc<str>>,
    /// The instances that a filter selected. None if the answer is about all.
    pub instances: Scope,
}

/// Adds the history to the findings of an answer, and the differences from the last recorded answer.
pub fn compare(answer: &mut DriftAnswer, state: &DriftState, scope: &AnswerScope) {
    let at = record_time(answer.at);
    let changes = changes(answer, state, scope);
    let mut transitions = Transitions::default();
    for (event, finding) in &changes {
        match event {
            FindingEvent::New => transitions.new.push(finding.id()),
            FindingEvent::Changed => transitions.changed.push(finding.id()),
            FindingEvent::Gone => transitions.gone.push(finding.clone()),
            FindingEvent::Ruled => {}
        }
    }
    for finding in &mut answer.findings {
        let known = state.finding(&finding.id()).cloned();
        let next = KnownFinding {
            id: finding.id(),
            cause: finding.cause(),
            finding: finding.clone(),
            before: None,
        };
        let known = known.map(|known| {
            if known.cause == next.cause {
                known
            } else {
                known.changed_to(next)
            }
        });
        let earlier = known.and_then(|known| known.finding.sightings);
        finding.sightings = Some(match earlier {
            Some(earlier) => Sightings {
                since: earlier.since,
                seen: at.max(earlier.seen),
                count: earlier.count.saturating_add(1),
            },
            None => Sightings {
                since: at,
                seen: at,
                count: 1,
            },
        });
    }
    if changes.is_empty() {
        transitions.row = continued_row(&row_of(answer, at, scope), state);
    }
    answer.transitions = Some(transitions);
}

/// Returns the row of equal answers that an answer without changes continues.
fn continued_row(answer: &RecordedAnswer, state: &DriftState) -> Option<AnswerRow> {
    let mut rows = state.answers.iter().rev();
    let row = rows.find(|row| row.scope == answer.scope)?;
    let is_open = state.last_change.is_none_or(|change| change <= row.first);
    (is_open && row.continues(answer)).then(|| AnswerRow {
        since: row.first,
        count: row.count.saturating_add(answer.count),
    })
}

/// Returns the row that an answer begins in the record.
fn row_of(answer: &DriftAnswer, at: Timestamp, scope: &AnswerScope) -> RecordedAnswer {
    RecordedAnswer {
        first: at,
        last: at,
        count: 1,
        verdict: answer.verdict(),
        looked_at: answer.looked_at,
        total: answer.total,
        environment: scope.environment.clone(),
        scope: scope.instances.clone(),
    }
}

/// Adds an answer to the record.
pub fn add_answer(record: &mut DriftRecord, answer: &DriftAnswer, scope: &AnswerScope) {
    let state = DriftState::of(record, scope.environment.as_deref());
    let at = record_time(answer.at);
    let changes = changes(answer, &state, scope).into_iter();
    let findings = changes.map(|(event, finding)| RecordedFinding {
        at,
        event,
        id: finding.id(),
        environment: scope.environment.clone(),
        cause: finding.cause(),
        digest: finding.difference.lines.as_deref().map(text_digest),
        finding: shortened(finding),
    });
    record.add(row_of(answer, at, scope), findings.collect());
}

/// Returns the changes since the recorded answer: new and changed findings as they are now, gone ones as they were.
///
/// A finding that the answer lacks is gone only if the answer looked for it. Nothing is gone
/// - that a filter left out;
/// - at an instance of which the answer says that nobody can tell: its file may be as different as before.
fn changes(
    answer: &DriftAnswer,
    state: &DriftState,
    scope: &AnswerScope,
) -> Vec<(FindingEvent, Finding)> {
    let mut changes = Vec::new();
    let mut present: HashSet<FindingId> = HashSet::new();
    for finding in &answer.findings {
        // A second finding with the same place would be a change in each answer.
        if !present.insert(finding.id()) {
            continue;
        }
        let event = match state.finding(&finding.id()) {
            None => FindingEvent::New,
            Some(known) if known.cause != finding.cause() => FindingEvent::Changed,
            Some(known) if known.finding.ignored_by != finding.ignored_by => FindingEvent::Ruled,
            Some(_) => continue,
        };
        changes.push((event, finding.clone()));
    }
    let covers = |finding: &Finding| match (&scope.instances, &finding.subject.instance) {
        (None, _) => true,
        (Some(instances), Some(instance)) => instances.contains(instance),
        (Some(_), None) => false,
    };
    let is_unknown = |finding: &Finding| {
        let mut others = answer.findings.iter();
        others.any(|other| {
            other.kind == DriftKind::CannotTell && is_same_thing(&other.subject, &finding.subject)
        })
    };
    for known in &state.findings {
        let finding = known.last_determined();
        if !present.contains(&known.id) && covers(finding) && !is_unknown(finding) {
            changes.push((FindingEvent::Gone, finding.clone()));
        }
    }
    changes
}

/// Returns the time as the record contains it.
fn record_time(time: Timestamp) -> Timestamp {
    time.round(Unit::Millisecond).unwrap_or(time)
}

/// Returns a finding whose long texts are shortened.
fn shortened(mut finding: Finding) -> Finding {
    let Difference { from, to, lines } = &mut finding.difference;
    for text in [from, to, &mut finding.reason] {
        if let Some(long) = text.as_deref().filter(|it| it.len() > MAX_CHARACTERS) {
            let start: String = long.chars().take(MAX_CHARACTERS).collect();
            *text = Some(format!("{start}…").into());
        }
    }
    if let Some(text) = lines {
        *text = first_lines(text);
    }
    finding
}

/// Returns the first lines of a difference, and a last line with the number of those that are left out.
fn first_lines(text: &Arc<str>) -> Arc<str> {
    let mut kept = String::new();
    let total = text.lines().count();
    for (index, line) in text.lines().enumerate() {
        if index == MAX_LINES || kept.len() + line.len() > MAX_CHARACTERS {
            kept.push_str(&format!(" … {} lines", total - index));
            return kept.into();
        }
        kept.push_str(line);
        kept.push('\n');
    }
    Arc::clone(text)
}
