//! One state on its way from its conditions to its result, and how far it has come.

use super::setup::Stamp;
use crate::converge::facts::domains;
use crate::converge::{ChunkIndex, Finish, Outcome, Verdict};
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::host::{Exit, RunOutput};
use crate::value::Map;

/// What a function is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To bring its state about; `watched` if something that it watches has changed.
    Run { watched: bool },
    /// To react to what it watches, after it changed nothing itself (S23).
    Watch,
    /// To react to what it listens to, at the end (S30).
    Listen,
    /// To say what it would do (S24). The answer counts for `of`; `watched` if it would react.
    Test { of: ChunkIndex, watched: bool },
}

impl Purpose {
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
pub(super) struct Doing {
    pub(super) chunk: ChunkIndex,
    pub(super) purpose: Purpose,
    pub(super) stage: Stage,
    /// The arguments, where several calls were made one.
    pub(super) args: Option<Map>,
    /// Its number, if it has one before it ends.
    pub(super) number: Option<u32>,
    pub(super) begun: Stamp,
    pub(super) attempts: i64,
    /// What the attempts before said.
    pub(super) notes: Vec<String>,
    pub(super) doubtful: bool,
    pub(super) warnings: Vec<String>,
}

/// How far it has come.
pub(super) enum Stage {
    /// Its conditions and its function are asked.
    Decide,
    /// Its function is asked; its conditions are met.
    Ask,
    /// Its changes are made.
    Acting(Acting),
    /// What came of them is judged.
    Judge(Acting, Vec<RunOutput>),
    /// `check_cmd` is asked.
    Check(Outcome),
    /// It waits for the next attempt.
    Asleep,
}

/// Changes on their way.
pub(super) struct Acting {
    pub(super) touched: Vec<Domain>,
    /// The exit codes that are no failure, for each step.
    pub(super) good: Vec<Vec<i32>>,
    pub(super) finish: Finish,
}

impl Acting {
    pub(super) fn of(steps: &[Change], finish: Finish) -> Self {
        let good = |change: &Change| match change {
            Change::Run(run) => run.good_codes.clone(),
            _ => Vec::new(),
        };
        Self {
            touched: steps.iter().flat_map(domains).collect(),
            good: steps.iter().map(good).collect(),
            finish,
        }
    }

    /// The place of the first step that did not succeed, if any.
    pub(super) fn failure(&self, outputs: &[RunOutput]) -> Option<usize> {
        for (place, good) in self.good.iter().enumerate() {
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
pub(super) fn complaint(output: Option<&RunOutput>) -> String {
    let Some(output) = output else {
        return "the change was not made".to_owned();
    };
    let texts = [&output.stderr.head, &output.stdout.head];
    let mut said = texts
        .into_iter()
        .map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    match (&output.exit, said.find(|text| !text.is_empty())) {
        (Exit::Code(_) | Exit::Signal(_), Some(text)) => text,
        (exit, Some(text)) => format!("{exit}: {text}"),
        (exit, None) => exit.to_string(),
    }
}

/// Whose changes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The state in the order of things.
    Main,
    /// One beside it.
    Beside(usize),
    /// Several states, each assuming that those before it succeed.
    Window,
}

/// What was decided.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is made"
)]
pub(super) enum Decided {
    /// It is not to run.
    Skip(Outcome),
    /// It cannot run; nothing else is asked.
    Wrong(Outcome),
    /// Its conditions are met, and it runs beside others.
    Parallel,
    /// What its function says.
    Said(Verdict, Vec<String>),
}

impl Doing {
    pub(super) fn new(chunk: ChunkIndex, purpose: Purpose, now: Stamp) -> Self {
        Self {
            chunk,
            purpose,
            stage: Stage::Decide,
            args: None,
            number: None,
            begun: now,
            attempts: 0,
            notes: Vec::new(),
            doubtful: false,
            warnings: Vec::new(),
        }
    }
}
