//! The drift record of an ensemble as data: the lines of `drift.tsv`.
//!
//! The record has a line for each row of equal answers and a line for each finding that is new, changed or gone, so it
//! grows only when something changes. Lines that this version does not understand stay as they are.

use jiff::Timestamp;

use super::record_line::{
    LineContent, RecordedAnswer, RecordedFinding, answer_line, finding_line, read_line,
};

/// The name of the file beside the manifest.
pub const DRIFT_FILE: &str = "drift.tsv";

/// The lines of a drift record.
#[derive(Debug, Clone, Default)]
pub struct DriftRecord {
    lines: Vec<RecordLine>,
}

#[derive(Debug, Clone)]
struct RecordLine {
    /// The bytes without the line end.
    raw: Vec<u8>,
    content: LineContent,
}

/// An entry of the record, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordEntry<'a> {
    Answer(RecordedAnswer),
    Finding(&'a RecordedFinding),
}

impl RecordEntry<'_> {
    /// Returns the time, and an order among the entries of a time: the findings of an answer come before it.
    fn order(&self) -> (Timestamp, bool) {
        match self {
            Self::Answer(answer) => (answer.first, true),
            Self::Finding(finding) => (finding.at, false),
        }
    }
}

/// A line that is not readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorruptLine {
    /// The number of the line, from 1.
    pub number: usize,
    pub reason: String,
}

impl RecordLine {
    fn of_answer(answer: RecordedAnswer) -> Self {
        Self {
            raw: answer_line(&answer).into_bytes(),
            content: LineContent::Answer(answer),
        }
    }

    fn answer(&self) -> Option<&RecordedAnswer> {
        match &self.content {
            LineContent::Answer(answer) => Some(answer),
            _ => None,
        }
    }
}

impl DriftRecord {
    /// Reads the content of `drift.tsv`.
    pub fn parse(bytes: &[u8]) -> Self {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
            let raw = line.strip_suffix(b"\n").unwrap_or(line);
            RecordLine {
                raw: raw.to_vec(),
                content: read_line(raw),
            }
        });
        Self {
            lines: lines.collect(),
        }
    }

    /// Returns the content of `drift.tsv`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in &self.lines {
            bytes.extend_from_slice(&line.raw);
            bytes.push(b'\n');
        }
        bytes
    }

    /// Returns the lines that are not readable.
    pub fn corrupt_lines(&self) -> impl Iterator<Item = CorruptLine> {
        let lines = self.lines.iter().enumerate();
        lines.filter_map(|(index, line)| match &line.content {
            LineContent::Corrupt(reason) => Some(CorruptLine {
                number: index + 1,
                reason: reason.clone(),
            }),
            _ => None,
        })
    }

    /// Returns the answers and findings in the order of their times. The findings of an answer come before it.
    ///
    /// Git's merge by union can leave several versions of a row of answers; they are one entry here, with the latest
    /// time and the highest count.
    pub fn entries(&self) -> Vec<RecordEntry<'_>> {
        let entries = self.lines.iter().filter_map(|line| match &line.content {
            LineContent::Answer(answer) => Some(RecordEntry::Answer(answer.clone())),
            LineContent::Finding(finding) => Some(RecordEntry::Finding(finding)),
            LineContent::Other | LineContent::Corrupt(_) => None,
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(RecordEntry::order);
        let mut united: Vec<RecordEntry<'_>> = Vec::with_capacity(entries.len());
        for entry in entries {
            if !is_united(&mut united, &entry) {
                united.push(entry);
            }
        }
        united
    }

    /// Adds the lines of an answer: those of its findings, and its own. If nothing has changed since the last answer of
    /// the same kind, that answer's line gets the new time and count instead.
    pub(super) fn add(&mut self, answer: RecordedAnswer, findings: Vec<RecordedFinding>) {
        let last_change = self.last_change(&answer);
        let place = self.lines.iter().rposition(|line| {
            line.answer().is_some_and(|own| {
                own.scope == answer.scope && own.environment == answer.environment
            })
        });
        let row = place.and_then(|place| Some((place, self.lines[place].answer()?)));
        if let Some((place, row)) = row
            && findings.is_empty()
            && row.continues(&answer)
            && last_change.is_none_or(|change| change <= row.first)
        {
            let row = RecordedAnswer {
                last: row.last.max(answer.last),
                count: self.highest_count(row).saturating_add(answer.count),
                ..row.clone()
            };
            self.lines[place] = RecordLine::of_answer(row.clone());
            self.remove_versions(place, &row);
            return;
        }
        let findings = findings.into_iter().map(|finding| RecordLine {
            raw: finding_line(&finding).into_bytes(),
            content: LineContent::Finding(Box::new(finding)),
        });
        self.lines.extend(findings);
        self.lines.push(RecordLine::of_answer(answer));
    }

    /// Returns the time of the last recorded finding of an environment.
    fn last_change(&self, answer: &RecordedAnswer) -> Option<Timestamp> {
        let times = self.lines.iter().filter_map(|line| match &line.content {
            LineContent::Finding(it) if it.environment == answer.environment => Some(it.at),
            _ => None,
        });
        times.max()
    }

    /// Returns the highest count among the versions of a row of answers.
    fn highest_count(&self, row: &RecordedAnswer) -> u32 {
        let versions = self.lines.iter().filter_map(RecordLine::answer);
        let versions = versions.filter(|own| own.first == row.first && own.continues(row));
        versions.map(|own| own.count).max().unwrap_or(row.count)
    }

    /// Removes the other versions of a row of answers, which a merge by union left.
    fn remove_versions(&mut self, place: usize, row: &RecordedAnswer) {
        let mut index = 0;
        self.lines.retain(|line| {
            let is_version = line
                .answer()
                .is_some_and(|own| own.first == row.first && own.continues(row));
            index += 1;
            index - 1 == place || !is_version
        });
    }
}

/// Adds an answer to an earlier version of the same row. Returns false if there is none, or for a finding.
fn is_united(united: &mut [RecordEntry<'_>], entry: &RecordEntry<'_>) -> bool {
    let RecordEntry::Answer(answer) = entry else {
        return false;
    };
    let versions = united.iter_mut().rev().map_while(|entry| match entry {
        RecordEntry::Answer(own) if own.first == answer.first => Some(own),
        _ => None,
    });
    for own in versions {
        if own.continues(answer) {
            own.last = own.last.max(answer.last);
            own.count = own.count.max(answer.count);
            return true;
        }
    }
    false
}
