//! The results of actions: how they ended, what they printed, and what they read.
//!
//! Each kind of [`super::Action`] has its own type; [`ActionResult`] is any of them.

use std::fmt::{Debug, Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::fact::FactReading;
use super::{Action, CapturedOutput, Question};
use crate::value::{HIDDEN_OUTPUT, Secrets};

/// The result of an [`super::Action`]. Its variant corresponds to that of the action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActionResult {
    Run(RunOutput),
    /// The result of [`super::Action::Put`] or [`super::Action::Get`].
    Transfer(TransferOutput),
    Read(ReadOutput),
    Change(ChangeOutput),
    Private(PrivateOutput),
}

impl ActionResult {
    pub fn exit(&self) -> &Exit {
        match self {
            Self::Run(output) => &output.exit,
            Self::Transfer(output) => &output.exit,
            Self::Read(output) => &output.exit,
            Self::Change(output) => &output.exit,
            Self::Private(output) => &output.exit,
        }
    }

    /// Hides these secrets: in messages each of them, and each output that contains a form of one as a whole.
    ///
    /// The output of a command stays complete for expressions and is marked. Facts stay as they were read,
    /// because their readers parse them.
    pub fn hide(&mut self, secrets: &Secrets) {
        if secrets.is_empty() {
            return;
        }
        match self {
            Self::Run(output) => {
                output.exit.redact(secrets);
                if output.contains(secrets) {
                    output.mark_secret();
                }
            }
            Self::Transfer(output) => output.exit.redact(secrets),
            Self::Read(output) => output.exit.redact(secrets),
            Self::Private(output) => output.exit.redact(secrets),
            Self::Change(output) => {
                output.exit.redact(secrets);
                for output in &mut output.outputs {
                    output.exit.redact(secrets);
                    if output.contains(secrets) {
                        output.stdout = CapturedOutput::from_bytes(HIDDEN_OUTPUT);
                        output.stderr = CapturedOutput::from_bytes(HIDDEN_OUTPUT);
                    }
                }
            }
        }
    }

    pub fn elapsed(&self) -> Duration {
        match self {
            Self::Run(output) => output.elapsed,
            Self::Transfer(output) => output.elapsed,
            Self::Read(output) => output.elapsed,
            Self::Change(output) => output.elapsed,
            Self::Private(output) => output.elapsed,
        }
    }

    /// Creates the result of an action that never started, or whose end is unknown.
    pub fn not_performed(action: &Action, exit: Exit) -> Self {
        match action {
            Action::Run(_) | Action::Call(_) => Self::Run(RunOutput::not_run(exit)),
            Action::Put(_) | Action::Get(_) => Self::Transfer(TransferOutput {
                exit,
                files: 0,
                bytes: 0,
                surplus: Vec::new(),
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
            Action::Private(_) => Self::Private(PrivateOutput::not_done(exit)),
        }
    }
}

/// The result of a [`super::Action::Read`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOutput {
    /// Exit code 0 means that every fact has a reading.
    pub exit: Exit,
    /// The readings in the order of the facts. There are fewer if the connection was lost.
    pub readings: Vec<FactReading>,
    pub elapsed: Duration,
}

/// The result of a [`super::Action::Change`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeOutput {
    /// Exit code 0 if all changes were made; otherwise the exit of the change that failed.
    ///
    /// If the outcome of a change is unknown, for example because the connection was lost, this is
    /// the reason, and `outputs` has no entry for that change. The changes after it were not
    /// started.
    pub exit: Exit,
    /// The output of each completed change, in order. The last one may have failed.
    pub outputs: Vec<RunOutput>,
    pub elapsed: Duration,
}

/// The result of a [`super::Action::Private`]. [`Debug`] shows no contents.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateOutput {
    /// Exit code 0 means that all steps were done.
    pub exit: Exit,
    /// The path of the private folder; empty if there can be none.
    pub folder: PathBuf,
    /// The contents of the files read, in order. None for a file that does not exist.
    #[serde(skip)]
    pub contents: Vec<Option<Vec<u8>>>,
    pub elapsed: Duration,
}

impl PrivateOutput {
    /// Returns the output of work that was not done.
    pub fn not_done(exit: Exit) -> Self {
        Self {
            exit,
            folder: PathBuf::new(),
            contents: Vec::new(),
            elapsed: Duration::ZERO,
        }
    }
}

impl Debug for PrivateOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrivateOutput")
            .field("exit", &self.exit)
            .field("folder", &self.folder)
            .field("contents", &self.contents.len())
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}

/// The result of a [`super::Action::Put`] or [`super::Action::Get`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferOutput {
    /// Exit code 0 means that everything was transferred.
    pub exit: Exit,
    pub files: u64,
    /// The total size of these files.
    pub bytes: u64,
    /// The entries that the mirrored folder lacks: deleted from the target, or only named in a dry run.
    #[serde(default)]
    pub surplus: Vec<String>,
    pub elapsed: Duration,
}

/// The result of a [`super::Action::Run`], or of one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutput {
    pub exit: Exit,
    pub stdout: CapturedOutput,
    pub stderr: CapturedOutput,
    pub elapsed: Duration,
}

/// The way in which an action ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// The command ended by itself with this exit code.
    Code(i32),
    /// The command was ended by a signal that Unfurl did not send.
    Signal(i32),
    /// The command was ended because it exceeded its time limit.
    TimedOut,
    /// The action was cancelled, before or after it started.
    Cancelled,
    /// The program does not exist. The message names it.
    NotFound(String),
    /// The machine could not be reached, or refused the login. The message says why.
    Unreachable(String),
    /// The action did not start or was ended, because a question has no answer or a wrong one.
    #[serde(rename = "asked")]
    NeedsAnswer {
        question: Question,
        /// Whether an answer was given and rejected.
        refused: bool,
    },
    /// The action did not start, or its result was lost, for another reason.
    Failed(String),
}

impl Exit {
    /// Whether the exit code is 0.
    pub fn is_ok(&self) -> bool {
        *self == Self::Code(0)
    }

    /// Returns the exit code; 128 plus the number for a signal, as in a shell.
    ///
    /// None for any other end.
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

impl Exit {
    fn redact(&mut self, secrets: &Secrets) {
        if let Self::NotFound(message) | Self::Unreachable(message) | Self::Failed(message) = self {
            *message = secrets.redact(message);
        }
    }
}

impl Display for Exit {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
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
    fn contains(&self, secrets: &Secrets) -> bool {
        self.stdout.contains(secrets) || self.stderr.contains(secrets)
    }

    /// Marks both outputs as secret.
    pub fn mark_secret(&mut self) {
        self.stdout.mark_secret();
        self.stderr.mark_secret();
    }

    /// Returns true if nothing of the outputs may be shown or recorded.
    pub fn is_secret(&self) -> bool {
        self.stdout.is_secret() || self.stderr.is_secret()
    }

    /// Returns the output of a success that printed nothing.
    pub fn ok() -> Self {
        Self::not_run(Exit::Code(0))
    }

    /// Returns the output of a failure with this text on stderr.
    pub fn failed(text: impl Into<Vec<u8>>) -> Self {
        Self {
            stderr: CapturedOutput::from_bytes(text),
            ..Self::not_run(Exit::Code(1))
        }
    }

    /// Returns the output of a command that never ran.
    pub fn not_run(exit: Exit) -> Self {
        Self {
            exit,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            elapsed: Duration::ZERO,
        }
    }
}

/// An output stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Returns the exit of a failed change; none if it succeeded.
///
/// A command succeeds with exit code 0 or one of its `good_codes`.
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
    fn the_contents_of_private_files_are_neither_shown_nor_serialized() {
        let output = PrivateOutput {
            contents: vec![Some(b"hunter2".to_vec())],
            ..PrivateOutput::not_done(Exit::Code(0))
        };
        let json = serde_json::to_string(&output).unwrap();
        assert!(!format!("{output:?}{json}").contains("104"), "{json}");
    }

    #[test]
    fn a_result_survives_a_trip_through_json() {
        let result = ActionResult::Run(RunOutput {
            stdout: CapturedOutput::from_bytes("hi\n"),
            ..RunOutput::not_run(Exit::NotFound("`x` was not found".into()))
        });
        let json = serde_json::to_string(&result).unwrap();
        assert_eq!(serde_json::from_str::<ActionResult>(&json).unwrap(), result);
    }
}
