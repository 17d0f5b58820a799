//! The states of one host from the first fact to the last result: facts, compilation, the facts
//! that the states need first, and the run itself.

use std::sync::Arc;

use super::compile::{CompileError, CompileRequest, CompiledStates, StateTargets, compile};
use super::engine::{ActionId, Engine, EngineOptions, NextAction, StateResult, Timestamp};
use super::fact_cache::FactCache;
use super::low_data::{ChunkIndex, LowData};
use super::render::{MinionData, StateRenderer};
use super::{FileRoots, ModuleContext, RenderTemplate, RunOrdering, grains};
use crate::diagnostic::{Diagnostics, Sources};
use crate::host::fact::{Fact, FactReading};
use crate::host::{Location, RunOutput};
use crate::value::{Map, Value};

/// How often a host is asked for facts before its states are compiled, and before they begin.
const MAX_ROUNDS: usize = 64;
/// How many states are handed to another host at a time.
const MAX_BATCH: usize = 64;

/// All that the states of one machine are made from, its facts apart.
#[derive(Clone)]
pub struct CompileInput {
    /// The name of the machine, Salt's minion id.
    pub id: Arc<str>,
    /// The files of the state tree.
    pub roots: Arc<dyn FileRoots>,
    /// What was given for it.
    pub pillar: Value,
    /// What is said of it over what it is like.
    pub grains: Map,
    /// The settings.
    pub options: Value,
    /// Which states.
    pub targets: StateTargets,
    /// How the order is made.
    pub ordering: RunOrdering,
}

/// The states of one machine, ready to run.
#[derive(Debug, Clone)]
pub struct PreparedStates {
    /// The states in order.
    pub low: Arc<LowData>,
    /// All that compilation gave.
    pub compiled: CompiledStates,
    /// What state functions know beside facts.
    pub context: Arc<ModuleContext>,
}

impl std::fmt::Debug for CompileInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ground")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl CompileInput {
    /// Compiles the states; called again where facts are needed for it.
    fn prepare(&self, facts: &FactCache) -> Result<PreparedStates, CompileError> {
        let missing: Vec<_> = grains::required_facts()
            .into_iter()
            .filter(|fact| !facts.has(fact))
            .collect();
        if !missing.is_empty() {
            return Err(CompileError::Needs(missing));
        }
        // A machine that does not say what it is like has no grains but its name.
        let mut grains = match grains::parse(facts, &self.id) {
            Ok(Value::Map(map)) => Map::clone(&map),
            _ => Map::from_iter([("id".into(), Value::Str(Arc::clone(&self.id)))]),
        };
        grains.extend(self.grains.clone());
        let grains = Value::from(grains);
        let renderer = Arc::new(StateRenderer::new(MinionData {
            id: Arc::clone(&self.id),
            roots: Arc::clone(&self.roots),
            grains: grains.clone(),
            pillar: self.pillar.clone(),
            options: self.options.clone(),
        }));
        let request = CompileRequest {
            targets: self.targets.clone(),
            ordering: self.ordering,
            exclude: Vec::new(),
        };
        let compiled = compile(&request, &renderer, facts)?;
        let context = ModuleContext {
            id: Arc::clone(&self.id),
            roots: Arc::clone(&self.roots),
            renderer: renderer as Arc<dyn RenderTemplate>,
            grains,
            pillar: self.pillar.clone(),
            options: self.options.clone(),
        };
        Ok(PreparedStates {
            low: Arc::clone(&compiled.low),
            compiled,
            context: Arc::new(context),
        })
    }
}

/// The next step of a host before its states begin.
#[derive(Debug)]
pub enum Preparation {
    /// These facts are to be read.
    Read(Vec<Fact>),
    /// All is ready.
    Ready,
    /// Its states do not compile.
    Refused(Diagnostics, Box<Sources>),
    /// The host cannot come to its states, for this reason.
    Stuck(String),
}

/// The states of one host on their way. Performs nothing; says what is to be read and changed,
/// and is told what came of it.
#[derive(Debug)]
pub struct HostRun {
    facts: FactCache,
    /// How many states are handed to the host at a time.
    max_batch: usize,
    prepared: Option<PreparedStates>,
    engine: Option<Engine>,
    rounds: usize,
}

impl HostRun {
    /// The run of a host of which nothing is known yet.
    pub fn new(location: &Location) -> Self {
        Self {
            facts: FactCache::default(),
            max_batch: if location.is_local() { 0 } else { MAX_BATCH },
            prepared: None,
            engine: None,
            rounds: 0,
        }
    }

    /// Compiles the states, unless they are; `begin` says which states run then, and how.
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
                    max_batch: self.max_batch,
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
                let reason = "its state files ask for facts again and again";
                Preparation::Stuck(reason.to_owned())
            }
            Err(CompileError::Problems(problems, sources)) => {
                Preparation::Refused(problems, sources)
            }
        }
    }

    /// Compiles the states, then reads what all of them need first, in few round trips (P1).
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

    /// Whether the host is asked for facts: again and again only if it learns something from it.
    fn may_read(&mut self, needs: &[Fact]) -> bool {
        self.rounds += 1;
        let is_new = needs.iter().any(|fact| !self.facts.has(fact));
        is_new && self.rounds <= MAX_ROUNDS
    }

    /// Says what is next once all is ready; `gate` is the last place of its order that the host
    /// may come to.
    pub fn next(&mut self, order_limit: Option<usize>, now: Timestamp) -> NextAction {
        match &mut self.engine {
            Some(engine) => engine.next(&mut self.facts, order_limit, now),
            None => NextAction::Wait,
        }
    }

    /// Takes the facts that were read.
    pub fn learn(&mut self, facts: Vec<Fact>, readings: Vec<FactReading>) {
        self.facts.learn_all(facts, readings);
    }

    /// Takes what came of changes; returns the results of the states that ended with them.
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

    /// Ends a pause.
    pub fn finish_sleep(&mut self, action: ActionId, now: Timestamp) {
        if let Some(engine) = &mut self.engine {
            engine.finish_sleep(action, &mut self.facts, now);
        }
    }

    /// The results so far, in the order in which states ended.
    pub fn results(&self) -> &[StateResult] {
        self.engine.as_ref().map_or(&[], Engine::results)
    }

    /// The states that were compiled, if they are.
    pub fn prepared(&self) -> Option<&PreparedStates> {
        self.prepared.as_ref()
    }

    /// The states that were compiled, without the run.
    pub fn into_prepared(self) -> Option<PreparedStates> {
        self.prepared
    }

    /// The name of a state for people.
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
    use crate::states::FileRootsError;

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
            roots: Arc::new(Tree(text)),
            pillar: Value::Null,
            grains: Map::new(),
            options: Map::new().into(),
            targets: StateTargets::Sls(vec!["a".to_owned()]),
            ordering: RunOrdering::Classic,
        }
    }

    fn prepare(run: &mut HostRun, text: &'static str) -> Preparation {
        let begin =
            |prepared: &PreparedStates| (Arc::clone(&prepared.low), EngineOptions::default());
        run.prepare(|| input(text), begin)
    }

    /// Answers all questions with nothing until something else is said.
    fn ask(run: &mut HostRun, text: &'static str) -> Preparation {
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
        let mut run = HostRun::new(&Location::Local);
        let text = "x:\n  test.nop\n";
        assert!(matches!(prepare(&mut run, text), Preparation::Read(_)));
        assert!(run.prepared().is_none() && run.results().is_empty());
        assert!(matches!(ask(&mut run, text), Preparation::Ready));
        assert_eq!(run.label(0), "test.nop x");
        assert!(matches!(
            run.next(None, Timestamp::default()),
            NextAction::Done
        ));
        assert_eq!(run.results().len(), 1);
    }

    #[test]
    fn a_host_that_answers_nothing_is_not_asked_for_ever() {
        let mut run = HostRun::new(&Location::Local);
        let reads = (0..=MAX_ROUNDS).map(|_| prepare(&mut run, "x:\n  test.nop\n"));
        let last = reads.last();
        assert!(matches!(last, Some(Preparation::Stuck(_))), "{last:?}");
    }

    #[test]
    fn states_that_do_not_compile_are_refused() {
        let mut run = HostRun::new(&Location::Local);
        let refused = ask(&mut run, "x: [");
        assert!(matches!(refused, Preparation::Refused(..)), "{refused:?}");
        assert!(matches!(
            run.next(None, Timestamp::default()),
            NextAction::Wait
        ));
    }
}
