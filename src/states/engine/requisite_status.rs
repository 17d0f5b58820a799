//! The requisite status of a state: tallies the results of each target set once, and combines the requisite
//! kinds to a verdict (S22–S27).

use crate::states::{ChunkIndex, Requisite, StateOutcome};

/// The maximum number of failed states that the comment of a dependent state names.
const MAX_NAMED: usize = 16;

/// The tally of a set of states, up to the cursor. Shared by all states that require the set.
#[derive(Debug, Clone, Default)]
pub(super) struct SetTally {
    /// The number of states counted so far.
    pub(super) cursor: u32,
    pub(super) flags: OutcomeFlags,
    /// The first failed states, at most [`MAX_NAMED`].
    pub(super) failed: Vec<ChunkIndex>,
    /// The number of failed states beyond those in `failed`.
    pub(super) more_failed: u32,
}

impl SetTally {
    /// Counts the outcome of the next state in the set.
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

/// A bit set of outcomes. Each bit means that at least one state came out this way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OutcomeFlags(u8);

impl OutcomeFlags {
    const TRUE: Self = Self(1);
    const FALSE: Self = Self(2);
    const NONE: Self = Self(4);
    /// The state changed something and did not fail.
    const CHANGED: Self = Self(8);
    /// The state changed nothing, or failed.
    const UNCHANGED: Self = Self(16);
    /// The state ran, changed nothing and did not fail.
    const RAN_UNCHANGED: Self = Self(32);
    /// The state ran and did not fail.
    const RAN_NOT_FAILED: Self = Self(64);
    /// The state ran and did not succeed.
    const RAN_UNSUCCESSFUL: Self = Self(128);

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
        mark(!changed && !failed && !skipped, Self::RAN_UNCHANGED);
        mark(!failed && !skipped, Self::RAN_NOT_FAILED);
        mark(
            outcome.result != Some(true) && !skipped,
            Self::RAN_UNSUCCESSFUL,
        );
        marks
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }
}

/// The combined verdict of a state's requisites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequisiteStatus {
    /// A requisite matches no state, so the state fails.
    Missing,
    /// A target has no result yet.
    Unmet,
    /// A target is still running in parallel.
    Pending,
    /// A target failed, so the state fails too.
    Fail,
    /// No target of a `prereq` would change.
    Pre,
    /// None of the `onfail` targets failed.
    Onfail,
    /// None of the `onchanges` targets changed.
    Onchanges,
    /// A watched state has changed, so the state is to react.
    Change,
    /// The state may run. No requisite prevents it.
    Met,
}

/// The verdicts of single requisites, collected over the kinds of one state.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is an independent verdict"
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
    /// Adds the outcomes of all targets of one requisite kind.
    pub(super) fn add(&mut self, kind: Requisite, marks: OutcomeFlags) {
        match kind {
            Requisite::Require | Requisite::Prerequired => {
                self.fail |= marks.has(OutcomeFlags::FALSE);
            }
            Requisite::RequireAny => {
                self.fail |=
                    marks.has(OutcomeFlags::FALSE) && !marks.has(OutcomeFlags::RAN_NOT_FAILED);
            }
            Requisite::Watch => {
                self.fail |= marks.has(OutcomeFlags::FALSE);
                self.change |= marks.has(OutcomeFlags::CHANGED);
            }
            Requisite::WatchAny => {
                let met =
                    marks.has(OutcomeFlags::CHANGED) || marks.has(OutcomeFlags::RAN_UNCHANGED);
                self.fail |= marks.has(OutcomeFlags::FALSE) && !met;
                self.change |= marks.has(OutcomeFlags::CHANGED);
            }
            Requisite::Prereq => {
                self.fail |= marks.has(OutcomeFlags::FALSE);
                self.premet |= marks.has(OutcomeFlags::NONE);
                self.pre |= marks.has(OutcomeFlags::TRUE);
            }
            Requisite::Onfail | Requisite::OnfailAny => {
                self.onfail |=
                    marks.has(OutcomeFlags::TRUE) && !marks.has(OutcomeFlags::RAN_UNSUCCESSFUL);
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

    /// Combines the verdicts (S27). The order of the checks matters: a failure comes before every reason to
    /// skip.
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
