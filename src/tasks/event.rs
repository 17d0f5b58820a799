//! The events of a run of tasks, for views.
//!
//! The engine collects [`HostEvent`]s with secrets redacted; `fleet::tasks` passes them to the
//! view.

use std::sync::Arc;
use std::time::Duration;

use crate::host::{Question, Stream, TransferAmount};
use crate::value::{Map, Value};

/// The name of a task. A command without a task has the name of its first word.
pub type TaskName = Arc<str>;

/// An event of a run.
///
/// Hosts are named as written in host strings. `None` stands for a task that runs without hosts.
#[derive(Debug, Clone, PartialEq)]
pub enum HostEvent {
    /// A task starts on all of its hosts.
    TaskStarted {
        /// The name of the task, including namespaces.
        task: TaskName,
        /// The hosts in order. Empty if the task runs once without a host.
        hosts: Vec<Arc<str>>,
        /// The number of hosts that run at the same time.
        width: usize,
    },
    /// A task starts on one host.
    HostStarted {
        /// The name of the task, including namespaces.
        task: TaskName,
        /// The host, or None without hosts.
        host: Option<Arc<str>>,
    },
    /// A step starts. Its text contains no secrets.
    Step {
        /// The host, or None without hosts.
        host: Option<Arc<str>>,
        /// The text, such as `run: uptime`.
        text: String,
    },
    /// A command wrote output.
    ///
    /// Secrets are redacted already. A piece may end anywhere, even within a character.
    Output {
        /// The host, or None without hosts.
        host: Option<Arc<str>>,
        /// The output that was written to.
        stream: Stream,
        /// The bytes, which need not be complete lines.
        bytes: Vec<u8>,
    },
    /// A transfer is running, and has copied this amount so far.
    Progress {
        /// The host, or None without hosts.
        host: Option<Arc<str>>,
        amount: TransferAmount,
    },
    /// The action of a step has ended, so that its output is complete.
    StepFinished {
        /// The host, or None without hosts.
        host: Option<Arc<str>>,
    },
    /// A task has ended on one host.
    HostFinished(HostEnd),
    /// A task has ended on all of its hosts.
    TaskFinished {
        /// The name of the task, including namespaces.
        task: TaskName,
    },
    /// An answer is needed, and the user cannot be asked.
    InputNeeded {
        /// The host, or None without hosts.
        host: Option<Arc<str>>,
        /// The question that has no answer.
        question: Question,
    },
    /// An `echo` step of a task prints a message.
    Message {
        /// The host, or None without hosts.
        host: Option<Arc<str>>,
        /// The text of the message, with secrets redacted.
        text: String,
    },
    /// A warning for the user of the run.
    Warning(String),
    /// The reason why the run cannot go on.
    Error(String),
}

/// The end of a task on one host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEnd {
    pub task: TaskName,
    pub host: Option<Arc<str>>,
    pub outcome: HostOutcome,
    pub elapsed: Duration,
    /// The results that steps have registered, without secrets.
    pub registered: Map,
    /// The value that the task returns, without secrets.
    pub returned: Value,
}

/// The outcome of a task on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostOutcome {
    /// The task succeeded without a known change.
    Ok,
    /// The task succeeded and changed something.
    Changed,
    /// A step of the task failed.
    Failed {
        /// The reason in one line, such as `exit code 3`.
        reason: String,
        /// The last line that the command wrote, if any.
        last_line: Option<String>,
        /// Whether the failure does not fail the run.
        tolerated: bool,
    },
    /// The task did not run on this host.
    Skipped {
        /// The reason in one line of text.
        reason: String,
    },
    /// The host could not be reached.
    Unreachable {
        /// The reason in one line of text.
        reason: String,
        /// Whether the failure does not fail the run.
        tolerated: bool,
    },
}
