//! Renders templates: compiled once, native values, messages that name what is missing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use minijinja::{
    Environment, Error as JinjaError, ErrorKind, Output, State, UndefinedBehavior,
    Value as JinjaValue,
};

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::item::Scene;
use crate::expr::reads::Read;
use crate::expr::tracker::Notes;
use crate::value::Value;

use super::variables::{Names, Variables};
use super::{filters, header, literal, tests};

/// How many steps a rendering may take.
const FUEL: u64 = 5_000_000;

/// How many compiled templates are kept.
const BOUND: usize = 20_000;

/// Begins the name of a template that is its own text.
const TEXT: char = '\u{1}';

/// Longer templates are cut in messages.
const SHOWN: usize = 200;

/// An environment and how many templates it has compiled.
struct Engine {
    environment: Arc<Environment<'static>>,
    compiled: Arc<AtomicUsize>,
    undefined: UndefinedBehavior,
}

/// Where anything undefined is an error at once.
static STRICT: LazyLock<Mutex<Engine>> =
    LazyLock::new(|| Mutex::new(Engine::new(UndefinedBehavior::Strict)));

/// For templates that ask whether something is defined: looking further into something undefined
/// is no error, only using it is.
static ASKING: LazyLock<Mutex<Engine>> =
    LazyLock::new(|| Mutex::new(Engine::new(UndefinedBehavior::Chainable)));

/// What a rendering has put out so far.
#[derive(Debug, Default)]
struct Emitted {
    count: usize,
    last: Option<JinjaValue>,
    length: usize,
}

impl Engine {
    fn new(undefined: UndefinedBehavior) -> Self {
        let compiled = Arc::new(AtomicUsize::new(0));
        let mut environment = environment(undefined);
        let count = Arc::clone(&compiled);
        environment.set_loader(move |name| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(name.strip_prefix(TEXT).map(str::to_owned))
        });
        Self {
            environment: Arc::new(environment),
            compiled,
            undefined,
        }
    }

    /// The environment, a new one if the old one is full.
    fn get(&mut self) -> Arc<Environment<'static>> {
        if self.compiled.load(Ordering::Relaxed) >= BOUND {
            *self = Self::new(self.undefined);
        }
        Arc::clone(&self.environment)
    }
}

fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(false);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_formatter(format);
    filters::add(&mut environment);
    tests::add(&mut environment);
    environment
}

/// Puts a value out the way Python's `str` does, and keeps it in case it is the only one.
fn format(output: &mut Output, state: &mut State, value: &JinjaValue) -> Result<(), JinjaError> {
    if value.is_undefined() && state.undefined_behavior() == UndefinedBehavior::Chainable {
        return Err(ErrorKind::UndefinedError.into());
    }
    let length = match value.as_str() {
        Some(text) => {
            output.write_str(text)?;
            text.len()
        }
        None => {
            let text = Variables::of(state)?.open(value)?.to_string();
            output.write_str(&text)?;
            text.len()
        }
    };
    let emitted = state.get_or_insert_extension(Emitted::default());
    emitted.count += 1;
    emitted.length = length;
    emitted.last = Some(value.clone());
    Ok(())
}

impl Evaluator {
    /// Renders a template to a native value. What touches anything sensitive is sensitive.
    pub(in crate::expr) fn template(&self, text: &str, scene: &Scene) -> Result<Value, Error> {
        if let Some(of) = scene.current.as_entity() {
            self.tracker().read(Read::Entity(of), None);
        }
        let outer = self.tracker().begin_notes();
        let variables = Variables::new(self.clone(), scene.clone());
        let rendered = render(text.trim(), &variables);
        let notes = self.tracker().end_notes(outer);
        let value = match rendered {
            Ok(value) => value,
            Err(error) => match explain(&error, text, &notes) {
                Error::Undefined { .. } if !scene.context.strict => Value::Null,
                error => return Err(error),
            },
        };
        if notes.sensitive || value.has_sensitive() {
            return Ok(value.sensitive());
        }
        Ok(match notes.external {
            Some(Value::External(external)) if external.value == value => Value::External(external),
            _ => value,
        })
    }
}

fn render(text: &str, variables: &Arc<Variables>) -> Result<Value, JinjaError> {
    let context = JinjaValue::from_object(Names(Arc::clone(variables)));
    let syntax = |problem| JinjaError::new(ErrorKind::SyntaxError, problem);
    let (other_syntax, text) = header::split(text).map_err(syntax)?;
    if let Some(syntax) = other_syntax {
        let mut environment = environment(UndefinedBehavior::Strict);
        environment.set_syntax(syntax);
        let template = environment.template_from_str(text)?;
        return result(&template.render_captured(context)?, variables);
    }
    let engine = if asks(text) { &*ASKING } else { &*STRICT };
    let environment = engine.lock().unwrap_or_else(PoisonError::into_inner).get();
    let template = environment.get_template(&format!("{TEXT}{text}"))?;
    result(&template.render_captured(context)?, variables)
}

/// Whether a template asks if something is defined.
fn asks(text: &str) -> bool {
    ["default", "defined", "d("]
        .iter()
        .any(|word| text.contains(word))
}

/// The native value of what was put out: the only value itself, or else the text as a literal.
fn result(
    captured: &minijinja::Captured<'_>,
    variables: &Arc<Variables>,
) -> Result<Value, JinjaError> {
    let output = captured.output();
    let Some(emitted) = captured.state().get_extension::<Emitted>() else {
        return Ok(match output {
            "" => Value::Null,
            text => literal::native(text),
        });
    };
    match &emitted.last {
        Some(only) if emitted.count == 1 && emitted.length == output.len() => {
            match only.as_str() {
                // What filters such as `to_json` give is meant as text.
                Some(text) if only.is_safe() => Ok(text.into()),
                Some(text) => Ok(literal::native(text)),
                None => variables.take(only),
            }
        }
        _ => Ok(literal::native(output)),
    }
}

/// What went wrong, in our words.
fn explain(error: &JinjaError, text: &str, notes: &Notes) -> Error {
    let shown: String = text.trim().chars().take(SHOWN).collect();
    let template = if shown.len() < text.trim().len() {
        shown + "…"
    } else {
        shown
    };
    if let Some(error) = &notes.error {
        return error.clone();
    }
    if error.kind() == ErrorKind::UndefinedError {
        let missing = notes.missing.clone();
        let what = missing.unwrap_or_else(|| "something undefined is used".to_owned());
        return Error::Undefined { what, template };
    }
    let problem = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    let problem = match error.line() {
        Some(line) if text.contains('\n') => format!("{problem} (line {line})"),
        _ => problem,
    };
    Error::Template { template, problem }
}
