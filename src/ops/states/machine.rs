//! One machine on its way: facts, compilation, states.

use std::sync::Arc;
use std::time::Duration;

use super::compile::Compiler;
use super::hosts::StateHost;
use super::now;
use crate::converge::{ChunkIndex, DeedId, HostRun, Next, Preparation, Prepared, StateResult};
use crate::diagnostic::{Diagnostics, Sources};
use crate::host::change::Change;
use crate::host::fact::Fact;

/// A machine with its states.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) host: StateHost,
    pub(super) run: HostRun,
    pub(super) stage: Stage,
    /// How many actions run there.
    pub(super) in_flight: usize,
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
            run: HostRun::new(&host.place),
            host,
            stage: Stage::Prepare,
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

    /// Says what is next; `gate` is the last place of its order that it may come to.
    pub(super) fn step(&mut self, compiler: &Compiler<'_>, gate: Option<usize>) -> Step {
        match self.stage {
            Stage::Prepare => self.prepare(compiler),
            Stage::Running => self.go_on(gate),
            Stage::Ready | Stage::Ended(_) => Step::Rest,
        }
    }

    /// Compiles its states and reads what they need first.
    fn prepare(&mut self, compiler: &Compiler<'_>) -> Step {
        if self.in_flight > 0 {
            return Step::Rest;
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
            Preparation::Read(facts) => return Step::Read(facts),
            Preparation::Ready => Stage::Ready,
            Preparation::Stuck(reason) => Stage::Ended(End::Lost(reason)),
            Preparation::Refused(problems, sources) => {
                Stage::Ended(End::Refused(Arc::new((problems, *sources))))
            }
        };
        Step::Rest
    }

    fn go_on(&mut self, gate: Option<usize>) -> Step {
        match self.run.next(gate, now()) {
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
}
