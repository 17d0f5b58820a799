//! The library of templates: Salt's functions and filters, and files of the state tree.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call::{CallResult, TemplateCall, TemplateVars};
use super::functions::RENDERER_FUNCTION;
use super::location_vars::template_location_vars;
use super::null_context::{null_context, parse_yaml};
use super::pipe::RenderPipe;
use super::{
    command_functions, data_filters, date_filters, entry_filters, file_functions, filters,
    functions, ip_filters, random_functions, text_filters,
};
use crate::expr::{DocumentRenderer, NullScope, TemplateLibrary};
use crate::host::fact::Fact;
use crate::states::{BASE_ENV, FactCache, Halt, address_names, split_env};
use crate::value::{Map, Value};

/// The renderers of such a text without a first line that names others.
const USUAL_RENDERERS: &str = "jinja|yaml";
/// The maximum number of renderings within each other.
const MAX_DEPTH: usize = 8;
/// The message of a function that lacks facts. The template is rendered again with them.
const FACTS_ARE_NEEDED: &str = "facts are needed";

/// The facts available to the current rendering, and the facts it found missing.
#[derive(Default)]
pub(super) struct TemplateFacts {
    pub(super) facts: Mutex<FactCache>,
    pub(super) missing: Mutex<Vec<Fact>>,
    /// True if a template mentions the grain `fqdns`, which is not read yet.
    pub(super) lacks_address_names: Mutex<bool>,
    /// The number of calls that drew random numbers.
    draws: AtomicU64,
}

/// The library of Salt functions, filters and includable files for the Jinja engine.
pub(super) struct SaltLibrary {
    vars: TemplateVars,
    template_facts: Arc<TemplateFacts>,
    /// The number of renderings around this one.
    depth: usize,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SaltLibrary {
    pub(super) fn new(vars: TemplateVars, template_facts: Arc<TemplateFacts>) -> Self {
        Self {
            vars,
            template_facts,
            depth: 0,
        }
    }

    /// Makes the renderer of documents that use this library.
    pub(super) fn into_renderer(self) -> DocumentRenderer {
        let vars = &self.vars;
        let env = Value::Str(Arc::clone(vars.roots.env()));
        let words: Map = [
            ("grains", vars.grains.clone()),
            ("pillar", vars.pillar.clone()),
            ("opts", vars.options.clone()),
            ("saltenv", env.clone()),
            ("env", env),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
        let library: Arc<dyn TemplateLibrary> = Arc::new(self);
        let (scope, context) = (Arc::new(NullScope("")), Arc::new(null_context()));
        DocumentRenderer::new(scope, context, &library, "salt", &words)
    }

    /// Calls a function with the facts of the machine, and notes those that are missing.
    fn perform(
        &self,
        function: &str,
        args: &[Value],
        named: &Map,
        run: fn(&TemplateCall<'_>) -> CallResult,
    ) -> Result<Value, String> {
        let facts = lock(&self.template_facts.facts);
        let call = TemplateCall {
            function,
            args,
            named,
            vars: &self.vars,
            facts: &facts,
            draws: &self.template_facts.draws,
        };
        match run(&call) {
            Ok(value) => Ok(value),
            Err(Halt::Failed(why)) => Err(why),
            Err(Halt::Needs(needs)) => {
                lock(&self.template_facts.missing).extend(needs);
                Err(FACTS_ARE_NEEDED.to_owned())
            }
        }
    }

    /// Renders a file of the state tree or a text, with the named arguments as its variables. The result is data, or a
    /// text if the last renderer gives texts.
    fn render_nested(&self, args: &[Value], named: &Map) -> Result<Value, String> {
        let fail = |problem: String| format!("`{RENDERER_FUNCTION}`: {problem}");
        let arg = |place: usize, name: &str| {
            let value = args.get(place).or_else(|| named.get(name));
            value
                .filter(|it| it.is_truthy())
                .map(|it| it.reveal().to_string())
        };
        if self.depth == MAX_DEPTH {
            return Err(fail(format!(
                "more than {MAX_DEPTH} templates render each other"
            )));
        }
        let env = arg(usize::MAX, "saltenv").unwrap_or_else(|| BASE_ENV.to_owned());
        let library = Self {
            vars: TemplateVars {
                roots: self.vars.roots.within(&env),
                ..self.vars.clone()
            },
            template_facts: Arc::clone(&self.template_facts),
            depth: self.depth + 1,
        };
        let (path, text) = match (arg(0, "path"), arg(1, "string")) {
            (Some(path), None) => library.read_nested(&path).map_err(fail)?,
            (None, Some(text)) => ("string".to_owned(), text),
            _ => return Err(fail("give it either `path` or `string`".to_owned())),
        };
        let usual = arg(2, "default_renderer").unwrap_or_else(|| USUAL_RENDERERS.to_owned());
        let line = text.strip_prefix("#!").and_then(|rest| rest.lines().next());
        let renderers = line.unwrap_or(&usual).to_owned();
        let pipe = RenderPipe::of(&format!("#!{renderers}\n")).map_err(fail)?;
        if pipe.gpg || pipe.python || pipe.stateconf.is_some() {
            return Err(fail(format!(
                "it cannot use the renderers `{renderers}`; use jinja, yaml or json"
            )));
        }
        let (text, is_secret) = if pipe.jinja {
            render_text(library, &path, &text, named).map_err(fail)?
        } else {
            (text, false)
        };
        let value = if renderers.trim().ends_with("jinja") {
            Value::from(text)
        } else {
            parse_yaml(&text).map_err(fail)?
        };
        Ok(value.sensitive_if(is_secret))
    }

    /// Returns the path and the text of a file of the state tree.
    fn read_nested(&self, address: &str) -> Result<(String, String), String> {
        let Some(path) = address.strip_prefix("salt://") else {
            return Err(format!(
                "`{address}` must be a file of the state tree: salt://…"
            ));
        };
        let bytes = self.vars.roots.read(path);
        let bytes = bytes.map_err(|error| error.to_string())?;
        let bytes = bytes.ok_or_else(|| format!("there is no file `{address}`"))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.ask_for_address_names(&text)?;
        Ok((split_env(path).0.to_owned(), text))
    }

    /// Fails if the text of a template mentions the grain `fqdns`, which is not read yet, and notes that it is missing.
    fn ask_for_address_names(&self, text: &str) -> Result<(), String> {
        if !address_names::are_missing(text, &self.vars.grains) {
            return Ok(());
        }
        *lock(&self.template_facts.lacks_address_names) = true;
        Err(FACTS_ARE_NEEDED.to_owned())
    }
}

/// Renders a template. Returns the text, and true if it has read a secret.
fn render_text(
    library: SaltLibrary,
    path: &str,
    text: &str,
    named: &Map,
) -> Result<(String, bool), String> {
    let mut variables = template_location_vars("", path);
    variables.extend(named.clone());
    let rendered = library.into_renderer().render(path, text, &variables);
    let document = rendered.map_err(|error| {
        let place = error.template.unwrap_or_else(|| path.to_owned());
        let line = error
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        format!("{place}{line}: {}", error.problem)
    })?;
    Ok((document.text, document.sensitive))
}

/// Returns the filter of this name if it needs facts about the machine.
fn machine_filter(name: &str) -> Option<fn(&TemplateCall<'_>) -> CallResult> {
    let tables = [
        date_filters::FILTERS,
        file_functions::FILTERS,
        random_functions::FILTERS,
        command_functions::FILTERS,
    ];
    let mut filters = tables.into_iter().flatten();
    filters
        .find(|(own, _)| *own == name)
        .map(|(_, filter)| *filter)
}

impl TemplateLibrary for SaltLibrary {
    fn load(&self, path: &str) -> Result<Option<String>, String> {
        // As in Salt, templates import files of their own environment only.
        if split_env(path).1.is_some() {
            return Ok(None);
        }
        let bytes = self
            .vars
            .roots
            .read(path)
            .map_err(|error| error.to_string())?;
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.ask_for_address_names(text.as_deref().unwrap_or_default())?;
        Ok(text)
    }

    fn ordered_variables(&self) -> &'static [&'static str] {
        &["pillar"]
    }

    fn changes_argument(&self, function: &str) -> bool {
        matches!(function, "defaults.merge" | "slsutil.update")
            || entry_filters::FILTER_NAMES.contains(&function)
    }

    fn functions(&self) -> Vec<&'static str> {
        functions::names().collect()
    }

    fn is_lookup(&self, function: &str) -> bool {
        matches!(function, "config.get" | "grains.get" | "pillar.get")
    }

    fn call(&self, function: &str, args: &[Value], named: &Map) -> Result<Value, String> {
        if function == RENDERER_FUNCTION {
            return self.render_nested(args, named);
        }
        self.perform(function, args, named, functions::call)
    }

    fn filters(&self) -> &'static [&'static str] {
        filters::FILTER_NAMES
    }

    fn filter(&self, name: &str, args: &[Value], named: &Map) -> Result<Value, String> {
        if let Some(filter) = machine_filter(name) {
            return self.perform(name, args, named, filter);
        }
        text_filters::apply_text_filter(name, args, named)
            .or_else(|| data_filters::apply_data_filter(name, args, named))
            .or_else(|| ip_filters::apply_ip_filter(name, args, named))
            .or_else(|| entry_filters::apply_entry_filter(name, args, named))
            .unwrap_or_else(|| filters::apply_filter(name, args, named))
    }
}
