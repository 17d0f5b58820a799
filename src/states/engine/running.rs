//! One state on its way from its conditions to its result, and how far it has come.

use super::options::Timestamp;
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::host::{Exit, RunOutput};
use crate::states::fact_cache::touched_domains;
use crate::states::{ChangeOutcome, ChunkIndex, StateDecision, StateOutcome};
use crate::value::Map;

/// What a function is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPurpose {
    /// To bring its state about; `watched` if something that it watches has changed.
    Run { watched: bool },
    /// To react to what it watches, after it changed nothing itself (S23).
    Watch,
    /// To react to what it listens to, at the end (S30).
    Listen,
    /// To say what it would do (S24). The answer counts for `of`; `watched` if it would react.
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

/// A state on its way.
pub(super) struct RunningState {
    pub(super) chunk: ChunkIndex,
    pub(super) purpose: CallPurpose,
    pub(super) stage: RunStage,
    /// The arguments, where several calls were made one.
    pub(super) args: Option<Map>,
    /// Its number, if it has one before it ends.
    pub(super) number: Option<u32>,
    pub(super) started: Timestamp,
    pub(super) attempts: i64,
    /// What the attempts before said.
    pub(super) notes: Vec<String>,
    pub(super) doubtful: bool,
    pub(super) warnings: Vec<String>,
}

/// How far it has come.
pub(super) enum RunStage {
    /// Its conditions and its function are asked.
    Decide,
    /// Its function is asked; its conditions are met.
    CallFunction,
    /// Its changes are made.
    Applying(PendingChanges),
    /// What came of them is judged.
    Evaluate(PendingChanges, Vec<RunOutput>),
    /// `check_cmd` is asked.
    CheckCmd(StateOutcome),
    /// It waits for the next attempt.
    RetryPause,
}

/// Changes on their way.
pub(super) struct PendingChanges {
    pub(super) touched: Vec<Domain>,
    /// The exit codes that are no failure, for each step.
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

    /// The place of the first step that did not succeed, if any.
    pub(super) fn first_failure(&self, outputs: &[RunOutput]) -> Option<usize> {
        for (place, good) in self.success_codes.iter().enumerate() {
            match outputs.get(place) {
                Some(output) if is_good(output, good) => {}
                _ => return Some(place),
            }
        }
        None
    }
}

fn is_good(output: &RunOutput, good: &[i32]) -> bool {
    output.exit.is_ok() || output.exit.code().is_some_and(|code| good.contains(&code))
}

/// What a failed step says: its complaint, else what it printed, else how it ended.
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

/// Whose changes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActionOwner {
    /// The state in the order of things.
    Main,
    /// One beside it.
    Parallel(usize),
    /// Several states, each assuming that those before it succeed.
    Batch,
}

/// What was decided.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is made"
)]
pub(super) enum RunDecision {
    /// It is not to run.
    Skip(StateOutcome),
    /// It cannot run; nothing else is asked.
    Invalid(StateOutcome),
    /// Its conditions are met, and it runs beside others.
    Parallel,
    /// What its function says.
    Evaluated(StateDecision, Vec<String>),
}

impl RunningState {
    pub(super) fn new(chunk: ChunkIndex, purpose: CallPurpose, now: Timestamp) -> Self {
        Self {
            chunk,
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
