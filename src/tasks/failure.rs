//! Why a task failed on a host, and whether that may be tolerated.

use crate::host::{ActionResult, Exit, RunOutput};
use crate::value::Secrets;

/// How many characters of a last line are shown.
const MAX_LAST_LINE_CHARS: usize = 300;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskFailureKind {
    /// A command or a transfer did not succeed.
    Step,
    /// The host could not be reached.
    Unreachable,
    /// The task itself is at fault, such as by a name that is not defined.
    InvalidTask,
    /// Something had to be asked, and nobody could be.
    NeedsInput,
    /// The task says so (F39).
    Abort,
    /// Somebody asked for an end.
    Interrupted,
}

/// Why a task failed on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskFailure {
    pub(super) kind: TaskFailureKind,
    /// In a line.
    pub(super) reason: String,
    /// The last line that was written.
    pub(super) last_line: Option<String>,
}

impl TaskFailure {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand over errors and texts alike"
    )]
    pub(super) fn new(kind: TaskFailureKind, reason: impl ToString) -> Self {
        Self {
            kind,
            reason: reason.to_string(),
            last_line: None,
        }
    }

    pub(super) fn invalid_task(reason: impl ToString) -> Self {
        Self::new(TaskFailureKind::InvalidTask, reason)
    }

    pub(super) fn interrupted() -> Self {
        Self::new(TaskFailureKind::Interrupted, "interrupted")
    }

    /// The failure of an action that did not succeed.
    pub(super) fn from_action(result: &ActionResult, secrets: &Secrets) -> Self {
        let exit = result.exit();
        let kind = match exit {
            Exit::Unreachable(_) => TaskFailureKind::Unreachable,
            Exit::NeedsAnswer { .. } => TaskFailureKind::NeedsInput,
            _ => TaskFailureKind::Step,
        };
        let last_line = match result {
            ActionResult::Run(output) => last_line(output),
            ActionResult::Transfer(_) | ActionResult::Read(_) => None,
            ActionResult::Change(changed) => changed.outputs.last().and_then(last_line),
        };
        Self {
            kind,
            reason: secrets.redact(&exit.to_string()),
            last_line: last_line.map(|line| secrets.redact(&line)),
        }
    }

    /// Whether no setting makes it good.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self.kind,
            TaskFailureKind::Abort | TaskFailureKind::Interrupted
        )
    }
}

/// The last line that is not empty: of the errors, or else of what was printed.
fn last_line(output: &RunOutput) -> Option<String> {
    let last = |text: &str| {
        let line = text
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty());
        line.map(|line| line.chars().take(MAX_LAST_LINE_CHARS).collect())
    };
    last(&output.stderr.text()).or_else(|| last(&output.stdout.text()))
}
