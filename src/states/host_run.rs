//! The run of states on one host: reads grains, compiles state files, prefetches facts, then runs the engine.
//!
//! [`HostRun`] is used by the runs over many hosts. Pure, like the engine: the caller reads facts and makes
//! changes on the host.

use std::sync::Arc;

use super::compile::{
    CompileError, CompilePurpose, CompileRequest, CompiledStates, StateTargets, compile,
};
use super::engine::{ActionId, Engine, EngineOptions, NextAction, StateResult, Timestamp};
use super::fact_cache::FactCache;
use super::low_data::{ChunkIndex, LowData};
use super::render::{MinionData, RenderPrograms, StateRenderer};
use super::{ModuleContext, RunOrdering, StateTrees, grains};
use crate::diagnostic::{Diagnostics, Sources};
use crate::host::RunOutput;
use crate::host::fact::{Fact, FactReading};
use crate::value::{Map, Value};

/// The limit of fact rounds before compilation, and again before the first state.
const MAX_ROUNDS: usize = 64;
/// The maximum batch of states. Each batch costs a round trip, or on this machine a turn of several threads.
const MAX_BATCH: usize = 64;

/// The input for compiling the states of one machine, apart from facts.
#[derive(Clone)]
pub struct CompileInput {
    /// The name of the machine (Salt's minion ID).
    pub id: Arc<str>,
    pub roots: StateTrees,
    /// The programs of this machine that state files may use.
    pub programs: Option<Arc<dyn RenderPrograms>>,
    pub pillar: Value,
    /// Grains that override those read from the machine.
    pub grains: Map,
    pub options: Value,
    pub targets: StateTargets,
    pub ordering: RunOrdering,
    pub purpose: CompilePurpose,
}

/// The compiled states of one machine, ready to run.
#[derive(Debug, Clone)]
pub struct PreparedStates {
    pub low: Arc<LowData>,
    /// The complete result of compilation, for `show` commands and diagnostics.
    pub compiled: CompiledStates,
    pub context: Arc<ModuleContext>,
}

impl std::fmt::Debug for CompileInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompileInput")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl CompileInput {
    /// Compiles the states. Returns [`CompileError::Needs`] until the facts it needs are cached.
    fn prepare(&self, facts: &FactCache) -> Result<PreparedStates, CompileError> {
        let missing: Vec<_> = grains::required_facts()
            .into_iter()
            .filter(|fact| !facts.has(fact))
            .collect();
        if !missing.is_empty() {
            return Err(CompileError::Needs(missing));
        }
        // If the grains cannot be read, the machine has only the grain `id`.
        let mut grains = match grains::parse(facts, &self.id) {
            Ok(Value::Map(map)) => Map::clone(&map),
            _ => Map::from_iter([("id".into(), Value::Str(Arc::clone(&self.id)))]),
        };
        grains.extend(self.grains.clone());
        let grains = Value::from(grains);
        let renderer = StateRenderer::new(MinionData {
            id: Arc::clone(&self.id),
            roots: self.roots.clone(),
            grains,
            pillar: self.pillar.clone(),
            options: self.options.clone(),
        });
        let renderer = Arc::new(renderer.with_programs(self.programs.clone()));
        let request = CompileRequest {
            targets: self.targets.clone(),
            ordering: self.ordering,
            purpose: self.purpose,
            exclude: Vec::new(),
        };
        let compiled = compile(&request, &renderer, facts)?;
        Ok(PreparedStates {
            low: Arc::clone(&compiled.low),
            compiled,
            context: Arc::new(renderer.module_context()),
        })
    }
}

/// The next step of a host before its states start.
#[derive(Debug)]
pub enum Preparation {
    /// Read these facts, then prepare again.
    Read(Vec<Fact>),
    Ready,
    /// The state files do not compile.
    Refused(Diagnostics, Box<Sources>),
    /// Preparation cannot make progress, for the given reason.
    Stuck(String),
}

/// The run of the states of one host. Pure: returns the facts to read and the changes to make, and receives
/// the results.
#[derive(Debug, Default)]
pub struct HostRun {
    facts: FactCache,
    prepared: Option<PreparedStates>,
    engine: Option<Engine>,
    rounds: usize,
}

impl HostRun {
    /// Compiles the states if that has not been done yet. `begin` chooses the states to run and the options
    /// of the engine.
    pub fn compile(
        &mut self,
        input: impl FnOnce() -> CompileInput,
        begin: impl FnOnce(&PreparedStates) -> (Arc<LowData>, EngineOptions),
    ) -> Preparation {
        if self.engine.is_some() {
            return Preparation::Ready;
        }
        match input().prepare(&self.facts) {
            Ok(prepared) => {
                let (low, options) = begin(&prepared);
                let options = EngineOptions {
                    max_batch: MAX_BATCH,
                    ..options
                };
                let context = Arc::clone(&prepared.context);
                self.engine = Some(Engine::new(low, context, options));
                self.prepared = Some(prepared);
                self.rounds = 0;
                Preparation::Ready
            }
            Err(CompileError::Needs(needs)) if self.may_read(&needs) => Preparation::Read(needs),
            Err(CompileError::Needs(_)) => {
                let reason = "its state files need other facts each time they are rendered: check `salt[…]` calls whose arguments change each time";
                Preparation::Stuck(reason.to_owned())
            }
            Err(CompileError::Problems(problems, sources)) => {
                Preparation::Refused(problems, sources)
            }
        }
    }

    /// Compiles the states, then collects the facts that all of them need, to read them in few round trips
    /// (P1).
    pub fn prepare(
        &mut self,
        input: impl FnOnce() -> CompileInput,
        begin: impl FnOnce(&PreparedStates) -> (Arc<LowData>, EngineOptions),
    ) -> Preparation {
        match self.compile(input, begin) {
            Preparation::Ready => {}
            other => return other,
        }
        let engine = self.engine.as_mut();
        let needs = engine.map_or_else(Vec::new, |engine| engine.prefetch_facts(&self.facts));
        if self.may_read(&needs) {
            Preparation::Read(needs)
        } else {
            Preparation::Ready
        }
    }

    /// Whether to read facts: at least one must be new, and the number of rounds is limited. Prevents an
    /// endless loop if a host returns nothing.
    fn may_read(&mut self, needs: &[Fact]) -> bool {
        self.rounds += 1;
        let is_new = needs.iter().any(|fact| !self.facts.has(fact));
        is_new && self.rounds <= MAX_ROUNDS
    }

    /// Returns the next action after preparation. `order_limit` is the last position of the host's order that
    /// may be started.
    pub fn next(&mut self, order_limit: Option<usize>, now: Timestamp) -> NextAction {
        match &mut self.engine {
            Some(engine) => engine.next(&mut self.facts, order_limit, now),
            None => NextAction::Wait,
        }
    }

    pub fn learn(&mut self, facts: Vec<Fact>, readings: Vec<FactReading>) {
        self.facts.learn_all(facts, readings);
    }

    /// Reports the outputs of changes. Returns the results of the states that ended with them.
    pub fn finish_change(
        &mut self,
        action: ActionId,
        outputs: Vec<RunOutput>,
        now: Timestamp,
    ) -> &[StateResult] {
        let Some(engine) = &mut self.engine else {
            return &[];
        };
        let before = engine.results().len();
        engine.finish_change(action, outputs, &mut self.facts, now);
        &engine.results()[before..]
    }

    /// Reports the end of a pause.
    pub fn finish_sleep(&mut self, action: ActionId, now: Timestamp) {
        if let Some(engine) = &mut self.engine {
            engine.finish_sleep(action, &mut self.facts, now);
        }
    }

    /// The results so far, in the order in which the states ended.
    pub fn results(&self) -> &[StateResult] {
        self.engine.as_ref().map_or(&[], Engine::results)
    }

    /// The compiled states, or `None` before compilation.
    pub fn prepared(&self) -> Option<&PreparedStates> {
        self.prepared.as_ref()
    }

    /// Consumes the run and returns the compiled states.
    pub fn into_prepared(self) -> Option<PreparedStates> {
        self.prepared
    }

    /// The label of a state for output: function and name.
    pub fn label(&self, chunk: ChunkIndex) -> String {
        let low = self.prepared.as_ref().map(|prepared| &prepared.low);
        let chunk = low.and_then(|low| low.chunks.get(chunk as usize));
        chunk.map_or_else(String::new, |it| {
            format!("{}.{} {}", it.state, it.fun, it.name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::{FileRoots, FileRootsError};

    /// A state tree with a single file.
    struct Tree(&'static str);

    impl FileRoots for Tree {
        fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
            Ok((path == "a.sls").then(|| self.0.as_bytes().into()))
        }

        fn list(&self, _folder: &str) -> Result<Vec<String>, FileRootsError> {
            Ok(vec!["a.sls".to_owned()])
        }

        fn mode(&self, _path: &str) -> Result<Option<u32>, FileRootsError> {
            Ok(None)
        }
    }

    fn input(text: &'static str) -> CompileInput {
        CompileInput {
            id: "here".into(),
            roots: Arc::new(Tree(text)).into(),
            programs: None,
            pillar: Value::Null,
            grains: Map::new(),
            options: Map::new().into(),
            targets: StateTargets::Sls(vec!["a".to_owned()]),
            ordering: RunOrdering::Classic,
            purpose: CompilePurpose::Run,
        }
    }

    fn prepare(run: &mut HostRun, text: &'static str) -> Preparation {
        let begin =
            |prepared: &PreparedStates| (Arc::clone(&prepared.low), EngineOptions::default());
        run.prepare(|| input(text), begin)
    }

    /// Prepares the run, answering every read with absent facts, until another step comes.
    fn prepare_with_absent_facts(run: &mut HostRun, text: &'static str) -> Preparation {
        loop {
            match prepare(run, text) {
                Preparation::Read(facts) => {
                    let readings = vec![FactReading::Absent; facts.len()];
                    run.learn(facts, readings);
                }
                other => return other,
            }
        }
    }

    #[test]
    fn a_host_is_asked_for_facts_before_its_states_run() {
        let mut run = HostRun::default();
        let text = "x:\n  test.nop\n";
        assert!(matches!(prepare(&mut run, text), Preparation::Read(_)));
        assert!(run.prepared().is_none() && run.results().is_empty());
        assert!(matches!(
            prepare_with_absent_facts(&mut run, text),
            Preparation::Ready
        ));
        assert_eq!(run.label(0), "test.nop x");
        assert!(matches!(
            run.next(None, Timestamp::default()),
            NextAction::Done
        ));
        assert_eq!(run.results().len(), 1);
    }

    #[test]
    fn a_host_that_answers_nothing_is_not_asked_for_ever() {
        let mut run = HostRun::default();
        let reads = (0..=MAX_ROUNDS).map(|_| prepare(&mut run, "x:\n  test.nop\n"));
        let last = reads.last();
        assert!(matches!(last, Some(Preparation::Stuck(_))), "{last:?}");
    }

    #[test]
    fn states_that_do_not_compile_are_refused() {
        let mut run = HostRun::default();
        let refused = prepare_with_absent_facts(&mut run, "x: [");
        assert!(matches!(refused, Preparation::Refused(..)), "{refused:?}");
        assert!(matches!(
            run.next(None, Timestamp::default()),
            NextAction::Wait
        ));
    }
}
