//! The pending batch: the states whose success is assumed, and the data to roll back if an assumption is
//! wrong.

use std::fmt::{Debug, Formatter};

use super::graph::SetId;
use super::requisite_status::SetTally;
use super::running::{PendingChanges, RunningState};
use crate::host::change::Change;
use crate::states::ChunkIndex;

/// The batch of states whose success is assumed.
#[derive(Default)]
pub(super) struct PendingBatch {
    /// The states with changes in the batch, in order.
    pub(super) states: Vec<BatchedState>,
    pub(super) changes: Vec<Change>,
    /// Whether the changes were submitted. No state joins the batch afterwards.
    pub(super) is_submitted: bool,
    /// The number of results that were confirmed before the batch began.
    pub(super) confirmed_count: usize,
    /// Set tallies before results of the batch were counted in them, with the number of batched states at
    /// that time.
    pub(super) saved_tallies: Vec<(usize, SetId, SetTally)>,
}

/// A state in the batch, with the data to evaluate or roll back its changes.
pub(super) struct BatchedState {
    pub(super) chunk: ChunkIndex,
    pub(super) running: Box<RunningState>,
    pub(super) pending: PendingChanges,
    /// The index of its first change in the batch.
    pub(super) first_change: usize,
    /// The engine's position before this state, for a rollback.
    pub(super) checkpoint: Checkpoint,
}

/// The engine's position before a state joined the batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checkpoint {
    pub(super) results: usize,
    pub(super) position: usize,
    pub(super) number: u32,
    pub(super) progress: u64,
}

impl PendingBatch {
    /// The number of confirmed results, out of `results` in total.
    pub(super) fn confirmed_results(&self, results: usize) -> usize {
        if self.states.is_empty() {
            results
        } else {
            self.confirmed_count
        }
    }

    /// Whether the batch contains a state.
    pub(super) fn is_open(&self) -> bool {
        !self.states.is_empty()
    }

    /// Saves the tally of a set, so that a rollback can restore it.
    pub(super) fn save_tally(&mut self, set: SetId, tally: &SetTally) {
        if !self.states.is_empty() {
            self.saved_tallies
                .push((self.states.len(), set, tally.clone()));
        }
    }
}

impl Debug for PendingBatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingBatch")
            .field("states", &self.states.len())
            .field("is_submitted", &self.is_submitted)
            .finish_non_exhaustive()
    }
}
