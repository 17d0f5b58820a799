//! Machines on their way to their states: says to each what is next, and hears what came of it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::compile::Compiler;
use super::hosts::{StateHost, lost};
use super::request::{StatesRequest, StatesView};
use crate::converge::{DeedId, HostRun, Next, Preparation, Prepared, Stamp, StateResult};
use crate::diagnostic::{Diagnostics, Sources};
use crate::exec;
use crate::fleet::Error;
use crate::host::fact::Fact;
use crate::host::{Action, ActionResult, Question, Request, Secret};
use crate::system::clock;

/// A machine with its states.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) host: StateHost,
    pub(super) run: HostRun,
    pub(super) stage: Stage,
    /// The last place of its order that it may come to; none for to the end.
    pub(super) gate: Option<usize>,
    /// How many actions run there.
    in_flight: usize,
}

/// How far a machine is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Its states are compiled, for which it is asked what it is like, and the facts are read that
    /// they need first.
    Prepare,
    /// All is ready to begin.
    Ready,
    /// Its states run.
    Running,
    /// It has come to an end.
    Ended(End),
}

/// How a machine has ended.
#[derive(Debug, Clone)]
pub enum End {
    /// All its states were come to.
    Done,
    /// It was lost, or never reached. States that were not come to are not in its results.
    Lost(String),
    /// The run stopped before it was done.
    Stopped,
    /// Its states do not compile.
    Refused(Arc<(Diagnostics, Sources)>),
}

impl Machine {
    fn new(host: StateHost) -> Self {
        Self {
            run: HostRun::new(&host.place),
            host,
            stage: Stage::Prepare,
            gate: None,
            in_flight: 0,
        }
    }

    /// Whether it takes part still.
    pub(super) fn is_active(&self) -> bool {
        !matches!(self.stage, Stage::Ended(_))
    }

    /// Whether a state of it failed, or it did.
    pub(super) fn has_failed(&self) -> bool {
        let lost = match &self.stage {
            Stage::Ended(End::Done | End::Stopped) => false,
            Stage::Ended(_) => true,
            _ => false,
        };
        lost || self.has_failed_state()
    }

    /// Whether a state of it failed.
    pub(super) fn has_failed_state(&self) -> bool {
        let failed = |result: &StateResult| result.outcome.result == Some(false);
        self.run.results().iter().any(failed)
    }

    /// Says what is next.
    fn step(&mut self, compiler: &Compiler<'_>) -> Next {
        match self.stage {
            Stage::Prepare => self.prepare(compiler),
            Stage::Running => self.run.next(self.gate, now()),
            Stage::Ready | Stage::Ended(_) => Next::Wait,
        }
    }

    /// Compiles its states and reads what they need first.
    fn prepare(&mut self, compiler: &Compiler<'_>) -> Next {
        if self.in_flight > 0 {
            return Next::Wait;
        }
        let host = &self.host;
        let ground = || compiler.ground(host);
        let begin = |prepared: &Prepared| {
            let low = Arc::clone(&prepared.low);
            let setup = compiler.setup(low.has_links);
            (low, setup)
        };
        let prepared = if compiler.only_compiles {
            self.run.compile(ground, begin)
        } else {
            self.run.prepare(ground, begin)
        };
        self.stage = match prepared {
            Preparation::Read(facts) => return Next::Read(facts),
            Preparation::Ready => Stage::Ready,
            Preparation::Stuck(reason) => Stage::Ended(End::Lost(reason)),
            Preparation::Refused(problems, sources) => {
                Stage::Ended(End::Refused(Arc::new((problems, *sources))))
            }
        };
        Next::Wait
    }

    /// It is lost: nothing more is asked of it.
    fn lose(&mut self, reason: String) {
        if self.is_active() {
            self.stage = Stage::Ended(End::Lost(reason));
        }
    }
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

/// All machines of a run.
pub(super) struct Fleet<'a> {
    pub(super) machines: Vec<Machine>,
    /// Machines that may have something to do.
    due: VecDeque<usize>,
    /// The machine that goes on until it waits for something.
    advancing: Option<usize>,
    /// How many machines do something.
    busy: usize,
    timers: BTreeMap<(Instant, usize), DeedId>,
    /// The actions that run.
    works: HashMap<u64, Work>,
    next_tag: u64,
    /// Why the run stopped early.
    pub(super) stopped: Option<String>,
    pub(super) compiler: Compiler<'a>,
    parallel: usize,
}

impl<'a> Fleet<'a> {
    pub(super) fn new(request: &'a StatesRequest) -> Self {
        Self {
            machines: request.hosts.iter().cloned().map(Machine::new).collect(),
            due: VecDeque::new(),
            advancing: None,
            busy: 0,
            timers: BTreeMap::new(),
            works: HashMap::new(),
            next_tag: 0,
            stopped: None,
            compiler: Compiler::new(request),
            parallel: request.parallel.max(1),
        }
    }

    /// Lets machines go on that have something to do.
    pub(super) fn wants(&mut self, machines: impl IntoIterator<Item = usize>) {
        self.due.extend(machines);
    }

    /// Lets a machine go on until it asks for an action, or waits for something.
    fn advance(&mut self, at: usize, view: &mut dyn StatesView) -> Option<exec::Next> {
        loop {
            let machine = &mut self.machines[at];
            let (action, goal) = match machine.step(&self.compiler) {
                Next::Wait | Next::AtGate => return None,
                Next::Done => {
                    machine.stage = Stage::Ended(End::Done);
                    return None;
                }
                Next::Sleep { deed, time, .. } => {
                    // Two that end at the same moment differ by a breath.
                    let mut end = Instant::now() + time;
                    while self.timers.contains_key(&(end, at)) {
                        end += Duration::from_nanos(1);
                    }
                    self.timers.insert((end, at), deed);
                    continue;
                }
                Next::Read(facts) => (Action::Read(facts.clone()), Goal::Read(facts)),
                Next::Change {
                    deed,
                    changes,
                    chunk,
                } => {
                    let label = machine.run.label(chunk);
                    view.state_begins(&machine.host.name, &label);
                    self.advancing = Some(at);
                    (Action::Change(changes), Goal::Change(deed, label))
                }
            };
            let request = machine.host.request(action);
            return Some(self.begin(request, Work { machine: at, goal }));
        }
    }

    fn begin(&mut self, request: Request, work: Work) -> exec::Next {
        let machine = &mut self.machines[work.machine];
        self.busy += usize::from(machine.in_flight == 0);
        machine.in_flight += 1;
        let tag = self.next_tag;
        self.next_tag += 1;
        self.works.insert(tag, work);
        exec::Next::Perform(tag, Box::new(request))
    }

    fn heard(&mut self, work: Work, result: ActionResult, view: &mut dyn StatesView) {
        let at = work.machine;
        let machine = &mut self.machines[at];
        machine.in_flight -= 1;
        match (work.goal, result) {
            (Goal::Read(facts), ActionResult::Read(output)) => match lost(&output.exit) {
                Some(reason) => machine.lose(reason),
                None => machine.run.learned(facts, output.readings),
            },
            (Goal::Change(deed, label), ActionResult::Change(output)) => {
                let reason = lost(&output.exit);
                for result in machine.run.changed(deed, output.outputs, now()) {
                    let label = format!("{}.{} {}", result.state, result.fun, result.name);
                    view.state_ends(&machine.host.name, &label);
                }
                if let Some(reason) = reason {
                    let unknown = format!("nobody knows what became of `{label}`");
                    machine.lose(format!("{reason}; {unknown}"));
                }
            }
            (_, result) => machine.lose(result.exit().to_string()),
        }
        self.busy -= usize::from(machine.in_flight == 0);
        self.due.push_front(at);
    }

    /// Ends the run: nothing more begins.
    pub(super) fn stop(&mut self, reason: String) {
        self.stopped.get_or_insert(reason);
        for machine in &mut self.machines {
            if machine.is_active() {
                machine.stage = Stage::Ended(End::Stopped);
            }
        }
    }
}

impl<'a> exec::Machine for Fleet<'a> {
    type View = dyn StatesView + 'a;
    type Error = Error;

    fn next(&mut self, view: &mut Self::View) -> Result<exec::Next, Error> {
        loop {
            let at = match self.advancing.take() {
                Some(at) => at,
                None if self.busy >= self.parallel => break,
                None => match self.due.pop_front() {
                    Some(at) => at,
                    None => break,
                },
            };
            if let Some(next) = self.advance(at, view) {
                return Ok(next);
            }
        }
        if self.works.is_empty() && self.timers.is_empty() && self.due.is_empty() {
            return Ok(exec::Next::End);
        }
        let until = self.timers.first_key_value().map(|((end, _), _)| *end);
        Ok(exec::Next::Wait(until))
    }

    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        view: &mut Self::View,
    ) -> Result<(), Error> {
        if let Some(work) = self.works.remove(&tag) {
            self.heard(work, result, view);
        }
        Ok(())
    }

    fn interrupt(&mut self, _signal: i32) {
        if self.stopped.is_none() {
            self.stop("interrupted".to_owned());
            self.timers.clear();
            self.due.clear();
        }
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
            self.machines[at].run.slept(deed, now());
            self.due.push_back(at);
        }
    }

    fn ask(&mut self, question: &Question, view: &mut Self::View) -> Option<Secret> {
        view.ask(question)
    }
}

/// This moment.
fn now() -> Stamp {
    Stamp(clock::now().as_microsecond())
}
