//! What happens while tasks run, for those who watch.

use std::sync::Arc;
use std::time::Duration;

use crate::host::{Question, Stream};

/// The name of a task; a command without a task has that of its first word.
pub type TaskName = Arc<str>;

/// Something that happened. A host is named as it was written; none is for a task that runs
/// without hosts.
#[derive(Debug, Clone, PartialEq)]
pub enum HostEvent {
    /// A task begins on all of its hosts.
    TaskStarted {
        /// The task.
        task: TaskName,
        /// Its hosts, in order; empty if it runs once and without.
        hosts: Vec<Arc<str>>,
        /// How many of them it runs on at a time.
        width: usize,
    },
    /// A task begins on a host.
    HostStarted {
        /// The task.
        task: TaskName,
        /// The host.
        host: Option<Arc<str>>,
    },
    /// A step begins: what it does, in words, without secrets.
    Step {
        /// The host.
        host: Option<Arc<str>>,
        /// Such as `run: uptime`.
        text: String,
    },
    /// A command wrote something. Secrets are taken out already; a piece may end anywhere.
    Output {
        /// The host.
        host: Option<Arc<str>>,
        /// Which of its outputs.
        stream: Stream,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A task has ended on a host.
    HostFinished(HostEnd),
    /// A task has ended on all of its hosts.
    TaskFinished {
        /// The task.
        task: TaskName,
    },
    /// Something is needed that nobody can be asked for.
    InputNeeded {
        /// The host.
        host: Option<Arc<str>>,
        /// What.
        question: Question,
    },
    /// A task says something.
    Message {
        /// The host.
        host: Option<Arc<str>>,
        /// What.
        text: String,
    },
    /// People should know this.
    Warning(String),
    /// The run cannot go on, for this reason.
    Error(String),
}

/// How a task went on a host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEnd {
    /// The task.
    pub task: TaskName,
    /// The host.
    pub host: Option<Arc<str>>,
    /// What came of it.
    pub outcome: HostOutcome,
    /// How long it took.
    pub elapsed: Duration,
}

/// What came of a task on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostOutcome {
    /// All went well, and nothing is known to have changed.
    Ok,
    /// All went well, and something was changed.
    Changed,
    /// Something failed.
    Failed {
        /// Why, in a line: `exit code 3`.
        reason: String,
        /// The last line that it wrote, if it wrote any.
        last_line: Option<String>,
        /// Whether it counts as a failure of the run.
        tolerated: bool,
    },
    /// It did not run there.
    Skipped {
        /// Why, in a line.
        reason: String,
    },
    /// The host could not be reached.
    Unreachable {
        /// Why, in a line.
        reason: String,
        /// Whether it counts as a failure of the run.
        tolerated: bool,
    },
}
