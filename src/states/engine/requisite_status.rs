//! How the states that a requisite leads to have come out, counted once (S22–S27).

use crate::states::{ChunkIndex, Requisite, StateOutcome};

/// The most failed states that are named to one that waits for them.
const MAX_NAMED: usize = 16;

/// What is known of a set of states, from the first to the cursor.
#[derive(Debug, Clone, Default)]
pub(super) struct SetTally {
    /// How many of the set were counted.
    pub(super) cursor: u32,
    /// How they came out.
    pub(super) flags: OutcomeFlags,
    /// Those that failed, the first few.
    pub(super) failed: Vec<ChunkIndex>,
    /// How many failed beside those.
    pub(super) more_failed: u32,
}

impl SetTally {
    /// Counts one more.
    pub(super) fn count(&mut self, chunk: ChunkIndex, outcome: &StateOutcome, skipped: bool) {
        self.cursor += 1;
        self.flags = self.flags.union(OutcomeFlags::of(outcome, skipped));
        if outcome.result == Some(false) {
            if self.failed.len() < MAX_NAMED {
                self.failed.push(chunk);
            } else {
                self.more_failed += 1;
            }
        }
    }
}

/// How states came out: each mark says that one at least did so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OutcomeFlags(u8);

impl OutcomeFlags {
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

    fn of(outcome: &StateOutcome, skipped: bool) -> Self {
        let changed = !outcome.changes.is_empty();
        let failed = outcome.result == Some(false);
        let mut marks = match outcome.result {
            Some(true) => Self::TRUE,
            Some(false) => Self::FALSE,
            None => Self::NONE,
        };
        let mut mark = |when: bool, mark: Self| {
            if when {
                marks = marks.union(mark);
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
    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }
}

/// What the requisites of a state, taken together, mean for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequisiteStatus {
    /// One leads to nothing.
    Missing,
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
pub(super) struct StatusFlags {
    fail: bool,
    pre: bool,
    premet: bool,
    onfail: bool,
    onchanges: bool,
    onchanges_met: bool,
    change: bool,
}

impl StatusFlags {
    /// Adds the marks of all targets of one kind.
    pub(super) fn add(&mut self, kind: Requisite, marks: OutcomeFlags) {
        match kind {
            Requisite::Require | Requisite::Prerequired => {
                self.fail |= marks.has(OutcomeFlags::FALSE);
            }
            Requisite::RequireAny => {
                self.fail |= marks.has(OutcomeFlags::FALSE) && !marks.has(OutcomeFlags::MET);
            }
            Requisite::Watch => {
                self.fail |= marks.has(OutcomeFlags::FALSE);
                self.change |= marks.has(OutcomeFlags::CHANGED);
            }
            Requisite::WatchAny => {
                let met = marks.has(OutcomeFlags::CHANGED) || marks.has(OutcomeFlags::SAME);
                self.fail |= marks.has(OutcomeFlags::FALSE) && !met;
                self.change |= marks.has(OutcomeFlags::CHANGED);
            }
            Requisite::Prereq => {
                self.fail |= marks.has(OutcomeFlags::FALSE);
                self.premet |= marks.has(OutcomeFlags::NONE);
                self.pre |= marks.has(OutcomeFlags::TRUE);
            }
            Requisite::Onfail | Requisite::OnfailAny => {
                self.onfail |= marks.has(OutcomeFlags::TRUE) && !marks.has(OutcomeFlags::BAD);
            }
            Requisite::OnfailAll => self.onfail |= marks.has(OutcomeFlags::TRUE),
            Requisite::Onchanges => {
                self.onchanges |= marks.has(OutcomeFlags::UNCHANGED);
                self.onchanges_met |= marks.has(OutcomeFlags::CHANGED);
            }
            Requisite::OnchangesAny => {
                let met = marks.has(OutcomeFlags::CHANGED);
                self.onchanges |= marks.has(OutcomeFlags::UNCHANGED) && !met;
                self.onchanges_met |= met;
            }
            Requisite::Listen => {}
        }
    }

    /// What they mean together (S27).
    pub(super) fn status(&self) -> RequisiteStatus {
        if self.fail {
            RequisiteStatus::Fail
        } else if self.pre {
            if self.premet {
                RequisiteStatus::Met
            } else {
                RequisiteStatus::Pre
            }
        } else if self.onfail && !self.onchanges_met {
            RequisiteStatus::Onfail
        } else if self.onchanges && !self.onchanges_met {
            RequisiteStatus::Onchanges
        } else if self.change {
            RequisiteStatus::Change
        } else if self.onfail {
            RequisiteStatus::Onfail
        } else {
            RequisiteStatus::Met
        }
    }
}
