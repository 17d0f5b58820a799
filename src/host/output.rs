//! What an action gave.

use std::fmt::{Display, Formatter};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::fact::FactReading;
use super::{Action, CapturedOutput, Question};

/// The result of an [`super::Action`], of the same kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActionResult {
    /// What a command gave.
    Run(RunOutput),
    /// What a transfer gave.
    Transfer(TransferOutput),
    /// What was read.
    Read(ReadOutput),
    /// What changes gave.
    Change(ChangeOutput),
}

impl ActionResult {
    /// How it ended.
    pub fn exit(&self) -> &Exit {
        match self {
            Self::Run(output) => &output.exit,
            Self::Transfer(output) => &output.exit,
            Self::Read(output) => &output.exit,
            Self::Change(output) => &output.exit,
        }
    }

    /// How long it took.
    pub fn elapsed(&self) -> Duration {
        match self {
            Self::Run(output) => output.elapsed,
            Self::Transfer(output) => output.elapsed,
            Self::Read(output) => output.elapsed,
            Self::Change(output) => output.elapsed,
        }
    }

    /// The result of an action that never began, or whose end nobody has seen.
    pub fn not_performed(action: &Action, exit: Exit) -> Self {
        match action {
            Action::Run(_) => Self::Run(RunOutput::not_run(exit)),
            Action::Put(_) | Action::Get(_) => Self::Transfer(TransferOutput {
                exit,
                files: 0,
                bytes: 0,
                elapsed: Duration::ZERO,
            }),
            Action::Read(_) => Self::Read(ReadOutput {
                exit,
                readings: Vec::new(),
                elapsed: Duration::ZERO,
            }),
            Action::Change(_) => Self::Change(ChangeOutput {
                exit,
                outputs: Vec::new(),
                elapsed: Duration::ZERO,
            }),
        }
    }
}

/// What was read of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOutput {
    /// How it ended; code 0 if there is a reading for each fact.
    pub exit: Exit,
    /// What was read, in the order of the facts; fewer than those if the machine was lost.
    pub readings: Vec<FactReading>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What changes gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeOutput {
    /// How it ended: code 0 if all was changed, the exit of the change that failed, or why nobody
    /// knows what became of the first that has no output, such as [`Exit::Failed`] for a machine
    /// that was lost. Those after it were not begun.
    pub exit: Exit,
    /// What each change gave that came to its end, in order. The last of them may have failed.
    pub outputs: Vec<RunOutput>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a transfer gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferOutput {
    /// How it ended; code 0 if all is there.
    pub exit: Exit,
    /// How many files were transferred.
    pub files: u64,
    /// How many bytes they have together.
    pub bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a command gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutput {
    /// How it ended.
    pub exit: Exit,
    /// What it printed.
    pub stdout: CapturedOutput,
    /// What it complained.
    pub stderr: CapturedOutput,
    /// How long it took.
    pub elapsed: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// By us, for it ran too long.
    TimedOut,
    /// By us, for it was cancelled; or it was cancelled before it began.
    Cancelled,
    /// It never began: there is no such program. The message names it.
    NotFound(String),
    /// It never began: the machine could not be reached, or let nobody in. The message says why.
    Unreachable(String),
    /// It never began, or was ended by us, for something was asked that nobody has answered, or
    /// not rightly.
    #[serde(rename = "asked")]
    NeedsAnswer {
        /// What was asked.
        question: Question,
        /// Whether an answer was given and refused.
        refused: bool,
    },
    /// It never began, or was lost, for another reason.
    Failed(String),
}

impl Exit {
    /// Whether it succeeded.
    pub fn is_ok(&self) -> bool {
        *self == Self::Code(0)
    }

    /// The exit code, as a shell gives it for a signal; none if it has none.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(*code),
            Self::Signal(signal) => Some(128 + signal),
            Self::TimedOut
            | Self::Cancelled
            | Self::NotFound(_)
            | Self::Unreachable(_)
            | Self::NeedsAnswer { .. }
            | Self::Failed(_) => None,
        }
    }
}

impl Display for Exit {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
            Self::TimedOut => f.write_str("ran too long"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::NotFound(message) | Self::Unreachable(message) | Self::Failed(message) => {
                f.write_str(message)
            }
            Self::NeedsAnswer {
                question,
                refused: true,
            } => write!(f, "{question} was refused"),
            Self::NeedsAnswer { question, .. } => write!(f, "needs {question}"),
        }
    }
}

impl RunOutput {
    /// The output of what succeeded and said nothing.
    pub fn ok() -> Self {
        Self::not_run(Exit::Code(0))
    }

    /// The output of what failed with a complaint.
    pub fn failed(text: impl Into<Vec<u8>>) -> Self {
        Self {
            stderr: CapturedOutput::of(text),
            ..Self::not_run(Exit::Code(1))
        }
    }

    /// The output of a command that never ran.
    pub fn not_run(exit: Exit) -> Self {
        Self {
            exit,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            elapsed: Duration::ZERO,
        }
    }
}

/// Which of its two outputs a command wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// What it prints.
    Stdout,
    /// What it complains.
    Stderr,
}

/// How a change ended that failed; none for one that did not.
pub(crate) fn change_failure(change: &Change, output: &RunOutput) -> Option<Exit> {
    let exit = &output.exit;
    let is_good = match (change, exit) {
        (Change::Run(run), Exit::Code(code)) => *code == 0 || run.good_codes.contains(code),
        _ => exit.is_ok(),
    };
    (!is_good).then(|| exit.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_zero_is_success() {
        assert!(Exit::Code(0).is_ok());
        assert!(!Exit::TimedOut.is_ok());
        assert_eq!(Exit::Signal(9).code(), Some(137));
        assert_eq!(Exit::Signal(15).to_string(), "ended by signal 15");
    }

    #[test]
    fn a_result_survives_a_trip_through_json() {
        let result = ActionResult::Run(RunOutput {
            stdout: CapturedOutput::of("hi\n"),
            ..RunOutput::not_run(Exit::NotFound("`x` was not found".into()))
        });
        let json = serde_json::to_string(&result).unwrap();
        assert_eq!(serde_json::from_str::<ActionResult>(&json).unwrap(), result);
    }
}
