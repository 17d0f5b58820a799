//! Runs the calls of a request over hosts.
//!
//! [`run_tasks`] creates the task engine and a driver, and runs both to the end.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::request::{HostsView, TasksRequest};
use super::tasks_run::TasksRun;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::exec::{Driver, OnInterrupt, OutputMode, RunLimits, drive};
use crate::expr::SystemContext;
use crate::fleet::{Error, ErrorKind};
use crate::host::services::HostServices;
use crate::system::env::Env;
use crate::tasks::{InvalidCall, RunState, TaskEngine, TaskName, TaskOptions, Tasks};

/// The report of a run over hosts.
#[derive(Debug)]
pub struct TasksReport {
    /// The calls that were not reached.
    pub not_reached: Vec<TaskName>,
    /// The exit code: 0, 1 if a host failed, or 128 plus the signal that requested termination.
    pub exit_code: u8,
}

/// Runs the calls and the command of a request, and shows the run.
///
/// `context` gives templates access to files and other data of this machine.
///
/// # Errors
///
/// A call is invalid, or the runner has failed.
pub fn run_tasks(
    request: &TasksRequest,
    options: TaskOptions,
    context: Arc<dyn SystemContext>,
    env: &Env,
    view: &mut dyn HostsView,
) -> Result<TasksReport, Error> {
    let folder = options.folder.clone();
    let mut run = TasksRun {
        engine: build_engine(request, options, context)?,
        requests: VecDeque::new(),
        variables: env.all().clone(),
        folder,
        request,
        hosts: HashMap::new(),
        started_at: HashMap::new(),
        ranks: HashMap::new(),
    };
    let interrupts = request.interrupts.clone();
    let limits = RunLimits {
        connections: request.connections.clone(),
        ..RunLimits::guarded()
    };
    // A signal cancels running actions at once: they could take hours.
    let mut driver = Driver::local(interrupts, OnInterrupt::Cancel, limits, OutputMode::Events);
    drive(&mut run, &mut driver, view)?;
    let state = run.engine.state();
    let exit_code = match (state, request.interrupts.first()) {
        (RunState::Interrupted, Some(signal)) => u8::try_from(128 + signal).unwrap_or(130),
        (RunState::Done, _) => 0,
        _ => 1,
    };
    Ok(TasksReport {
        not_reached: run.engine.not_reached(),
        exit_code,
    })
}

/// Creates the task engine with its calls and services.
fn build_engine(
    request: &TasksRequest,
    options: TaskOptions,
    context: Arc<dyn SystemContext>,
) -> Result<TaskEngine, Error> {
    let folder = options.folder.clone();
    let services = HostServices {
        resolver: Rc::clone(&request.resolver),
        roles: Rc::clone(&request.roles),
        context,
    };
    let engine_result = TaskEngine::new(request.tasks.clone(), &request.calls, options, services);
    let mut engine =
        engine_result.map_err(|problems| invalid_calls_error(&problems, &request.tasks))?;
    if let Some(command) = &request.command {
        engine.add_task(command.task(&folder));
    }
    let problems = engine.check();
    if problems.has_errors() {
        let sources = request.sources.clone();
        return Err(Error::with_sources(ErrorKind::Refused, problems, sources));
    }
    Ok(engine)
}

/// Returns the error for invalid calls, all of them at once.
fn invalid_calls_error(problems: &[InvalidCall], tasks: &Tasks) -> Error {
    let is_unknown = |problem: &InvalidCall| matches!(problem, InvalidCall::Unknown { .. });
    let kind = match problems {
        [InvalidCall::Env(_), ..] => ErrorKind::Invalid,
        _ if problems.iter().any(is_unknown) => ErrorKind::Refused,
        _ => ErrorKind::Usage,
    };
    let names: Vec<String> = tasks
        .iter()
        .map(|task| format!("`{}`", task.name))
        .collect();
    let there_are = if names.is_empty() {
        "there is no `tasks.yaml` in this folder or above it; name a file with `--file`".to_owned()
    } else {
        format!("available tasks: {}", names.join(", "))
    };
    let diagnostics = problems.iter().map(|problem| {
        let diagnostic = Diagnostic::error(problem);
        match problem {
            InvalidCall::Unknown { hint, .. } => {
                diagnostic.help(hint.clone().unwrap_or_else(|| there_are.clone()))
            }
            InvalidCall::Arguments(_) | InvalidCall::Env(_) => diagnostic,
        }
    });
    let diagnostics: Diagnostics = diagnostics.collect();
    Error::with_sources(kind, diagnostics, Sources::default())
}
