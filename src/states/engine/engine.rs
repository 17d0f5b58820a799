//! The state engine: what has run, what is running, and what is next.
//!
//! [`Engine::next`] returns the next action for the host. The caller performs it and reports back by
//! [`FactCache::learn`], [`Engine::finish_change`] or [`Engine::finish_sleep`]. The steps of the engine are
//! spread over the files of this folder; this file has the main loop.

use std::collections::VecDeque;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use super::aggregate_candidates::AggregateCandidates;
use super::call_stack::CallFrame;
use super::environment_contexts::EnvironmentContexts;
use super::graph::{RequisiteGraph, SetId, to_index};
use super::options::{EngineOptions, Timestamp};
use super::outcome_secrets::{hide_secrets, secrets_of};
use super::pending_batch::PendingBatch;
use super::requisite_status::{RequisiteStatus, SetTally};
use super::result::{ChunkStatus, StateResult, TestResult};
use super::running::{ActionOwner, CallPurpose, RunStage, RunningState};
use crate::host::RunOutput;
use crate::host::change::Change;
use crate::host::fact::{Domain, Fact};
use crate::states::{
    ChunkIndex, FactCache, LowData, Mode, ModuleContext, RunOrdering, StateOutcome,
};
use crate::value::{FoldMap, Map, Secrets, Value};

/// The engine that runs the states of one machine. Pure: performs no I/O and reads no clock; it returns
/// actions and receives their results.
pub struct Engine {
    pub(super) low: Arc<LowData>,
    pub(super) contexts: EnvironmentContexts,
    /// The sensitive values of the pillar and of the states' arguments.
    secrets: Secrets,
    pub(super) options: EngineOptions,
    pub(super) graph: RequisiteGraph,
    pub(super) now: Timestamp,
    /// The position of the next chunk in [`LowData::order`].
    pub(super) position: usize,
    pub(super) phase: EnginePhase,
    /// The chunk last started from the order, as opposed to chunks called by requisites.
    top: Option<ChunkIndex>,
    pub(super) stack: Vec<CallFrame>,
    /// The state that is running in sequence, and the states running in parallel to it.
    pub(super) running: Option<Box<RunningState>>,
    parallel: Vec<Option<Box<RunningState>>>,
    /// The parallel states that can be advanced.
    ready_parallel: VecDeque<usize>,
    /// The number of parallel states that are running, without the queued ones.
    pub(super) parallel_count: usize,
    /// The parallel states that wait for a free slot because of `max_parallel`.
    queued_parallel: VecDeque<usize>,
    /// Parallel states that wait for requisites while other states run.
    pub(super) deferred: Vec<ChunkIndex>,
    owners: FoldMap<ActionId, ActionOwner>,
    last_action_id: u64,
    pub(super) statuses: Vec<ChunkStatus>,
    pub(super) results: Vec<StateResult>,
    pub(super) number: u32,
    /// A counter that grows with each event that may unblock a chunk. Used to detect cycles.
    pub(super) progress: u64,
    pub(super) tallies: Vec<SetTally>,
    pub(super) tested: FoldMap<ChunkIndex, TestResult>,
    pub(super) tested_tallies: FoldMap<SetId, (u32, SetTally)>,
    /// A counter that grows when a test result is replaced. Tallies of an older epoch are recounted.
    pub(super) epoch: u32,
    /// Whether a chunk is to be tested, instead of run, the next time it is called.
    pub(super) needs_test: Vec<bool>,
    /// Whether a chunk was called because it has a `prereq` on another chunk that is being called.
    pub(super) called_as_prerequired: Vec<bool>,
    /// The generation in which a chunk was last called.
    pub(super) active_generation: Vec<u32>,
    /// The number of frames of each chunk on the stack.
    pub(super) stack_counts: Vec<u8>,
    /// A counter that grows with each chunk started from the order.
    pub(super) generation: u32,
    /// Whether a state with `failhard` failed among the requirements of the current chunk (S36).
    pub(super) failhard_hit: bool,
    /// The environment variables set by states.
    pub(super) environ: Map,
    pub(super) listeners: Option<Listeners>,
    pub(super) aggregates: AggregateCandidates,
    pub(super) prefetched: Vec<bool>,
    pub(super) batch: PendingBatch,
}

/// The listening states that are to react at the end of the run.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    pub(super) chunks: VecDeque<ChunkIndex>,
    /// The listener that was started last, to check its result for `failhard`.
    pub(super) last: Option<ChunkIndex>,
    /// The targets of `listen` that do not exist, as module and ID, with the comment for the result.
    pub(super) missing: Vec<((String, String), String)>,
}

/// The phase of the run: states first, then listeners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnginePhase {
    States,
    Listeners,
    Done,
}

/// The ID of a change or a pause that an engine has requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(u64);

/// The next action that an engine requests for its machine.
#[derive(Debug)]
pub enum NextAction {
    /// Read these facts, pass them to [`FactCache::learn`], then call [`Engine::next`] again. A fact that
    /// cannot be read is learned as failed.
    Read(Vec<Fact>),
    /// Make these changes in order until one fails, then call [`Engine::finish_change`]. [`Engine::next`] may
    /// be called before that, for states that run in parallel.
    Change {
        /// The ID to report the result with.
        action: ActionId,
        changes: Vec<Change>,
        /// The state that the changes belong to; for a batch the first state.
        chunk: ChunkIndex,
    },
    /// Wait this long, then call [`Engine::finish_sleep`] (S35).
    Sleep {
        /// The ID to report the end of the pause with.
        action: ActionId,
        time: Duration,
        /// The state that is retried after the pause.
        chunk: ChunkIndex,
    },
    /// No action is possible until a requested action has ended.
    Wait,
    /// The next state is beyond the order limit.
    AtLimit,
    /// Every state has a result, and nothing is running.
    Done,
}

/// The result of advancing a running state.
pub(super) enum StepOutcome {
    /// The state needs this action before it can continue.
    Next(NextAction),
    /// The state waits for an action that was requested before.
    Waiting,
    /// The state is ready to continue in parallel (S37).
    Parallel,
    Finished(StateOutcome),
}

impl Engine {
    /// Creates an engine for low data. Disabled states get their failed result at once (S41).
    pub fn new(low: Arc<LowData>, context: Arc<ModuleContext>, options: EngineOptions) -> Self {
        let chunks = low.chunks.len();
        let comments = options.disabled_reasons(&low);
        let is_disabled: Vec<bool> = comments.iter().map(Option::is_some).collect();
        let graph = RequisiteGraph::build(&low, options.modules, &is_disabled);
        let mut engine = Self {
            now: Timestamp::default(),
            position: 0,
            phase: EnginePhase::States,
            top: None,
            stack: Vec::new(),
            running: None,
            parallel: Vec::new(),
            ready_parallel: VecDeque::new(),
            parallel_count: 0,
            queued_parallel: VecDeque::new(),
            deferred: Vec::new(),
            owners: FoldMap::default(),
            last_action_id: 0,
            statuses: vec![ChunkStatus::NotRun; chunks],
            results: Vec::with_capacity(chunks),
            number: 0,
            progress: 0,
            tallies: vec![SetTally::default(); graph.sets()],
            tested: FoldMap::default(),
            tested_tallies: FoldMap::default(),
            epoch: 0,
            needs_test: chunks_tested_in_order(&low),
            called_as_prerequired: vec![false; chunks],
            active_generation: vec![0; chunks],
            generation: 0,
            stack_counts: vec![0; chunks],
            failhard_hit: false,
            environ: Map::new(),
            listeners: None,
            aggregates: AggregateCandidates::of(&low, &options),
            prefetched: is_disabled,
            batch: PendingBatch::default(),
            secrets: secrets_of(&low, &context),
            graph,
            contexts: EnvironmentContexts::new(&low, context),
            low,
            options,
        };
        for (chunk, comment) in comments.into_iter().enumerate() {
            if let Some(comment) = comment {
                let outcome = StateOutcome::failed(comment);
                let result = engine.new_result(to_index(chunk), outcome);
                engine.record_result(to_index(chunk), result);
            }
        }
        engine
    }

    /// Returns the next action. With an order limit, no chunk beyond that position of [`LowData::order`] is
    /// started from the order; a requisite may still call it.
    pub fn next(
        &mut self,
        facts: &mut FactCache,
        order_limit: Option<usize>,
        now: Timestamp,
    ) -> NextAction {
        self.now = now;
        let mut next = self.advance(facts, order_limit);
        if let NextAction::Read(needed) = &mut next {
            self.add_next_facts(needed, facts);
        }
        next
    }

    /// Advances all states until one needs an action.
    fn advance(&mut self, facts: &mut FactCache, order_limit: Option<usize>) -> NextAction {
        loop {
            while let Some(place) = self.ready_parallel.pop_front() {
                if let Some(next) = self.step_parallel(place, facts) {
                    return next;
                }
            }
            match self.step(facts, order_limit) {
                Some(NextAction::Wait) if !self.ready_parallel.is_empty() => {}
                Some(next) => return next,
                None => {}
            }
        }
    }

    /// Advances the sequential part of the run by one step. Returns an action if no further step is possible
    /// before it.
    fn step(&mut self, facts: &mut FactCache, order_limit: Option<usize>) -> Option<NextAction> {
        if self.is_batch_in_flight() {
            return Some(NextAction::Wait);
        }
        if self.running.is_some() {
            return self.step_main(facts);
        }
        let next = if self.stack.is_empty() {
            self.step_top(order_limit)?
        } else {
            self.step_frame()?
        };
        match next {
            NextAction::Wait | NextAction::AtLimit | NextAction::Done => {
                Some(self.flush_batch().unwrap_or(next))
            }
            next => Some(next),
        }
    }

    /// Takes the outputs of requested changes: one for each change that was tried, where only the last may be
    /// a failure.
    pub fn finish_change(
        &mut self,
        action: ActionId,
        outputs: Vec<RunOutput>,
        facts: &mut FactCache,
        now: Timestamp,
    ) {
        self.now = now;
        match self.owners.remove(&action) {
            None => {}
            Some(ActionOwner::Batch) => self.finish_batch(outputs, facts),
            Some(owner) => {
                if let Some(running) = self.running_mut(owner) {
                    let stage = std::mem::replace(&mut running.stage, RunStage::Decide);
                    running.stage = match stage {
                        RunStage::Applying(pending) => {
                            for domain in &pending.touched {
                                facts.forget(domain);
                            }
                            RunStage::Evaluate(pending, outputs)
                        }
                        other => other,
                    };
                }
                self.wake(owner);
            }
        }
    }

    /// Takes the end of a pause. The cached facts are dropped, since anything may have changed during the
    /// pause.
    pub fn finish_sleep(&mut self, action: ActionId, facts: &mut FactCache, now: Timestamp) {
        self.now = now;
        let Some(owner) = self.owners.remove(&action) else {
            return;
        };
        facts.forget(&Domain::All);
        if let Some(running) = self.running_mut(owner) {
            // The conditions of a parallel state are not evaluated again.
            running.stage = match owner {
                ActionOwner::Parallel(_) => RunStage::CallFunction,
                ActionOwner::Main | ActionOwner::Batch => RunStage::Decide,
            };
        }
        self.wake(owner);
    }

    /// The confirmed results so far, in the order in which they were recorded. Results that rest on an
    /// unfinished batch are left out.
    pub fn results(&self) -> &[StateResult] {
        &self.results[..self.batch.confirmed_results(self.results.len())]
    }

    fn running_mut(&mut self, owner: ActionOwner) -> Option<&mut RunningState> {
        match owner {
            ActionOwner::Main => self.running.as_deref_mut(),
            ActionOwner::Parallel(place) => self.parallel.get_mut(place)?.as_deref_mut(),
            ActionOwner::Batch => None,
        }
    }

    fn wake(&mut self, owner: ActionOwner) {
        if let ActionOwner::Parallel(place) = owner {
            self.ready_parallel.push_back(place);
        }
    }

    /// Registers a new action and returns its ID.
    pub(super) fn new_action(&mut self, owner: ActionOwner) -> ActionId {
        self.last_action_id += 1;
        let action = ActionId(self.last_action_id);
        self.owners.insert(action, owner);
        action
    }

    pub(super) fn next_number(&mut self) -> u32 {
        let number = self.number;
        self.number += 1;
        number
    }

    /// Advances the state that runs in sequence: in the batch if possible, else on its own.
    fn step_main(&mut self, facts: &mut FactCache) -> Option<NextAction> {
        let running = self.running.take()?;
        match self.step_batched(running, facts) {
            Ok(next) => next,
            Err(running) => self.step_standalone(running, facts),
        }
    }

    /// Starts a state in parallel, or queues it if `max_parallel` states are already running (S37).
    pub(super) fn start_parallel(&mut self, mut running: Box<RunningState>) {
        running.number = Some(self.next_number());
        self.statuses[running.chunk as usize] = ChunkStatus::Running;
        self.progress += 1;
        let place = self.parallel.len();
        self.parallel.push(Some(running));
        let max_parallel = self.options.max_parallel;
        if max_parallel == 0 || self.parallel_count < max_parallel {
            self.parallel_count += 1;
            self.ready_parallel.push_back(place);
        } else {
            self.queued_parallel.push_back(place);
        }
        self.end_frame();
    }

    fn step_parallel(&mut self, place: usize, facts: &mut FactCache) -> Option<NextAction> {
        let mut running = self.parallel.get_mut(place)?.take()?;
        let owner = ActionOwner::Parallel(place);
        match self.advance_running(&mut running, owner, facts) {
            StepOutcome::Next(next) => {
                // A read needs no report to this state: the facts are in the cache when it is advanced again.
                if matches!(next, NextAction::Read(_)) {
                    self.ready_parallel.push_back(place);
                }
                self.parallel[place] = Some(running);
                Some(next)
            }
            StepOutcome::Waiting | StepOutcome::Parallel => {
                self.parallel[place] = Some(running);
                None
            }
            StepOutcome::Finished(outcome) => {
                if let Some(watch_run) = self.complete_run(running, outcome) {
                    self.parallel[place] = Some(watch_run);
                    self.ready_parallel.push_back(place);
                } else {
                    self.parallel_count -= 1;
                    if let Some(next) = self.queued_parallel.pop_front() {
                        self.parallel_count += 1;
                        self.ready_parallel.push_back(next);
                    }
                }
                None
            }
        }
    }

    /// Records the outcome of a state. Returns a new run for its watch function if the state is to react to
    /// what it watches.
    pub(super) fn complete_run(
        &mut self,
        mut running: Box<RunningState>,
        mut outcome: StateOutcome,
    ) -> Option<Box<RunningState>> {
        let chunk = running.chunk;
        hide_secrets(&self.secrets, &mut outcome);
        if let CallPurpose::Test { of, watched } = running.purpose {
            if watched && outcome.changes.is_empty() {
                outcome.changes = Map::from_iter([("watch".into(), Value::str("watch"))]);
                outcome.result = None;
            }
            let low = Arc::clone(&self.low);
            let result = StateResult::of(chunk, &low.chunks[chunk as usize], 0, outcome);
            self.needs_test[chunk as usize] = false;
            self.record_test_result(of, result);
            return None;
        }
        let watched = running.purpose == (CallPurpose::Run { watched: true });
        if watched && outcome.changes.is_empty() && !outcome.skip_watch {
            if running.number.is_none() {
                self.next_number();
            }
            let mut next = RunningState::new(chunk, CallPurpose::Watch, self.now);
            next.number = running.number;
            return Some(Box::new(next));
        }
        let number = running.number.take();
        let parallel = number.is_some();
        let number = number.unwrap_or_else(|| self.next_number());
        let low = Arc::clone(&self.low);
        let written = &low.chunks[chunk as usize];
        let mut result = StateResult::of(chunk, written, number, outcome);
        result.slot_name = running.name.take();
        result.start = running.started;
        result.duration = self.now.since(running.started);
        result.parallel = parallel;
        result.doubtful = running.doubtful;
        if written.keywords.get("no_log").is_some_and(Value::is_truthy) {
            result.redact();
        }
        if running.purpose == CallPurpose::Listen {
            result.id = format!("listener_{}", written.id).into();
            result.fun = "mod_watch".into();
            self.results.push(result);
        } else {
            self.record_result(chunk, result);
        }
        None
    }

    /// Records the result of a chunk. The first result stays: a chunk in a requisite cycle may get here
    /// twice.
    pub(super) fn record_result(&mut self, chunk: ChunkIndex, result: StateResult) {
        if matches!(self.statuses[chunk as usize], ChunkStatus::Done(_)) {
            return;
        }
        self.progress += 1;
        self.statuses[chunk as usize] = ChunkStatus::Done(to_index(self.results.len()));
        self.results.push(result);
    }

    /// Whether the chunk failed in a way that ends the run (S36).
    pub(super) fn is_failhard(&self, chunk: ChunkIndex) -> bool {
        let ChunkStatus::Done(place) = self.statuses[chunk as usize] else {
            return false;
        };
        self.ends_run(chunk, &self.results[place as usize])
    }

    /// Whether this result of the chunk is a failure that ends the run.
    pub(super) fn ends_run(&self, chunk: ChunkIndex, result: &StateResult) -> bool {
        let keyword = self.low.chunks[chunk as usize].keywords.get("failhard");
        self.options.mode == Mode::Apply
            && keyword.map_or(self.options.failhard, Value::is_truthy)
            && result.outcome.result == Some(false)
    }

    /// Starts the next chunk of the order; after the last one, the listeners.
    fn step_top(&mut self, order_limit: Option<usize>) -> Option<NextAction> {
        if let Some(top) = self.top.take() {
            let failed = self.is_failhard(top);
            if (failed || self.failhard_hit) && self.phase == EnginePhase::States {
                self.failhard_hit = false;
                self.phase = EnginePhase::Listeners;
                self.deferred.clear();
            }
        }
        match self.phase {
            EnginePhase::States => self.next_state(order_limit),
            EnginePhase::Listeners => {
                if self.parallel_count > 0 {
                    return Some(NextAction::Wait);
                }
                self.next_listener()
            }
            EnginePhase::Done if self.parallel_count > 0 => Some(NextAction::Wait),
            EnginePhase::Done => Some(NextAction::Done),
        }
    }

    fn next_state(&mut self, order_limit: Option<usize>) -> Option<NextAction> {
        let statuses = &self.statuses;
        // Requisites of other states may have called deferred chunks meanwhile.
        self.deferred
            .retain(|chunk| statuses[*chunk as usize] == ChunkStatus::NotRun);
        for place in 0..self.deferred.len() {
            let chunk = self.deferred[place];
            let testing = self.needs_test[chunk as usize];
            if self.status(chunk, testing) != RequisiteStatus::Pending {
                self.deferred.remove(place);
                self.call_top(chunk);
                return None;
            }
        }
        while let Some(chunk) = self.low.order.get(self.position).copied() {
            if self.statuses[chunk as usize] != ChunkStatus::NotRun
                || self.deferred.contains(&chunk)
            {
                self.position += 1;
                continue;
            }
            if order_limit.is_some_and(|order_limit| self.position > order_limit) {
                return Some(NextAction::AtLimit);
            }
            self.position += 1;
            self.call_top(chunk);
            return None;
        }
        if !self.deferred.is_empty() && self.parallel_count > 0 {
            return Some(NextAction::Wait);
        }
        if self.batch.is_open() {
            return self.flush_batch();
        }
        self.phase = EnginePhase::Listeners;
        None
    }

    /// Marks a chunk as the one last started from the order.
    pub(super) fn set_top(&mut self, chunk: ChunkIndex) {
        self.top = Some(chunk);
    }

    fn call_top(&mut self, chunk: ChunkIndex) {
        self.generation += 1;
        self.top = Some(chunk);
        self.push_frame(chunk);
    }
}

/// With DAG ordering, a chunk that is in the order twice is tested at its first position (S16).
fn chunks_tested_in_order(low: &LowData) -> Vec<bool> {
    let mut tests = vec![false; low.chunks.len()];
    if low.ordering == RunOrdering::Dag {
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
            .field("position", &self.position)
            .field("phase", &self.phase)
            .field("results", &self.results.len())
            .finish_non_exhaustive()
    }
}
