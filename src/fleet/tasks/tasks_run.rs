//! The state machine that joins the task engine to the driver and the view.
//!
//! Requests of the engine become actions of the driver or questions to the view; results and events
//! go the opposite way.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::request::{AdHocTask, HostsView, TasksRequest};
use crate::exec::{MachineStep, StateMachine};
use crate::fleet::{Error, ErrorKind};
use crate::host::{
    Action, ActionRequest, ActionResult, ChainNote, ProgramInput, Stream, TransferAmount,
};
use crate::tasks::{EngineRequest, HostEvent, RunState, TaskEngine, TaskName};

/// A run of tasks over hosts.
pub(super) struct TasksRun<'a> {
    pub(super) engine: TaskEngine,
    /// Requests of the engine that have not started.
    pub(super) requests: VecDeque<EngineRequest>,
    pub(super) variables: BTreeMap<String, String>,
    /// The default working folder of commands on this machine.
    pub(super) folder: PathBuf,
    pub(super) request: &'a TasksRequest,
    /// The host of each running action.
    pub(super) hosts: HashMap<u64, Option<Arc<str>>>,
    /// The start time of each task on each host.
    pub(super) started_at: HashMap<(TaskName, Option<Arc<str>>), Instant>,
    /// The index of a host among the hosts of its task, and their number (for splay).
    pub(super) ranks: HashMap<Arc<str>, (u32, u32)>,
}

impl TasksRun<'_> {
    /// Starts the next action. Prompts before it are asked and answered at once.
    fn start_next(&mut self, view: &mut dyn HostsView) -> Option<MachineStep> {
        while let Some(request) = self.requests.pop_front() {
            match request {
                EngineRequest::Perform { id, host, request } => {
                    let request = self.complete_request(*request, host.as_ref());
                    self.hosts.insert(id, host);
                    return Some(MachineStep::Perform(id, Box::new(request)));
                }
                EngineRequest::PromptSecret { id, question } => {
                    let answer = view.prompt_secret(&question);
                    self.engine.answer_secret(id, answer.as_ref());
                }
                EngineRequest::Prompt {
                    id,
                    host,
                    text,
                    default,
                    secret,
                } => {
                    let text = match host {
                        Some(host) => format!("[{host}] {text}"),
                        None => text,
                    };
                    let answer = view.prompt(&text, default.as_deref(), secret);
                    self.engine.answer_prompt(id, answer.as_deref());
                }
            }
        }
        None
    }

    /// Completes a request.
    ///
    /// A local command gets its working folder and environment; an action on a host gets its chain
    /// of executors.
    fn complete_request(
        &self,
        mut request: ActionRequest,
        host: Option<&Arc<str>>,
    ) -> ActionRequest {
        if let Some(host) =
            host.filter(|host| !request.location.is_local() || host.starts_with('@'))
        {
            request.chain = request.chain.or_else(|| self.request.chain.clone());
            request.host = Some(host.to_string());
            request.closes_connection = self.is_single_command();
            request.rank = self.ranks.get(host).copied().unwrap_or((0, 1));
            if let (Some(_), Action::Run(command)) = (&request.chain, &mut request.action)
                && let Some(part) = &mut command.program_input
            {
                // An executor may run the command again.
                *part = ProgramInput::Copy;
            }
        }
        if request.location.is_local()
            && let Action::Run(command) = &mut request.action
        {
            if command.cwd.as_os_str().is_empty() {
                command.cwd.clone_from(&self.folder);
            }
            // An executor such as `sudo` may put variables on a command line, where others can read
            // them.
            let is_plain = request.chain.is_none();
            let missing = self.variables.iter().filter(|(name, _)| {
                command.env.get(name).is_none() && (is_plain || *name == "PATH")
            });
            let missing: Vec<(String, String)> = missing
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            command.env.extend(missing);
        }
        request
    }

    /// Returns true if each host runs one command and nothing else.
    ///
    /// Then its connection is closed at once: thousands of idle connections would take memory here and on a gateway.
    fn is_single_command(&self) -> bool {
        let is_command = matches!(&self.request.command, Some(AdHocTask::Command { .. }));
        is_command && self.request.calls.is_empty()
    }

    /// Shows the events of the engine.
    fn show_events(&mut self, view: &mut dyn HostsView) {
        for mut event in self.engine.take_events() {
            self.set_elapsed(&mut event);
            view.event(&event);
            if let HostEvent::TaskStarted { hosts, .. } = event {
                let count = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
                let ranked = (0..count).zip(hosts);
                self.ranks = ranked.map(|(rank, host)| (host, (rank, count))).collect();
            }
        }
    }

    /// Sets the time that a task took on a host, including the connection.
    fn set_elapsed(&mut self, event: &mut HostEvent) {
        match event {
            HostEvent::HostStarted { task, host } => {
                let key = (Arc::clone(task), host.clone());
                self.started_at.insert(key, Instant::now());
            }
            HostEvent::HostFinished(end) => {
                let key = (Arc::clone(&end.task), end.host.clone());
                if let Some(started) = self.started_at.remove(&key) {
                    end.elapsed = started.elapsed();
                }
            }
            _ => {}
        }
    }
}

impl<'a> StateMachine for TasksRun<'a> {
    type View = dyn HostsView + 'a;
    type Error = Error;

    fn next(&mut self, view: &mut Self::View) -> Result<MachineStep, Error> {
        if !self.requests.is_empty() {
            return Ok(self.start_next(view).unwrap_or(MachineStep::Continue));
        }
        self.requests = self.engine.next().into();
        self.show_events(view);
        if !self.requests.is_empty() {
            return Ok(self.start_next(view).unwrap_or(MachineStep::Continue));
        }
        match self.engine.state() {
            RunState::Running if !self.hosts.is_empty() => Ok(MachineStep::Wait(None)),
            RunState::Running => {
                let message = "internal error: the tasks wait, but no action is running";
                Err(Error::new(ErrorKind::Internal, message, None))
            }
            _ => Ok(MachineStep::End),
        }
    }

    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        view: &mut Self::View,
    ) -> Result<(), Error> {
        let host = self.hosts.remove(&tag).flatten();
        view.event(&HostEvent::StepFinished { host });
        self.engine.complete_action(tag, &result);
        Ok(())
    }

    fn interrupt(&mut self, _signal: i32) {
        self.engine.interrupt();
    }

    fn note(&mut self, tag: u64, note: ChainNote, view: &mut Self::View) {
        let host = self.hosts.get(&tag).cloned().flatten();
        view.event(&match note {
            ChainNote::Notice(text) => {
                let host = host.map_or(String::new(), |host| format!("[{host}] "));
                HostEvent::Warning(format!("{host}{text}"))
            }
            ChainNote::Detail(text) => HostEvent::Step { host, text },
        });
    }

    fn progress(&mut self, tag: u64, amount: TransferAmount, view: &mut Self::View) {
        let host = self.hosts.get(&tag).cloned().flatten();
        view.event(&HostEvent::Progress { host, amount });
    }

    fn output(&mut self, tag: u64, (stream, bytes): (Stream, Vec<u8>), view: &mut Self::View) {
        if self.engine.hides_output(tag, stream) {
            return;
        }
        let host = self.hosts.get(&tag).cloned().flatten();
        view.event(&HostEvent::Output {
            host,
            stream,
            bytes,
        });
    }
}
