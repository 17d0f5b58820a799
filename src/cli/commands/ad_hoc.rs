//! Runs ad-hoc steps and commands on hosts, without a `tasks.yaml`.
//!
//! Shared by `run`, `put`, `get` and `reboot`; [`perform_shown`] also runs the calls of `task`.

use std::rc::Rc;

use crate::cli::args::format::HostOutput;
use crate::cli::args::host::HostOptions;
use crate::cli::output::Context;
use crate::cli::prompt::AnswerSource;
use crate::cli::screen::hosts::HostScreen;
use crate::diagnostic::Sources;
use crate::fleet::tasks::{AdHocTask, TasksRequest};
use crate::host::{ExecutorChain, ExecutorConfiguration};
use crate::ops::tasks::perform;
use crate::ops::{Failure, watch_signals};
use crate::system::signals::Interrupts;
use crate::tasks::{StepAction, Tasks};

/// Returns a task that consists of one step, under a name for messages.
pub(in crate::cli) fn named_step(name: &'static str, step_action: StepAction) -> AdHocTask {
    AdHocTask::Step {
        name,
        action: step_action,
        options: Box::default(),
    }
}

/// An ad-hoc task with the hosts and executors that the options choose. Nothing has run yet.
pub(in crate::cli) struct PreparedRun {
    request: TasksRequest,
    format: HostOutput,
}

impl PreparedRun {
    pub(in crate::cli) fn new(
        task: AdHocTask,
        hosts: &HostOptions,
        cx: &Context,
    ) -> Result<Self, Failure> {
        let known = hosts.fleet_hosts(answer_source(Some(&task)), cx)?;
        let configured: Vec<&ExecutorConfiguration> = known.executors.iter().collect();
        let chain = hosts.chain(&configured, &cx.output)?;
        let request = TasksRequest {
            tasks: Tasks::default(),
            sources: Sources::default(),
            calls: Vec::new(),
            command: Some(task),
            options: hosts.options(&known)?,
            resolver: Rc::clone(&known) as _,
            roles: known,
            chain,
            connections: hosts.connection.pool_limits(),
            allowed: cx.global.allow.clone(),
            interrupts: watch_signals(),
        };
        Ok(Self {
            request,
            format: hosts.output,
        })
    }

    /// Returns the executors, if any are chosen.
    pub(in crate::cli) fn chain(&self) -> Option<&ExecutorChain> {
        self.request.chain.as_deref()
    }

    /// Returns the signals that end the run.
    pub(in crate::cli) fn interrupts(&self) -> &Interrupts {
        &self.request.interrupts
    }

    /// Runs the task and returns the exit code.
    pub(in crate::cli) fn perform(&self, cx: &Context) -> Result<u8, Failure> {
        perform_shown(&self.request, self.format, cx)
    }
}

/// Runs an ad-hoc task on the hosts that the options choose and returns the exit code.
pub(in crate::cli) fn run_ad_hoc(
    task: AdHocTask,
    hosts: &HostOptions,
    cx: &Context,
) -> Result<u8, Failure> {
    PreparedRun::new(task, hosts, cx)?.perform(cx)
}

/// Runs a request over hosts, shows its events and summary, and returns the exit code.
pub(in crate::cli) fn perform_shown(
    request: &TasksRequest,
    format: HostOutput,
    cx: &Context,
) -> Result<u8, Failure> {
    let screen = HostScreen::new(&cx.output, format, request.interrupts.clone());
    let mut screen = screen.answered_from(answer_source(request.command.as_ref()));
    let report = perform(request, &mut screen)?;
    screen.end(&report);
    Ok(report.exit_code)
}

/// Returns the source of answers: a command may get the standard input.
fn answer_source(task: Option<&AdHocTask>) -> AnswerSource {
    if task.is_some_and(AdHocTask::reads_program_input) {
        AnswerSource::Terminal
    } else {
        AnswerSource::Stdin
    }
}
