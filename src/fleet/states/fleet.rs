//! The state machine that runs states on all machines of a fleet.
//!
//! [`Fleet`] lets each machine run until it needs an action or a pause, and passes results back to
//! its `HostRun`. `MachineOrder` decides which machines may go on.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::choose_hosts::{StateHost, loss_reason};
use super::compile::StatesCompiler;
use super::request::{StatesRequest, StatesView};
use crate::diagnostic::{Diagnostics, Sources};
use crate::exec;
use crate::fleet::Error;
use crate::host::fact::Fact;
use crate::host::{Action, ActionRequest, ActionResult, Question, Secret};
use crate::states::{
    ActionId, HostRun, NextAction, Preparation, PreparedStates, StateResult, Timestamp,
};
use crate::system::clock;

/// A machine with its states and its stage.
#[derive(Debug)]
pub(super) struct FleetMachine {
    pub(super) host: StateHost,
    pub(super) run: HostRun,
    pub(super) stage: MachineStage,
    /// The last position of its order that the machine may reach now. None if it may run to the
    /// end.
    pub(super) barrier: Option<usize>,
    /// The number of actions that run on the machine.
    in_flight: usize,
}

/// The stage of a machine in its run.
#[derive(Debug)]
pub(super) enum MachineStage {
    /// The facts of the machine are read and its states are compiled.
    Prepare,
    /// The states are compiled and can start.
    Ready,
    Running,
    /// The machine has finished, for the given reason.
    Ended(MachineEnd),
}

/// The way in which a machine has ended.
#[derive(Debug, Clone)]
pub enum MachineEnd {
    /// The machine has reached all of its states.
    Done,
    /// The machine was lost or never reached.
    ///
    /// States that were not reached are not in its results.
    Lost(String),
    /// The run was stopped before the machine was done.
    Stopped,
    /// The states of the machine do not compile.
    Refused(Arc<(Diagnostics, Sources)>),
}

impl FleetMachine {
    fn new(host: StateHost) -> Self {
        Self {
            run: HostRun::default(),
            host,
            stage: MachineStage::Prepare,
            barrier: None,
            in_flight: 0,
        }
    }

    /// Whether the machine has not ended yet.
    pub(super) fn is_active(&self) -> bool {
        !matches!(self.stage, MachineStage::Ended(_))
    }

    /// Whether the machine was lost or one of its states failed.
    pub(super) fn has_failed(&self) -> bool {
        let lost = match &self.stage {
            MachineStage::Ended(MachineEnd::Done | MachineEnd::Stopped) => false,
            MachineStage::Ended(_) => true,
            _ => false,
        };
        lost || self.has_failed_state()
    }

    /// Whether a state of the machine failed.
    pub(super) fn has_failed_state(&self) -> bool {
        let failed = |result: &StateResult| result.outcome.result == Some(false);
        self.run.results().iter().any(failed)
    }

    /// Returns the next action of the machine.
    fn step(&mut self, compiler: &StatesCompiler<'_>) -> NextAction {
        match self.stage {
            MachineStage::Prepare => self.prepare(compiler),
            MachineStage::Running => self.run.next(self.barrier, now()),
            MachineStage::Ready | MachineStage::Ended(_) => NextAction::Wait,
        }
    }

    /// Reads the facts that its states need and compiles them.
    fn prepare(&mut self, compiler: &StatesCompiler<'_>) -> NextAction {
        if self.in_flight > 0 {
            return NextAction::Wait;
        }
        let host = &self.host;
        let input = || compiler.compile_input(host);
        let begin = |prepared: &PreparedStates| {
            let low = Arc::clone(&prepared.low);
            let setup = compiler.run_setup(low.has_links);
            (low, setup)
        };
        let prepared = if compiler.is_compile_only {
            self.run.compile(input, begin)
        } else {
            self.run.prepare(input, begin)
        };
        self.stage = match prepared {
            Preparation::Read(facts) => return NextAction::Read(facts),
            Preparation::Ready => MachineStage::Ready,
            Preparation::Stuck(reason) => MachineStage::Ended(MachineEnd::Lost(reason)),
            Preparation::Refused(problems, sources) => {
                MachineStage::Ended(MachineEnd::Refused(Arc::new((problems, *sources))))
            }
        };
        NextAction::Wait
    }

    /// Marks the machine as lost. No more actions run on it.
    fn mark_lost(&mut self, reason: String) {
        if self.is_active() {
            self.stage = MachineStage::Ended(MachineEnd::Lost(reason));
        }
    }
}

/// A running action: its machine and its purpose.
struct RunningAction {
    machine: usize,
    purpose: ActionPurpose,
}

enum ActionPurpose {
    Read(Vec<Fact>),
    /// Changes for a state, with the label of the state for messages.
    Change(ActionId, String),
}

/// The machines of a run, with the actions and pauses in progress.
pub(super) struct Fleet<'a> {
    pub(super) machines: Vec<FleetMachine>,
    /// The machines that may have something to do.
    ready: VecDeque<usize>,
    /// The machine that started an action last and goes on first.
    advancing: Option<usize>,
    /// The number of machines with running actions.
    busy: usize,
    timers: BTreeMap<(Instant, usize), ActionId>,
    running_actions: HashMap<u64, RunningAction>,
    next_tag: u64,
    /// The reason why the run stopped early.
    pub(super) stopped: Option<String>,
    pub(super) compiler: StatesCompiler<'a>,
    parallel: usize,
}

impl<'a> Fleet<'a> {
    pub(super) fn new(request: &'a StatesRequest) -> Self {
        Self {
            machines: request
                .hosts
                .iter()
                .cloned()
                .map(FleetMachine::new)
                .collect(),
            ready: VecDeque::new(),
            advancing: None,
            busy: 0,
            timers: BTreeMap::new(),
            running_actions: HashMap::new(),
            next_tag: 0,
            stopped: None,
            compiler: StatesCompiler::new(request),
            parallel: request.parallel.max(1),
        }
    }

    /// Marks machines as ready to go on.
    pub(super) fn enqueue(&mut self, machines: impl IntoIterator<Item = usize>) {
        self.ready.extend(machines);
    }

    /// Lets a machine go on until it needs an action or must wait.
    fn advance(&mut self, at: usize, view: &mut dyn StatesView) -> Option<exec::MachineStep> {
        loop {
            let machine = &mut self.machines[at];
            let (action, goal) = match machine.step(&self.compiler) {
                NextAction::Wait | NextAction::AtLimit => return None,
                NextAction::Done => {
                    machine.stage = MachineStage::Ended(MachineEnd::Done);
                    return None;
                }
                NextAction::Sleep {
                    action: action_id,
                    time,
                    ..
                } => {
                    // The map needs distinct keys, so an equal end is moved by a nanosecond.
                    let mut end = Instant::now() + time;
                    while self.timers.contains_key(&(end, at)) {
                        end += Duration::from_nanos(1);
                    }
                    self.timers.insert((end, at), action_id);
                    continue;
                }
                NextAction::Read(facts) => {
                    (Action::Read(facts.clone()), ActionPurpose::Read(facts))
                }
                NextAction::Change {
                    action: action_id,
                    changes,
                    chunk,
                } => {
                    let label = machine.run.label(chunk);
                    view.state_started(&machine.host.name, &label);
                    self.advancing = Some(at);
                    (
                        Action::Change(changes),
                        ActionPurpose::Change(action_id, label),
                    )
                }
            };
            let request = machine.host.request(action);
            return Some(self.start_action(
                request,
                RunningAction {
                    machine: at,
                    purpose: goal,
                },
            ));
        }
    }

    fn start_action(&mut self, request: ActionRequest, work: RunningAction) -> exec::MachineStep {
        let machine = &mut self.machines[work.machine];
        self.busy += usize::from(machine.in_flight == 0);
        machine.in_flight += 1;
        let tag = self.next_tag;
        self.next_tag += 1;
        self.running_actions.insert(tag, work);
        exec::MachineStep::Perform(tag, Box::new(request))
    }

    fn handle_result(
        &mut self,
        running: RunningAction,
        result: ActionResult,
        view: &mut dyn StatesView,
    ) {
        let at = running.machine;
        let machine = &mut self.machines[at];
        machine.in_flight -= 1;
        match (running.purpose, result) {
            (ActionPurpose::Read(facts), ActionResult::Read(output)) => {
                match loss_reason(&output.exit) {
                    Some(reason) => machine.mark_lost(reason),
                    None => machine.run.learn(facts, output.readings),
                }
            }
            (ActionPurpose::Change(action_id, label), ActionResult::Change(output)) => {
                let reason = loss_reason(&output.exit);
                for result in machine.run.finish_change(action_id, output.outputs, now()) {
                    let label = format!("{}.{} {}", result.state, result.fun, result.name);
                    view.state_finished(&machine.host.name, &label);
                }
                if let Some(reason) = reason {
                    let unknown = format!("it is unknown whether `{label}` completed");
                    machine.mark_lost(format!("{reason}; {unknown}"));
                }
            }
            (_, result) => machine.mark_lost(result.exit().to_string()),
        }
        self.busy -= usize::from(machine.in_flight == 0);
        self.ready.push_front(at);
    }

    /// Stops the run: no further action starts.
    pub(super) fn stop(&mut self, reason: String) {
        self.stopped.get_or_insert(reason);
        for machine in &mut self.machines {
            if machine.is_active() {
                machine.stage = MachineStage::Ended(MachineEnd::Stopped);
            }
        }
    }
}

impl<'a> exec::StateMachine for Fleet<'a> {
    type View = dyn StatesView + 'a;
    type Error = Error;

    fn next(&mut self, view: &mut Self::View) -> Result<exec::MachineStep, Error> {
        loop {
            let at = match self.advancing.take() {
                Some(at) => at,
                None if self.busy >= self.parallel => break,
                None => match self.ready.pop_front() {
                    Some(at) => at,
                    None => break,
                },
            };
            if let Some(next) = self.advance(at, view) {
                return Ok(next);
            }
        }
        if self.running_actions.is_empty() && self.timers.is_empty() && self.ready.is_empty() {
            return Ok(exec::MachineStep::End);
        }
        let until = self.timers.first_key_value().map(|((end, _), _)| *end);
        Ok(exec::MachineStep::Wait(until))
    }

    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        view: &mut Self::View,
    ) -> Result<(), Error> {
        if let Some(work) = self.running_actions.remove(&tag) {
            self.handle_result(work, result, view);
        }
        Ok(())
    }

    fn interrupt(&mut self, _signal: i32) {
        if self.stopped.is_none() {
            self.stop("interrupted".to_owned());
            self.timers.clear();
            self.ready.clear();
        }
    }

    /// Ends the pauses whose time is over.
    fn wake(&mut self) {
        let now_is = Instant::now();
        while let Some(((end, at), action_id)) = self.timers.first_key_value() {
            if *end > now_is {
                break;
            }
            let (at, action_id) = (*at, *action_id);
            self.timers.pop_first();
            self.machines[at].run.finish_sleep(action_id, now());
            self.ready.push_back(at);
        }
    }

    fn prompt_secret(&mut self, question: &Question, view: &mut Self::View) -> Option<Secret> {
        view.prompt_secret(question)
    }
}

fn now() -> Timestamp {
    Timestamp(clock::now().as_microsecond())
}
