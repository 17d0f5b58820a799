//! The steps that a run of an operation requests from the engine, and their results.

use std::sync::Arc;

use super::outcome::TaskOutcome;
use crate::host::{Action, ActionResult, ExecutorChain, Location};
use crate::value::Value;

/// An action to perform on a machine on behalf of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEffect {
    pub action: Action,
    pub location: Location,
    pub role: EffectRole,
    /// Executors that this effect adds after those of the job. None if the job's are enough.
    pub chain: Option<Arc<ExecutorChain>>,
    /// The host name that executors receive, if it differs from that of `location`.
    pub host: Option<String>,
}

/// The role of an effect within its operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EffectRole {
    /// The effect does the operation's own work.
    ///
    /// It passes through the executors. If the job is cut off before its end is seen, the operation is in
    /// doubt.
    #[default]
    Primary,
    /// The effect prepares the primary one or cleans up after it.
    Auxiliary,
}

impl TaskEffect {
    /// Returns a primary effect at a location.
    pub fn on(place: Location, action: Action) -> Self {
        Self {
            action,
            location: place,
            role: EffectRole::Primary,
            chain: None,
            host: None,
        }
    }

    /// Returns a primary effect on this machine.
    pub fn on_local(action: Action) -> Self {
        Self::on(Location::Local, action)
    }
}

/// The result of a step that a run has requested.
#[derive(Debug, Clone)]
pub enum EffectResult {
    Action(ActionResult),
    /// The outcome of a subtask, or None if there was nothing to do or the subtask was skipped.
    Subtask(Option<TaskOutcome>),
}

/// An operation that a task requests to be run as a task of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Subtask {
    /// The operation, written as `interface.operation`.
    pub operation: String,
    /// The instance to act on, by name. None stands for the task's own target.
    pub target: Option<Value>,
    /// Inputs that override those of the operation. Null passes on the requesting task's inputs.
    pub inputs: Value,
    /// Names of the requesting task's inputs that are not passed on.
    pub control: &'static [&'static str],
}

/// The progress of a running command, as its run understands a line of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunProgress {
    /// The message for users, without secrets.
    pub message: String,
    /// True if most users do not need the message.
    pub is_detail: bool,
    /// True if the message must not be forgotten when the job is killed. It is durable before the job goes on, and part of
    /// the record of a task in doubt.
    pub is_durable: bool,
}

/// The next step that a run requests.
#[derive(Debug)]
pub enum RunStep {
    /// Perform this effect and call `step` with its result.
    Perform(Box<TaskEffect>),
    /// Run this subtask and call `step` with its outcome.
    Subtask(Subtask),
    Done(Box<TaskOutcome>),
}
