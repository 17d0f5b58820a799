//! The log of a schedule, folded to one entry per due time.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::row::{CUT_LINE_END, Claim, Outcome, Row, RunEnd, SkippedTimes};

/// The number of entries that a compacted log keeps.
const KEPT_ENTRIES: usize = 300;
/// The number of bytes from which on a log is compacted.
const MAX_BYTES: usize = 512 << 10;
/// The number of rows from which on a log is compacted.
const MAX_ROWS: usize = 1_500;

/// The time by which the clock may go back before the due times of removed rows count anew.
const FLOOR_REACH: SignedDuration = SignedDuration::from_hours(48);

/// The run of a due time, or several due times without a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Run(Claim, Option<RunEnd>),
    Skipped(SkippedTimes),
}

impl Entry {
    /// Returns the due time; the first of several.
    pub fn due(&self) -> Timestamp {
        match self {
            Self::Run(claim, _) => claim.due,
            Self::Skipped(skipped) => skipped.first,
        }
    }

    /// Returns the last due time of the entry.
    pub fn last_due(&self) -> Timestamp {
        match self {
            Self::Run(claim, _) => claim.due,
            Self::Skipped(skipped) => skipped.last,
        }
    }

    /// Returns the word for the state: `running`, `done`, `failed`, `skipped` or `cut off`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Run(_, None) => "running",
            Self::Run(_, Some(end)) => end.outcome.word(),
            Self::Skipped(_) => Outcome::Skipped.word(),
        }
    }

    /// Returns the number of due times of the entry.
    pub fn count(&self) -> u64 {
        match self {
            Self::Run(..) => 1,
            Self::Skipped(skipped) => skipped.count,
        }
    }

    fn is_manual(&self) -> bool {
        matches!(self, Self::Run(claim, _) if claim.is_manual)
    }

    fn is_skipped(&self) -> bool {
        matches!(self, Self::Skipped(_))
    }
}

/// The folded log of a schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleLog {
    pub entries: Vec<Entry>,
    /// The timing that the due times follow.
    pub timing: Option<Arc<str>>,
    /// Due times up to this one are settled, in so far as the clock did not go back.
    pub position: Option<Timestamp>,
    pub paused_since: Option<Timestamp>,
    /// Due times up to this one are settled in any case: their rows may be gone.
    floor: Option<Timestamp>,
    /// The number of rows since the last compaction.
    rows: usize,
    /// True if the last row was about times without a run.
    is_after_skipped: bool,
    /// The number of lines that are no rows.
    pub damaged: usize,
    /// True if no row about a due time follows a damaged line: the line may have been the newest claim or end.
    pub has_damaged_end: bool,
}

impl ScheduleLog {
    /// Reads the text of a log. A line that a crash has cut off while it was written does not count: nothing started,
    /// because a claim is durable before its run starts.
    pub fn parse(text: &str) -> Self {
        let mut log = Self::default();
        for line in text.split_inclusive('\n') {
            match line.strip_suffix('\n').map(Row::parse) {
                Some(Some(row)) => log.apply(row),
                Some(None) if line.trim().is_empty() => {}
                Some(None) if !line.ends_with(CUT_LINE_END) => {
                    log.damaged += 1;
                    log.has_damaged_end = true;
                }
                _ => log.damaged += 1,
            }
        }
        log
    }

    /// Adds a row.
    pub fn apply(&mut self, row: Row) {
        self.rows += 1;
        let is_skipped = matches!(row, Row::Skipped(_));
        self.apply_row(row);
        self.is_after_skipped = is_skipped;
    }

    fn apply_row(&mut self, row: Row) {
        match row {
            Row::Started { at, timing } => {
                self.timing = Some(timing);
                self.advance(at);
            }
            Row::Claim(claim) => self.apply_claim(claim),
            Row::End(end) => {
                let run = self.entries.iter_mut().rev().find_map(|entry| match entry {
                    Entry::Run(claim, ended) if claim.run == end.run => Some(ended),
                    _ => None,
                });
                if let Some(ended @ None) = run {
                    *ended = Some(end);
                }
            }
            Row::Skipped(skipped) => self.apply_skipped(skipped),
            Row::Revoked { after } => {
                self.entries
                    .retain(|entry| !entry.is_skipped() || entry.last_due() <= after);
                // The clock was far in the future when the removed rows were written.
                self.floor
                    .take_if(|floor| floor.duration_since(after) > FLOOR_REACH);
                self.position = Some(self.floor.map_or(after, |floor| floor.max(after)));
            }
            Row::Paused { at } => {
                self.paused_since.get_or_insert(at);
            }
            Row::Resumed { .. } => self.paused_since = None,
            Row::Floor { due } => {
                self.floor = Some(due);
                self.advance(due);
            }
        }
    }

    fn apply_claim(&mut self, claim: Claim) {
        if !claim.is_manual {
            // The first attempt has settled the due time. The clock may have gone back behind it since.
            if claim.attempt <= 1 {
                self.advance(claim.due);
            }
            self.has_damaged_end = false;
            let earlier = self.entries.iter_mut().rev().find(|entry| {
                matches!(entry, Entry::Run(old, _) if old.due == claim.due && !old.is_manual)
            });
            if let Some(earlier) = earlier {
                *earlier = Entry::Run(claim, None);
                return;
            }
        }
        self.entries.push(Entry::Run(claim, None));
    }

    /// Adds due times without a run. Those that follow others with the same reason are added to them.
    fn apply_skipped(&mut self, skipped: SkippedTimes) {
        self.advance(skipped.last);
        let previous = self.entries.last().map(Entry::last_due);
        let is_between = |entry: &Entry| {
            let after = previous.is_some_and(|last| entry.due() > last);
            after && !entry.is_manual() && entry.due() < skipped.first
        };
        let is_next = self.is_after_skipped && !self.entries.iter().any(is_between);
        if let Some(Entry::Skipped(before)) = self.entries.last_mut()
            && is_next
            && before.is_missed == skipped.is_missed
            && before.reason == skipped.reason
            && before.last < skipped.first
        {
            before.last = skipped.last;
            before.count += skipped.count;
            before.at = skipped.at;
            return;
        }
        self.entries.push(Entry::Skipped(skipped));
    }

    fn advance(&mut self, due: Timestamp) {
        self.has_damaged_end = false;
        self.position = Some(self.position.map_or(due, |position| position.max(due)));
    }

    /// Returns true if a due time has its entry.
    pub fn is_settled(&self, due: Timestamp) -> bool {
        let within = |entry: &Entry| (entry.due()..=entry.last_due()).contains(&due);
        self.floor.is_some_and(|floor| due <= floor)
            || self
                .entries
                .iter()
                .rev()
                .any(|entry| !entry.is_manual() && within(entry))
    }

    /// Returns true if an entry is later than a time. The clock went back then.
    pub fn has_entries_after(&self, time: Timestamp) -> bool {
        self.entries
            .iter()
            .any(|entry| !entry.is_manual() && entry.last_due() > time)
    }

    /// Returns the due times without a run that began before a time and end after it, if there are such.
    pub fn skipped_across(&self, time: Timestamp) -> Option<SkippedTimes> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Skipped(skipped) if skipped.first <= time && skipped.last > time => {
                Some(skipped.clone())
            }
            _ => None,
        })
    }

    /// Returns the claims without an end.
    pub fn running(&self) -> impl Iterator<Item = &Claim> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Run(claim, None) => Some(claim),
            _ => None,
        })
    }

    /// Returns the last run, ended or not.
    pub fn last_run(&self) -> Option<(&Claim, Option<&RunEnd>)> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Run(claim, end) => Some((claim, end.as_ref())),
            Entry::Skipped(_) => None,
        })
    }

    /// Returns true if a log of this many bytes needs compaction.
    pub fn is_large(&self, bytes: usize) -> bool {
        bytes > MAX_BYTES || self.rows > MAX_ROWS
    }

    /// Returns the text of a log with the last entries only. The file stays bounded.
    pub fn compacted(&self) -> String {
        let mut text = String::new();
        let mut add = |row: Row| text.push_str(&row.to_line());
        let dropped = self.entries.len().saturating_sub(KEPT_ENTRIES);
        let (old, kept) = self.entries.split_at(dropped);
        if let (Some(at), Some(timing)) = (self.position, &self.timing) {
            let first = kept.iter().find(|entry| !entry.is_manual());
            let at = first.map_or(at, |entry| entry.due().min(at));
            add(Row::Started {
                at,
                timing: Arc::clone(timing),
            });
        }
        let settled = old.iter().filter(|entry| !entry.is_manual());
        let floor = settled.map(Entry::last_due).max().max(self.floor);
        if let Some(due) = floor {
            add(Row::Floor { due });
        }
        let is_open = |entry: &&Entry| matches!(entry, Entry::Run(_, None));
        for entry in old.iter().filter(is_open).chain(kept) {
            match entry {
                Entry::Run(claim, end) => {
                    add(Row::Claim(claim.clone()));
                    end.iter().cloned().for_each(|end| add(Row::End(end)));
                }
                Entry::Skipped(skipped) => add(Row::Skipped(skipped.clone())),
            }
        }
        if let Some(at) = self.paused_since {
            add(Row::Paused { at });
        }
        text
    }

    /// Returns a text with one line per entry.
    #[cfg(test)]
    pub fn summary(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        for entry in &self.entries {
            let (due, count) = (entry.due(), entry.count());
            let count = if count > 1 {
                format!(" and {} more", count - 1)
            } else {
                String::new()
            };
            // Writing to a string does not fail.
            writeln!(text, "{due}{count}: {}", entry.word()).ok();
        }
        text
    }
}
