//! The context of an evaluation: the target entity, the variables and the environment that an expression
//! sees. Callers build a [`Context`] and pass it to [`Evaluator`](super::Evaluator).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::value::{Handle, Map, Value};

use super::error::Error;
use super::lazy::LazyValue;
use super::ports::DirectoryOwner;
use super::reads::Reads;

/// The context in which an expression is evaluated. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Context {
    /// The entity that `.` and `SELF` refer to.
    pub target: Handle,
    /// The variables that `$name` and templates can read.
    pub vars: Vars,
    /// The directory that relative paths start from.
    pub base_dir: PathBuf,
    /// Whether an undefined name is an error. If false, an undefined name evaluates to null.
    pub strict: bool,
    /// The instance and operation for which `get_dir` resolves directories.
    pub directory_owner: DirectoryOwner,
    /// The environment variables of the task. None means those of the process.
    pub env: Option<EnvVariables>,
}

impl Context {
    /// Creates a strict context for an entity, without variables.
    pub fn new(target: Handle) -> Self {
        Self {
            target,
            vars: Vars::default(),
            base_dir: PathBuf::new(),
            strict: true,
            directory_owner: DirectoryOwner::default(),
            env: None,
        }
    }

    /// Returns the context with one more variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<Arc<str>>, value: impl Into<Var>) -> Self {
        self.vars.set(name, value);
        self
    }
}

/// The environment variables of a task. The debug form shows only their names, because values may be
/// secrets.
#[derive(Clone, Default)]
pub struct EnvVariables(pub Arc<std::collections::BTreeMap<String, String>>);

impl std::fmt::Debug for EnvVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A scope of named variables. Clones share their content: a write to a shared scope adds a layer on top.
#[derive(Debug, Clone, Default)]
pub struct Vars(Option<Arc<Layer>>);

#[derive(Debug, Clone, Default)]
struct Layer {
    names: indexmap::IndexMap<Arc<str>, Var>,
    below: Vars,
}

impl Vars {
    /// Sets a variable in this scope only; clones made before do not see the change.
    pub fn set(&mut self, name: impl Into<Arc<str>>, value: impl Into<Var>) {
        let layer = self.0.get_or_insert_default();
        if Arc::get_mut(layer).is_none() {
            *layer = Arc::new(Layer {
                names: indexmap::IndexMap::new(),
                below: Self(Some(Arc::clone(layer))),
            });
        }
        let layer = Arc::get_mut(layer).expect("a layer made just now is not shared");
        layer.names.insert(name.into(), value.into());
    }

    /// Returns the innermost variable with a name.
    pub fn get(&self, name: &str) -> Option<&Var> {
        let mut vars = self;
        loop {
            let layer = vars.0.as_ref()?;
            if let Some(var) = layer.names.get(name) {
                return Some(var);
            }
            vars = &layer.below;
        }
    }

    /// Returns the names of the variables, each once, innermost layer first.
    pub fn names(&self) -> Vec<Arc<str>> {
        let mut seen = std::collections::HashSet::new();
        let mut names = Vec::new();
        let mut vars = self;
        while let Some(layer) = &vars.0 {
            for name in layer.names.keys() {
                if seen.insert(Arc::clone(name)) {
                    names.push(Arc::clone(name));
                }
            }
            vars = &layer.below;
        }
        names
    }
}

/// Drops the chain of layers in a loop, so that a long chain does not overflow the stack.
impl Drop for Layer {
    fn drop(&mut self) {
        let mut below = self.below.0.take();
        while let Some(layer) = below {
            below = Arc::into_inner(layer).and_then(|mut layer| layer.below.0.take());
        }
    }
}

/// The value of a variable, or the source that its value comes from.
#[derive(Debug, Clone)]
pub enum Var {
    /// A plain value that is never evaluated again.
    Value(Value),
    /// A raw value, evaluated at each use.
    Lazy(Value),
    /// The attributes of an entity, such as `HOST`.
    Attributes(Handle),
    /// The inputs of a task. Each one is evaluated when it is read, and each read is recorded.
    Inputs(Arc<Inputs>),
    /// A binding that the evaluator itself made, such as the item of a loop.
    Bound(BoundItem),
    /// A value from outside that is loaded when it is read.
    Deferred(Arc<dyn DeferredValue>),
    /// The connections of a task by name. A key that is no name finds the first connection of that type.
    Connections(Arc<Map>),
    /// A raw map or list, of which only the parts that are read are evaluated.
    Parts(Value),
}

/// A value from outside the model that is loaded when an expression reads it, such as a long output of a command.
pub trait DeferredValue: std::fmt::Debug + Send + Sync {
    /// Returns the value.
    ///
    /// # Errors
    ///
    /// The value is not available, or only a part of it.
    fn load(&self) -> Result<Value, Error>;
}

/// A binding that the evaluator itself made. Only the evaluator can look into it.
#[derive(Debug, Clone)]
pub struct BoundItem(pub(super) LazyValue);

impl From<Value> for Var {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// The raw inputs of a task and the cache of those evaluated so far.
#[derive(Debug, Default)]
pub struct Inputs {
    raw: Map,
    evaluated: Mutex<HashMap<Arc<str>, EvaluatedInput>>,
}

/// An evaluated input with the reads and the topology generation that its value depends on.
#[derive(Debug, Clone)]
pub(super) struct EvaluatedInput {
    pub(super) value: Value,
    pub(super) reads: Reads,
    pub(super) generation: u64,
}

impl Inputs {
    pub fn new(raw: Map) -> Self {
        Self {
            raw,
            evaluated: Mutex::default(),
        }
    }

    pub(super) fn entry(&self, name: &str) -> Option<(&Arc<str>, &Value)> {
        self.raw.get_key_value(name)
    }

    pub(super) fn evaluated(&self) -> MutexGuard<'_, HashMap<Arc<str>, EvaluatedInput>> {
        self.evaluated
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the last evaluation of an input read. None if it was not evaluated.
    pub fn reads_of(&self, name: &str) -> Option<Reads> {
        let evaluated = self.evaluated();
        evaluated.get(name).map(|known| known.reads.clone())
    }

    /// Returns the names of the inputs in the order of the source text.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.raw.keys()
    }
}

impl From<Map> for Var {
    fn from(inputs: Map) -> Self {
        Self::Inputs(Arc::new(Inputs::new(inputs)))
    }
}
