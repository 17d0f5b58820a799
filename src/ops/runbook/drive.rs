//! Runs the tasks of a request over hosts.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::request::{HostsView, RunbookRequest};
use super::run::TasksRun;
use crate::exec::{Driver, Limits, OnInterrupt, Output, drive};
use crate::host::helpers::Helpers;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::Trust;
use crate::runbook::{HostEnd, NoCall, Options, Runbook, State, TaskName, Tasks};
use crate::session::RealWorld;
use crate::session::current_dir;
use crate::system::env::Env;
use crate::value::Map;

/// What came of it.
#[derive(Debug)]
pub struct RunbookReport {
    /// How each task went on each host, in the order in which they ended.
    pub ends: Vec<HostEnd>,
    /// How it ended in all.
    pub state: State,
    /// The calls that were not come to.
    pub not_reached: Vec<TaskName>,
    /// The exit code: 0, 1 if a host failed, or that of the signal that asked for an end.
    pub exit_code: u8,
}

/// Runs the calls and the command of a request; shows what happens.
pub fn perform(
    request: &RunbookRequest,
    view: &mut dyn HostsView,
) -> Result<RunbookReport, Failure> {
    let env = Env::of_this_process();
    let options = completed(&request.options, &env)?;
    let folder = options.folder.clone();
    let mut run = TasksRun {
        runbook: prepared(request, options, &env)?,
        todo: VecDeque::new(),
        variables: env.all().clone(),
        folder,
        request,
        hosts: HashMap::new(),
        begun: HashMap::new(),
        ranks: HashMap::new(),
        ends: Vec::new(),
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
        ends: run.ends,
        state,
        exit_code,
    })
}

/// The options with what this process has where they are empty.
fn completed(options: &Options, env: &Env) -> Result<Options, Failure> {
    let mut options = options.clone();
    if options.folder.as_os_str().is_empty() {
        options.folder = current_dir()?;
    }
    if options.local_user.is_empty() {
        options.local_user = local_user(env);
    }
    if options.variables.is_empty() {
        let all = env.all().iter();
        options.variables = all
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
    }
    Ok(options)
}

/// The engine, with all that it has to know of this machine.
fn prepared(request: &RunbookRequest, options: Options, env: &Env) -> Result<Runbook, Failure> {
    let folder = options.folder.clone();
    let helpers = Helpers {
        book: Rc::clone(&request.book),
        roles: Rc::clone(&request.roles),
        world: Arc::new(world(folder.clone(), env, &request.allowed)),
    };
    let made = Runbook::new(request.tasks.clone(), &request.calls, options, helpers);
    let mut runbook = made.map_err(|problems| refused(&problems, &request.tasks))?;
    if let Some(command) = &request.command {
        runbook.add(command.task(&folder));
    }
    Ok(runbook)
}

/// What templates may read of this machine.
fn world(base: PathBuf, env: &Env, allowed: &[String]) -> RealWorld {
    RealWorld {
        project: base.clone(),
        planned: base.clone(),
        base,
        variables: env.all().clone(),
        locals: Map::new(),
        secrets: Map::new(),
        metadata: Map::new(),
        trust: Trust::new(allowed.iter().cloned(), false),
    }
}

/// Who runs this program.
pub(super) fn local_user(env: &Env) -> String {
    let said = ["LOGNAME", "USER"]
        .iter()
        .find_map(|name| env.non_empty(name));
    said.map_or_else(crate::system::user::name, str::to_owned)
}

/// Why nothing runs: all of it at once.
fn refused(problems: &[NoCall], tasks: &Tasks) -> Failure {
    let is_unknown = |problem: &NoCall| matches!(problem, NoCall::Unknown { .. });
    let kind = match problems {
        [NoCall::Env(_), ..] => FailureKind::Load,
        _ if problems.iter().any(is_unknown) => FailureKind::Refused,
        _ => FailureKind::Usage,
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
        let diagnostic = crate::diagnostic::Diagnostic::error(problem);
        match problem {
            NoCall::Unknown { hint, .. } => {
                diagnostic.help(hint.clone().unwrap_or_else(|| there_are.clone()))
            }
            NoCall::Arguments(_) | NoCall::Env(_) => diagnostic,
        }
    });
    let diagnostics: crate::diagnostic::Diagnostics = diagnostics.collect();
    Failure::with_places(kind, diagnostics, crate::diagnostic::Sources::default())
}
