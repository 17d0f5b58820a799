//! Brings machines to their states: says to each what is next, and hears what came of it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::asking::Asking;
use super::compile::Compiler;
use super::flow::Flow;
use super::machine::{End, Machine, Stage, Step};
use super::now;
use super::report::StatesReport;
use super::request::{StatesRequest, StatesView};
use crate::converge::{Compiled, DeedId};
use crate::diagnostic::Diagnostic;
use crate::host::change::Change;
use crate::host::fact::Fact;
use crate::host::{Action, ActionResult, Become, Chain, Executor, Exit, Place, Request};
use crate::ops::failure::{Failure, FailureKind};
use crate::runner::{Guarding, Heard, Limits, Local};

/// Applies states, or says what they would change.
pub fn perform(
    request: &StatesRequest,
    view: &mut dyn StatesView,
) -> Result<StatesReport, Failure> {
    let mut drive = Drive::new(request, view);
    let done = drive.go();
    request.interrupts.unlisten();
    done?;
    Ok(StatesReport::of(drive.machines, request, drive.stopped))
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
) -> Result<Vec<CompiledMachine>, Failure> {
    let mut drive = Drive::new(request, view);
    drive.compiler.only_compiles = true;
    let done = drive.prepare();
    request.interrupts.unlisten();
    done?;
    if let (Some(signal), true) = (request.interrupts.first(), drive.stopped.is_some()) {
        return Err(Failure::interrupted(signal));
    }
    let machines = drive.machines.into_iter().map(|machine| {
        let name = machine.host.name;
        match (machine.stage, machine.prepared) {
            (Stage::Ended(End::Lost(reason)), _) => {
                let message = format!("[{name}] {reason}");
                Err(Failure::new(FailureKind::Refused, message, None))
            }
            (_, Some(prepared)) => Ok(CompiledMachine {
                name,
                compiled: prepared.compiled,
            }),
            _ => Err(internal("a machine has neither states nor a problem")),
        }
    });
    machines.collect()
}

/// An action that runs on a machine.
struct Flight {
    machine: usize,
    work: Work,
    /// How many answers were known when it began.
    since: usize,
}

/// What an action is for.
#[derive(Clone)]
enum Work {
    Read(Vec<Fact>),
    Change(DeedId, Arc<[Change]>),
}

struct Drive<'a> {
    machines: Vec<Machine>,
    /// Machines that may have something to do.
    due: VecDeque<usize>,
    /// How many machines do something.
    busy: usize,
    flights: HashMap<u64, Flight>,
    next_id: u64,
    timers: BTreeMap<(Instant, usize), DeedId>,
    asking: Asking,
    local: Option<Local>,
    /// Why the run stopped early.
    stopped: Option<String>,
    flow: Flow,
    compiler: Compiler<'a>,
    request: &'a StatesRequest,
    view: &'a mut dyn StatesView,
}

impl<'a> Drive<'a> {
    fn new(request: &'a StatesRequest, view: &'a mut dyn StatesView) -> Self {
        Self {
            machines: request.hosts.iter().cloned().map(Machine::new).collect(),
            due: VecDeque::new(),
            busy: 0,
            flights: HashMap::new(),
            next_id: 0,
            timers: BTreeMap::new(),
            asking: Asking::default(),
            local: None,
            stopped: None,
            flow: Flow::default(),
            compiler: Compiler::new(request),
            request,
            view,
        }
    }

    fn go(&mut self) -> Result<(), Failure> {
        self.prepare()?;
        self.judge();
        if self.stopped.is_some() {
            return Ok(());
        }
        self.flow = Flow::of(self.request, &self.machines)?;
        let states = self.machines.iter().filter_map(|it| it.prepared.as_ref());
        let states = states.map(|prepared| prepared.low.chunks.len()).sum();
        self.view.begins(self.machines.len(), states);
        while self.stopped.is_none() {
            let next = self.flow.next(&mut self.machines);
            if next.is_empty() {
                break;
            }
            self.due.extend(next);
            self.work()?;
            self.judge();
        }
        Ok(())
    }

    /// Brings all machines to where their states can begin. Nothing runs anywhere if anything does
    /// not compile.
    fn prepare(&mut self) -> Result<(), Failure> {
        self.due.extend(0..self.machines.len());
        self.work()?;
        let mut refused = self
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
        Err(Failure::with_places(
            FailureKind::Refused,
            diagnostics,
            sources,
        ))
    }

    /// Works until no machine has anything to do.
    fn work(&mut self) -> Result<(), Failure> {
        loop {
            if self.request.interrupts.first().is_some() {
                self.interrupt();
            }
            while self.busy < self.request.parallel.max(1)
                && let Some(machine) = self.due.pop_front()
            {
                self.advance(machine)?;
            }
            if self.flights.is_empty() && self.timers.is_empty() && self.due.is_empty() {
                return Ok(());
            }
            self.listen()?;
        }
    }

    /// Lets a machine go on until it waits for something.
    fn advance(&mut self, at: usize) -> Result<(), Failure> {
        let was_busy = self.is_busy(at);
        loop {
            let gate = self.flow.gate(at);
            let machine = &mut self.machines[at];
            let work = match machine.step(&self.compiler, gate) {
                Step::Rest => break,
                Step::Sleep(deed, time) => {
                    // Two that end at the same moment differ by a breath.
                    let mut end = Instant::now() + time;
                    while self.timers.contains_key(&(end, at)) {
                        end += Duration::from_nanos(1);
                    }
                    self.timers.insert((end, at), deed);
                    continue;
                }
                Step::Read(facts) => Work::Read(facts),
                Step::Change(deed, changes, chunk) => {
                    let label = machine.label(chunk);
                    let name = Arc::clone(&machine.host.name);
                    self.view.state_begins(&name, &label);
                    Work::Change(deed, changes.into())
                }
            };
            let reads = matches!(work, Work::Read(_));
            self.submit(at, work)?;
            if reads {
                break;
            }
        }
        match (was_busy, self.is_busy(at)) {
            (false, true) => self.busy += 1,
            (true, false) => self.busy -= 1,
            _ => {}
        }
        Ok(())
    }

    fn is_busy(&self, at: usize) -> bool {
        self.machines[at].in_flight > 0
    }

    fn submit(&mut self, at: usize, work: Work) -> Result<(), Failure> {
        let id = self.next_id;
        self.next_id += 1;
        let machine = &mut self.machines[at];
        machine.in_flight += 1;
        let action = match &work {
            Work::Read(facts) => Action::Read(facts.clone()),
            Work::Change(_, changes) => Action::Change(changes.to_vec()),
        };
        let place = match &machine.host.place {
            Place::Ssh(destination) => {
                Place::Ssh(Arc::new(self.asking.passwords.apply(destination)))
            }
            place => place.clone(),
        };
        let mut request = Request::at(place, action);
        request.host = Some(machine.host.name.to_string());
        request.chain = self.chain(&request.place);
        let flight = Flight {
            machine: at,
            work,
            since: self.asking.answers(),
        };
        self.flights.insert(id, flight);
        self.local()?.submit(id, request);
        Ok(())
    }

    /// What performs actions as another user.
    fn chain(&self, place: &Place) -> Option<Arc<Chain>> {
        let user = self.request.sudo.clone()?;
        let password = match place {
            Place::Ssh(destination) => self.asking.passwords.sudo(&destination.address).cloned(),
            Place::Here | Place::Container(_) => None,
        };
        let sudo = Executor::Sudo(Become { user, password });
        Some(Arc::new(Chain::new(vec![sudo])))
    }

    /// Waits for what is heard next, or for the end of a pause.
    fn listen(&mut self) -> Result<(), Failure> {
        let heard = match self.timers.first_key_value() {
            None => Some(self.local()?.recv().map_err(internal)?),
            Some(((end, _), _)) => {
                let time = end.saturating_duration_since(Instant::now());
                self.local()?.recv_within(time).map_err(internal)?
            }
        };
        match heard {
            None => self.wake(),
            Some(Heard::Ended(id, result)) => self.heard(id, result)?,
            Some(Heard::Interruption) => self.interrupt(),
            Some(Heard::Note(_, _) | Heard::Wrote(..)) => {}
        }
        Ok(())
    }

    /// Ends the pauses whose time has come.
    fn wake(&mut self) {
        let now_is = Instant::now();
        while let Some(((end, at), deed)) = self.timers.first_key_value() {
            if *end > now_is {
                break;
            }
            let (at, deed) = (*at, *deed);
            self.timers.pop_first();
            let machine = &mut self.machines[at];
            if let Some(engine) = &mut machine.engine {
                engine.slept(deed, &mut machine.facts, now());
            }
            self.due.push_back(at);
        }
    }

    fn heard(&mut self, id: u64, result: ActionResult) -> Result<(), Failure> {
        let Some(flight) = self.flights.remove(&id) else {
            return Ok(());
        };
        let Flight {
            machine: at,
            work,
            since,
        } = flight;
        self.machines[at].in_flight -= 1;
        if let Exit::Asked { question, .. } = result.exit() {
            let question = question.clone();
            if self.asking.answered(&question, since, self.view) {
                return self.submit(at, work);
            }
        }
        let machine = &mut self.machines[at];
        match (work, result) {
            (Work::Read(facts), ActionResult::Read(output)) => match lost(&output.exit) {
                Some(reason) => machine.lose(reason),
                None => machine.learn(facts, output.readings),
            },
            (Work::Change(deed, _), ActionResult::Change(output)) => {
                let reason = lost(&output.exit);
                if let Some(engine) = &mut machine.engine {
                    engine.changed(deed, output.outputs, &mut machine.facts, now());
                }
                if let Some(reason) = reason {
                    machine.lose(reason);
                }
            }
            (_, result) => machine.lose(result.exit().to_string()),
        }
        if !self.is_busy(at) {
            self.busy -= 1;
        }
        self.due.push_front(at);
        Ok(())
    }

    /// Stops if too many machines have failed (P35).
    fn judge(&mut self) {
        let Some(most) = self.request.fail_percent else {
            return;
        };
        let all = self.machines.len();
        let failed = self.machines.iter().filter(|it| it.has_failed()).count();
        if failed * 100 > usize::from(most) * all {
            let percent = failed * 100 / all;
            self.stop(format!(
                "more than {most}% of the hosts have failed ({percent}%)"
            ));
        }
    }

    fn stop(&mut self, reason: String) {
        self.stopped.get_or_insert(reason);
        for machine in &mut self.machines {
            if machine.is_active() {
                machine.stage = Stage::Ended(End::Stopped);
            }
        }
    }

    /// Somebody asks for an end: what runs is ended, and nothing more begins.
    fn interrupt(&mut self) {
        if self.stopped.is_none() {
            self.stop("interrupted".to_owned());
            self.timers.clear();
            self.due.clear();
            if let Some(local) = &self.local {
                local.cancel_all();
            }
        }
    }

    /// The runner, started with the first action.
    fn local(&mut self) -> Result<&Local, Failure> {
        if self.local.is_none() {
            let token = ulid::Ulid::generate().to_string();
            let limits = Limits {
                guarding: Some(Guarding::by_this_program(&token)),
                ..Limits::default()
            };
            let local = Local::start(limits, None).map_err(internal)?;
            let bell = local.bell();
            self.request.interrupts.starts();
            self.request.interrupts.listen(move |_, nth| bell.ring(nth));
            self.local = Some(local);
        }
        let local = self.local.as_ref();
        local.ok_or_else(|| internal("the runner did not start"))
    }
}

/// Why a machine is lost, if it is.
fn lost(exit: &Exit) -> Option<String> {
    match exit {
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotFound(_) => None,
        Exit::Cancelled => Some("interrupted".to_owned()),
        Exit::Unreachable(_) | Exit::Failed(_) | Exit::Asked { .. } => Some(exit.to_string()),
    }
}

fn internal(error: impl ToString) -> Failure {
    Failure::new(FailureKind::Internal, error, None)
}
