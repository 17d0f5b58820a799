//! Rendering of text documents with Jinja2, such as Salt's SLS and managed files. The result is text, not a
//! native value. A [`TemplateLibrary`] supplies included files, functions and filters; the module `states`
//! implements it.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use minijinja::value::{
    Enumerator, Kwargs, Object, ObjectRepr, Rest, Tuple, Value as JinjaValue, ValueKind, from_args,
};
use minijinja::{Environment, Error as JinjaError, ErrorKind, Output, State, UndefinedBehavior};

use crate::expr::context::Context;
use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::{LazyValue, Scene};
use crate::expr::memo::Memo;
use crate::expr::ports::SystemContext;
use crate::expr::scope::Scope;
use crate::expr::tracker::RenderNotes;
use crate::value::{Handle, Map, Value};

use super::delimiters::Delimiters;
use super::document_functions::{self, StatementState};
use super::engine::{environment, write_value};
use super::error::filter_error;
use super::header;
use super::imports::{ImportState, isolated_text, plain_message, split_name};
use super::key_order::with_sorted_keys;
use super::mutable::MutableMaker;
use super::ordered_maps::OrderedMaps;
use super::preprocess::{Backslashes, prepare_source};
use super::undefined::missing_name;
use super::variables::{FunctionObject, Variables};

/// The maximum number of engine steps of a rendering.
const FUEL: u64 = 50_000_000;

/// The filter that sorts the keys of maps, except those that keep their order.
const SORTING_FILTER: &str = "yaml";

/// The filters that give a tuple where others give a list.
const TUPLE_FILTERS: [&str; 2] = ["regex_match", "regex_search"];

/// The maximum depth of includes and macro calls.
const DEPTH: usize = 100;

/// The files, functions and filters that documents can use in addition to their variables.
pub trait TemplateLibrary: Send + Sync {
    /// Returns the text of a template. None if the file does not exist.
    fn load(&self, path: &str) -> Result<Option<String>, String>;

    /// Returns the names of the variables whose maps keep the order of their keys in the filter `yaml`.
    fn ordered_variables(&self) -> &'static [&'static str];

    /// Returns true if a function changes the map that is its first argument, and returns that map.
    fn changes_argument(&self, function: &str) -> bool;

    /// Returns the names of the functions, such as `module.function`.
    fn functions(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Calls a function with a name such as `module.function`.
    fn call(&self, function: &str, args: &[Value], named: &Map) -> Result<Value, String>;

    /// Returns true if a function looks up a value and returns its second argument, `default`, if there is none.
    fn is_lookup(&self, _function: &str) -> bool {
        false
    }

    /// Returns the names of the library's filters.
    fn filters(&self) -> &'static [&'static str];

    /// Applies a filter to a value, which is the first argument.
    fn filter(&self, name: &str, args: &[Value], named: &Map) -> Result<Value, String>;
}

/// A renderer of documents. It caches the templates that it has loaded.
pub struct DocumentRenderer {
    environment: Environment<'static>,
    /// The names that all documents have, and those of functions.
    globals: Arc<BTreeSet<String>>,
    variables: Arc<Variables>,
    imports: ImportState,
}

/// The text of a rendered document and its sensitivity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedDocument {
    pub text: String,
    /// Whether the rendering accessed a sensitive value.
    pub sensitive: bool,
}

/// An error of a rendering, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentError {
    /// The error message, in lower case and without the position.
    pub problem: String,
    /// The template that contains the error: the name of the document, or the path of an included file.
    pub template: Option<String>,
    /// The line number, counted from 1.
    pub line: Option<usize>,
}

impl Debug for DocumentRenderer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentRenderer").finish_non_exhaustive()
    }
}

impl DocumentRenderer {
    /// Creates a renderer with the variables that every document has.
    ///
    /// `functions` is the name under which templates reach the functions of the library.
    pub fn new(
        scope: Arc<dyn Scope>,
        system: Arc<dyn SystemContext>,
        library: &Arc<dyn TemplateLibrary>,
        functions: &'static str,
        values: &Map,
    ) -> Self {
        let memo = Arc::new(Memo::default());
        let evaluator = Evaluator::sandboxed(scope, system, memo);
        let scene = Scene::new(Context::new(Handle(0)));
        let mut ordered = OrderedMaps::default();
        for name in library.ordered_variables() {
            ordered.add(values.get(*name).unwrap_or(&Value::Null));
        }
        let variables = Variables::for_renderer(evaluator, scene, ordered);
        let mut environment = environment(UndefinedBehavior::Strict, FUEL);
        environment.set_recursion_limit(DEPTH);
        environment.set_formatter(format);
        let imports = ImportState::default();
        let resolver = imports.clone();
        environment.set_path_join_callback(move |name, _| resolver.resolve(name).into());
        imports.add_functions(&mut environment);
        document_functions::add(&mut environment);
        add_tests(&mut environment);
        let loader = Arc::clone(library);
        environment.set_loader(move |name| {
            let (path, is_isolated) = split_name(name);
            let text = loader.load(path).map_err(filter_error)?;
            let prepared = text.map(|text| prepare_text(&text));
            Ok(prepared.map(|text| {
                if is_isolated {
                    isolated_text(&text)
                } else {
                    text
                }
            }))
        });
        add_filters(&mut environment, library);
        let calls = LibraryModule {
            library: Arc::clone(library),
            prefix: String::new(),
        };
        environment.add_global(functions, JinjaValue::from_object(calls));
        environment.add_global(
            "__unfurl",
            JinjaValue::from_object(FunctionObject(Arc::clone(&variables))),
        );
        for (name, value) in values {
            let value = variables.engine_value(LazyValue::Value(value.clone()));
            environment.add_global(name.to_string(), value);
        }
        let globals = environment.globals().map(|(name, _)| name.to_owned());
        let globals = Arc::new(globals.collect());
        Self {
            environment,
            globals,
            variables,
            imports,
        }
    }

    /// Renders a text with additional variables. `name` is its path, which relative includes start from.
    pub fn render(
        &self,
        name: &str,
        text: &str,
        values: &Map,
    ) -> Result<RenderedDocument, DocumentError> {
        self.render_in(&self.environment, name, text, &prepare_text(text), values)
    }

    /// Renders like [`Self::render`], but obeys a first line `#jinja2: …` that sets other delimiters.
    pub fn render_with_header(
        &self,
        name: &str,
        text: &str,
        values: &Map,
    ) -> Result<RenderedDocument, DocumentError> {
        let (syntax, text) = header::split(text).map_err(|problem| DocumentError {
            problem,
            template: Some(name.to_owned()),
            line: Some(1),
        })?;
        let Some((syntax, delimiters)) = syntax else {
            return self.render(name, text, values);
        };
        let mut environment = self.environment.clone();
        environment.set_syntax(syntax);
        let prepared = prepare_source(Backslashes::Escape, text, &delimiters);
        let rendered = self.render_in(&environment, name, text, &prepared, values);
        rendered.map_err(|error| DocumentError {
            line: error.line.map(|line| line + 1),
            ..error
        })
    }

    fn render_in(
        &self,
        environment: &Environment<'_>,
        name: &str,
        text: &str,
        prepared: &str,
        values: &Map,
    ) -> Result<RenderedDocument, DocumentError> {
        let tracker = self.variables.evaluator.tracker();
        let _run = tracker.begin_evaluation();
        let outer = tracker.begin_notes();
        let give = |value: &Value| self.variables.engine_value(LazyValue::Value(value.clone()));
        let given = values
            .iter()
            .map(|(name, value)| (name.to_string(), give(value)));
        let given = Arc::new(given.collect());
        self.imports.begin(name, values, &given);
        let context = DocumentVariables {
            values: given,
            globals: Arc::clone(&self.globals),
            variables: Arc::clone(&self.variables),
        };
        let template = environment.template_from_named_str(name, prepared);
        let rendered =
            template.and_then(|template| template.render(JinjaValue::from_object(context)));
        let notes = tracker.end_notes(outer);
        match rendered.and_then(|done| self.variables.check_budget().map(|()| done)) {
            Ok(mut done) => {
                // The engine drops the last line break.
                if text.ends_with('\n') && prepared.ends_with('\n') {
                    done.push('\n');
                }
                Ok(RenderedDocument {
                    text: done,
                    sensitive: notes.marks.sensitive,
                })
            }
            Err(error) => Err(document_error(&error, notes)),
        }
    }
}

/// Adds the filters of the library to an environment.
fn add_filters(environment: &mut Environment<'_>, library: &Arc<dyn TemplateLibrary>) {
    for &name in library.filters() {
        let library = Arc::clone(library);
        let filter =
            move |state: &State, subject: JinjaValue, args: Rest<JinjaValue>, named: Kwargs| {
                let variables = Variables::from_state(state)?;
                let mut all = vec![if name == SORTING_FILTER {
                    with_sorted_keys(&variables, &subject)?
                } else {
                    variables.revealed_value(&subject)?
                }];
                for arg in args.iter() {
                    all.push(variables.revealed_value(arg)?);
                }
                let named = reveal_arguments(&variables, &named)?;
                let result = library.filter(name, &all, &named).map_err(filter_error)?;
                if TUPLE_FILTERS.contains(&name)
                    && let Some(items) = result.as_list()
                {
                    let give =
                        |item: &Value| variables.engine_value(LazyValue::Value(item.clone()));
                    let items = items.iter().map(give).collect();
                    return Ok(JinjaValue::from(Tuple::new(items)));
                }
                let result = variables.engine_value(LazyValue::Value(result));
                if library.changes_argument(name) {
                    return change_argument(state, name, &subject, result);
                }
                Ok::<_, JinjaError>(result)
            };
        environment.add_filter(name, filter);
    }
}

/// Returns the text that is passed to the compiler.
fn prepare_text(text: &str) -> String {
    prepare_source(Backslashes::Escape, text, &Delimiters::default()).into_owned()
}

/// Writes a result into the argument that a function or filter changes, and returns that.
fn change_argument(
    state: &State<'_, '_>,
    function: &str,
    target: &JinjaValue,
    result: JinjaValue,
) -> Result<JinjaValue, JinjaError> {
    let variables = Variables::from_state(state)?;
    if MutableMaker::new(&variables).update_in_place(target, &result)? {
        return Ok(target.clone());
    }
    let statement = state.get_extension::<StatementState>();
    if target.kind() == ValueKind::Map && statement.is_some_and(|it| it.is_running) {
        return Err(filter_error(format!(
            "`{function}` cannot change this map, which is not a variable of the template; copy it first: \
             `{{% set x = … %}}`"
        )));
    }
    Ok(result)
}

fn reveal_arguments(variables: &Arc<Variables>, named: &Kwargs) -> Result<Map, JinjaError> {
    let mut map = Map::new();
    for name in named.args() {
        let value: JinjaValue = named.get(name)?;
        map.insert(name.into(), variables.revealed_value(&value)?);
    }
    Ok(map)
}

/// Writes a value as Python's `str` does. The value of an `if` without `else` is empty; the engine has refused
/// every other undefined value.
fn format(output: &mut Output, state: &mut State, value: &JinjaValue) -> Result<(), JinjaError> {
    if value.is_undefined() {
        return Ok(());
    }
    write_value(output, state, value)
}

/// The variables of one document. Lookups of undefined variables are noted for the error message.
struct DocumentVariables {
    values: Arc<BTreeMap<String, JinjaValue>>,
    /// The names that all documents have, and those of functions.
    globals: Arc<BTreeSet<String>>,
    variables: Arc<Variables>,
}

impl Debug for DocumentVariables {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Object for DocumentVariables {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<JinjaValue> {
        if let Err(error) = self.variables.check_budget() {
            return Some(JinjaValue::from(error));
        }
        let found = self.values.get(key).cloned();
        let is_missing = found.is_none() && !self.globals.contains(key);
        let missing = is_missing.then(|| missing_name(key));
        self.variables
            .evaluator
            .tracker()
            .update_notes(|notes| notes.missing = missing);
        found
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names = self.values.keys().cloned().map(JinjaValue::from);
        Enumerator::Values(names.collect())
    }
}

/// Converts an engine error. The innermost error has the most precise message and position.
fn document_error(error: &JinjaError, notes: RenderNotes) -> DocumentError {
    let mut innermost = error;
    let mut source = error.source();
    while let Some(next) = source {
        if let Some(inner) = next.downcast_ref::<JinjaError>() {
            innermost = inner;
        }
        source = next.source();
    }
    let problem = match innermost.kind() {
        _ if notes.error.as_ref().is_some_and(Error::is_final) => notes
            .error
            .map_or_else(String::new, |error| error.to_string()),
        ErrorKind::UndefinedError => {
            let missing = notes.missing;
            missing.unwrap_or_else(|| "an undefined value is used".to_owned())
        }
        ErrorKind::SyntaxError => {
            let detail = innermost.detail().unwrap_or_default();
            format!("Jinja syntax error: {detail}")
        }
        kind => innermost
            .detail()
            .map_or_else(|| kind.to_string(), str::to_owned),
    };
    let template = innermost.name().or_else(|| error.name());
    DocumentError {
        problem: plain_message(&problem),
        template: template.map(|name| split_name(name).0.to_owned()),
        line: innermost.line().or_else(|| error.line()),
    }
}

/// Returns true if the argument `in_place` of a function that merges maps is false.
fn is_copying(named: &Map) -> bool {
    named
        .get("in_place")
        .is_some_and(|value| !value.is_truthy())
}

/// The functions of the library as templates see them: `salt['a.b'](…)` and `salt.a.b(…)`.
struct LibraryModule {
    library: Arc<dyn TemplateLibrary>,
    /// The name of the module; empty for the whole library.
    prefix: String,
}

impl Debug for LibraryModule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Module").field(&self.prefix).finish()
    }
}

/// Adds the tests that know which functions the library has.
fn add_tests(environment: &mut Environment<'_>) {
    environment.add_test("defined", is_defined);
    environment.add_test("undefined", |value: &JinjaValue| !is_defined(value));
}

/// Returns true if a value is defined. A function that the library lacks is not.
fn is_defined(value: &JinjaValue) -> bool {
    let module = value.downcast_object_ref::<LibraryModule>();
    !value.is_undefined() && module.is_none_or(LibraryModule::is_known)
}

impl LibraryModule {
    /// Returns true if the library has the function, or a function of the module.
    fn is_known(&self) -> bool {
        self.prefix.is_empty()
            || self.library.functions().iter().any(|name| {
                let rest = name.strip_prefix(&*self.prefix);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
    }

    fn call_library(
        &self,
        state: &State<'_, '_>,
        function: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue, JinjaError> {
        let variables = Variables::from_state(state)?;
        let (args, named): (&[JinjaValue], Kwargs) = from_args(args)?;
        let target = args
            .first()
            .filter(|_| self.library.changes_argument(function));
        let undefined = args
            .get(1)
            .filter(|it| it.is_undefined() && self.library.is_lookup(function));
        let args: Vec<Value> = args
            .iter()
            .map(|arg| variables.native_value(arg))
            .collect::<Result<_, _>>()?;
        let named = reveal_arguments(&variables, &named)?;
        let result = self
            .library
            .call(function, &args, &named)
            .map_err(filter_error)?;
        if let Some(undefined) = undefined.filter(|_| result.is_null()) {
            return Ok(undefined.clone());
        }
        let result = variables.engine_value(LazyValue::Value(result));
        match target.filter(|_| !is_copying(&named)) {
            Some(target) => change_argument(state, function, target, result),
            None => Ok(result),
        }
    }

    fn full(&self, name: &str) -> String {
        if self.prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.prefix)
        }
    }
}

impl Object for LibraryModule {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        // The operator `in` looks for a name among the items.
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let prefix = match &*self.prefix {
            "" => String::new(),
            module => format!("{module}."),
        };
        let names = self.library.functions().into_iter();
        let own = names.filter_map(|name| name.strip_prefix(&*prefix));
        Enumerator::Values(own.map(JinjaValue::from).collect())
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        let prefix = self.full(key.as_str()?);
        let library = Arc::clone(&self.library);
        Some(JinjaValue::from_object(Self { library, prefix }))
    }

    fn call(
        self: &Arc<Self>,
        state: &mut State<'_, '_>,
        args: &[JinjaValue],
    ) -> Result<JinjaValue, JinjaError> {
        self.call_library(state, &self.prefix, args)
    }

    fn call_method(
        self: &Arc<Self>,
        state: &mut State<'_, '_>,
        method: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue, JinjaError> {
        self.call_library(state, &self.full(method), args)
    }
}
