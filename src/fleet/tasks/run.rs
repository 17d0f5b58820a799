//! Joins the engine of tasks to its driver, and to the face that shows what happens.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::request::{HostsView, RunbookRequest};
use crate::exec::{Machine, Next};
use crate::fleet::{Error, ErrorKind};
use crate::host::{Action, ActionResult, Note, Request, Stream};
use crate::runbook::{Do, Event, Runbook, State, TaskName};

/// A run of tasks over hosts.
pub(super) struct TasksRun<'a> {
    pub(super) runbook: Runbook,
    /// What the engine asked for that has not begun.
    pub(super) todo: VecDeque<Do>,
    pub(super) variables: BTreeMap<String, String>,
    /// Where commands of this machine run that say nothing else.
    pub(super) folder: PathBuf,
    pub(super) request: &'a RunbookRequest,
    /// For which host each action runs.
    pub(super) hosts: HashMap<u64, Option<Arc<str>>>,
    /// Since when a task runs on a host.
    pub(super) begun: HashMap<(TaskName, Option<Arc<str>>), Instant>,
    /// Which of how many hosts of its task a host is.
    pub(super) ranks: HashMap<Arc<str>, (u32, u32)>,
}

impl TasksRun<'_> {
    /// Asks people what the engine asks them, up to the next action.
    fn begin(&mut self, view: &mut dyn HostsView) -> Option<Next> {
        while let Some(one) = self.todo.pop_front() {
            match one {
                Do::Perform { id, host, request } => {
                    let request = self.completed(*request, host.as_ref());
                    self.hosts.insert(id, host);
                    return Some(Next::Perform(id, Box::new(request)));
                }
                Do::Ask { id, question } => {
                    let answer = view.ask(&question);
                    self.runbook.answered(id, answer.as_ref());
                }
                Do::Prompt {
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
                    self.runbook.prompted(id, answer.as_deref());
                }
            }
        }
        None
    }

    /// A command of this machine gets what it needs of its environment, one on a host its chain
    /// of executors.
    fn completed(&self, mut request: Request, host: Option<&Arc<str>>) -> Request {
        if let Some(host) = host.filter(|host| !request.place.is_here() || host.starts_with('@')) {
            request.chain = request.chain.or_else(|| self.request.chain.clone());
            request.host = Some(host.to_string());
            request.rank = self.ranks.get(host).copied().unwrap_or((0, 1));
        }
        if request.place.is_here()
            && let Action::Run(command) = &mut request.action
        {
            if command.cwd.as_os_str().is_empty() {
                command.cwd.clone_from(&self.folder);
            }
            // What acts as another user may put its variables on a command line.
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

    /// Shows what has happened.
    fn tell(&mut self, view: &mut dyn HostsView) {
        for mut event in self.runbook.take_events() {
            self.time(&mut event);
            view.event(&event);
            if let Event::TaskBegins { hosts, .. } = event {
                let count = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
                let ranked = (0..count).zip(hosts);
                self.ranks = ranked.map(|(rank, host)| (host, (rank, count))).collect();
            }
        }
    }

    /// Sets the time that a task took on a host, with that of connecting to it.
    fn time(&mut self, event: &mut Event) {
        match event {
            Event::HostBegins { task, host } => {
                let key = (Arc::clone(task), host.clone());
                self.begun.insert(key, Instant::now());
            }
            Event::HostEnds(end) => {
                let key = (Arc::clone(&end.task), end.host.clone());
                if let Some(begun) = self.begun.remove(&key) {
                    end.elapsed = begun.elapsed();
                }
            }
            _ => {}
        }
    }
}

impl<'a> Machine for TasksRun<'a> {
    type View = dyn HostsView + 'a;
    type Error = Error;

    fn next(&mut self, view: &mut Self::View) -> Result<Next, Error> {
        if !self.todo.is_empty() {
            return Ok(self.begin(view).unwrap_or(Next::Again));
        }
        self.todo = self.runbook.next().into();
        self.tell(view);
        if !self.todo.is_empty() {
            return Ok(self.begin(view).unwrap_or(Next::Again));
        }
        match self.runbook.state() {
            State::Running if !self.hosts.is_empty() => Ok(Next::Wait(None)),
            State::Running => {
                let message = "tasks wait for something that nobody does";
                Err(Error::new(ErrorKind::Internal, message, None))
            }
            _ => Ok(Next::End),
        }
    }

    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        _view: &mut Self::View,
    ) -> Result<(), Error> {
        self.hosts.remove(&tag);
        self.runbook.heard(tag, &result);
        Ok(())
    }

    fn interrupt(&mut self, _signal: i32) {
        self.runbook.interrupt();
    }

    fn note(&mut self, tag: u64, note: Note, view: &mut Self::View) {
        let host = self.hosts.get(&tag).cloned().flatten();
        view.event(&match note {
            Note::Told(text) => {
                let host = host.map_or(String::new(), |host| format!("[{host}] "));
                Event::Warning(format!("{host}{text}"))
            }
            Note::Routine(text) => Event::Step { host, text },
        });
    }

    fn output(&mut self, tag: u64, (stream, bytes): (Stream, Vec<u8>), view: &mut Self::View) {
        let host = self.hosts.get(&tag).cloned().flatten();
        view.event(&Event::Output {
            host,
            stream,
            bytes,
        });
    }
}
