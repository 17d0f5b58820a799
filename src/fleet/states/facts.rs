//! Reads facts of machines and changes nothing.
//!
//! [`read_facts`] serves the command `fact`.

use std::collections::VecDeque;
use std::sync::Arc;

use super::apply::driver;
use super::choose_hosts::{StateHost, loss_reason};
use super::request::StatesView;
use crate::exec::{MachineStep, StateMachine, drive};
use crate::fleet::Error;
use crate::host::fact::{Fact, FactReading};
use crate::host::{Action, ActionResult, Passwords, PoolLimits, Question, Secret};
use crate::system::signals::Interrupts;

/// A request to read facts of machines.
#[derive(Debug, Clone)]
pub struct FactsRequest {
    pub facts: Vec<Fact>,
    pub hosts: Vec<StateHost>,
    /// The maximum number of machines that are read at the same time.
    pub parallel: usize,
    /// The user to act as, if not the user who logs in.
    pub sudo: Option<String>,
    /// The limits of connections to machines.
    pub connections: PoolLimits,
    /// The passwords that are known at the start.
    pub passwords: Passwords,
    pub interrupts: Interrupts,
}

/// The facts of one machine, or why it was lost.
#[derive(Debug)]
pub struct MachineFacts {
    /// The name of the machine in messages and results.
    pub name: Arc<str>,
    /// A reading for each fact, or why the machine was lost.
    pub readings: Result<Vec<FactReading>, String>,
}

/// Reads the facts of all machines and returns them in the order of the machines.
pub fn read_facts(
    request: &FactsRequest,
    view: &mut dyn StatesView,
) -> Result<Vec<MachineFacts>, Error> {
    let mut driver = driver(
        &request.interrupts,
        request.sudo.as_ref(),
        &request.connections,
        &request.passwords,
    );
    let mut run = FactsRun::new(request);
    drive(&mut run, &mut driver, view)?;
    Ok(run.results)
}

/// A state machine that reads the facts of all machines.
struct FactsRun<'a> {
    request: &'a FactsRequest,
    waiting: VecDeque<usize>,
    running: usize,
    results: Vec<MachineFacts>,
}

impl<'a> FactsRun<'a> {
    fn new(request: &'a FactsRequest) -> Self {
        let not_reached = || Err("not reached: the run was interrupted before".to_owned());
        let all = request.hosts.iter().map(|host| MachineFacts {
            name: Arc::clone(&host.name),
            readings: not_reached(),
        });
        Self {
            request,
            waiting: (0..request.hosts.len()).collect(),
            running: 0,
            results: all.collect(),
        }
    }
}

impl<'a> StateMachine for FactsRun<'a> {
    type View = dyn StatesView + 'a;
    type Error = Error;

    fn next(&mut self, _view: &mut Self::View) -> Result<MachineStep, Error> {
        if self.running < self.request.parallel.max(1)
            && let Some(at) = self.waiting.pop_front()
        {
            self.running += 1;
            let action = Action::Read(self.request.facts.clone());
            let request = self.request.hosts[at].request(action);
            return Ok(MachineStep::Perform(at as u64, Box::new(request)));
        }
        Ok(match self.running {
            0 => MachineStep::End,
            _ => MachineStep::Wait(None),
        })
    }

    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        _view: &mut Self::View,
    ) -> Result<(), Error> {
        self.running -= 1;
        let at = usize::try_from(tag).unwrap_or(usize::MAX);
        if let Some(facts) = self.results.get_mut(at) {
            facts.readings = match (loss_reason(result.exit()), result) {
                (Some(reason), _) => Err(reason),
                (None, ActionResult::Read(output)) => Ok(output.readings),
                (None, other) => Err(other.exit().to_string()),
            };
        }
        Ok(())
    }

    fn interrupt(&mut self, _signal: i32) {
        self.waiting.clear();
    }

    fn prompt_secret(&mut self, question: &Question, view: &mut Self::View) -> Option<Secret> {
        view.prompt_secret(question)
    }
}
