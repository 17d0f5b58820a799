//! What a run asks of the world, and what it gets back.

use std::sync::Arc;

use super::outcome::Outcome;
use crate::host::{Action, ActionResult, Chain, Place};
use crate::value::Value;

/// Something to be done on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// What.
    pub action: Action,
    /// Where.
    pub place: Place,
    /// What it is to the operation.
    pub part: Part,
    /// The executors that it asks for itself, after those of the job; none if any will do.
    pub chain: Option<Arc<Chain>>,
    /// The name of the host for the executors, if not that of the place.
    pub host: Option<String>,
}

/// What an effect is to its operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    /// It does what the operation is for: it goes through the executors, and where nobody has seen
    /// its end nobody knows whether the operation was done.
    #[default]
    Deed,
    /// It prepares that, or clears up after it.
    Help,
}

impl Effect {
    /// What an operation is for, at a place.
    pub fn at(place: Place, action: Action) -> Self {
        Self {
            action,
            place,
            part: Part::Deed,
            chain: None,
            host: None,
        }
    }

    /// What an operation is for, on this machine.
    pub fn here(action: Action) -> Self {
        Self::at(Place::Here, action)
    }
}

/// What came of it.
#[derive(Debug, Clone)]
pub enum EffectResult {
    /// An action was performed.
    Action(ActionResult),
    /// A subtask ended; none where there was nothing to do or it was passed over.
    Subtask(Option<Outcome>),
}

/// An operation that a task asks for, to be run as a task of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Subtask {
    /// `interface.operation`.
    pub operation: String,
    /// The instance's name; the task's own target if none.
    pub target: Option<Value>,
    /// Inputs over those of the operation; null for those of the task that asks.
    pub inputs: Value,
    /// Inputs of the task that asks which are for itself alone.
    pub control: &'static [&'static str],
}

/// What a run says comes next.
#[derive(Debug)]
pub enum Progress {
    /// Do this and come back with the result.
    Do(Box<Effect>),
    /// Run this task and come back with its outcome.
    Subtask(Subtask),
    /// It has ended.
    Done(Box<Outcome>),
}
