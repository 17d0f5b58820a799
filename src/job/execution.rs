//! The tasks of a job that run, and the effects that are to be performed for them.

use std::collections::{BTreeSet, VecDeque};

use super::schedule::Exclusive;
use super::task::TaskIndex;
use crate::task::Effect;

/// The tasks that run.
#[derive(Debug, Default)]
pub(super) struct Execution {
    /// The tasks whose effects are performed.
    pub(super) running: BTreeSet<TaskIndex>,
    /// The effects that are to be performed next.
    pub(super) effects: VecDeque<(TaskIndex, Box<Effect>)>,
    pub(super) exclusive: Exclusive,
}

impl Execution {
    /// How many tasks run or are about to.
    pub(super) fn count(&self) -> usize {
        self.running.len() + self.effects.len()
    }
}
