//! A task on its hosts: on which it begins next, and what came of all of them.

use std::sync::Arc;

use indexmap::IndexMap;

use super::engine::{Do, State, Waiting, Work};
use super::env::Env;
use super::failure::{Failure, FailureKind};
use super::host_list::{HostList, Sources, hosts_in, stripped};
use super::running::{Batch, HostRun, Planned};
use super::{Event, HostEnd, HostListError, HostOutcome, Order, RoleDef, Runbook, Task};
use crate::host::helpers::Lookup;
use crate::host::{Action, ActionResult, Command, Request};
use crate::value::{Map, Value};

/// The key of what a task gives that runs without hosts (F19).
const LOCAL_ONLY: &str = "<local-only>";

/// How deep tasks may execute each other.
const DEEPEST: usize = 100;

impl Runbook {
    /// Begins a task: its list of hosts is made now (F20).
    pub(super) fn begin(&mut self, planned: Planned) {
        let (env, depth, alone) = match planned.parent {
            Some(run) => {
                let run = &self.runs[run];
                let batch = &self.batches[run.batch];
                (run.env, batch.depth + 1, batch.alone)
            }
            None => (self.root_env, 0, true),
        };
        if depth > DEEPEST {
            let message = format!("tasks execute each other more than {DEEPEST} levels deep");
            return self.not_begun(&planned, Failure::fault(message));
        }
        let list = match self.list_of(&planned, env) {
            Ok(Ok(list)) => list,
            Ok(Err((role, command))) => return self.ask_for_hosts(role, *command, planned),
            Err(error) => {
                let message = format!("task `{}`: {error}", planned.task.name);
                return self.not_begun(&planned, Failure::fault(message));
            }
        };
        self.tell_list(&planned, &list);
        let known = Arc::clone(&self.envs[env]);
        let task = &planned.task;
        let count = list.hosts.len();
        let parallel = count > 0 && is_parallel(task, &known);
        let pool = task.pool_size.or(known.pool_size).unwrap_or(count);
        let width = if parallel { pool.min(count).max(1) } else { 1 };
        let hosts = match task.runs_once {
            true if self.once.contains_key(&task.name) => None,
            true => Some(list.hosts.iter().take(1).cloned().collect()),
            false => Some(list.hosts.clone()),
        };
        if let Some(hosts) = hosts {
            let task = Arc::clone(&task.name);
            self.events.push(Event::TaskBegins { task, hosts, width });
        }
        let batch = Batch {
            task: planned.task,
            arguments: planned.arguments,
            list,
            parent: planned.parent,
            env,
            parallel,
            alone: alone && !parallel,
            depth,
            shared: None,
            width,
            begun: 0,
            running: 0,
            failed: 0,
            results: Map::new(),
            failure: None,
            queued: true,
        };
        let id = self.batches.insert(batch);
        self.ready.push_back(Work::Batch(id));
    }

    /// A task that cannot begin.
    fn not_begun(&mut self, planned: &Planned, failure: Failure) {
        if let Some(run) = planned.parent {
            self.executed(run, Err(failure));
        } else {
            self.events.push(Event::Error(failure.reason));
            self.state = State::Failed;
        }
    }

    /// The hosts of a task, or the command that names those of a role first.
    fn list_of(
        &self,
        planned: &Planned,
        env: usize,
    ) -> Result<Result<HostList, (String, Box<Command>)>, HostListError> {
        let env = &self.envs[env];
        let sources = Sources {
            call: &planned.scope,
            task: &planned.task.scope,
            env: &env.scope,
        };
        let chosen = sources.choose();
        let mut known = IndexMap::new();
        let mut unknown = Vec::new();
        for role in stripped(chosen.roles, "roles")? {
            match self.lookup(role, env) {
                Lookup::Hosts(hosts) => {
                    known.insert(role.to_owned(), hosts);
                }
                Lookup::Command(command) => return Ok(Err((role.to_owned(), command))),
                Lookup::Unknown { hint } => unknown.push((role.to_owned(), hint)),
                Lookup::Refused(reason) => {
                    let role = role.to_owned();
                    return Err(HostListError::Refused { role, reason });
                }
            }
        }
        if !unknown.is_empty() {
            return Err(HostListError::UnknownRoles(unknown));
        }
        chosen.list(&known, !env.switches.keep_twins).map(Ok)
    }

    /// What a role stands for: as `tasks.yaml` says, or else as the inventory does.
    fn lookup(&self, role: &str, env: &Env) -> Lookup {
        if let Some(hosts) = self.role_hosts.get(role) {
            return Lookup::Hosts(hosts.clone());
        }
        match env.roledefs.get(role) {
            Some(RoleDef::Hosts(hosts)) => Lookup::Hosts(hosts.clone()),
            Some(RoleDef::Command(command)) => Lookup::Command(command.clone()),
            None => match self.helpers.roles.hosts_of(role) {
                Lookup::Unknown { hint: None } => {
                    let names = env.roledefs.keys().map(String::as_str);
                    let hint = crate::text::did_you_mean(role, names);
                    Lookup::Unknown { hint }
                }
                found => found,
            },
        }
    }

    /// Runs the command of a role, which it does once (F9).
    fn ask_for_hosts(&mut self, role: String, mut command: Command, planned: Planned) {
        if command.env.is_empty() {
            command.env.clone_from(&self.options.variables);
        }
        if command.cwd.as_os_str().is_empty() {
            command.cwd.clone_from(&self.options.folder);
        }
        let id = self.wait_for(Waiting::Role(role, Box::new(planned)));
        let request = Box::new(Request::here(Action::Run(command)));
        let host = None;
        self.todo.push(Do::Perform { id, host, request });
    }

    /// Takes the hosts of a role, and begins the task that asked for them.
    pub(super) fn hosts_came(&mut self, role: String, planned: Planned, result: &ActionResult) {
        if self.is_interrupted() {
            return self.not_begun(&planned, Failure::interrupted());
        }
        match result {
            ActionResult::Run(output) if output.exit.is_ok() => {
                let hosts = hosts_in(&output.stdout.text());
                self.role_hosts.insert(role, hosts);
                self.begin(planned);
            }
            _ => {
                let mut failure = Failure::of_action(result, &self.secrets);
                failure.kind = FailureKind::Fault;
                let said = failure.last_line.take();
                let said = said.map_or(String::new(), |line| format!(" ({line})"));
                let reason = format!("the command of role `{role}`: {}{said}", failure.reason);
                self.not_begun(&planned, Failure::fault(reason));
            }
        }
    }

    /// Says what people may not expect of a list of hosts (F11, F24).
    fn tell_list(&mut self, planned: &Planned, list: &HostList) {
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
        let Some(parent) = planned.parent.filter(|_| !self.has_multiplied) else {
            return;
        };
        let outer = &self.batches[self.runs[parent].batch];
        let (turns, times) = (outer.turns(), list.hosts.len().max(1));
        if turns > 1 && !planned.task.runs_once {
            let message = format!(
                "task `{}` runs on {turns} hosts and executes `{name}` on each of them: {turns} × \
                 {times} = {} runs",
                outer.task.name,
                turns * times
            );
            self.has_multiplied = true;
            self.warn(message);
        }
    }

    /// Begins on further hosts as long as there are some and it may; ends the task if nothing is
    /// left of it.
    pub(super) fn pump(&mut self, id: usize) {
        self.batches[id].queued = false;
        loop {
            let batch = &self.batches[id];
            if batch.running >= batch.width {
                return;
            }
            if batch.begun >= batch.turns() || self.may_not_begin(id).is_some() {
                break;
            }
            let place = batch.begun;
            let host = batch.list.hosts.get(place).cloned();
            if batch.task.runs_once
                && let Some(value) = self.once.get(&batch.task.name)
            {
                let value = value.clone();
                let batch = &mut self.batches[id];
                batch.begun += 1;
                batch.results.insert(key_of(host.as_ref()), value);
                continue;
            }
            self.begin_on(id, host);
        }
        if self.batches[id].running == 0 {
            self.finish(id);
        }
    }

    /// Why no further host of a task may begin.
    fn may_not_begin(&self, id: usize) -> Option<&'static str> {
        let batch = &self.batches[id];
        let most = self.options.max_fail;
        if self.is_interrupted() {
            Some("interrupted")
        } else if batch.failure.is_some() && !batch.parallel {
            Some("another host failed")
        } else if most.is_some_and(|most| most.is_reached(batch.failed, batch.turns())) {
            Some("too many hosts failed")
        } else {
            None
        }
    }

    fn begin_on(&mut self, id: usize, host: Option<Arc<str>>) {
        let batch = &mut self.batches[id];
        batch.begun += 1;
        batch.running += 1;
        let (own, env) = (batch.parallel, batch.env);
        let task = Arc::clone(&batch.task.name);
        let env = if own {
            let copy = Arc::clone(&self.envs[env]);
            self.envs.insert(copy)
        } else {
            env
        };
        let run = self.runs.insert(HostRun::new(id, host.clone(), env, own));
        self.events.push(Event::HostBegins { task, host });
        self.ready.push_back(Work::Run(run));
    }

    /// A task has ended on a host.
    pub(super) fn end_run(&mut self, id: usize, result: Result<Value, Failure>) {
        let Some(run) = self.runs.try_remove(id) else {
            return;
        };
        let settings = self.tolerance(&run);
        if run.owns_env {
            self.envs.remove(run.env);
        }
        let batch = &mut self.batches[run.batch];
        batch.running -= 1;
        let key = key_of(run.host.as_ref());
        let outcome = match result {
            Ok(value) => {
                batch.results.insert(key, value.clone());
                if batch.task.runs_once {
                    self.once.insert(Arc::clone(&batch.task.name), value);
                }
                match run.tolerated {
                    None => HostOutcome::Ok,
                    Some(failure) => {
                        batch.failed += 1;
                        failed(failure, true)
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
                failed(failure, tolerated)
            }
        };
        self.events.push(Event::HostEnds(HostEnd {
            task: Arc::clone(&batch.task.name),
            host: run.host,
            outcome,
            elapsed: run.elapsed,
        }));
        if !std::mem::replace(&mut batch.queued, true) {
            self.ready.push_back(Work::Batch(run.batch));
        }
    }

    /// All hosts of a task have ended, or will not begin.
    fn finish(&mut self, id: usize) {
        let reason = self.may_not_begin(id);
        let batch = &mut self.batches[id];
        let left = batch.begun..batch.turns();
        if let Some(reason) = reason.filter(|_| !left.is_empty()) {
            for place in left {
                self.events.push(Event::HostEnds(HostEnd {
                    task: Arc::clone(&batch.task.name),
                    host: batch.list.hosts.get(place).cloned(),
                    outcome: HostOutcome::Skipped {
                        reason: reason.to_owned(),
                    },
                    elapsed: std::time::Duration::ZERO,
                }));
            }
            batch.failure.get_or_insert_with(|| match reason {
                "interrupted" => Failure::interrupted(),
                _ => Failure::new(FailureKind::Abort, reason),
            });
        }
        let Some(batch) = self.batches.try_remove(id) else {
            return;
        };
        let task = Arc::clone(&batch.task.name);
        self.events.push(Event::TaskEnds { task });
        if batch.parent.is_none() {
            self.results.clone_from(&batch.results);
        }
        let result = match batch.failure {
            None => Ok(Value::from(batch.results)),
            Some(failure) => Err(failure),
        };
        match (batch.parent, result) {
            (Some(run), Ok(value)) => self.executed(run, Ok(value)),
            (Some(run), Err(failure)) => {
                let reason = format!("task `{}` failed: {}", batch.task.name, failure.reason);
                self.executed(run, Err(Failure { reason, ..failure }));
            }
            (None, Ok(_)) => {}
            (None, Err(failure)) => {
                self.state = match failure.kind {
                    FailureKind::Interrupted => State::Interrupted,
                    _ => State::Failed,
                };
            }
        }
    }

    fn tolerance(&self, run: &HostRun) -> Tolerance {
        let task = &self.batches[run.batch].task;
        let switches = &self.envs[run.env].switches;
        Tolerance {
            warn_only: task.warn_only.unwrap_or(switches.warn_only),
            skip_bad_hosts: task.skip_bad_hosts.unwrap_or(switches.skip_bad_hosts),
        }
    }
}

/// Whether the hosts of a task run at the same time (F27, F30).
fn is_parallel(task: &Task, env: &Env) -> bool {
    !task.runs_once
        && match task.order {
            Order::Inherited => env.switches.parallel,
            Order::Serial => false,
            Order::Parallel => true,
        }
}

/// What becomes of failures of a task.
#[derive(Debug, Clone, Copy)]
struct Tolerance {
    warn_only: bool,
    skip_bad_hosts: bool,
}

impl Tolerance {
    /// Whether the run goes on after a failure that ended a task on a host (F34, F36, F38, F45).
    fn tolerates(self, failure: &Failure, parallel: bool) -> bool {
        match failure.kind {
            _ if failure.is_final() => false,
            FailureKind::Unreachable => self.skip_bad_hosts || self.warn_only,
            _ => parallel && self.warn_only,
        }
    }
}

fn failed(failure: Failure, tolerated: bool) -> HostOutcome {
    let Failure {
        kind,
        reason,
        last_line,
    } = failure;
    match kind {
        FailureKind::Unreachable => HostOutcome::Unreachable { reason, tolerated },
        _ => HostOutcome::Failed {
            reason,
            last_line,
            tolerated,
        },
    }
}

/// What stands in the result of a task for a host on which it failed (F25).
fn error_value(failure: &Failure) -> Value {
    Value::map([
        ("failed", Value::from(true)),
        ("ok", false.into()),
        (
            "unreachable",
            (failure.kind == FailureKind::Unreachable).into(),
        ),
        ("reason", failure.reason.as_str().into()),
    ])
}

fn key_of(host: Option<&Arc<str>>) -> Arc<str> {
    host.map_or_else(|| LOCAL_ONLY.into(), Arc::clone)
}
