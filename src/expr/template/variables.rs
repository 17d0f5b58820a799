//! The variables of a rendering: resolves the names in a template to task variables, attributes, special
//! entities such as `SELF`, and the functions of expressions (`__unfurl`).

use std::collections::HashMap;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, Value as JinjaValue, from_args};
use minijinja::{Error as JinjaError, ErrorKind, State};

use crate::expr::budget;
use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::functions::{self, FunctionCall};
use crate::expr::lazy::{LazyValue, Scene};
use crate::expr::reads::Read;
use crate::expr::syntax::needs_evaluation;
use crate::value::{Handle, Map, Value};

use super::inserted_names::{
    CHECK_FUNCTION, COUNT_FUNCTION, ITEMS_FUNCTION, MUTABLE_FUNCTION, VARIADIC_FUNCTION,
};
use super::ordered_maps::OrderedMaps;
use super::parts::PartsWriter;

/// The variables of one rendering. Resolved names are cached.
pub(super) struct Variables {
    pub(super) evaluator: Evaluator,
    pub(super) scene: Scene,
    /// The text of the template.
    pub(super) source: Arc<str>,
    /// The maps whose keys the filter `yaml` does not sort.
    pub(super) ordered: OrderedMaps,
    /// True if an assignment leaves values unevaluated, which templates then cannot change.
    pub(super) keeps_lazy: bool,
    /// The parts of the output, if it is a document.
    pub(super) parts: Option<PartsWriter>,
    cached: Mutex<HashMap<String, JinjaValue>>,
}

impl Debug for Variables {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variables").finish_non_exhaustive()
    }
}

impl Variables {
    pub(super) fn new(evaluator: Evaluator, scene: Scene, source: &str) -> Arc<Self> {
        Arc::new(Self {
            evaluator,
            scene,
            source: source.into(),
            ordered: OrderedMaps::default(),
            keeps_lazy: true,
            parts: None,
            cached: Mutex::default(),
        })
    }

    /// Creates the variables of a renderer of documents.
    pub(super) fn for_renderer(
        evaluator: Evaluator,
        scene: Scene,
        ordered: OrderedMaps,
    ) -> Arc<Self> {
        Arc::new(Self {
            evaluator,
            scene,
            source: "".into(),
            ordered,
            keeps_lazy: false,
            parts: None,
            cached: Mutex::default(),
        })
    }

    /// Creates the variables of a rendering whose output is a document.
    pub(super) fn for_document(evaluator: Evaluator, scene: Scene, source: &str) -> Arc<Self> {
        Arc::new(Self {
            evaluator,
            scene,
            source: source.into(),
            ordered: OrderedMaps::default(),
            keeps_lazy: true,
            parts: Some(PartsWriter::default()),
            cached: Mutex::default(),
        })
    }

    /// Returns the variables of the rendering that calls a filter or test.
    pub(super) fn from_state(state: &State<'_, '_>) -> Result<Arc<Self>, JinjaError> {
        let functions = state.lookup("__unfurl");
        let functions = functions
            .as_ref()
            .and_then(|value| value.downcast_object_ref::<FunctionObject>());
        let variables = functions
            .map(|functions| Arc::clone(&functions.0))
            .ok_or_else(|| {
                JinjaError::new(
                    ErrorKind::InvalidOperation,
                    "the template redefines the reserved name `__unfurl`",
                )
            })?;
        variables.check_budget()?;
        Ok(variables)
    }

    /// Returns an error if the budget of the evaluation is used up.
    pub(super) fn check_budget(&self) -> Result<(), JinjaError> {
        budget::check().map_err(|error| self.engine_error(error))
    }

    /// Resolves a name. None if it is not defined.
    pub(super) fn item(&self, name: &str) -> Result<Option<LazyValue>, Error> {
        let entity = self.scene.entity();
        if self.scene.context.vars.get(name).is_some() {
            return self.evaluator.variable(name, &self.scene);
        }
        let attributes = |of: Option<Handle>| {
            of.map(|of| {
                self.evaluator.record_entity(of);
                LazyValue::Attributes(of)
            })
        };
        let special = |key: &str| self.evaluator.special(entity, key)?.as_entity();
        Ok(match name {
            "SELF" => match self.scene.current.plain_entity() {
                Some(of) => attributes(Some(of)),
                None => Some(self.scene.current.clone()),
            },
            "Self" => Some(self.scene.current.clone()),
            "NODES" => Some(LazyValue::AllInstances(entity)),
            "ROOT" | "TOPOLOGY" => Some(LazyValue::Topology(self.evaluator.scope().root(entity))),
            "HOST" => attributes(special(".parent").or_else(|| special(".."))),
            "SOURCE" => attributes(special(".source")),
            "TARGET" => attributes(special(".target")),
            "ORCHESTRATOR" => {
                let scope = self.evaluator.scope();
                let own = scope.find(entity, "localhost");
                attributes(own.or_else(|| scope.external_entity("localhost")))
            }
            "__now" => Some(LazyValue::Value(self.now())),
            "__python_executable" => Some(LazyValue::Value("python3".into())),
            _ => None,
        })
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a time in seconds, as Python gives it"
    )]
    fn now(&self) -> Value {
        self.evaluator.tracker().record_read(Read::Volatile, None);
        let now = self.evaluator.system().now();
        Value::Float(now.as_microsecond() as f64 / 1e6)
    }

    /// Empties the cache. The cached values refer to these variables, so the reference cycle would leak
    /// them.
    pub(super) fn clear_cache(&self) {
        self.cached().clear();
    }

    fn resolve(self: &Arc<Self>, name: &str) -> Option<JinjaValue> {
        if name == "__unfurl" {
            return Some(JinjaValue::from_object(FunctionObject(Arc::clone(self))));
        }
        if let Err(error) = self.check_budget() {
            return Some(JinjaValue::from(error));
        }
        if let Some(known) = self.cached().get(name) {
            return Some(known.clone());
        }
        let found = match self.item(name) {
            Ok(Some(item)) => self.engine_value(item),
            Ok(None) => {
                if !GLOBALS.contains(&name) {
                    let message = format!("`{name}` is not defined");
                    self.evaluator
                        .tracker()
                        .update_notes(|notes| notes.missing = Some(message));
                }
                return None;
            }
            Err(error) => JinjaValue::from(self.engine_error(error)),
        };
        self.cached().insert(name.to_owned(), found.clone());
        Some(found)
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, HashMap<String, JinjaValue>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The global functions of the engine, which are not variables.
pub(in crate::expr) const GLOBALS: [&str; 18] = [
    "range",
    "dict",
    "debug",
    "namespace",
    "lookup",
    "query",
    "q",
    "now",
    "omit",
    "loop",
    "cycler",
    "joiner",
    "undef",
    CHECK_FUNCTION,
    COUNT_FUNCTION,
    VARIADIC_FUNCTION,
    MUTABLE_FUNCTION,
    ITEMS_FUNCTION,
];

/// The variables in the form of an engine object.
#[derive(Debug)]
pub(super) struct VariableObject(pub(super) Arc<Variables>);

impl Object for VariableObject {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        self.0.resolve(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<JinjaValue> {
        self.0.resolve(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names = self.0.scene.context.vars.names();
        Enumerator::Values(names.into_iter().map(JinjaValue::from).collect())
    }
}

/// The object `__unfurl`, whose methods are the functions of expressions.
#[derive(Debug)]
pub(super) struct FunctionObject(pub(super) Arc<Variables>);

impl Object for FunctionObject {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue, JinjaError> {
        self.0.call_function(method, args)
    }
}

impl Variables {
    /// Calls a function of expressions with the arguments of a template call.
    pub(super) fn call_function(
        self: &Arc<Self>,
        name: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue, JinjaError> {
        let Some(function) = functions::find(name) else {
            let problem = format!("there is no function `{name}`");
            return Err(JinjaError::new(ErrorKind::UnknownFunction, problem));
        };
        self.evaluator
            .check_function_allowed(name)
            .map_err(|error| self.engine_error(error))?;
        let (args, options): (&[JinjaValue], Kwargs) = from_args(args)?;
        let mut args = args
            .iter()
            .map(|arg| self.argument_value(arg))
            .collect::<Result<Vec<_>, _>>()?;
        let arg = match args.len() {
            1 => args.swap_remove(0),
            _ => Value::from(args),
        };
        let mut map = Map::new();
        let arg = quote_expression(arg);
        map.insert(name.into(), arg.clone());
        for option in options.args() {
            let value = self.argument_value(&options.get::<JinjaValue>(option)?)?;
            map.insert(option.into(), quote_expression(value));
        }
        let call = FunctionCall::new(&self.evaluator, name, &arg, &map, &self.scene);
        match call.invoke(function) {
            Ok(item) => Ok(self.engine_value(item)),
            Err(error) => Err(self.engine_error(error)),
        }
    }
}

/// Quotes a value that came from a template, so that it is not evaluated again.
fn quote_expression(value: Value) -> Value {
    if needs_evaluation(&value) {
        Value::map([("q", value)])
    } else {
        value
    }
}
