//! Tasks that run: on all their hosts, and on one of them.

use std::sync::Arc;
use std::time::Duration;

use super::arguments::Arguments;
use super::env::Env;
use super::failure::Failure;
use super::host_list::HostList;
use super::{Scope, Task};
use crate::expr::Vars;
use crate::host::Tries;
use crate::value::{Map, Value};

/// A task that is to run: what it is given, and where.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) task: Arc<Task>,
    pub(super) arguments: Arc<Arguments>,
    pub(super) scope: Scope,
    /// The one who executes it.
    pub(super) parent: Option<usize>,
}

/// A task on its hosts.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) task: Arc<Task>,
    pub(super) arguments: Arc<Arguments>,
    pub(super) list: HostList,
    pub(super) parent: Option<usize>,
    pub(super) env: usize,
    /// Whether its hosts run apart from each other (F33).
    pub(super) parallel: bool,
    /// Whether anybody could be asked something while it runs.
    pub(super) alone: bool,
    pub(super) depth: usize,
    /// Variables that all hosts share, and the environment that they tell of.
    pub(super) shared: Option<(Arc<Env>, Vars)>,
    pub(super) width: usize,
    /// The hosts that it has begun on.
    pub(super) begun: usize,
    pub(super) running: usize,
    pub(super) failed: usize,
    pub(super) results: Map,
    /// The first failure that counts.
    pub(super) failure: Option<Failure>,
    /// Whether it is to be looked at already.
    pub(super) queued: bool,
}

impl Batch {
    /// How often it runs; once where it has no hosts.
    pub(super) fn turns(&self) -> usize {
        self.list.hosts.len().max(1)
    }
}

/// A task on one host.
#[derive(Debug)]
pub(super) struct HostRun {
    pub(super) batch: usize,
    /// None for a task without hosts.
    pub(super) host: Option<Arc<str>>,
    pub(super) env: usize,
    /// Whether the environment is its own: what it sets is not seen by others.
    pub(super) owns_env: bool,
    /// The step that it is at.
    pub(super) step: usize,
    /// How often somebody was asked for this step.
    pub(super) tries: Tries,
    pub(super) elapsed: Duration,
    /// The first failure that was only warned of.
    pub(super) tolerated: Option<Failure>,
    /// What its steps have registered.
    pub(super) registered: Map,
    /// A host that somebody named where the task has none.
    pub(super) asked_host: Option<Arc<str>>,
    /// What the task that it executed gave.
    pub(super) executed: Option<Result<Value, Failure>>,
    pub(super) begun: bool,
}

impl HostRun {
    pub(super) fn new(batch: usize, host: Option<Arc<str>>, env: usize, owns_env: bool) -> Self {
        Self {
            batch,
            host,
            env,
            owns_env,
            step: 0,
            tries: Tries::default(),
            elapsed: Duration::ZERO,
            tolerated: None,
            registered: Map::new(),
            asked_host: None,
            executed: None,
            begun: false,
        }
    }

    /// The host that its steps go to.
    pub(super) fn target(&self) -> Option<&Arc<str>> {
        self.host.as_ref().or(self.asked_host.as_ref())
    }
}
