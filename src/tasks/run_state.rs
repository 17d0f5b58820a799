//! The state of running tasks.
//!
//! A [`TaskBatch`] is a task on all of its hosts, a [`HostTaskRun`] the same task on one host. The
//! engine refers to both by index.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use super::arguments::TaskArguments;
use super::failure::TaskFailure;
use super::host_list::HostList;
use super::step_cursor::StepCursor;
use super::task_env::TaskEnv;
use super::template::RenderedText;
use super::{HostScope, Steps, Task};
use crate::expr::Vars;
use crate::host::{AttemptCounter, DeferredOutput, TrialAnswers};
use crate::value::{Map, Value};

/// A task that is about to run, with its arguments and scope.
#[derive(Debug)]
pub(super) struct PlannedTask {
    pub(super) task: Arc<Task>,
    pub(super) arguments: Arc<TaskArguments>,
    pub(super) scope: HostScope,
    /// The index of the run that executes this task, if one does.
    pub(super) parent: Option<usize>,
}

/// A task on all of its hosts.
#[derive(Debug)]
pub(super) struct TaskBatch {
    pub(super) task: Arc<Task>,
    pub(super) arguments: Arc<TaskArguments>,
    pub(super) list: HostList,
    pub(super) parent: Option<usize>,
    pub(super) env: usize,
    /// Whether the hosts run at the same time, each with its own environment (F33).
    pub(super) parallel: bool,
    /// Whether the user may be asked while the batch runs.
    pub(super) may_prompt: bool,
    pub(super) depth: usize,
    /// The variables that all hosts share, with the environment that they were computed from.
    pub(super) shared_vars_cache: Option<(Arc<TaskEnv>, Vars)>,
    pub(super) width: usize,
    /// The number of hosts that have started.
    pub(super) started: usize,
    pub(super) running: usize,
    pub(super) failed: usize,
    pub(super) results: Map,
    /// The first failure that is not tolerated.
    pub(super) failure: Option<TaskFailure>,
    /// Whether the batch is already in the work queue.
    pub(super) is_queued: bool,
}

impl TaskBatch {
    /// Returns the number of runs: one per host, or one without hosts.
    pub(super) fn run_count(&self) -> usize {
        self.list.hosts.len().max(1)
    }
}

/// A result that a step has registered.
#[derive(Debug, Clone, Default)]
pub(super) struct RegisteredResult {
    pub(super) value: Value,
    /// The outputs in the result that expressions read on demand.
    pub(super) long_outputs: Vec<DeferredOutput>,
}

impl From<Value> for RegisteredResult {
    fn from(value: Value) -> Self {
        Self {
            value,
            long_outputs: Vec::new(),
        }
    }
}

/// A run of a task on one host.
#[derive(Debug)]
pub(super) struct HostTaskRun {
    pub(super) batch: usize,
    /// The host. None for a task without hosts.
    pub(super) host: Option<Arc<str>>,
    pub(super) env: usize,
    /// Whether the run has its own environment, so that other hosts do not see its changes.
    pub(super) owns_env: bool,
    /// The current step.
    pub(super) cursor: StepCursor,
    /// The last command of the run, for its result.
    pub(super) command: Option<RenderedText>,
    /// The failure that a block handles or has handled.
    pub(super) failure: Option<Value>,
    /// The result of the last attempt of a step with `until`.
    pub(super) attempt: Option<RegisteredResult>,
    /// The number of attempts to answer a question of the current step.
    pub(super) tries: AttemptCounter,
    /// The typed passwords that the run tries.
    pub(super) trials: TrialAnswers,
    pub(super) elapsed: Duration,
    /// The first failure that only caused a warning.
    pub(super) tolerated: Option<TaskFailure>,
    /// The results that steps have registered.
    pub(super) registered: IndexMap<Arc<str>, RegisteredResult>,
    /// The host that the user named where the task has none.
    pub(super) prompted_host: Option<Arc<str>>,
    /// The result of the task that the current step executes.
    pub(super) execute_result: Option<Result<Value, TaskFailure>>,
    pub(super) is_started: bool,
    /// The environment around the settings of the task. None if the task has no settings.
    pub(super) outer_env: Option<usize>,
}

impl HostTaskRun {
    pub(super) fn new(
        batch: usize,
        steps: &Steps,
        host: Option<Arc<str>>,
        (env, owns_env): (usize, bool),
    ) -> Self {
        Self {
            batch,
            host,
            env,
            owns_env,
            cursor: StepCursor::new(Arc::clone(steps)),
            command: None,
            failure: None,
            attempt: None,
            tries: AttemptCounter::default(),
            trials: TrialAnswers::default(),
            elapsed: Duration::ZERO,
            tolerated: None,
            registered: IndexMap::new(),
            prompted_host: None,
            execute_result: None,
            is_started: false,
            outer_env: None,
        }
    }

    /// Forgets everything about attempts of the current step.
    pub(super) fn begin_step(&mut self) {
        self.tries = AttemptCounter::default();
        self.execute_result = None;
        self.attempt = None;
    }

    /// Returns the host for the start of a message, or nothing without a host.
    pub(super) fn host_prefix(&self) -> String {
        let host = self.target();
        host.map_or(String::new(), |host| format!("[{host}] "))
    }

    /// Returns true if the current step has not begun for its current item.
    pub(super) fn is_step_new(&mut self) -> bool {
        let attempts = self.cursor.repetition().map_or(0, |it| it.attempts);
        self.tries.is_zero() && self.execute_result.is_none() && attempts == 0
    }

    /// Adds a result of the current step to those of its loop, together with the item.
    pub(super) fn record_item(&mut self, value: &Value) {
        let Some(repetition) = self.cursor.repetition() else {
            return;
        };
        let Some(item) = repetition
            .items
            .as_ref()
            .and_then(|items| items.get(repetition.index))
        else {
            return;
        };
        let mut entries = value
            .as_map()
            .cloned()
            .unwrap_or_else(|| Map::from_iter([("value".into(), value.clone())]));
        entries.insert("item".into(), item.clone());
        repetition.results.push(Value::from(entries));
    }

    /// Returns the host that the steps act on.
    pub(super) fn target(&self) -> Option<&Arc<str>> {
        self.host.as_ref().or(self.prompted_host.as_ref())
    }
}
