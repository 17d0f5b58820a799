//! Failures of a task on a host.
//!
//! The kind of a [`TaskFailure`] decides whether `warn_only` or `skip_bad_hosts` can tolerate it.

use crate::host::{ActionResult, Exit, RunOutput};
use crate::text::OutputFilter;
use crate::value::{HIDDEN_OUTPUT, Secrets, Value};

/// The maximum length of a last line that is shown, in characters.
const MAX_LAST_LINE_CHARS: usize = 300;

/// The kinds of task failures, which decide whether a failure can be tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskFailureKind {
    /// A command or a transfer did not succeed.
    Step,
    /// The host could not be reached.
    Unreachable,
    /// The task definition is at fault, for example by using an undefined name.
    InvalidTask,
    /// A question could not be asked or was not answered.
    NeedsInput,
    /// A step of the task aborted the run (F39).
    Abort,
    Interrupted,
}

/// The failure of a task on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskFailure {
    pub(super) kind: TaskFailureKind,
    /// The reason in one line of text.
    pub(super) reason: String,
    /// The last line that the command wrote.
    pub(super) last_line: Option<String>,
}

impl TaskFailure {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass errors as well as strings"
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

    /// Returns the failure of an action that did not succeed.
    pub(super) fn from_action(result: &ActionResult, secrets: &Secrets) -> Self {
        let exit = result.exit();
        let kind = match exit {
            Exit::Unreachable(_) => TaskFailureKind::Unreachable,
            Exit::NeedsAnswer { .. } => TaskFailureKind::NeedsInput,
            _ => TaskFailureKind::Step,
        };
        let last_line = match result {
            ActionResult::Run(output) => last_line(output),
            ActionResult::Transfer(_) | ActionResult::Read(_) | ActionResult::Private(_) => None,
            ActionResult::Change(changed) => changed.outputs.last().and_then(last_line),
        };
        Self {
            kind,
            reason: secrets.redact(&exit.to_string()),
            last_line: last_line.map(|line| secrets.redact(&line)),
        }
    }

    /// Returns the failure as templates see it.
    pub(super) fn to_value(&self) -> Value {
        let line = self.last_line.as_deref();
        Value::map([
            ("reason", Value::from(self.reason.as_str())),
            ("last_line", line.map_or(Value::Null, Into::into)),
        ])
        .data()
    }

    /// Returns true if the section `rescue` of a block can handle the failure.
    pub(super) fn can_be_rescued(&self) -> bool {
        !self.is_final() && self.kind != TaskFailureKind::Unreachable
    }

    /// Returns true if the section `always` of a block runs after the failure.
    ///
    /// Nothing more runs on a host that cannot be reached, or after an interruption.
    pub(super) fn is_followed_by_always(&self) -> bool {
        !matches!(
            self.kind,
            TaskFailureKind::Unreachable | TaskFailureKind::Interrupted
        )
    }

    /// Whether no setting (`warn_only`) can tolerate the failure.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self.kind,
            TaskFailureKind::Abort | TaskFailureKind::Interrupted
        )
    }
}

/// Returns the last non-empty line of the error output, or else of the standard output.
///
/// Instead of output with a secret, a line says that it is hidden.
fn last_line(output: &RunOutput) -> Option<String> {
    if output.is_secret() {
        return Some(HIDDEN_OUTPUT.to_owned());
    }
    let last = |text: &str| {
        let text = OutputFilter::plain(text);
        let line = text
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty());
        line.map(|line| line.chars().take(MAX_LAST_LINE_CHARS).collect())
    };
    last(&output.stderr.text()).or_else(|| last(&output.stdout.text()))
}
