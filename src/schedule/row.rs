//! The rows of a schedule's log, and their text form: tab-separated fields in which tabs and line ends are escaped.

use std::sync::Arc;

use jiff::Timestamp;

/// The end of a line that a crash has cut off. A row never has it.
pub const CUT_LINE_END: &str = "\t\u{0}\n";

/// A line of the log. Rows are only appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// Due times after `at` count, by this timing.
    Started {
        at: Timestamp,
        timing: Arc<str>,
    },
    /// A process takes a due time. The row is durable before the run starts.
    Claim(Claim),
    /// The run of a claim has ended.
    End(RunEnd),
    /// Due times without a run.
    Skipped(SkippedTimes),
    /// The clock went back: due times after this time that have not run count anew.
    Revoked {
        after: Timestamp,
    },
    Paused {
        at: Timestamp,
    },
    Resumed {
        at: Timestamp,
    },
    /// Older rows were removed: due times up to this one are settled.
    Floor {
        due: Timestamp,
    },
}

/// The claim of a due time by a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub due: Timestamp,
    pub at: Timestamp,
    /// A unique id of the run.
    pub run: Arc<str>,
    /// The number of the attempt. From 2 on, earlier attempts were cut off.
    pub attempt: u32,
    /// True for a run that a user began without a due time.
    pub is_manual: bool,
    /// The process that runs, as JSON.
    pub owner: Arc<str>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    pub run: Arc<str>,
    pub at: Timestamp,
    pub outcome: Outcome,
    /// The reason or the result in one sentence.
    pub reason: Arc<str>,
    /// The details as JSON; empty if there are none.
    pub details: Arc<str>,
}

/// Several due times in a row without a run, or one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTimes {
    pub first: Timestamp,
    pub last: Timestamp,
    pub count: u64,
    pub at: Timestamp,
    /// True if nothing ran schedules at these times.
    pub is_missed: bool,
    pub reason: Arc<str>,
}

/// The way in which a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed,
    /// Nothing was done, for instance because a job holds the ensemble.
    Skipped,
    /// The process that ran it ended before the run did.
    CutOff,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Done, Self::Failed, Self::Skipped, Self::CutOff];

    /// Returns the word for the outcome in logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::CutOff => "cut off",
        }
    }
}

impl Row {
    /// Returns the row as one line with its line end.
    pub fn to_line(&self) -> String {
        let fields: Vec<String> = match self {
            Self::Started { at, timing } => vec!["started".into(), at.to_string(), escape(timing)],
            Self::Claim(claim) => vec![
                "claim".into(),
                claim.due.to_string(),
                claim.at.to_string(),
                escape(&claim.run),
                claim.attempt.to_string(),
                if claim.is_manual { "manual" } else { "due" }.into(),
                escape(&claim.owner),
            ],
            Self::End(end) => vec![
                end.outcome.word().into(),
                escape(&end.run),
                end.at.to_string(),
                escape(&end.reason),
                escape(&end.details),
            ],
            Self::Skipped(skipped) => vec![
                if skipped.is_missed {
                    "missed"
                } else {
                    "no run"
                }
                .into(),
                skipped.first.to_string(),
                skipped.last.to_string(),
                skipped.count.to_string(),
                skipped.at.to_string(),
                escape(&skipped.reason),
            ],
            Self::Revoked { after } => vec!["revoked".into(), after.to_string()],
            Self::Paused { at } => vec!["paused".into(), at.to_string()],
            Self::Resumed { at } => vec!["resumed".into(), at.to_string()],
            Self::Floor { due } => vec!["floor".into(), due.to_string()],
        };
        fields.join("\t") + "\n"
    }

    /// Reads a line without its line end. Returns None for a damaged line.
    pub fn parse(line: &str) -> Option<Self> {
        if line.contains('\u{0}') {
            return None;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let time = |place: usize| fields.get(place)?.parse::<Timestamp>().ok();
        let text = |place: usize| fields.get(place).map(|text| Arc::from(unescape(text)));
        let kind = *fields.first()?;
        match kind {
            "started" => Some(Self::Started {
                at: time(1)?,
                timing: text(2)?,
            }),
            "claim" => Some(Self::Claim(Claim {
                due: time(1)?,
                at: time(2)?,
                run: text(3)?,
                attempt: fields.get(4)?.parse().ok()?,
                is_manual: *fields.get(5)? == "manual",
                owner: text(6)?,
            })),
            "missed" | "no run" => Some(Self::Skipped(SkippedTimes {
                first: time(1)?,
                last: time(2)?,
                count: fields.get(3)?.parse().ok()?,
                at: time(4)?,
                is_missed: kind == "missed",
                reason: text(5)?,
            })),
            "revoked" => Some(Self::Revoked { after: time(1)? }),
            "paused" => Some(Self::Paused { at: time(1)? }),
            "resumed" => Some(Self::Resumed { at: time(1)? }),
            "floor" => Some(Self::Floor { due: time(1)? }),
            _ => {
                let outcome = Outcome::ALL.into_iter().find(|it| it.word() == kind)?;
                Some(Self::End(RunEnd {
                    run: text(1)?,
                    at: time(2)?,
                    outcome,
                    reason: text(3)?,
                    details: text(4)?,
                }))
            }
        }
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\u{0}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('t') => plain.push('\t'),
                Some('n') => plain.push('\n'),
                Some('r') => plain.push('\r'),
                Some(other) => plain.push(other),
                None => {}
            },
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn each_row_is_read_as_it_was_written() {
        let rows = [
            Row::Started {
                at: time(1),
                timing: "every 1s".into(),
            },
            Row::Claim(Claim {
                due: time(2),
                at: time(3),
                run: "01A".into(),
                attempt: 2,
                is_manual: true,
                owner: "{\"host\":\"a\\tb\"}".into(),
            }),
            Row::End(RunEnd {
                run: "01A".into(),
                at: time(4),
                outcome: Outcome::CutOff,
                reason: "a\tb\nc\\d\re".into(),
                details: "".into(),
            }),
            Row::Skipped(SkippedTimes {
                first: time(5),
                last: time(6),
                count: 2,
                at: time(7),
                is_missed: true,
                reason: "x".into(),
            }),
            Row::Revoked { after: time(8) },
            Row::Paused { at: time(9) },
            Row::Resumed { at: time(10) },
            Row::Floor { due: time(11) },
        ];
        for row in rows {
            let line = row.to_line();
            assert_eq!(Row::parse(line.trim_end_matches('\n')), Some(row), "{line}");
        }
    }

    #[test]
    fn a_damaged_line_is_no_row() {
        for line in [
            "",
            "claim",
            "claim\tx",
            "done\tA",
            "other\tA\tB",
            "missed\t1\t2\t3",
            "\u{0}\t",
        ] {
            assert_eq!(Row::parse(line), None, "{line}");
        }
    }
}
