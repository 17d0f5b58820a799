//! One machine on its way: facts, compilation, states.

use std::sync::Arc;
use std::time::Duration;

use super::compile::Compiler;
use super::hosts::StateHost;
use super::now;
use crate::converge::{
    ChunkIndex, DeedId, Engine, Facts, Next, Prepared, Setup, StateResult, Stop,
};
use crate::diagnostic::{Diagnostics, Sources};
use crate::host::change::Change;
use crate::host::fact::Fact;

/// How often a machine is asked for facts before its states are compiled, and before they begin.
const MOST_ROUNDS: usize = 64;
/// How many states are handed to another machine at a time.
const AHEAD: usize = 64;

/// A machine with its states.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) host: StateHost,
    pub(super) facts: Facts,
    pub(super) stage: Stage,
    /// How many actions run there.
    pub(super) in_flight: usize,
    pub(super) prepared: Option<Prepared>,
    pub(super) engine: Option<Engine>,
    rounds: usize,
}

/// How far a machine is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Its states are compiled, for which it is asked what it is like.
    Compile,
    /// The facts that its states need first are read.
    First,
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

/// What a machine does next.
#[derive(Debug)]
pub(super) enum Step {
    /// These facts are to be read.
    Read(Vec<Fact>),
    /// These changes are to be made, for this state.
    Change(DeedId, Vec<Change>, ChunkIndex),
    /// It waits before it tries again.
    Sleep(DeedId, Duration),
    /// It goes no further until it hears of something.
    Rest,
}

impl Machine {
    pub(super) fn new(host: StateHost) -> Self {
        Self {
            host,
            facts: Facts::default(),
            stage: Stage::Compile,
            in_flight: 0,
            prepared: None,
            engine: None,
            rounds: 0,
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
        let engine = self.engine.as_ref();
        let failed = |result: &StateResult| result.outcome.result == Some(false);
        engine.is_some_and(|engine| engine.results().iter().any(failed))
    }

    /// Says what is next; `gate` is the last place of its order that it may come to.
    pub(super) fn step(&mut self, compiler: &Compiler<'_>, gate: Option<usize>) -> Step {
        match self.stage {
            Stage::Compile => self.compile(compiler),
            Stage::First => self.first(),
            Stage::Running => self.run(gate),
            Stage::Ready | Stage::Ended(_) => Step::Rest,
        }
    }

    /// Compiles its states, once all is known that this takes.
    fn compile(&mut self, compiler: &Compiler<'_>) -> Step {
        if self.in_flight > 0 {
            return Step::Rest;
        }
        match compiler.ground(&self.host).prepare(&self.facts) {
            Ok(prepared) => {
                let ahead = if self.host.place.is_here() { 0 } else { AHEAD };
                let setup = Setup {
                    ahead,
                    ..compiler.setup(prepared.low.has_links)
                };
                let world = Arc::clone(&prepared.world);
                self.engine = Some(Engine::new(Arc::clone(&prepared.low), world, setup));
                self.prepared = Some(prepared);
                self.rounds = 0;
                if compiler.only_compiles {
                    self.stage = Stage::Ready;
                    return Step::Rest;
                }
                self.stage = Stage::First;
                self.first()
            }
            Err(Stop::Needs(needs)) => self.ask(needs),
            Err(Stop::Problems(problems, sources)) => {
                self.stage = Stage::Ended(End::Refused(Arc::new((problems, *sources))));
                Step::Rest
            }
        }
    }

    /// Reads facts at a machine that is asked again and again only if it learns nothing from it.
    fn ask(&mut self, needs: Vec<Fact>) -> Step {
        self.rounds += 1;
        let is_new = needs.iter().any(|fact| !self.facts.has(fact));
        if is_new && self.rounds <= MOST_ROUNDS {
            return Step::Read(needs);
        }
        let reason = "its state files ask for facts again and again".to_owned();
        self.stage = Stage::Ended(End::Lost(reason));
        Step::Rest
    }

    /// Reads what all states need first, in few round trips (P1).
    fn first(&mut self) -> Step {
        if self.in_flight > 0 {
            return Step::Rest;
        }
        let needs = match &mut self.engine {
            Some(engine) => engine.first_facts(&self.facts),
            None => Vec::new(),
        };
        self.rounds += 1;
        let is_new = needs.iter().any(|fact| !self.facts.has(fact));
        if is_new && self.rounds <= MOST_ROUNDS {
            return Step::Read(needs);
        }
        self.stage = Stage::Ready;
        Step::Rest
    }

    fn run(&mut self, gate: Option<usize>) -> Step {
        let Some(engine) = &mut self.engine else {
            return Step::Rest;
        };
        match engine.next(&mut self.facts, gate, now()) {
            Next::Read(facts) => Step::Read(facts),
            Next::Change {
                deed,
                changes,
                chunk,
            } => Step::Change(deed, changes, chunk),
            Next::Sleep { deed, time, .. } => Step::Sleep(deed, time),
            Next::Wait | Next::AtGate => Step::Rest,
            Next::Done => {
                self.stage = Stage::Ended(End::Done);
                Step::Rest
            }
        }
    }

    /// It is lost: nothing more is asked of it.
    pub(super) fn lose(&mut self, reason: String) {
        if self.is_active() {
            self.stage = Stage::Ended(End::Lost(reason));
        }
    }

    /// What people call a state of it.
    pub(super) fn label(&self, chunk: ChunkIndex) -> String {
        let low = self.prepared.as_ref().map(|prepared| &prepared.low);
        let chunk = low.and_then(|low| low.chunks.get(chunk as usize));
        chunk.map_or_else(String::new, |it| {
            format!("{}.{} {}", it.state, it.fun, it.name)
        })
    }
}
