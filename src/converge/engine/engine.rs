//! The engine: what has run, what runs, and what is next.

use std::collections::VecDeque;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use super::candidates::Candidates;
use super::doing::{Doing, Owner, Purpose, Stage};
use super::frame::Frame;
use super::graph::{Graph, Set, count};
use super::result::{Ran, StateResult, Tested};
use super::setup::{Setup, Stamp};
use super::standing::{Standing, Status};
use super::window::Window;
use crate::converge::{ChunkIndex, Facts, Low, Mode, Ordering, Outcome, World};
use crate::host::RunOutput;
use crate::host::change::Change;
use crate::host::fact::{Domain, Fact};
use crate::value::{FoldMap, Map, Value};

/// Runs the states of one machine. It has no effect: it says what is due and is told what came
/// of it.
pub struct Engine {
    pub(super) low: Arc<Low>,
    pub(super) world: Arc<World>,
    pub(super) setup: Setup,
    pub(super) graph: Graph,
    pub(super) now: Stamp,
    /// The place of the next chunk in the order.
    pub(super) at: usize,
    pub(super) phase: Phase,
    /// The chunk that was begun from the order.
    top: Option<ChunkIndex>,
    pub(super) stack: Vec<Frame>,
    /// The state that runs in the order of things, and those beside it.
    pub(super) doing: Option<Box<Doing>>,
    beside: Vec<Option<Box<Doing>>>,
    /// Those beside it that can go on.
    ready: VecDeque<usize>,
    /// How many beside it are not over.
    pub(super) running_beside: usize,
    /// Those that wait for one of those to end, since only so many run at a time.
    queued: VecDeque<usize>,
    /// Parallel states that wait for others.
    pub(super) put_off: Vec<ChunkIndex>,
    owners: FoldMap<DeedId, Owner>,
    deeds: u64,
    pub(super) ran: Vec<Ran>,
    pub(super) results: Vec<StateResult>,
    pub(super) number: u32,
    /// How much has happened.
    pub(super) progress: u64,
    pub(super) standings: Vec<Standing>,
    pub(super) tested: FoldMap<ChunkIndex, Tested>,
    pub(super) tested_standings: FoldMap<Set, (u32, Standing)>,
    /// Grows when the result of a test is replaced.
    pub(super) epoch: u32,
    /// Whether a chunk is to be tested when it is called next.
    pub(super) tests: Vec<bool>,
    /// Whether a chunk was called because it goes before another.
    pub(super) goes_before: Vec<bool>,
    /// In which generation a chunk was last called.
    pub(super) active: Vec<u32>,
    /// How often a chunk is on the stack.
    pub(super) on_stack: Vec<u8>,
    /// Grows with each chunk that is begun from the order.
    pub(super) generation: u32,
    /// Whether a state has ended the run by its failure, further down (S36).
    pub(super) flagged: bool,
    /// Variables that states have set.
    pub(super) environ: Map,
    pub(super) listeners: Option<Listeners>,
    pub(super) aggregates: Candidates,
    pub(super) surveyed: Vec<bool>,
    pub(super) ahead: Window,
}

/// Those that listened and are to react.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    pub(super) chunks: VecDeque<ChunkIndex>,
    /// The one that was begun last.
    pub(super) last: Option<ChunkIndex>,
    /// What was listened to and is not there, and the comment.
    pub(super) lost: Vec<((String, String), String)>,
}

/// What the engine is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    States,
    Listeners,
    Done,
}

/// Names changes, or a pause, that an engine has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeedId(u64);

/// What is next on a machine.
#[derive(Debug)]
pub enum Next {
    /// These facts are to be read and learned ([`Facts::learn`]); then the engine is
    /// asked again. What cannot be read is learned as failed.
    Read(Vec<Fact>),
    /// These changes are due, in order, until one fails; then [`Engine::changed`]. The engine
    /// may be asked again before that, for states that run in parallel.
    Change {
        /// Their name.
        deed: DeedId,
        /// What is changed.
        changes: Vec<Change>,
        /// The state they are for, the first of them if they are for several.
        chunk: ChunkIndex,
    },
    /// So much time is to pass before [`Engine::slept`] (S35).
    Sleep {
        /// The name of the pause.
        deed: DeedId,
        /// How long it takes.
        time: Duration,
        /// The state that is tried again after it.
        chunk: ChunkIndex,
    },
    /// Nothing can be done until something that was asked for has ended.
    Wait,
    /// The next state lies beyond the gate.
    AtGate,
    /// All has a result.
    Done,
}

/// How a step of a state ended.
pub(super) enum Advance {
    /// This is next.
    Next(Next),
    /// It waits for what was asked for.
    Waits,
    /// It goes on beside others (S37).
    Parallel,
    /// It is over.
    Over(Outcome),
}

impl Engine {
    /// Makes ready to run low data on a machine.
    pub fn new(low: Arc<Low>, world: Arc<World>, setup: Setup) -> Self {
        let chunks = low.chunks.len();
        let comments = setup.disabled(&low);
        let is_disabled: Vec<bool> = comments.iter().map(Option::is_some).collect();
        let graph = Graph::of(&low, setup.modules, &is_disabled);
        let mut engine = Self {
            now: Stamp::default(),
            at: 0,
            phase: Phase::States,
            top: None,
            stack: Vec::new(),
            doing: None,
            beside: Vec::new(),
            ready: VecDeque::new(),
            running_beside: 0,
            queued: VecDeque::new(),
            put_off: Vec::new(),
            owners: FoldMap::default(),
            deeds: 0,
            ran: vec![Ran::No; chunks],
            results: Vec::with_capacity(chunks),
            number: 0,
            progress: 0,
            standings: vec![Standing::default(); graph.sets()],
            tested: FoldMap::default(),
            tested_standings: FoldMap::default(),
            epoch: 0,
            tests: tested_in_order(&low),
            goes_before: vec![false; chunks],
            active: vec![0; chunks],
            generation: 0,
            on_stack: vec![0; chunks],
            flagged: false,
            environ: Map::new(),
            listeners: None,
            aggregates: Candidates::of(&low, &setup),
            surveyed: is_disabled,
            ahead: Window::default(),
            graph,
            low,
            world,
            setup,
        };
        for (chunk, comment) in comments.into_iter().enumerate() {
            if let Some(comment) = comment {
                let outcome = Outcome::failed(comment);
                let result = engine.numbered(count(chunk), outcome);
                engine.put(count(chunk), result);
            }
        }
        engine
    }

    /// What is next. With a gate, no chunk beyond that place of [`Low::order`] is begun, though a
    /// requisite may call it earlier.
    pub fn next(&mut self, facts: &mut Facts, gate: Option<usize>, now: Stamp) -> Next {
        self.now = now;
        loop {
            while let Some(place) = self.ready.pop_front() {
                if let Some(next) = self.step_beside(place, facts) {
                    return next;
                }
            }
            match self.step(facts, gate) {
                Some(Next::Wait) if !self.ready.is_empty() => {}
                Some(next) => return next,
                None => {}
            }
        }
    }

    /// Goes one step on in the order of things. Gives what is next if nothing can be done before.
    fn step(&mut self, facts: &mut Facts, gate: Option<usize>) -> Option<Next> {
        if self.is_waiting_for_window() {
            return Some(Next::Wait);
        }
        if self.doing.is_some() {
            return self.step_main(facts);
        }
        let next = if self.stack.is_empty() {
            self.step_top(gate)?
        } else {
            self.step_frame()?
        };
        match next {
            Next::Wait | Next::AtGate | Next::Done => Some(self.flushed().unwrap_or(next)),
            next => Some(next),
        }
    }

    /// Takes what came of changes that were handed out: an output for each that was tried, of
    /// which only the last may say a failure.
    pub fn changed(
        &mut self,
        deed: DeedId,
        outputs: Vec<RunOutput>,
        facts: &mut Facts,
        now: Stamp,
    ) {
        self.now = now;
        match self.owners.remove(&deed) {
            None => {}
            Some(Owner::Window) => self.window_changed(outputs, facts),
            Some(owner) => {
                if let Some(doing) = self.doing_of(owner) {
                    let stage = std::mem::replace(&mut doing.stage, Stage::Decide);
                    doing.stage = match stage {
                        Stage::Acting(acting) => {
                            for domain in &acting.touched {
                                facts.forget(domain);
                            }
                            Stage::Judge(acting, outputs)
                        }
                        other => other,
                    };
                }
                self.wake(owner);
            }
        }
    }

    /// Takes that a pause is over. Anything may have happened meanwhile.
    pub fn slept(&mut self, deed: DeedId, facts: &mut Facts, now: Stamp) {
        self.now = now;
        let Some(owner) = self.owners.remove(&deed) else {
            return;
        };
        facts.forget(&Domain::All);
        if let Some(doing) = self.doing_of(owner) {
            // What runs beside others is not asked its conditions again.
            doing.stage = match owner {
                Owner::Beside(_) => Stage::Ask,
                Owner::Main | Owner::Window => Stage::Decide,
            };
        }
        self.wake(owner);
    }

    /// The results so far, in the order in which they came.
    pub fn results(&self) -> &[StateResult] {
        &self.results[..self.ahead.certain(self.results.len())]
    }

    fn doing_of(&mut self, owner: Owner) -> Option<&mut Doing> {
        match owner {
            Owner::Main => self.doing.as_deref_mut(),
            Owner::Beside(place) => self.beside.get_mut(place)?.as_deref_mut(),
            Owner::Window => None,
        }
    }

    fn wake(&mut self, owner: Owner) {
        if let Owner::Beside(place) = owner {
            self.ready.push_back(place);
        }
    }

    /// Makes a name for something that is asked for.
    pub(super) fn deed_of(&mut self, owner: Owner) -> DeedId {
        self.deeds += 1;
        let deed = DeedId(self.deeds);
        self.owners.insert(deed, owner);
        deed
    }

    pub(super) fn next_number(&mut self) -> u32 {
        let number = self.number;
        self.number += 1;
        number
    }

    /// Goes on with the state in the order of things.
    fn step_main(&mut self, facts: &mut Facts) -> Option<Next> {
        let doing = self.doing.take()?;
        match self.step_ahead(doing, facts) {
            Ok(next) => next,
            Err(doing) => self.step_alone(doing, facts),
        }
    }

    /// Lets a state run beside others (S37).
    pub(super) fn put_beside(&mut self, mut doing: Box<Doing>) {
        doing.number = Some(self.next_number());
        self.ran[doing.chunk as usize] = Ran::Pending;
        self.progress += 1;
        let place = self.beside.len();
        self.beside.push(Some(doing));
        let most = self.setup.max_parallel;
        if most == 0 || self.running_beside < most {
            self.running_beside += 1;
            self.ready.push_back(place);
        } else {
            self.queued.push_back(place);
        }
        self.leave();
    }

    fn step_beside(&mut self, place: usize, facts: &mut Facts) -> Option<Next> {
        let mut doing = self.beside.get_mut(place)?.take()?;
        let owner = Owner::Beside(place);
        match self.advance_doing(&mut doing, owner, facts) {
            Advance::Next(next) => {
                // What was only to be read is at hand when it is asked again.
                if matches!(next, Next::Read(_)) {
                    self.ready.push_back(place);
                }
                self.beside[place] = Some(doing);
                Some(next)
            }
            Advance::Waits | Advance::Parallel => {
                self.beside[place] = Some(doing);
                None
            }
            Advance::Over(outcome) => {
                if let Some(goes_on) = self.complete(doing, outcome) {
                    self.beside[place] = Some(goes_on);
                    self.ready.push_back(place);
                } else {
                    self.running_beside -= 1;
                    if let Some(next) = self.queued.pop_front() {
                        self.running_beside += 1;
                        self.ready.push_back(next);
                    }
                }
                None
            }
        }
    }

    /// Takes the outcome of a state. Gives it back if it is to react to what it watches.
    pub(super) fn complete(
        &mut self,
        mut doing: Box<Doing>,
        outcome: Outcome,
    ) -> Option<Box<Doing>> {
        let chunk = doing.chunk;
        if let Purpose::Test { of, watched } = doing.purpose {
            let mut outcome = outcome;
            if watched && outcome.changes.is_empty() {
                outcome.changes = Map::from_iter([("watch".into(), Value::str("watch"))]);
                outcome.result = None;
            }
            let low = Arc::clone(&self.low);
            let result = StateResult::of(chunk, &low.chunks[chunk as usize], 0, outcome);
            self.tests[chunk as usize] = false;
            self.put_tested(of, result);
            return None;
        }
        let watched = doing.purpose == (Purpose::Run { watched: true });
        if watched && outcome.changes.is_empty() && !outcome.skip_watch {
            if doing.number.is_none() {
                self.next_number();
            }
            let mut next = Doing::new(chunk, Purpose::Watch, self.now);
            next.number = doing.number;
            return Some(Box::new(next));
        }
        let number = doing.number.take();
        let parallel = number.is_some();
        let number = number.unwrap_or_else(|| self.next_number());
        let low = Arc::clone(&self.low);
        let written = &low.chunks[chunk as usize];
        let mut result = StateResult::of(chunk, written, number, outcome);
        result.start = doing.begun;
        result.duration = self.now.since(doing.begun);
        result.parallel = parallel;
        result.doubtful = doing.doubtful;
        if written.keywords.get("no_log").is_some_and(Value::is_truthy) {
            result.hide();
        }
        if doing.purpose == Purpose::Listen {
            result.id = format!("listener_{}", written.id).into();
            result.fun = "mod_watch".into();
            self.results.push(result);
        } else {
            self.put(chunk, result);
        }
        None
    }

    /// Takes a result. The first stays: a chunk that waits for itself may come here again.
    pub(super) fn put(&mut self, chunk: ChunkIndex, result: StateResult) {
        if matches!(self.ran[chunk as usize], Ran::Done(_)) {
            return;
        }
        self.progress += 1;
        self.ran[chunk as usize] = Ran::Done(count(self.results.len()));
        self.results.push(result);
    }

    /// Whether a failed chunk ends the run (S36).
    pub(super) fn is_failhard(&self, chunk: ChunkIndex) -> bool {
        let Ran::Done(place) = self.ran[chunk as usize] else {
            return false;
        };
        self.ends_run(chunk, &self.results[place as usize])
    }

    /// Whether a result of a chunk, if it is a failure, ends the run.
    pub(super) fn ends_run(&self, chunk: ChunkIndex, result: &StateResult) -> bool {
        let keyword = self.low.chunks[chunk as usize].keywords.get("failhard");
        self.setup.mode == Mode::Apply
            && keyword.map_or(self.setup.failhard, Value::is_truthy)
            && result.outcome.result == Some(false)
    }

    /// Begins the next chunk of the order, or what comes after all of them.
    fn step_top(&mut self, gate: Option<usize>) -> Option<Next> {
        if let Some(top) = self.top.take() {
            let failed = self.is_failhard(top);
            if (failed || self.flagged) && self.phase == Phase::States {
                self.flagged = false;
                self.phase = Phase::Listeners;
                self.put_off.clear();
            }
        }
        match self.phase {
            Phase::States => self.next_state(gate),
            Phase::Listeners => {
                if self.running_beside > 0 {
                    return Some(Next::Wait);
                }
                self.next_listener()
            }
            Phase::Done if self.running_beside > 0 => Some(Next::Wait),
            Phase::Done => Some(Next::Done),
        }
    }

    fn next_state(&mut self, gate: Option<usize>) -> Option<Next> {
        let ran = &self.ran;
        // Others may have called them meanwhile.
        self.put_off.retain(|chunk| ran[*chunk as usize] == Ran::No);
        for place in 0..self.put_off.len() {
            let chunk = self.put_off[place];
            let testing = self.tests[chunk as usize];
            if self.status(chunk, testing) != Status::Pending {
                self.put_off.remove(place);
                self.call_top(chunk);
                return None;
            }
        }
        while let Some(chunk) = self.low.order.get(self.at).copied() {
            if self.ran[chunk as usize] != Ran::No || self.put_off.contains(&chunk) {
                self.at += 1;
                continue;
            }
            if gate.is_some_and(|gate| self.at > gate) {
                return Some(Next::AtGate);
            }
            self.at += 1;
            self.call_top(chunk);
            return None;
        }
        if !self.put_off.is_empty() && self.running_beside > 0 {
            return Some(Next::Wait);
        }
        if self.ahead.is_open() {
            return self.flushed();
        }
        self.phase = Phase::Listeners;
        None
    }

    /// Takes a chunk for the one that was begun last.
    pub(super) fn begin_again(&mut self, chunk: ChunkIndex) {
        self.top = Some(chunk);
    }

    fn call_top(&mut self, chunk: ChunkIndex) {
        self.generation += 1;
        self.top = Some(chunk);
        self.push(chunk);
    }
}

/// In the newer ordering, a chunk that stands in the order twice is tested first (S16).
fn tested_in_order(low: &Low) -> Vec<bool> {
    let mut tests = vec![false; low.chunks.len()];
    if low.ordering == Ordering::Dag {
        let mut seen = vec![false; low.chunks.len()];
        for chunk in &low.order {
            let at = *chunk as usize;
            tests[at] |= std::mem::replace(&mut seen[at], true);
        }
    }
    tests
}

impl Debug for Engine {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("at", &self.at)
            .field("phase", &self.phase)
            .field("results", &self.results.len())
            .finish_non_exhaustive()
    }
}
