//! All that the states of one machine are made from.

use std::sync::Arc;

use super::compile::{Compiled, Request, Stop, Targets, compile};
use super::render::{Machine, Renderer};
use super::{Facts, Low, Ordering, Render, Roots, World, grains};
use crate::value::{Map, Value};

/// All that the states of one machine are made from, its facts apart.
#[derive(Clone)]
pub struct Ground {
    /// The name of the machine, Salt's minion id.
    pub id: Arc<str>,
    /// The files of the state tree.
    pub roots: Arc<dyn Roots>,
    /// What was given for it.
    pub pillar: Value,
    /// What is said of it over what it is like.
    pub grains: Map,
    /// The settings.
    pub options: Value,
    /// Which states.
    pub targets: Targets,
    /// How the order is made.
    pub ordering: Ordering,
}

/// The states of one machine, ready to run.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The states in order.
    pub low: Arc<Low>,
    /// All that compilation gave.
    pub compiled: Compiled,
    /// What state functions know beside facts.
    pub world: Arc<World>,
}

impl std::fmt::Debug for Ground {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ground")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Ground {
    /// Compiles the states; called again where facts are needed for it.
    pub fn prepare(&self, facts: &Facts) -> Result<Prepared, Stop> {
        let missing: Vec<_> = grains::facts()
            .into_iter()
            .filter(|fact| !facts.has(fact))
            .collect();
        if !missing.is_empty() {
            return Err(Stop::Needs(missing));
        }
        // A machine that does not say what it is like has no grains but its name.
        let mut grains = match grains::parse(facts, &self.id) {
            Ok(Value::Map(map)) => Map::clone(&map),
            _ => Map::from_iter([("id".into(), Value::Str(Arc::clone(&self.id)))]),
        };
        grains.extend(self.grains.clone());
        let grains = Value::from(grains);
        let renderer = Arc::new(Renderer::new(Machine {
            id: Arc::clone(&self.id),
            roots: Arc::clone(&self.roots),
            grains: grains.clone(),
            pillar: self.pillar.clone(),
            options: self.options.clone(),
        }));
        let request = Request {
            targets: self.targets.clone(),
            ordering: self.ordering,
            exclude: Vec::new(),
        };
        let compiled = compile(&request, &renderer, facts)?;
        let world = World {
            id: Arc::clone(&self.id),
            roots: Arc::clone(&self.roots),
            renderer: renderer as Arc<dyn Render>,
            grains,
            pillar: self.pillar.clone(),
            options: self.options.clone(),
        };
        Ok(Prepared {
            low: Arc::clone(&compiled.low),
            compiled,
            world: Arc::new(world),
        })
    }
}
