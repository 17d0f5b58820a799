//! The state that a drift record describes: the findings that are known now, with their history.

use std::sync::Arc;

use jiff::Timestamp;

use super::finding::{DriftKind, Finding, FindingId, Sightings, Subject};
use super::record::{DriftRecord, RecordEntry};
use super::record_line::{FindingEvent, RecordedAnswer, RecordedFinding};

/// A finding that the last answers had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFinding {
    pub id: FindingId,
    /// The finding with its sightings.
    pub finding: Finding,
    pub cause: Arc<str>,
    /// The last finding that told the state, if the state is unknown now.
    pub before: Option<Box<Self>>,
}

/// The state of an environment according to the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriftState {
    /// The known findings, in the order in which they appeared.
    pub findings: Vec<KnownFinding>,
    /// The answers, oldest first.
    pub answers: Vec<RecordedAnswer>,
    /// The time of the last change of a finding.
    pub(super) last_change: Option<Timestamp>,
}

impl KnownFinding {
    fn of(recorded: &RecordedFinding) -> Self {
        let mut finding = recorded.finding.clone();
        finding.sightings = Some(Sightings {
            since: recorded.at,
            seen: recorded.at,
            count: 0,
        });
        Self {
            id: recorded.id.clone(),
            finding,
            cause: Arc::clone(&recorded.cause),
            before: None,
        }
    }

    /// Returns the finding as it was when it could be determined last.
    pub fn last_determined(&self) -> &Finding {
        self.before
            .as_ref()
            .map_or(&self.finding, |before| &before.finding)
    }

    /// Returns this finding after it changed to `next`.
    ///
    /// The history of a difference goes on after a time in which nobody could tell: the finding of before is kept, and
    /// comes back with its history if the difference is the same.
    pub(super) fn changed_to(self, next: Self) -> Self {
        let is_unknown = |kind| kind == DriftKind::CannotTell;
        match (is_unknown(self.finding.kind), is_unknown(next.finding.kind)) {
            (false, true) => Self {
                before: Some(Box::new(self)),
                ..next
            },
            (true, true) => Self {
                before: self.before,
                ..next
            },
            (true, false) => match self.before {
                Some(before) if before.cause == next.cause => *before,
                _ => next,
            },
            (false, false) => next,
        }
    }
}

impl DriftState {
    /// Computes the state of an environment.
    pub fn of(record: &DriftRecord, environment: Option<&str>) -> Self {
        let mut state = Self::default();
        for entry in record.entries() {
            match entry {
                RecordEntry::Answer(answer) if answer.environment.as_deref() == environment => {
                    state.add_answer(answer);
                }
                RecordEntry::Finding(it) if it.environment.as_deref() == environment => {
                    state.add_finding(it);
                }
                _ => {}
            }
        }
        for known in &mut state.findings {
            // A crash or an editor can leave a finding without its answer.
            if let Some(sightings) = &mut known.finding.sightings {
                sightings.count = sightings.count.max(1);
            }
        }
        state
    }

    pub fn finding(&self, id: &FindingId) -> Option<&KnownFinding> {
        self.findings.iter().find(|known| known.id == *id)
    }

    fn add_finding(&mut self, recorded: &RecordedFinding) {
        self.last_change = self.last_change.max(Some(recorded.at));
        let place = self.findings.iter().position(|own| own.id == recorded.id);
        match (recorded.event, place) {
            (FindingEvent::New | FindingEvent::Changed, None) => {
                self.findings.push(KnownFinding::of(recorded));
            }
            (FindingEvent::New | FindingEvent::Changed, Some(place)) => {
                let known = &mut self.findings[place];
                // Two clones that were merged by union found the same thing.
                if known.cause != recorded.cause {
                    let before = known.clone();
                    *known = before.changed_to(KnownFinding::of(recorded));
                }
            }
            (FindingEvent::Gone, Some(place)) => {
                self.findings.remove(place);
            }
            (FindingEvent::Ruled, Some(place)) => {
                let rule = recorded.finding.ignored_by.clone();
                self.findings[place].finding.ignored_by = rule;
            }
            (FindingEvent::Gone | FindingEvent::Ruled, None) => {}
        }
    }

    fn add_answer(&mut self, answer: RecordedAnswer) {
        let unknown: Vec<Subject> = self
            .findings
            .iter()
            .filter(|known| known.finding.kind == DriftKind::CannotTell)
            .map(|known| known.finding.subject.clone())
            .collect();
        for known in &mut self.findings {
            let Finding { subject, kind, .. } = &known.finding;
            let is_hidden = *kind != DriftKind::CannotTell
                && unknown.iter().any(|other| is_same_thing(other, subject));
            if is_hidden || !answer.covers(subject.instance.as_ref()) {
                continue;
            }
            if let Some(sightings) = &mut known.finding.sightings {
                sightings.seen = sightings.seen.max(answer.last);
                sightings.count = sightings.count.saturating_add(answer.count);
            }
        }
        self.answers.push(answer);
    }

    /// Returns the time of the last answer before `time` that could have had findings about a subject.
    pub fn last_look_before(&self, time: Timestamp, subject: &Subject) -> Option<Timestamp> {
        let answers = self.answers.iter();
        let covering = answers.filter(|answer| answer.covers(subject.instance.as_ref()));
        let times = covering.flat_map(|answer| [answer.first, answer.last]);
        times.filter(|at| *at < time).max()
    }
}

/// Returns true if two findings are about the same instance, or about the same host if there is no instance.
pub(super) fn is_same_thing(one: &Subject, other: &Subject) -> bool {
    one.instance == other.instance && (one.instance.is_some() || one.host == other.host)
}
