//! Tasks that run: on all their hosts, and on one of them.

use std::sync::Arc;
use std::time::Duration;

use super::arguments::TaskArguments;
use super::failure::TaskFailure;
use super::host_list::HostList;
use super::task_env::TaskEnv;
use super::{HostScope, Task};
use crate::expr::Vars;
use crate::host::AttemptCounter;
use crate::value::{Map, Value};

/// A task that is to run: what it is given, and where.
#[derive(Debug)]
pub(super) struct PlannedTask {
    pub(super) task: Arc<Task>,
    pub(super) arguments: Arc<TaskArguments>,
    pub(super) scope: HostScope,
    /// The one who executes it.
    pub(super) parent: Option<usize>,
}

/// A task on its hosts.
#[derive(Debug)]
pub(super) struct TaskBatch {
    pub(super) task: Arc<Task>,
    pub(super) arguments: Arc<TaskArguments>,
    pub(super) list: HostList,
    pub(super) parent: Option<usize>,
    pub(super) env: usize,
    /// Whether its hosts run apart from each other (F33).
    pub(super) parallel: bool,
    /// Whether anybody could be asked something while it runs.
    pub(super) may_prompt: bool,
    pub(super) depth: usize,
    /// Variables that all hosts share, and the environment that they tell of.
    pub(super) shared_vars_cache: Option<(Arc<TaskEnv>, Vars)>,
    pub(super) width: usize,
    /// The hosts that it has begun on.
    pub(super) started: usize,
    pub(super) running: usize,
    pub(super) failed: usize,
    pub(super) results: Map,
    /// The first failure that counts.
    pub(super) failure: Option<TaskFailure>,
    /// Whether it is to be looked at already.
    pub(super) is_queued: bool,
}

impl TaskBatch {
    /// How often it runs; once where it has no hosts.
    pub(super) fn run_count(&self) -> usize {
        self.list.hosts.len().max(1)
    }
}

/// A task on one host.
#[derive(Debug)]
pub(super) struct HostTaskRun {
    pub(super) batch: usize,
    /// None for a task without hosts.
    pub(super) host: Option<Arc<str>>,
    pub(super) env: usize,
    /// Whether the environment is its own: what it sets is not seen by others.
    pub(super) owns_env: bool,
    /// The step that it is at.
    pub(super) step: usize,
    /// How often somebody was asked for this step.
    pub(super) tries: AttemptCounter,
    pub(super) elapsed: Duration,
    /// The first failure that was only warned of.
    pub(super) tolerated: Option<TaskFailure>,
    /// What its steps have registered.
    pub(super) registered: Map,
    /// A host that somebody named where the task has none.
    pub(super) prompted_host: Option<Arc<str>>,
    /// What the task that it executed gave.
    pub(super) execute_result: Option<Result<Value, TaskFailure>>,
    pub(super) is_started: bool,
}

impl HostTaskRun {
    pub(super) fn new(batch: usize, host: Option<Arc<str>>, env: usize, owns_env: bool) -> Self {
        Self {
            batch,
            host,
            env,
            owns_env,
            step: 0,
            tries: AttemptCounter::default(),
            elapsed: Duration::ZERO,
            tolerated: None,
            registered: Map::new(),
            prompted_host: None,
            execute_result: None,
            is_started: false,
        }
    }

    /// The host that its steps go to.
    pub(super) fn target(&self) -> Option<&Arc<str>> {
        self.host.as_ref().or(self.prompted_host.as_ref())
    }
}
