//! Runs a task on all of its hosts.
//!
//! Computes the hosts, starts them within limits, and combines their results. The methods extend
//! [`TaskEngine`].

use std::sync::Arc;

use indexmap::IndexMap;

use super::engine::{EngineRequest, PendingReply, ReadyItem, RunState};
use super::failure::{TaskFailure, TaskFailureKind};
use super::host_list::{HostList, ScopeSources, parse_hosts, trimmed_names};
use super::run_state::{HostTaskRun, PlannedTask, RegisteredResult, TaskBatch};
use super::task_env::TaskEnv;
use super::{
    HostEnd, HostEvent, HostListError, HostOutcome, RoleDef, RunOrder, Switches, Task, TaskEngine,
};
use crate::host::services::RoleLookup;
use crate::host::{Action, ActionRequest, ActionResult, Command, DEFAULT_TOTAL_CAPTURE_LIMIT};
use crate::value::{Map, Value};

/// The key for the result of a task that runs without hosts (F19).
const LOCAL_ONLY: &str = "<local-only>";

/// The maximum depth of tasks that execute each other.
const MAX_EXECUTE_DEPTH: usize = 100;

impl TaskEngine {
    /// Starts a task. Its list of hosts is computed now (F20).
    pub(super) fn begin_task(&mut self, planned: PlannedTask) {
        let (env, depth, alone) = match planned.parent {
            Some(run) => {
                let run = &self.runs[run];
                let batch = &self.batches[run.batch];
                (run.env, batch.depth + 1, batch.may_prompt)
            }
            None => (self.root_env, 0, true),
        };
        if let Some(failure) = self.refusal_to_nest(&planned, depth) {
            return self.reject_task(&planned, failure);
        }
        let list = match self.checked_hosts(&planned, env) {
            Ok(Ok(list)) => list,
            Ok(Err((role, command))) => return self.query_role_hosts(role, *command, planned),
            Err(failure) => return self.reject_task(&planned, failure),
        };
        self.note_overridden_hosts(&planned, env);
        self.warn_about_hosts(&planned, &list);
        let known = Arc::clone(&self.envs[env]);
        let task = &planned.task;
        let count = list.hosts.len();
        let parallel = count > 0 && is_parallel(task, &known);
        let pool = task.pool_size.or(known.pool_size).unwrap_or(count);
        let width = if parallel { pool.min(count).max(1) } else { 1 };
        let hosts = match task.runs_once {
            true if self.once_results.contains_key(&task.name) => None,
            true => Some(list.hosts.iter().take(1).cloned().collect()),
            false => Some(list.hosts.clone()),
        };
        if let Some(hosts) = hosts {
            let task = Arc::clone(&task.name);
            self.events
                .push(HostEvent::TaskStarted { task, hosts, width });
        }
        let batch = TaskBatch {
            task: planned.task,
            arguments: planned.arguments,
            list,
            parent: planned.parent,
            env,
            parallel,
            may_prompt: alone && !parallel,
            depth,
            shared_vars_cache: None,
            width,
            started: 0,
            running: 0,
            failed: 0,
            results: Map::new(),
            failure: None,
            is_queued: true,
        };
        let id = self.batches.insert(batch);
        self.ready.push_back(ReadyItem::Batch(id));
    }

    /// Returns the reason why a task must not run within others, if one exists.
    fn refusal_to_nest(&self, planned: &PlannedTask, depth: usize) -> Option<TaskFailure> {
        if let Some(circle) = self.circle_of(planned) {
            let message = format!("task `{}` executes itself: {circle}", planned.task.name);
            return Some(TaskFailure::new(TaskFailureKind::Abort, message));
        }
        (depth > MAX_EXECUTE_DEPTH).then(|| {
            let message =
                format!("tasks execute each other more than {MAX_EXECUTE_DEPTH} levels deep");
            TaskFailure::invalid_task(message)
        })
    }

    /// Returns the tasks from a task to itself, if it would run within itself.
    fn circle_of(&self, planned: &PlannedTask) -> Option<String> {
        let mut names = vec![Arc::clone(&planned.task.name)];
        let mut parent = planned.parent;
        while let Some(run) = parent {
            let batch = &self.batches[self.runs[run].batch];
            names.push(Arc::clone(&batch.task.name));
            if batch.task.name == planned.task.name {
                names.reverse();
                return Some(names.join(" → "));
            }
            parent = batch.parent;
        }
        None
    }

    /// Reports a task that cannot start.
    fn reject_task(&mut self, planned: &PlannedTask, failure: TaskFailure) {
        if let Some(run) = planned.parent {
            self.complete_execute(run, Err(failure));
        } else {
            self.events.push(HostEvent::Error(failure.reason));
            self.state = RunState::Failed;
        }
    }

    /// Returns the hosts of a task, or a role command that must run before they are known. A host that is no host string is
    /// an error before anything is done for the others.
    fn checked_hosts(
        &self,
        planned: &PlannedTask,
        env: usize,
    ) -> Result<Result<HostList, (String, Box<Command>)>, TaskFailure> {
        let failed = |error: String| {
            let message = format!("task `{}`: {error}", planned.task.name);
            TaskFailure::invalid_task(message)
        };
        let found = self.resolve_hosts(planned, env);
        let found = found.map_err(|error| failed(error.to_string()))?;
        for host in found.iter().flat_map(|list| &list.hosts) {
            let checked = self.services.resolver.check(host);
            checked.map_err(|error| failed(error.to_string()))?;
        }
        Ok(found)
    }

    /// Returns the hosts of a task, or a role command that must run before they are known.
    fn resolve_hosts(
        &self,
        planned: &PlannedTask,
        env: usize,
    ) -> Result<Result<HostList, (String, Box<Command>)>, HostListError> {
        let env = &self.envs[env];
        let sources = ScopeSources {
            call: &planned.scope,
            task: &planned.task.scope,
            env: &env.scope,
        };
        let chosen = sources.select();
        let mut known = IndexMap::new();
        let mut unknown = Vec::new();
        for role in trimmed_names(chosen.roles, "roles")? {
            match self.look_up_role(role, env) {
                RoleLookup::Hosts(hosts) => {
                    known.insert(role.to_owned(), hosts);
                }
                RoleLookup::Command(command) => return Ok(Err((role.to_owned(), command))),
                RoleLookup::Unknown { hint } => unknown.push((role.to_owned(), hint)),
                RoleLookup::Refused(reason) => {
                    let role = role.to_owned();
                    return Err(HostListError::Refused { role, reason });
                }
            }
        }
        if !unknown.is_empty() {
            return Err(HostListError::UnknownRoles(unknown));
        }
        chosen
            .resolve(&known, !env.switches.keep_duplicate_hosts)
            .map(Ok)
    }

    /// Looks up a role: first in the definitions of `tasks.yaml`, then in the inventory.
    pub(super) fn look_up_role(&self, role: &str, env: &TaskEnv) -> RoleLookup {
        if let Some(hosts) = self.role_hosts.get(role) {
            return RoleLookup::Hosts(hosts.clone());
        }
        match env.roledefs.get(role) {
            Some(RoleDef::Hosts(hosts)) => RoleLookup::Hosts(hosts.clone()),
            Some(RoleDef::Command(command)) => RoleLookup::Command(command.clone()),
            None => match self.services.roles.hosts_of(role) {
                RoleLookup::Unknown { hint: None } => {
                    let names = env.roledefs.keys().map(String::as_str);
                    let hint = crate::text::did_you_mean(role, names);
                    RoleLookup::Unknown { hint }
                }
                found => found,
            },
        }
    }

    /// Runs the command of a role. Its hosts are kept, so it runs only once (F9).
    fn query_role_hosts(&mut self, role: String, mut command: Command, planned: PlannedTask) {
        if command.env.is_empty() {
            command.env.clone_from(&self.options.variables);
        }
        if command.cwd.as_os_str().is_empty() {
            command.cwd.clone_from(&self.options.folder);
        }
        command.keep_whole_output(self.options.capture.unwrap_or(DEFAULT_TOTAL_CAPTURE_LIMIT));
        let id = self.register_pending(PendingReply::Role(role, Box::new(planned)));
        let request = Box::new(ActionRequest::local(Action::Run(command)));
        let host = None;
        self.requests
            .push(EngineRequest::Perform { id, host, request });
    }

    /// Takes the hosts of a role and starts the task that needs them.
    pub(super) fn receive_role_hosts(
        &mut self,
        role: String,
        planned: PlannedTask,
        result: &ActionResult,
    ) {
        if self.is_interrupted() {
            return self.reject_task(&planned, TaskFailure::interrupted());
        }
        match result {
            ActionResult::Run(output) if output.exit.is_ok() => {
                let hosts = match output.stdout.whole_text() {
                    Ok(text) => parse_hosts(&text),
                    Err(incomplete) => {
                        let reason = format!("the command of role `{role}`: {incomplete}");
                        return self.reject_task(&planned, TaskFailure::invalid_task(reason));
                    }
                };
                self.role_hosts.insert(role, hosts);
                self.begin_task(planned);
            }
            _ => {
                let mut failure = TaskFailure::from_action(result, &self.secrets);
                failure.kind = TaskFailureKind::InvalidTask;
                let last_line = failure.last_line.take();
                let said = last_line.map_or(String::new(), |line| format!(" ({line})"));
                let reason = format!("the command of role `{role}`: {}{said}", failure.reason);
                self.reject_task(&planned, TaskFailure::invalid_task(reason));
            }
        }
    }

    /// Warns about surprising lists of hosts: empty roles, and nested tasks that multiply (F11,
    /// F24).
    fn warn_about_hosts(&mut self, planned: &PlannedTask, list: &HostList) {
        let name = &planned.task.name;
        if list.hosts.is_empty() && !list.empty_roles.is_empty() {
            let roles: Vec<String> = list
                .empty_roles
                .iter()
                .map(|it| format!("`{it}`"))
                .collect();
            let (word, has) = if roles.len() == 1 {
                ("role", "has")
            } else {
                ("roles", "have")
            };
            let roles = roles.join(", ");
            self.warn(format!(
                "{word} {roles} {has} no hosts, so task `{name}` runs once and without a host"
            ));
        }
        let Some(parent) = planned.parent.filter(|_| !self.has_warned_of_multiplying) else {
            return;
        };
        let outer = &self.batches[self.runs[parent].batch];
        let turns = if outer.task.runs_once {
            1
        } else {
            outer.run_count()
        };
        let times = list.hosts.len().max(1);
        if turns > 1 && !planned.task.runs_once {
            let message = format!(
                "task `{}` runs on {turns} hosts and executes `{name}` on each of them: {turns} × \
                 {times} = {} runs",
                outer.task.name,
                turns * times
            );
            self.has_warned_of_multiplying = true;
            self.warn(message);
        }
    }

    /// Starts further hosts of a task up to its limits. Finishes the task if none is left.
    pub(super) fn start_hosts(&mut self, id: usize) {
        self.batches[id].is_queued = false;
        loop {
            let batch = &self.batches[id];
            if batch.running >= batch.width {
                return;
            }
            if batch.started >= batch.run_count() || self.stop_reason(id).is_some() {
                break;
            }
            let index = batch.started;
            let host = batch.list.hosts.get(index).cloned();
            if batch.task.runs_once
                && let Some(value) = self.once_results.get(&batch.task.name)
            {
                let value = value.clone();
                let batch = &mut self.batches[id];
                batch.started += 1;
                batch.results.insert(result_key(host.as_ref()), value);
                continue;
            }
            self.start_host(id, host);
        }
        if self.batches[id].running == 0 {
            self.finish_batch(id);
        }
    }

    /// Returns the reason why no further host of a task may start, if one exists.
    fn stop_reason(&self, id: usize) -> Option<&'static str> {
        let batch = &self.batches[id];
        let max_fail = self.options.max_fail;
        if self.is_interrupted() {
            Some("interrupted")
        } else if batch.failure.is_some() && !batch.parallel {
            Some("another host failed")
        } else if max_fail
            .is_some_and(|max_fail| max_fail.is_reached(batch.failed, batch.run_count()))
        {
            Some("too many hosts failed")
        } else {
            None
        }
    }

    fn start_host(&mut self, id: usize, host: Option<Arc<str>>) {
        let batch = &mut self.batches[id];
        batch.started += 1;
        batch.running += 1;
        let (own, env) = (batch.parallel, batch.env);
        let task = Arc::clone(&batch.task.name);
        let steps = Arc::clone(&batch.task.steps);
        let env = if own {
            let copy = Arc::clone(&self.envs[env]);
            self.envs.insert(copy)
        } else {
            env
        };
        let run = HostTaskRun::new(id, &steps, host.clone(), (env, own));
        let run = self.runs.insert(run);
        self.events.push(HostEvent::HostStarted { task, host });
        self.ready.push_back(ReadyItem::Run(run));
    }

    /// Takes the result of a task on one host.
    pub(super) fn end_run(&mut self, id: usize, result: Result<Value, TaskFailure>) {
        let Some(mut run) = self.runs.try_remove(id) else {
            return;
        };
        let settings = self.tolerance(&run);
        self.remove_settings(&mut run);
        let registered = self.shown_results(&run);
        let returned = match &result {
            Ok(value) => self.secrets.mark(value.clone()).redacted(),
            Err(_) => Value::Null,
        };
        if run.owns_env {
            self.envs.remove(run.env);
        }
        let batch = &mut self.batches[run.batch];
        batch.running -= 1;
        let key = result_key(run.host.as_ref());
        let outcome = match result {
            Ok(value) => {
                batch.results.insert(key, value.clone());
                if batch.task.runs_once {
                    self.once_results
                        .insert(Arc::clone(&batch.task.name), value);
                }
                match run.tolerated {
                    None => HostOutcome::Ok,
                    Some(failure) => {
                        batch.failed += 1;
                        failed_outcome(failure, true)
                    }
                }
            }
            Err(failure) => {
                let tolerated = settings.tolerates(&failure, batch.parallel);
                batch.failed += 1;
                batch.results.insert(key, error_value(&failure));
                if !tolerated && batch.failure.is_none() {
                    batch.failure = Some(failure.clone());
                }
                failed_outcome(failure, tolerated)
            }
        };
        self.events.push(HostEvent::HostFinished(HostEnd {
            task: Arc::clone(&batch.task.name),
            host: run.host,
            outcome,
            elapsed: run.elapsed,
            registered,
            returned,
        }));
        if !std::mem::replace(&mut batch.is_queued, true) {
            self.ready.push_back(ReadyItem::Batch(run.batch));
        }
    }

    /// Returns the results that steps have registered, without secrets.
    fn shown_results(&self, run: &HostTaskRun) -> Map {
        let shown = |(name, result): (&Arc<str>, &RegisteredResult)| {
            (
                Arc::clone(name),
                self.secrets.mark(result.value.clone()).redacted(),
            )
        };
        run.registered.iter().map(shown).collect()
    }

    /// Finishes a task: all hosts have ended or will not start.
    fn finish_batch(&mut self, id: usize) {
        let reason = self.stop_reason(id);
        let batch = &mut self.batches[id];
        let remaining = batch.started..batch.run_count();
        if let Some(reason) = reason.filter(|_| !remaining.is_empty()) {
            for index in remaining {
                self.events.push(HostEvent::HostFinished(HostEnd {
                    task: Arc::clone(&batch.task.name),
                    host: batch.list.hosts.get(index).cloned(),
                    outcome: HostOutcome::Skipped {
                        reason: reason.to_owned(),
                    },
                    elapsed: std::time::Duration::ZERO,
                    registered: Map::new(),
                    returned: Value::Null,
                }));
            }
            batch.failure.get_or_insert_with(|| match reason {
                "interrupted" => TaskFailure::interrupted(),
                _ => TaskFailure::new(TaskFailureKind::Abort, reason),
            });
        }
        let Some(batch) = self.batches.try_remove(id) else {
            return;
        };
        let batch = TaskBatch {
            results: in_host_order(batch.results, &batch.list.hosts),
            ..batch
        };
        let task = Arc::clone(&batch.task.name);
        self.events.push(HostEvent::TaskFinished { task });
        if batch.parent.is_none() {
            self.results.clone_from(&batch.results);
        }
        let result = match batch.failure {
            None => Ok(Value::from(batch.results)),
            Some(failure) => Err(failure),
        };
        match (batch.parent, result) {
            (Some(run), Ok(value)) => self.complete_execute(run, Ok(value)),
            (Some(run), Err(failure)) => {
                let reason = format!("task `{}` failed: {}", batch.task.name, failure.reason);
                self.complete_execute(run, Err(TaskFailure { reason, ..failure }));
            }
            (None, Ok(_)) => {}
            (None, Err(failure)) => {
                self.state = match failure.kind {
                    TaskFailureKind::Interrupted => RunState::Interrupted,
                    _ => RunState::Failed,
                };
            }
        }
    }

    /// Returns the settings that decide which failures of a run are tolerated, the innermost ones first.
    pub(super) fn tolerance(&self, run: &HostTaskRun) -> FailureTolerance {
        let task = &self.batches[run.batch].task;
        let switches = &self.envs[run.env].switches;
        let setting = |of: &dyn Fn(&Switches<Option<bool>>) -> Option<bool>| {
            let of_block = run.cursor.setting(|settings| of(&settings.switches));
            of_block.or_else(|| of(&task.settings.as_ref()?.switches))
        };
        let warn_only = setting(&|it| it.warn_only).or(task.warn_only);
        let skip_bad_hosts = setting(&|it| it.skip_bad_hosts).or(task.skip_bad_hosts);
        FailureTolerance {
            warn_only: warn_only.unwrap_or(switches.warn_only),
            skip_bad_hosts: skip_bad_hosts.unwrap_or(switches.skip_bad_hosts),
        }
    }
}

/// Whether the hosts of a task run at the same time (F27, F30).
fn is_parallel(task: &Task, env: &TaskEnv) -> bool {
    !task.runs_once
        && match task.order {
            RunOrder::Inherited => env.switches.parallel,
            RunOrder::Serial => false,
            RunOrder::Parallel => true,
        }
}

/// The settings that decide which failures of a task are tolerated.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailureTolerance {
    pub(super) warn_only: bool,
    skip_bad_hosts: bool,
}

impl FailureTolerance {
    /// Whether the run goes on after a failure that ended a task on a host (F34, F36, F38, F45).
    fn tolerates(self, failure: &TaskFailure, parallel: bool) -> bool {
        match failure.kind {
            _ if failure.is_final() => false,
            TaskFailureKind::Unreachable => self.skip_bad_hosts || self.warn_only,
            _ => parallel && self.warn_only,
        }
    }
}

fn failed_outcome(failure: TaskFailure, tolerated: bool) -> HostOutcome {
    let TaskFailure {
        kind,
        reason,
        last_line,
    } = failure;
    match kind {
        TaskFailureKind::Unreachable => HostOutcome::Unreachable { reason, tolerated },
        _ => HostOutcome::Failed {
            reason,
            last_line,
            tolerated,
        },
    }
}

/// Returns the value that stands for a failed host in the result of a task (F25).
fn error_value(failure: &TaskFailure) -> Value {
    Value::map([
        ("failed", Value::from(true)),
        ("ok", false.into()),
        (
            "unreachable",
            (failure.kind == TaskFailureKind::Unreachable).into(),
        ),
        ("reason", failure.reason.as_str().into()),
    ])
}

/// Returns results in the order of the hosts, whichever ended first (F25).
fn in_host_order(mut results: Map, hosts: &[Arc<str>]) -> Map {
    let mut ordered = Map::with_capacity(results.len());
    for host in hosts {
        // The last entry of a host that is named twice counts.
        if let Some(value) = results.get_mut(host) {
            let value = std::mem::replace(value, Value::Null);
            ordered.entry(Arc::clone(host)).or_insert(value);
        }
    }
    results.retain(|host, _| !ordered.contains_key(host));
    ordered.extend(results);
    ordered
}

fn result_key(host: Option<&Arc<str>>) -> Arc<str> {
    host.map_or_else(|| LOCAL_ONLY.into(), Arc::clone)
}
