//! The way in.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use crate::value::{Handle, Value};

use super::cache::Cache;
use super::context::{Context, Inputs, KnownInput, Var};
use super::error::Error;
use super::form;
use super::item::{Item, Scene};
use super::memo::Memo;
use super::path::Segment;
use super::reads::{Read, Reads};
use super::scope::Scope;
use super::tracker::Tracker;
use super::world::World;

/// How deep expressions may refer to each other.
const DEPTH: usize = 20_000;

/// Evaluates expressions and remembers what they read. Clones share everything; one thread at a
/// time may evaluate. Each level of reference needs stack: evaluate in a thread with 1 GiB, or
/// set a limit with [`Evaluator::with_limit`].
#[derive(Clone)]
pub struct Evaluator(Arc<Shared>);

struct Shared {
    scope: Arc<dyn Scope>,
    world: Arc<dyn World>,
    memo: Arc<Memo>,
    tracker: Tracker,
    paths: Cache<Arc<[Segment]>>,
}

impl Debug for Evaluator {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Evaluator").finish_non_exhaustive()
    }
}

impl Evaluator {
    /// Makes an evaluator.
    pub fn new(scope: Arc<dyn Scope>, world: Arc<dyn World>, memo: Arc<Memo>) -> Self {
        Self::with_limit(scope, world, memo, DEPTH)
    }

    /// Makes an evaluator that gives up where expressions refer to each other deeper than `limit`.
    pub fn with_limit(
        scope: Arc<dyn Scope>,
        world: Arc<dyn World>,
        memo: Arc<Memo>,
        limit: usize,
    ) -> Self {
        Self(Arc::new(Shared {
            scope,
            world,
            memo,
            tracker: Tracker::new(limit),
            paths: Cache::default(),
        }))
    }

    /// The value of an attribute, evaluated as a whole; the read is recorded.
    pub fn attribute(&self, of: Handle, name: &str) -> Result<Option<Value>, Error> {
        let Some(item) = self.attribute_item(of, name)? else {
            return Ok(None);
        };
        let value = self.value_of(item)?;
        let name = self.memo().name(name);
        let read = Read::Attribute { of, name };
        self.tracker().read(read, Some(value.clone()));
        Ok(Some(value))
    }

    /// Evaluates a raw value as a whole: maps and lists element by element.
    pub fn evaluate(&self, raw: &Value, context: &Context) -> Result<Value, Error> {
        if !form::needs_evaluation(raw) {
            return Ok(raw.clone());
        }
        self.deep(raw, &Scene::new(context.clone()), None)
    }

    /// The value of one input of the task (the variable `inputs`); the read is recorded.
    pub fn input(&self, name: &str, context: &Context) -> Result<Option<Value>, Error> {
        match context.vars.get("inputs") {
            Some(Var::Inputs(inputs)) => {
                self.input_of(&Arc::clone(inputs), name, &Scene::new(context.clone()))
            }
            Some(_) => {
                let inputs = self.variable("inputs", &Scene::new(context.clone()))?;
                let inputs = inputs.map(|item| self.value_of(item)).transpose()?;
                Ok(inputs.and_then(|inputs| inputs.get(name).cloned()))
            }
            None => Ok(None),
        }
    }

    /// All results of an expression: a path, a function map, or a whole `{eval: …}`.
    pub fn query(&self, expression: &Value, context: &Context) -> Result<Vec<Value>, Error> {
        let scene = Scene::new(context.clone());
        let form = form::Form::of_query(expression);
        let results = self.resolve(&form, &scene)?;
        results
            .into_iter()
            .map(|item| self.value_of(item))
            .collect()
    }

    /// Renders a Jinja2 template; gives a native value.
    pub fn render(&self, template: &str, context: &Context) -> Result<Value, Error> {
        self.template(template, &Scene::new(context.clone()))
    }

    /// Whether a raw map is an expression. Templates are not counted.
    pub fn is_expression(raw: &Value) -> bool {
        form::is_expression(raw)
    }

    /// What was read since the last call, in the order of first access, each with its value.
    pub fn take_reads(&self) -> Reads {
        let mut reads = self.tracker().take();
        let unknown: Vec<_> = reads
            .iter()
            .filter(|(_, value)| value.is_null())
            .filter_map(|(read, _)| match read {
                Read::Attribute { of, name } => Some((*of, Arc::clone(name))),
                _ => None,
            })
            .collect();
        for (of, name) in unknown {
            let value = self.quietly(of, &name);
            reads.add(Read::Attribute { of, name }, value);
        }
        reads
    }

    /// The attributes that reads depend on, as [`Memo::closure`]; values of maps and lists that
    /// were read in part only are completed.
    pub fn closure(&self, reads: &Reads, cap: usize) -> Vec<(Handle, Arc<str>, Value)> {
        let mut ask = |of: Handle, name: &str| self.quietly(of, name);
        self.memo().closure_with(reads, cap, &mut ask)
    }

    /// Notes that the attributes of an entity are at hand: its place in the order of reads.
    pub fn touch(&self, of: Handle) {
        self.tracker().read(Read::Entity(of), None);
    }

    /// The value of an attribute, without a record of the read; nothing if it cannot be evaluated.
    fn quietly(&self, of: Handle, name: &str) -> Option<Value> {
        self.tracker().begin_frame();
        let value = self.attribute(of, name);
        self.tracker().end_frame();
        value.ok().flatten()
    }

    /// One input: evaluated once per state of the topology.
    pub(super) fn input_of(
        &self,
        inputs: &Arc<Inputs>,
        name: &str,
        scene: &Scene,
    ) -> Result<Option<Value>, Error> {
        let Some((name, raw)) = inputs.raw.get_key_value(name) else {
            return Ok(None);
        };
        let read = Read::Input(Arc::clone(name));
        self.tracker().read(read.clone(), None);
        let generation = self.scope().generation();
        if let Some(known) = inputs.known().get(name)
            && known.generation == generation
        {
            self.tracker().reads(&known.reads);
            self.tracker().read(read, Some(known.value.clone()));
            return Ok(Some(known.value.clone()));
        }
        let level = self.tracker().enter()?;
        // Inputs are known by the address of their shared map while they are evaluated.
        let of = Arc::as_ptr(inputs).addr();
        if !self.tracker().begin_input(of, name) {
            return Ok(Some(Value::Null));
        }
        let scene = scene.at(Item::entity(scene.context.target));
        let value = self.deep(raw, &scene, None);
        let frame = self.tracker().end_input(of, name);
        drop(level);
        self.tracker().reads(&frame.reads);
        frame
            .slots
            .iter()
            .for_each(|slot| self.tracker().uses(slot));
        let value = value?;
        let known = KnownInput {
            value: value.clone(),
            reads: frame.reads,
            generation,
        };
        inputs.known().insert(Arc::clone(name), known);
        self.tracker().read(read, Some(value.clone()));
        Ok(Some(value))
    }

    pub(super) fn scope(&self) -> &dyn Scope {
        &*self.0.scope
    }

    pub(super) fn world(&self) -> &dyn World {
        &*self.0.world
    }

    pub(super) fn memo(&self) -> &Memo {
        &self.0.memo
    }

    pub(super) fn paths(&self) -> &Cache<Arc<[Segment]>> {
        &self.0.paths
    }

    pub(super) fn tracker(&self) -> &Tracker {
        &self.0.tracker
    }
}
