//! Applies Salt states: compiles the states of all machines, then runs them.
//!
//! Entry points: [`apply_states`] and [`compile_all`].

use std::sync::Arc;

use super::fleet::{Fleet, MachineEnd, MachineStage};
use super::machine_order::MachineOrder;
use super::report::StatesReport;
use super::request::{StatesRequest, StatesView};
use crate::diagnostic::Diagnostic;
use crate::exec::{Driver, OnInterrupt, OutputMode, RunLimits, drive};
use crate::fleet::{Error, ErrorKind};
use crate::host::{Passwords, PoolLimits};
use crate::states::CompiledStates;
use crate::system::signals::Interrupts;

/// Applies states, or reports what they would change in test mode.
pub fn apply_states(
    request: &StatesRequest,
    view: &mut dyn StatesView,
) -> Result<StatesReport, Error> {
    let mut run = StatesDriver::new(request, view);
    run.run()?;
    let Fleet {
        machines, stopped, ..
    } = run.fleet;
    Ok(StatesReport::of(machines, request, stopped))
}

/// The compiled states of a machine.
#[derive(Debug)]
pub struct CompiledMachine {
    pub name: Arc<str>,
    pub compiled: CompiledStates,
}

/// Compiles the states of all machines without running them.
pub fn compile_all(
    request: &StatesRequest,
    view: &mut dyn StatesView,
) -> Result<Vec<CompiledMachine>, Error> {
    let mut run = StatesDriver::new(request, view);
    run.fleet.compiler.is_compile_only = true;
    run.prepare()?;
    if let (Some(signal), true) = (request.interrupts.first(), run.fleet.stopped.is_some()) {
        return Err(Error::interrupted(signal));
    }
    let machines = run.fleet.machines.into_iter().map(|machine| {
        let name = machine.host.name;
        match (machine.stage, machine.run.into_prepared()) {
            (MachineStage::Ended(MachineEnd::Lost(reason)), _) => {
                let message = format!("[{name}] {reason}");
                Err(Error::new(ErrorKind::Refused, message, None))
            }
            (_, Some(prepared)) => Ok(CompiledMachine {
                name,
                compiled: prepared.compiled,
            }),
            _ => {
                let message = "internal error: a host has neither states nor an error";
                Err(Error::new(ErrorKind::Internal, message, None))
            }
        }
    });
    machines.collect()
}

/// Creates the driver for actions on machines.
///
/// A signal cancels running actions at once.
pub(super) fn driver(
    interrupts: &Interrupts,
    sudo: Option<&String>,
    connections: &PoolLimits,
    passwords: &Passwords,
) -> Driver {
    let limits = RunLimits {
        connections: connections.clone(),
        ..RunLimits::guarded()
    };
    let driver = Driver::local(
        interrupts.clone(),
        OnInterrupt::Cancel,
        limits,
        OutputMode::Discard,
    );
    driver.with_passwords(sudo.cloned(), passwords.clone())
}

struct StatesDriver<'a> {
    fleet: Fleet<'a>,
    driver: Driver,
    request: &'a StatesRequest,
    view: &'a mut dyn StatesView,
}

impl<'a> StatesDriver<'a> {
    fn new(request: &'a StatesRequest, view: &'a mut dyn StatesView) -> Self {
        Self {
            fleet: Fleet::new(request),
            driver: driver(
                &request.interrupts,
                request.sudo.as_ref(),
                &request.connections,
                &request.passwords,
            )
            .with_chain(request.chain.clone()),
            request,
            view,
        }
    }

    fn run(&mut self) -> Result<(), Error> {
        self.prepare()?;
        self.stop_if_too_many_failed();
        if self.fleet.stopped.is_some() {
            return Ok(());
        }
        let mut order = MachineOrder::new(self.request, &mut self.fleet.machines)?;
        let states = self
            .fleet
            .machines
            .iter()
            .filter_map(|it| it.run.prepared());
        let states = states.map(|prepared| prepared.low.chunks.len()).sum();
        self.view.run_started(self.fleet.machines.len(), states);
        while self.fleet.stopped.is_none() {
            let next = order.next(&mut self.fleet.machines);
            if next.is_empty() {
                break;
            }
            self.fleet.enqueue(next);
            self.run_until_idle()?;
            self.stop_if_too_many_failed();
        }
        Ok(())
    }

    /// Compiles the states of all machines.
    ///
    /// If the states of one machine do not compile, the run fails before any state runs.
    fn prepare(&mut self) -> Result<(), Error> {
        self.fleet.enqueue(0..self.fleet.machines.len());
        self.run_until_idle()?;
        let mut refused = self
            .fleet
            .machines
            .iter()
            .filter_map(|machine| match &machine.stage {
                MachineStage::Ended(MachineEnd::Refused(problems)) => {
                    Some((&machine.host.name, problems))
                }
                _ => None,
            });
        let Some((name, problems)) = refused.next() else {
            return Ok(());
        };
        let (mut diagnostics, sources) = (problems.0.clone(), problems.1.clone());
        let others = refused.count();
        if self.request.has_named_hosts {
            let more = match others {
                0 => String::new(),
                1 => ", and of 1 other host".to_owned(),
                more => format!(", and of {more} other hosts"),
            };
            let message =
                format!("the errors above are in the states of `{name}`{more}; no state was run");
            diagnostics.push(Diagnostic::warning(message));
        }
        Err(Error::with_sources(
            ErrorKind::Refused,
            diagnostics,
            sources,
        ))
    }

    /// Runs until no machine has anything left to do.
    fn run_until_idle(&mut self) -> Result<(), Error> {
        drive(&mut self.fleet, &mut self.driver, self.view)
    }

    /// Stops the run if too many machines have failed (P35).
    fn stop_if_too_many_failed(&mut self) {
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
