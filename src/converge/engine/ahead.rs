//! Changes of several consecutive states handed out as one list, each assuming that those before
//! it succeed.

use super::Engine;
use super::doing::Doing;
use super::graph::Set;
use super::setup::Next;
use super::standing::Standing;
use crate::converge::Facts;
use crate::host::RunOutput;

/// What is assumed.
#[derive(Debug, Default)]
pub(super) struct Window {}

/// What became of a state that may be assumed to succeed.
pub(super) enum Taken {
    /// It is assumed to have succeeded.
    Over,
    /// This comes first.
    Next(Next),
    /// It runs by itself.
    Alone,
}

impl Window {
    /// How many of so many results are certain.
    pub(super) fn certain(&self, results: usize) -> usize {
        results
    }

    /// Keeps how a set stood, so that it can be taken back.
    pub(super) fn keep(&mut self, _set: Set, _standing: &Standing) {}
}

impl Engine {
    pub(super) fn step_ahead(&mut self, _doing: &mut Doing, _facts: &mut Facts) -> Option<Taken> {
        None
    }

    pub(super) fn flushed(&mut self) -> Option<Next> {
        None
    }

    pub(super) fn window_changed(&mut self, _outputs: Vec<RunOutput>, _facts: &mut Facts) {}
}
