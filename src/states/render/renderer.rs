//! The renderer for the templates of one machine, with its variables and the library of template functions.
//!
//! Template functions cannot wait for facts. When a template needs one, rendering fails, the fact is fetched
//! from the cache and the template is rendered again.

use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use super::call::{TemplateCall, TemplateVars};
use super::null_context::null_context;
use super::{entry_filters, filters, functions, ip_filters, text_filters};
use crate::diagnostic::Diagnostics;
use crate::expr::{DocumentError, DocumentRenderer, NullScope, RenderedDocument, TemplateLibrary};
use crate::host::fact::{Fact, FactReading};
use crate::states::{
    FactCache, FileRoots, Halt, ModuleContext, RenderTemplate, TemplateRequest, refuse,
};
use crate::value::{Map, Secrets, Value};

/// The data about a machine that is known before any fact is read.
#[derive(Clone)]
pub struct MinionData {
    /// The name of the machine (Salt's minion ID).
    pub id: Arc<str>,
    pub roots: Arc<dyn FileRoots>,
    /// The properties of the machine, under Salt's names.
    pub grains: Value,
    /// The pillar data. Sensitive values keep their marking.
    pub pillar: Value,
    /// The configuration options, by Salt's names.
    pub options: Value,
}

/// The renderer of the state files and templates of one machine.
pub struct StateRenderer {
    minion: MinionData,
    pub(super) secrets: Secrets,
    documents: Mutex<DocumentRenderer>,
    template_facts: Arc<TemplateFacts>,
}

/// The facts available to the current rendering, and the facts it found missing.
#[derive(Default)]
struct TemplateFacts {
    facts: Mutex<FactCache>,
    missing: Mutex<Vec<Fact>>,
}

/// The reason why a state file cannot be rendered.
#[derive(Debug)]
pub(in crate::states) enum RenderError {
    /// Templates read these facts, which are not cached yet.
    Needs(Vec<Fact>),
    Failed(Diagnostics),
}

/// The reason why a template produces no text.
#[derive(Debug)]
pub(super) enum TemplateError {
    /// The template reads these facts, which are not cached yet.
    Needs(Vec<Fact>),
    /// The template is invalid, or one of its functions failed.
    Failed(DocumentError),
}

/// The library of Salt functions, filters and includable files for the Jinja engine.
struct SaltLibrary {
    vars: TemplateVars,
    template_facts: Arc<TemplateFacts>,
}

impl Debug for StateRenderer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateRenderer")
            .field("id", &self.minion.id)
            .finish_non_exhaustive()
    }
}

impl Debug for MinionData {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MinionData")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl StateRenderer {
    /// Makes the renderer for a machine.
    pub fn new(machine: MinionData) -> Self {
        let template_facts = Arc::new(TemplateFacts::default());
        let mut options = machine.options.as_map().cloned().unwrap_or_default();
        options.insert("id".into(), Value::Str(Arc::clone(&machine.id)));
        options
            .entry("saltenv".into())
            .or_insert_with(|| "base".into());
        let opts = Value::from(options.clone());
        let words: Map = [
            ("grains", machine.grains.clone()),
            ("pillar", machine.pillar.clone()),
            ("opts", opts),
            ("saltenv", "base".into()),
            ("env", "base".into()),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
        let salt = SaltLibrary {
            vars: TemplateVars {
                id: Arc::clone(&machine.id),
                roots: Arc::clone(&machine.roots),
                grains: machine.grains.clone(),
                pillar: machine.pillar.clone(),
                options: options.into(),
            },
            template_facts: Arc::clone(&template_facts),
        };
        let library: Arc<dyn TemplateLibrary> = Arc::new(salt);
        let mut secrets = Secrets::default();
        secrets.gather(&machine.pillar);
        let (scope, context) = (Arc::new(NullScope("")), Arc::new(null_context()));
        let documents = DocumentRenderer::new(scope, context, &library, "salt", &words);
        Self {
            secrets,
            documents: Mutex::new(documents),
            minion: machine,
            template_facts,
        }
    }

    /// The context for state functions of this machine.
    pub fn module_context(self: &Arc<Self>) -> ModuleContext {
        let MinionData {
            id,
            roots,
            grains,
            pillar,
            options,
        } = self.minion.clone();
        ModuleContext {
            id,
            roots,
            renderer: Arc::clone(self) as Arc<dyn RenderTemplate>,
            grains,
            pillar,
            options,
        }
    }

    pub(in crate::states) fn roots(&self) -> &dyn FileRoots {
        &*self.minion.roots
    }

    pub(in crate::states) fn minion(&self) -> &MinionData {
        &self.minion
    }

    /// The value of a configuration option.
    pub(in crate::states) fn option(&self, name: &str) -> Option<&Value> {
        self.minion.options.get(name)
    }

    /// Renders a template. If it needs facts that are in the cache, provides them and renders it again.
    pub(super) fn render_document(
        &self,
        path: &str,
        text: &str,
        words: &Map,
        facts: &FactCache,
    ) -> Result<RenderedDocument, TemplateError> {
        let documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Facts from an earlier rendering may be stale.
        *lock(&self.template_facts.facts) = FactCache::default();
        loop {
            lock(&self.template_facts.missing).clear();
            let rendered = documents.render(path, text, words);
            let missing = std::mem::take(&mut *lock(&self.template_facts.missing));
            match rendered {
                Ok(document) => return Ok(document),
                Err(flaw) if missing.is_empty() => return Err(TemplateError::Failed(flaw)),
                Err(_) => {}
            }
            let mut needs = Vec::new();
            let mut template_facts = lock(&self.template_facts.facts);
            for fact in missing {
                match facts.get(&fact) {
                    Ok(reading) => template_facts.learn(fact, reading.clone()),
                    Err(Halt::Failed(why)) => template_facts.learn(fact, FactReading::Failed(why)),
                    Err(Halt::Needs(_)) => needs.push(fact),
                }
            }
            if !needs.is_empty() {
                return Err(TemplateError::Needs(needs));
            }
        }
    }
}

/// The variables that describe the location of a template, such as `sls`, `slspath` and `tpldir`.
pub(super) fn template_location_vars(sls: &str, path: &str) -> Map {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let root = path
        .split('/')
        .next()
        .filter(|_| !folder.is_empty())
        .unwrap_or(".");
    let words = [
        ("sls", sls.to_owned()),
        ("slspath", folder.to_owned()),
        ("slsdotpath", folder.replace('/', ".")),
        ("slscolonpath", folder.replace('/', ":")),
        ("sls_path", folder.replace('/', "_")),
        ("tplpath", path.to_owned()),
        ("tplfile", path.to_owned()),
        (
            "tpldir",
            if folder.is_empty() { "." } else { folder }.to_owned(),
        ),
        ("tpldot", folder.replace('/', ".")),
        ("tplroot", root.to_owned()),
    ];
    words
        .into_iter()
        .map(|(name, value)| (name.into(), Value::from(value)))
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TemplateLibrary for SaltLibrary {
    fn load(&self, path: &str) -> Result<Option<String>, String> {
        let bytes = self
            .vars
            .roots
            .read(path)
            .map_err(|error| error.to_string())?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
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
        let facts = lock(&self.template_facts.facts);
        let call = TemplateCall {
            function,
            args,
            named,
            vars: &self.vars,
            facts: &facts,
        };
        match functions::call(&call) {
            Ok(value) => Ok(value),
            Err(Halt::Failed(why)) => Err(why),
            Err(Halt::Needs(needs)) => {
                lock(&self.template_facts.missing).extend(needs);
                Err("facts are needed".to_owned())
            }
        }
    }

    fn filters(&self) -> &'static [&'static str] {
        filters::FILTER_NAMES
    }

    fn filter(&self, name: &str, args: &[Value], named: &Map) -> Result<Value, String> {
        text_filters::apply_text_filter(name, args, named)
            .or_else(|| ip_filters::apply_ip_filter(name, args, named))
            .or_else(|| entry_filters::apply_entry_filter(name, args, named))
            .unwrap_or_else(|| filters::apply_filter(name, args, named))
    }
}

impl RenderTemplate for StateRenderer {
    fn render(&self, request: &TemplateRequest<'_>, facts: &FactCache) -> Result<String, Halt> {
        let mut words = template_location_vars("", request.path);
        words.extend(request.context.clone());
        match self.render_document(request.path, request.text, &words, facts) {
            Ok(document) => Ok(document.text),
            Err(TemplateError::Needs(needs)) => Err(Halt::Needs(needs)),
            Err(TemplateError::Failed(DocumentError {
                problem,
                template,
                line,
            })) => {
                let path = template.unwrap_or_else(|| request.path.to_owned());
                let line = line.map_or_else(String::new, |line| format!(":{line}"));
                refuse(format!("cannot render `{path}{line}`: {problem}"))
            }
        }
    }
}
