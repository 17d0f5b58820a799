//! Runs the tasks of a request over hosts.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::request::{HostsView, RunbookRequest};
use super::run::TasksRun;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::exec::{Driver, Limits, OnInterrupt, Output, drive};
use crate::expr::World;
use crate::fleet::{Error, ErrorKind};
use crate::host::helpers::Helpers;
use crate::runbook::{NoCall, Options, Runbook, State, TaskName, Tasks};
use crate::system::env::Env;

/// What came of it.
#[derive(Debug)]
pub struct RunbookReport {
    /// The calls that were not come to.
    pub not_reached: Vec<TaskName>,
    /// The exit code: 0, 1 if a host failed, or that of the signal that asked for an end.
    pub exit_code: u8,
}

/// Runs the calls and the command of a request, in the world that templates may read; shows what
/// happens.
///
/// # Errors
///
/// A call makes no sense, or nothing can be performed any more.
pub fn run_tasks(
    request: &RunbookRequest,
    options: Options,
    world: Arc<dyn World>,
    env: &Env,
    view: &mut dyn HostsView,
) -> Result<RunbookReport, Error> {
    let folder = options.folder.clone();
    let mut run = TasksRun {
        runbook: prepared(request, options, world)?,
        todo: VecDeque::new(),
        variables: env.all().clone(),
        folder,
        request,
        hosts: HashMap::new(),
        begun: HashMap::new(),
        ranks: HashMap::new(),
    };
    let interrupts = request.interrupts.clone();
    let limits = Limits::guarded();
    // Whoever asks for an end does not wait for what may take hours.
    let mut driver = Driver::here(interrupts, OnInterrupt::Cancel, limits, Output::Told);
    drive(&mut run, &mut driver, view)?;
    let state = run.runbook.state();
    let exit_code = match (state, request.interrupts.first()) {
        (State::Interrupted, Some(signal)) => u8::try_from(128 + signal).unwrap_or(130),
        (State::Done, _) => 0,
        _ => 1,
    };
    Ok(RunbookReport {
        not_reached: run.runbook.not_reached(),
        exit_code,
    })
}

/// The engine, with all that it has to know of this machine.
fn prepared(
    request: &RunbookRequest,
    options: Options,
    world: Arc<dyn World>,
) -> Result<Runbook, Error> {
    let folder = options.folder.clone();
    let helpers = Helpers {
        book: Rc::clone(&request.book),
        roles: Rc::clone(&request.roles),
        world,
    };
    let made = Runbook::new(request.tasks.clone(), &request.calls, options, helpers);
    let mut runbook = made.map_err(|problems| refused(&problems, &request.tasks))?;
    if let Some(command) = &request.command {
        runbook.add(command.task(&folder));
    }
    Ok(runbook)
}

/// Why nothing runs: all of it at once.
fn refused(problems: &[NoCall], tasks: &Tasks) -> Error {
    let is_unknown = |problem: &NoCall| matches!(problem, NoCall::Unknown { .. });
    let kind = match problems {
        [NoCall::Env(_), ..] => ErrorKind::Invalid,
        _ if problems.iter().any(is_unknown) => ErrorKind::Refused,
        _ => ErrorKind::Usage,
    };
    let names: Vec<String> = tasks
        .iter()
        .map(|task| format!("`{}`", task.name))
        .collect();
    let there_are = if names.is_empty() {
        "there is no `tasks.yaml` here or above, and `--file` names none".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    let diagnostics = problems.iter().map(|problem| {
        let diagnostic = Diagnostic::error(problem);
        match problem {
            NoCall::Unknown { hint, .. } => {
                diagnostic.help(hint.clone().unwrap_or_else(|| there_are.clone()))
            }
            NoCall::Arguments(_) | NoCall::Env(_) => diagnostic,
        }
    });
    let diagnostics: Diagnostics = diagnostics.collect();
    Error::with_places(kind, diagnostics, Sources::default())
}
