//! A running state: one chunk between the start of its conditions and its result, and the stage it has
//! reached.

use std::sync::{Arc, OnceLock};

use super::options::Timestamp;
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::host::{Exit, RunOutput};
use crate::states::fact_cache::touched_domains;
use crate::states::{ChangeOutcome, ChunkIndex, StateDecision, StateOutcome};
use crate::value::Map;

/// The purpose of a function call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPurpose {
    /// To apply the state. `watched` says whether a watched state has changed.
    Run { watched: bool },
    /// To react to a change of a watched state, after the state itself changed nothing (S23).
    Watch,
    /// To react at the end of the run to a change of a state in `listen` (S30).
    Listen,
    /// To predict what the state would do (S24). The result is recorded for the chunk `of`; `watched` says
    /// whether the state would react to a watched change.
    Test { of: ChunkIndex, watched: bool },
}

impl CallPurpose {
    pub(super) fn test_of(chunk: ChunkIndex) -> Self {
        Self::Test {
            of: chunk,
            watched: false,
        }
    }

    pub(super) fn is_test(self) -> bool {
        matches!(self, Self::Test { .. })
    }
}

/// A state that is being run.
pub(super) struct RunningState {
    pub(super) chunk: ChunkIndex,
    /// The name of the state, if a slot stands for it and was evaluated.
    pub(super) name: OnceLock<Arc<str>>,
    pub(super) purpose: CallPurpose,
    pub(super) stage: RunStage,
    /// The joined arguments, if the call is aggregated.
    pub(super) args: Option<Map>,
    /// The run number, if it is assigned before the state ends.
    pub(super) number: Option<u32>,
    pub(super) started: Timestamp,
    pub(super) attempts: i64,
    /// The comments of earlier attempts, which the final comment repeats.
    pub(super) notes: Vec<String>,
    pub(super) doubtful: bool,
    pub(super) warnings: Vec<String>,
}

/// The stage that a running state has reached.
pub(super) enum RunStage {
    /// The conditions and the function are to be evaluated.
    Decide,
    /// The conditions are met. The function is to be called.
    CallFunction,
    /// The requested changes are being made.
    Applying(PendingChanges),
    /// The changes have ended. Their outputs are to be evaluated.
    Evaluate(PendingChanges, Vec<RunOutput>),
    /// The outcome is known. `check_cmd` is to be evaluated.
    CheckCmd(StateOutcome),
    /// The state pauses before its next attempt.
    RetryPause,
}

/// Changes that are being made for a state.
pub(super) struct PendingChanges {
    pub(super) touched: Vec<Domain>,
    /// For each change, the additional exit codes that count as success.
    pub(super) success_codes: Vec<Vec<i32>>,
    pub(super) finish: ChangeOutcome,
}

impl PendingChanges {
    pub(super) fn of(steps: &[Change], finish: ChangeOutcome) -> Self {
        let good = |change: &Change| match change {
            Change::Run(run) => run.good_codes.clone(),
            _ => Vec::new(),
        };
        Self {
            touched: steps.iter().flat_map(touched_domains).collect(),
            success_codes: steps.iter().map(good).collect(),
            finish,
        }
    }

    /// The index of the first change that did not succeed, if any. A change without output counts as failed.
    pub(super) fn first_failure(&self, outputs: &[RunOutput]) -> Option<usize> {
        for (place, good) in self.success_codes.iter().enumerate() {
            match outputs.get(place) {
                Some(output) if is_success(output, good) => {}
                _ => return Some(place),
            }
        }
        None
    }
}

fn is_success(output: &RunOutput, good: &[i32]) -> bool {
    output.exit.is_ok() || output.exit.code().is_some_and(|code| good.contains(&code))
}

/// The comment for a failed change: its standard error, or else its standard output, or else how it ended.
pub(super) fn failure_message(output: Option<&RunOutput>) -> String {
    let Some(output) = output else {
        return "the change was not made".to_owned();
    };
    let texts = [&output.stderr.head, &output.stdout.head];
    let mut messages = texts
        .into_iter()
        .map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    match (&output.exit, messages.find(|text| !text.is_empty())) {
        (Exit::Code(_) | Exit::Signal(_), Some(text)) => text,
        (exit, Some(text)) => format!("{exit}: {text}"),
        (exit, None) => exit.to_string(),
    }
}

/// The owner of a requested action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActionOwner {
    /// The state that runs in sequence.
    Main,
    /// A parallel state, by its index.
    Parallel(usize),
    /// The batch, whose changes belong to several states.
    Batch,
}

/// The decision about a running state.
#[expect(
    clippy::large_enum_variant,
    reason = "the value is destructured right after it is made"
)]
pub(super) enum RunDecision {
    /// A condition says that the state is not to run.
    Skip(StateOutcome),
    /// The function cannot be called. `check_cmd` and `retry` do not apply.
    Invalid(StateOutcome),
    /// The conditions are met, and the state continues in parallel.
    Parallel,
    /// The decision of the function, and the warnings about its arguments.
    Evaluated(StateDecision, Vec<String>),
}

impl RunningState {
    pub(super) fn new(chunk: ChunkIndex, purpose: CallPurpose, now: Timestamp) -> Self {
        Self {
            chunk,
            name: OnceLock::new(),
            purpose,
            stage: RunStage::Decide,
            args: None,
            number: None,
            started: now,
            attempts: 0,
            notes: Vec::new(),
            doubtful: false,
            warnings: Vec::new(),
        }
    }
}
