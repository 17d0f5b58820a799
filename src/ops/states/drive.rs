//! Brings machines to their states: says to each what is next, and hears what came of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::compile::Compiler;
use super::flow::Flow;
use super::hands::{Hands, News, internal, lost};
use super::machine::{End, Machine, Stage, Step};
use super::now;
use super::report::StatesReport;
use super::request::{StatesRequest, StatesView};
use crate::converge::{Compiled, DeedId};
use crate::diagnostic::Diagnostic;
use crate::host::fact::Fact;
use crate::host::{Action, ActionResult};
use crate::ops::failure::{Failure, FailureKind};

/// Applies states, or says what they would change.
pub fn perform(
    request: &StatesRequest,
    view: &mut dyn StatesView,
) -> Result<StatesReport, Failure> {
    let mut drive = Drive::new(request, view);
    drive.go()?;
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
    drive.prepare()?;
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

/// What an action is for, and on which machine.
struct Work {
    machine: usize,
    goal: Goal,
}

enum Goal {
    Read(Vec<Fact>),
    /// Changes, and what people call the state they are for.
    Change(DeedId, String),
}

struct Drive<'a> {
    machines: Vec<Machine>,
    /// Machines that may have something to do.
    due: VecDeque<usize>,
    /// How many machines do something.
    busy: usize,
    timers: BTreeMap<(Instant, usize), DeedId>,
    hands: Hands<Work>,
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
            timers: BTreeMap::new(),
            hands: Hands::new(request.interrupts.clone(), request.sudo.clone()),
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
            if self.request.interrupts.heed().is_some() {
                self.interrupt();
            }
            while self.busy < self.request.parallel.max(1)
                && let Some(machine) = self.due.pop_front()
            {
                self.advance(machine)?;
            }
            if self.hands.is_idle() && self.timers.is_empty() && self.due.is_empty() {
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
            let (action, goal) = match machine.step(&self.compiler, gate) {
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
                Step::Read(facts) => (Action::Read(facts.clone()), Goal::Read(facts)),
                Step::Change(deed, changes, chunk) => {
                    let label = machine.label(chunk);
                    self.view.state_begins(&machine.host.name, &label);
                    (Action::Change(changes), Goal::Change(deed, label))
                }
            };
            let reads = matches!(goal, Goal::Read(_));
            machine.in_flight += 1;
            let work = Work { machine: at, goal };
            self.hands.submit(&machine.host, action, work)?;
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

    /// Waits for what is heard next, or for the end of a pause.
    fn listen(&mut self) -> Result<(), Failure> {
        let until = self.timers.first_key_value().map(|((end, _), _)| *end);
        match self.hands.listen(until, self.view)? {
            News::Ended(work, result) => self.heard(work, result),
            News::Interrupted => self.interrupt(),
            News::Time => self.wake(),
            News::Nothing => {}
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

    fn heard(&mut self, work: Work, result: ActionResult) {
        let at = work.machine;
        let machine = &mut self.machines[at];
        machine.in_flight -= 1;
        match (work.goal, result) {
            (Goal::Read(facts), ActionResult::Read(output)) => match lost(&output.exit) {
                Some(reason) => machine.lose(reason),
                None => machine.facts.learn_all(facts, output.readings),
            },
            (Goal::Change(deed, label), ActionResult::Change(output)) => {
                let reason = lost(&output.exit);
                if let Some(engine) = &mut machine.engine {
                    let before = engine.results().len();
                    engine.changed(deed, output.outputs, &mut machine.facts, now());
                    for result in &engine.results()[before..] {
                        let label = format!("{}.{} {}", result.state, result.fun, result.name);
                        self.view.state_ends(&machine.host.name, &label);
                    }
                }
                if let Some(reason) = reason {
                    let unknown = format!("nobody knows what became of `{label}`");
                    machine.lose(format!("{reason}; {unknown}"));
                }
            }
            (_, result) => machine.lose(result.exit().to_string()),
        }
        if !self.is_busy(at) {
            self.busy -= 1;
        }
        self.due.push_front(at);
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
            self.hands.cancel_all();
        }
    }
}
