//! The states whose success is assumed, and how to go back to the first of them.

use std::fmt::{Debug, Formatter};

use super::graph::SetId;
use super::requisite_status::SetTally;
use super::running::{PendingChanges, RunningState};
use crate::host::change::Change;
use crate::states::ChunkIndex;

/// What is assumed.
#[derive(Default)]
pub(super) struct PendingBatch {
    /// The states whose changes are in the list, in order.
    pub(super) states: Vec<BatchedState>,
    /// The changes that are to be handed out.
    pub(super) changes: Vec<Change>,
    /// Whether they were handed out, and nothing more is assumed.
    pub(super) is_submitted: bool,
    /// How many results were certain before the first of them.
    pub(super) confirmed_count: usize,
    /// How sets stood before they were counted on an assumption, with the place of the state
    /// whose assumption was the last before.
    pub(super) saved_tallies: Vec<(usize, SetId, SetTally)>,
}

/// A state that is assumed to succeed.
pub(super) struct BatchedState {
    pub(super) chunk: ChunkIndex,
    pub(super) running: Box<RunningState>,
    pub(super) pending: PendingChanges,
    /// How many changes come before its own.
    pub(super) first_change: usize,
    /// What to go back to.
    pub(super) checkpoint: Checkpoint,
}

/// How far the engine had come before a state was assumed to succeed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checkpoint {
    pub(super) results: usize,
    pub(super) position: usize,
    pub(super) number: u32,
    pub(super) progress: u64,
}

impl PendingBatch {
    /// How many of so many results are certain.
    pub(super) fn confirmed_results(&self, results: usize) -> usize {
        if self.states.is_empty() {
            results
        } else {
            self.confirmed_count
        }
    }

    /// Whether anything is assumed.
    pub(super) fn is_open(&self) -> bool {
        !self.states.is_empty()
    }

    /// Keeps how a set stood, so that it can be taken back.
    pub(super) fn save_tally(&mut self, set: SetId, tally: &SetTally) {
        if !self.states.is_empty() {
            self.saved_tallies
                .push((self.states.len(), set, tally.clone()));
        }
    }
}

impl Debug for PendingBatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("assumed", &self.states.len())
            .field("is_out", &self.is_submitted)
            .finish_non_exhaustive()
    }
}
