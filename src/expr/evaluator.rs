//! The way in.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use crate::value::{Handle, Value};

use super::context::Context;
use super::error::Error;
use super::memo::Memo;
use super::reads::Reads;
use super::scope::Scope;
use super::world::World;

/// Evaluates expressions and remembers what they read. Clones share everything.
#[derive(Clone)]
pub struct Evaluator(Arc<Shared>);

struct Shared {
    _scope: Arc<dyn Scope>,
    _world: Arc<dyn World>,
    _memo: Arc<Memo>,
}

impl Debug for Evaluator {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Evaluator").finish_non_exhaustive()
    }
}

impl Evaluator {
    /// Makes an evaluator.
    pub fn new(scope: Arc<dyn Scope>, world: Arc<dyn World>, memo: Arc<Memo>) -> Self {
        Self(Arc::new(Shared {
            _scope: scope,
            _world: world,
            _memo: memo,
        }))
    }

    /// The value of an attribute, evaluated as a whole; the read is recorded.
    pub fn attribute(&self, _of: Handle, _name: &str) -> Result<Option<Value>, Error> {
        Err(Error::Internal("not there yet"))
    }

    /// Evaluates a raw value as a whole: maps and lists element by element.
    pub fn evaluate(&self, _raw: &Value, _context: &Context) -> Result<Value, Error> {
        Err(Error::Internal("not there yet"))
    }

    /// The value of one input of the task (the variable `inputs`); the read is recorded.
    pub fn input(&self, _name: &str, _context: &Context) -> Result<Option<Value>, Error> {
        Err(Error::Internal("not there yet"))
    }

    /// All results of an expression: a path, a function map, or a whole `{eval: …}`.
    pub fn query(&self, _expression: &Value, _context: &Context) -> Result<Vec<Value>, Error> {
        Err(Error::Internal("not there yet"))
    }

    /// Renders a Jinja2 template; gives a native value.
    pub fn render(&self, _template: &str, _context: &Context) -> Result<Value, Error> {
        Err(Error::Internal("not there yet"))
    }

    /// Whether a raw map is an expression. Templates are not counted.
    pub fn is_expression(_raw: &Value) -> bool {
        false
    }

    /// What was read since the last call, in the order of first access.
    pub fn take_reads(&self) -> Reads {
        Reads::default()
    }

    /// Notes that the attributes of an entity are at hand: its place in the order of reads.
    pub fn touch(&self, _of: Handle) {}
}
