//! In what surroundings an expression is evaluated.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::value::{Handle, Map, Value};

use super::lazy::LazyValue;
use super::ports::DirectoryOwner;
use super::reads::Reads;

/// In what surroundings an expression is evaluated. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Context {
    /// The entity that `.` and `SELF` mean.
    pub target: Handle,
    /// The variables.
    pub vars: Vars,
    /// The directory that relative paths start from.
    pub base_dir: PathBuf,
    /// Whether something undefined is an error; where it is not, it gives null.
    pub strict: bool,
    /// For whom it is evaluated.
    pub directory_owner: DirectoryOwner,
    /// The environment of the task; that of the process if there is none.
    pub env: Option<EnvVariables>,
}

impl Context {
    /// The surroundings of an entity, without variables.
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

    /// The same surroundings with one more variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<Arc<str>>, value: impl Into<Var>) -> Self {
        self.vars.set(name, value);
        self
    }
}

/// The environment of a task. Its variables may hold secrets, so it does not show them.
#[derive(Clone, Default)]
pub struct EnvVariables(pub Arc<std::collections::BTreeMap<String, String>>);

impl std::fmt::Debug for EnvVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Variables: names and what they stand for. Clones share what they hold.
#[derive(Debug, Clone, Default)]
pub struct Vars(Option<Arc<Layer>>);

#[derive(Debug, Clone, Default)]
struct Layer {
    names: indexmap::IndexMap<Arc<str>, Var>,
    below: Vars,
}

impl Vars {
    /// Sets a variable here; clones made before do not see it.
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

    /// What a name stands for.
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

    /// All names, each once.
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

/// A chain of layers is taken apart in a loop: as long as it may be, the stack stays short.
impl Drop for Layer {
    fn drop(&mut self) {
        let mut below = self.below.0.take();
        while let Some(layer) = below {
            below = Arc::into_inner(layer).and_then(|mut layer| layer.below.0.take());
        }
    }
}

/// What a variable stands for.
#[derive(Debug, Clone)]
pub enum Var {
    /// A value that is never evaluated again.
    Value(Value),
    /// A raw value, evaluated when it is used.
    Lazy(Value),
    /// The attributes of an entity, such as `HOST`.
    Attributes(Handle),
    /// The inputs of a task: each is evaluated when it is read, and each read is recorded.
    Inputs(Arc<Inputs>),
    /// Something an expression bound itself: an item of a loop.
    Bound(BoundItem),
}

/// Something an expression bound itself; only the evaluator can look into it.
#[derive(Debug, Clone)]
pub struct BoundItem(pub(super) LazyValue);

impl From<Value> for Var {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// The raw inputs of a task, and those evaluated so far.
#[derive(Debug, Default)]
pub struct Inputs {
    raw: Map,
    evaluated: Mutex<HashMap<Arc<str>, EvaluatedInput>>,
}

/// An input that was evaluated, with what that read.
#[derive(Debug, Clone)]
pub(super) struct EvaluatedInput {
    pub(super) value: Value,
    pub(super) reads: Reads,
    pub(super) generation: u64,
}

impl Inputs {
    /// Makes the inputs of a task from what is written.
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

    /// The names, in the order of the text.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.raw.keys()
    }
}

impl From<Map> for Var {
    fn from(inputs: Map) -> Self {
        Self::Inputs(Arc::new(Inputs::new(inputs)))
    }
}
