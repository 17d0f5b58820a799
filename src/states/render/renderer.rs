//! The renderer for the templates of one machine, with its variables and the library of template functions.
//!
//! Template functions cannot wait for facts. When a template needs one, rendering fails, the fact is fetched
//! from the cache and the template is rendered again.

use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex};

use super::RenderPrograms;
use super::call::TemplateVars;
use super::library::{SaltLibrary, TemplateFacts, lock};
use super::location_vars::template_location_vars;
use crate::diagnostic::Diagnostics;
use crate::expr::{DocumentError, DocumentRenderer, RenderedDocument};
use crate::host::fact::{Fact, FactReading};
use crate::states::{
    BASE_ENV, FactCache, Halt, ModuleContext, RenderTemplate, StateTrees, TemplateRequest,
    address_names, refuse, split_env,
};
use crate::value::{Map, Secrets, Value};

/// The values of options of Salt that are not set, as templates see them.
const USUAL_TEXTS: [(&str, &str); 5] = [
    ("file_client", "local"),
    ("hash_type", "sha256"),
    ("master", "salt"),
    ("renderer", "jinja|yaml"),
    ("state_output", "full"),
];

/// The same for options that are true or false.
const USUAL_FLAGS: [(&str, bool); 4] = [
    ("failhard", false),
    ("state_auto_order", true),
    ("state_verbose", true),
    ("test", false),
];

/// The data about a machine that is known before any fact is read.
#[derive(Clone)]
pub struct MinionData {
    /// The name of the machine (Salt's minion ID).
    pub id: Arc<str>,
    /// The state trees, seen from the environment `base`.
    pub roots: StateTrees,
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
    /// The renderers of documents, by environment.
    documents: Mutex<BTreeMap<Arc<str>, DocumentRenderer>>,
    template_facts: Arc<TemplateFacts>,
    /// The grains that templates see: those of the machine, and `fqdns` once a template has mentioned it.
    grains: Mutex<Value>,
    /// The programs of this machine. `None` where state files may not start any.
    programs: Option<Arc<dyn RenderPrograms>>,
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
        let mut secrets = Secrets::default();
        secrets.gather(&machine.pillar);
        Self {
            secrets,
            documents: Mutex::default(),
            grains: Mutex::new(machine.grains.clone()),
            minion: machine,
            template_facts: Arc::default(),
            programs: None,
        }
    }

    /// Lets state files use programs of this machine.
    #[must_use]
    pub fn with_programs(self, programs: Option<Arc<dyn RenderPrograms>>) -> Self {
        Self { programs, ..self }
    }

    /// The programs of this machine.
    pub(super) fn programs(&self) -> Result<&dyn RenderPrograms, String> {
        self.programs.as_deref().ok_or_else(|| {
            "the renderers gpg and py work for `unfurl state` and `unfurl drift -H` only, not in an ensemble"
                .to_owned()
        })
    }

    /// Reads the grain `fqdns`. A machine whose addresses cannot be looked up has no names.
    fn read_address_names(&self, facts: &FactCache) -> Result<(), TemplateError> {
        let names = match address_names::read(facts) {
            Ok(names) => names,
            Err(Halt::Needs(needs)) => return Err(TemplateError::Needs(needs)),
            Err(Halt::Failed(_)) => Value::list([]),
        };
        let mut grains = self.minion.grains.as_map().cloned().unwrap_or_default();
        grains.insert(address_names::GRAIN.into(), names);
        *lock(&self.grains) = grains.into();
        // The renderers of documents have the grains without it.
        lock(&self.documents).clear();
        Ok(())
    }

    /// Makes the renderer of the documents of an environment.
    fn document_renderer(&self, env: &str) -> DocumentRenderer {
        let machine = &self.minion;
        let mut options = machine.options.as_map().cloned().unwrap_or_default();
        options.insert("id".into(), Value::Str(Arc::clone(&machine.id)));
        options
            .entry("saltenv".into())
            .or_insert_with(|| BASE_ENV.into());
        let user = machine.grains.get("username").cloned();
        options
            .entry("user".into())
            .or_insert_with(|| user.unwrap_or_else(|| "root".into()));
        for (name, value) in USUAL_TEXTS {
            options.entry(name.into()).or_insert_with(|| value.into());
        }
        for (name, value) in USUAL_FLAGS {
            options.entry(name.into()).or_insert_with(|| value.into());
        }
        let vars = TemplateVars {
            id: Arc::clone(&machine.id),
            roots: machine.roots.within(env),
            grains: lock(&self.grains).clone(),
            pillar: machine.pillar.clone(),
            options: options.into(),
        };
        SaltLibrary::new(vars, Arc::clone(&self.template_facts)).into_renderer()
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

    pub(in crate::states) fn roots(&self) -> &StateTrees {
        &self.minion.roots
    }

    pub(in crate::states) fn minion(&self) -> &MinionData {
        &self.minion
    }

    /// The value of a configuration option.
    pub(in crate::states) fn option(&self, name: &str) -> Option<&Value> {
        self.minion.options.get(name)
    }

    /// Renders a template of an environment. If it needs facts that are in the cache, provides them and renders it
    /// again.
    pub(super) fn render_document(
        &self,
        (env, path): (&str, &str),
        text: &str,
        words: &Map,
        facts: &FactCache,
    ) -> Result<RenderedDocument, TemplateError> {
        if address_names::are_missing(text, &lock(&self.grains)) {
            self.read_address_names(facts)?;
        }
        // Facts from an earlier rendering may be stale.
        *lock(&self.template_facts.facts) = FactCache::default();
        loop {
            lock(&self.template_facts.missing).clear();
            let rendered = lock(&self.documents)
                .entry(env.into())
                .or_insert_with(|| self.document_renderer(env))
                .render(path, text, words);
            let missing = std::mem::take(&mut *lock(&self.template_facts.missing));
            let lacks_names = std::mem::take(&mut *lock(&self.template_facts.lacks_address_names));
            match rendered {
                Ok(document) if !lacks_names => return Ok(document),
                Err(flaw) if missing.is_empty() && !lacks_names => {
                    return Err(TemplateError::Failed(flaw));
                }
                _ => {}
            }
            if lacks_names {
                self.read_address_names(facts)?;
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

impl RenderTemplate for StateRenderer {
    fn render(&self, request: &TemplateRequest<'_>, facts: &FactCache) -> Result<String, Halt> {
        let path = split_env(request.path).0;
        let mut words = template_location_vars("", path);
        words.extend(request.context.clone());
        match self.render_document((request.env, path), request.text, &words, facts) {
            Ok(document) => Ok(document.text),
            Err(TemplateError::Needs(needs)) => Err(Halt::Needs(needs)),
            Err(TemplateError::Failed(DocumentError {
                problem,
                template,
                line,
            })) => {
                let path = template.unwrap_or_else(|| path.to_owned());
                let line = line.map_or_else(String::new, |line| format!(":{line}"));
                refuse(format!("cannot render `{path}{line}`: {problem}"))
            }
        }
    }
}
