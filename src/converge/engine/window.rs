//! The states whose success is assumed, and how to go back to the first of them.

use std::fmt::{Debug, Formatter};

use super::doing::{Acting, Doing};
use super::graph::Set;
use super::standing::Standing;
use crate::converge::ChunkIndex;
use crate::host::change::Change;

/// What is assumed.
#[derive(Default)]
pub(super) struct Window {
    /// The states whose changes are in the list, in order.
    pub(super) assumed: Vec<Assumed>,
    /// The changes that are to be handed out.
    pub(super) changes: Vec<Change>,
    /// Whether they were handed out, and nothing more is assumed.
    pub(super) is_out: bool,
    /// How many results were certain before the first of them.
    pub(super) certain: usize,
    /// How sets stood before they were counted on an assumption, with the place of the state
    /// whose assumption was the last before.
    pub(super) kept: Vec<(usize, Set, Standing)>,
}

/// A state that is assumed to succeed.
pub(super) struct Assumed {
    pub(super) chunk: ChunkIndex,
    pub(super) doing: Box<Doing>,
    pub(super) acting: Acting,
    /// How many changes come before its own.
    pub(super) from: usize,
    /// What to go back to.
    pub(super) mark: Mark,
}

/// How far the engine had come before a state was assumed to succeed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) results: usize,
    pub(super) at: usize,
    pub(super) number: u32,
    pub(super) progress: u64,
}

impl Window {
    /// How many of so many results are certain.
    pub(super) fn certain(&self, results: usize) -> usize {
        if self.assumed.is_empty() {
            results
        } else {
            self.certain
        }
    }

    /// Whether anything is assumed.
    pub(super) fn is_open(&self) -> bool {
        !self.assumed.is_empty()
    }

    /// Keeps how a set stood, so that it can be taken back.
    pub(super) fn keep(&mut self, set: Set, standing: &Standing) {
        if !self.assumed.is_empty() {
            self.kept.push((self.assumed.len(), set, standing.clone()));
        }
    }
}

impl Debug for Window {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("assumed", &self.assumed.len())
            .field("is_out", &self.is_out)
            .finish_non_exhaustive()
    }
}
