//! Runs of states: compiles those of all machines, then brings the machines there.

use std::sync::Arc;

use super::fleet::{End, Fleet, Stage};
use super::flow::Flow;
use super::report::StatesReport;
use super::request::{StatesRequest, StatesView};
use crate::converge::Compiled;
use crate::diagnostic::Diagnostic;
use crate::exec::{Driver, Limits, OnInterrupt, Output, drive};
use crate::fleet::{Error, ErrorKind};
use crate::system::signals::Interrupts;

/// Applies states, or says what they would change.
pub fn perform(request: &StatesRequest, view: &mut dyn StatesView) -> Result<StatesReport, Error> {
    let mut run = StatesDrive::new(request, view);
    run.go()?;
    let Fleet {
        machines, stopped, ..
    } = run.fleet;
    Ok(StatesReport::of(machines, request, stopped))
}

/// The states of a machine, compiled.
#[derive(Debug)]
pub struct CompiledMachine {
    /// How people call it.
    pub name: Arc<str>,
    /// Its states.
    pub compiled: Compiled,
}

/// Compiles the states of all machines, and runs none.
pub fn compile_all(
    request: &StatesRequest,
    view: &mut dyn StatesView,
) -> Result<Vec<CompiledMachine>, Error> {
    let mut run = StatesDrive::new(request, view);
    run.fleet.compiler.only_compiles = true;
    run.prepare()?;
    if let (Some(signal), true) = (request.interrupts.first(), run.fleet.stopped.is_some()) {
        return Err(Error::interrupted(signal));
    }
    let machines = run.fleet.machines.into_iter().map(|machine| {
        let name = machine.host.name;
        match (machine.stage, machine.run.into_prepared()) {
            (Stage::Ended(End::Lost(reason)), _) => {
                let message = format!("[{name}] {reason}");
                Err(Error::new(ErrorKind::Refused, message, None))
            }
            (_, Some(prepared)) => Ok(CompiledMachine {
                name,
                compiled: prepared.compiled,
            }),
            _ => {
                let message = "a machine has neither states nor a problem";
                Err(Error::new(ErrorKind::Internal, message, None))
            }
        }
    });
    machines.collect()
}

/// The driver of actions on machines: whoever asks for an end does not wait.
pub(super) fn driver(interrupts: &Interrupts, sudo: Option<&String>) -> Driver {
    let limits = Limits::guarded();
    let driver = Driver::here(
        interrupts.clone(),
        OnInterrupt::Cancel,
        limits,
        Output::Unheard,
    );
    driver.with_passwords(sudo.cloned())
}

struct StatesDrive<'a> {
    fleet: Fleet<'a>,
    driver: Driver,
    request: &'a StatesRequest,
    view: &'a mut dyn StatesView,
}

impl<'a> StatesDrive<'a> {
    fn new(request: &'a StatesRequest, view: &'a mut dyn StatesView) -> Self {
        Self {
            fleet: Fleet::new(request),
            driver: driver(&request.interrupts, request.sudo.as_ref()),
            request,
            view,
        }
    }

    fn go(&mut self) -> Result<(), Error> {
        self.prepare()?;
        self.judge();
        if self.fleet.stopped.is_some() {
            return Ok(());
        }
        let mut flow = Flow::of(self.request, &mut self.fleet.machines)?;
        let states = self
            .fleet
            .machines
            .iter()
            .filter_map(|it| it.run.prepared());
        let states = states.map(|prepared| prepared.low.chunks.len()).sum();
        self.view.begins(self.fleet.machines.len(), states);
        while self.fleet.stopped.is_none() {
            let next = flow.next(&mut self.fleet.machines);
            if next.is_empty() {
                break;
            }
            self.fleet.wants(next);
            self.work()?;
            self.judge();
        }
        Ok(())
    }

    /// Brings all machines to where their states can begin. Nothing runs anywhere if anything does
    /// not compile.
    fn prepare(&mut self) -> Result<(), Error> {
        self.fleet.wants(0..self.fleet.machines.len());
        self.work()?;
        let mut refused = self
            .fleet
            .machines
            .iter()
            .filter_map(|machine| match &machine.stage {
                Stage::Ended(End::Refused(problems)) => Some((&machine.host.name, problems)),
                _ => None,
            });
        let Some((name, problems)) = refused.next() else {
            return Ok(());
        };
        let (mut diagnostics, sources) = (problems.0.clone(), problems.1.clone());
        let others = refused.count();
        if self.request.over_hosts {
            let more = match others {
                0 => String::new(),
                1 => ", and of 1 other host".to_owned(),
                more => format!(", and of {more} other hosts"),
            };
            let message = format!("these are the states of `{name}`{more}; nothing was run");
            diagnostics.push(Diagnostic::warning(message));
        }
        Err(Error::with_places(ErrorKind::Refused, diagnostics, sources))
    }

    /// Works until no machine has anything to do.
    fn work(&mut self) -> Result<(), Error> {
        drive(&mut self.fleet, &mut self.driver, self.view)
    }

    /// Stops if too many machines have failed (P35).
    fn judge(&mut self) {
        let Some(most) = self.request.fail_percent else {
            return;
        };
        let all = self.fleet.machines.len();
        let failed = self
            .fleet
            .machines
            .iter()
            .filter(|it| it.has_failed())
            .count();
        if failed * 100 > usize::from(most) * all {
            let percent = failed * 100 / all;
            self.fleet.stop(format!(
                "more than {most}% of the hosts have failed ({percent}%)"
            ));
        }
    }
}
