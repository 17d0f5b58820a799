//! How the states that a requisite leads to have come out, counted once (S22–S27).

use crate::converge::{ChunkIndex, Outcome, Requisite};

/// The most failed states that are named to one that waits for them.
const MOST_NAMED: usize = 16;

/// What is known of a set of states, from the first to the cursor.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    /// How many of the set were counted.
    pub(super) cursor: u32,
    /// How they came out.
    pub(super) marks: Marks,
    /// Those that failed, the first few.
    pub(super) failed: Vec<ChunkIndex>,
    /// How many failed beside those.
    pub(super) more_failed: u32,
}

impl Standing {
    /// Counts one more.
    pub(super) fn count(&mut self, chunk: ChunkIndex, outcome: &Outcome, skipped: bool) {
        self.cursor += 1;
        self.marks = self.marks.and(Marks::of(outcome, skipped));
        if outcome.result == Some(false) {
            if self.failed.len() < MOST_NAMED {
                self.failed.push(chunk);
            } else {
                self.more_failed += 1;
            }
        }
    }
}

/// How states came out: each mark says that one at least did so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    const TRUE: Self = Self(1);
    const FALSE: Self = Self(2);
    const NONE: Self = Self(4);
    /// It changed something and did not fail.
    const CHANGED: Self = Self(8);
    /// It changed nothing, or failed.
    const UNCHANGED: Self = Self(16);
    /// It ran, changed nothing, and did not fail.
    const SAME: Self = Self(32);
    /// It ran and did not fail.
    const MET: Self = Self(64);
    /// It ran and did not succeed.
    const BAD: Self = Self(128);

    fn of(outcome: &Outcome, skipped: bool) -> Self {
        let changed = !outcome.changes.is_empty();
        let failed = outcome.result == Some(false);
        let mut marks = match outcome.result {
            Some(true) => Self::TRUE,
            Some(false) => Self::FALSE,
            None => Self::NONE,
        };
        let mut mark = |when: bool, mark: Self| {
            if when {
                marks = marks.and(mark);
            }
        };
        mark(changed && !failed, Self::CHANGED);
        mark(!changed || failed, Self::UNCHANGED);
        mark(!changed && !failed && !skipped, Self::SAME);
        mark(!failed && !skipped, Self::MET);
        mark(outcome.result != Some(true) && !skipped, Self::BAD);
        marks
    }

    /// These and those.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }
}

/// What the requisites of a state, taken together, mean for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// One leads to nothing.
    Lost,
    /// Something that it leads to has no result yet.
    Unmet,
    /// Something that it leads to still runs in parallel.
    Pending,
    /// One failed.
    Fail,
    /// No target of a `prereq` would change.
    Pre,
    /// Nothing failed that it waits to fail.
    Onfail,
    /// Nothing changed that it waits to change.
    Onchanges,
    /// Something that it watches has changed.
    Change,
    /// It may run.
    Met,
}

/// What single requisites gave, gathered over the kinds of one state.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that was said"
)]
pub(super) struct Verdicts {
    fail: bool,
    pre: bool,
    premet: bool,
    onfail: bool,
    onchanges: bool,
    onchanges_met: bool,
    change: bool,
}

impl Verdicts {
    /// Adds the marks of all targets of one kind.
    pub(super) fn add(&mut self, kind: Requisite, marks: Marks) {
        match kind {
            Requisite::Require | Requisite::Prerequired => self.fail |= marks.has(Marks::FALSE),
            Requisite::RequireAny => {
                self.fail |= marks.has(Marks::FALSE) && !marks.has(Marks::MET);
            }
            Requisite::Watch => {
                self.fail |= marks.has(Marks::FALSE);
                self.change |= marks.has(Marks::CHANGED);
            }
            Requisite::WatchAny => {
                let met = marks.has(Marks::CHANGED) || marks.has(Marks::SAME);
                self.fail |= marks.has(Marks::FALSE) && !met;
                self.change |= marks.has(Marks::CHANGED);
            }
            Requisite::Prereq => {
                self.fail |= marks.has(Marks::FALSE);
                self.premet |= marks.has(Marks::NONE);
                self.pre |= marks.has(Marks::TRUE);
            }
            Requisite::Onfail | Requisite::OnfailAny => {
                self.onfail |= marks.has(Marks::TRUE) && !marks.has(Marks::BAD);
            }
            Requisite::OnfailAll => self.onfail |= marks.has(Marks::TRUE),
            Requisite::Onchanges => {
                self.onchanges |= marks.has(Marks::UNCHANGED);
                self.onchanges_met |= marks.has(Marks::CHANGED);
            }
            Requisite::OnchangesAny => {
                let met = marks.has(Marks::CHANGED);
                self.onchanges |= marks.has(Marks::UNCHANGED) && !met;
                self.onchanges_met |= met;
            }
            Requisite::Listen => {}
        }
    }

    /// What they mean together (S27).
    pub(super) fn status(&self) -> Status {
        if self.fail {
            Status::Fail
        } else if self.pre {
            if self.premet {
                Status::Met
            } else {
                Status::Pre
            }
        } else if self.onfail && !self.onchanges_met {
            Status::Onfail
        } else if self.onchanges && !self.onchanges_met {
            Status::Onchanges
        } else if self.change {
            Status::Change
        } else if self.onfail {
            Status::Onfail
        } else {
            Status::Met
        }
    }
}
