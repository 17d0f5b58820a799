//! What a run asks of the world, and what it gets back.

use std::sync::Arc;

use super::outcome::TaskOutcome;
use crate::host::{Action, ActionResult, ExecutorChain, Location};
use crate::value::Value;

/// Something to be done on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEffect {
    /// What.
    pub action: Action,
    /// Where.
    pub location: Location,
    /// What it is to the operation.
    pub role: EffectRole,
    /// The executors that it asks for itself, after those of the job; none if any will do.
    pub chain: Option<Arc<ExecutorChain>>,
    /// The name of the host for the executors, if not that of the place.
    pub host: Option<String>,
}

/// What an effect is to its operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EffectRole {
    /// It does what the operation is for: it goes through the executors, and where nobody has seen
    /// its end nobody knows whether the operation was done.
    #[default]
    Primary,
    /// It prepares that, or clears up after it.
    Auxiliary,
}

impl TaskEffect {
    /// What an operation is for, at a place.
    pub fn on(place: Location, action: Action) -> Self {
        Self {
            action,
            location: place,
            role: EffectRole::Primary,
            chain: None,
            host: None,
        }
    }

    /// What an operation is for, on this machine.
    pub fn on_local(action: Action) -> Self {
        Self::on(Location::Local, action)
    }
}

/// What came of it.
#[derive(Debug, Clone)]
pub enum EffectResult {
    /// An action was performed.
    Action(ActionResult),
    /// A subtask ended; none where there was nothing to do or it was passed over.
    Subtask(Option<TaskOutcome>),
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
pub enum RunStep {
    /// Do this and come back with the result.
    Perform(Box<TaskEffect>),
    /// Run this task and come back with its outcome.
    Subtask(Subtask),
    /// It has ended.
    Done(Box<TaskOutcome>),
}
