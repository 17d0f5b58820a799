//! The renderer of one machine: its words, and the functions that its templates call.

use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use super::call::{Call, Words};
use super::nowhere::nowhere;
use super::{filters, functions};
use crate::converge::{Facts, Halt, Render, Roots, Template, World, refuse};
use crate::diagnostic::Diagnostics;
use crate::expr::{Document, Documents, Flaw, Library, NullScope};
use crate::host::fact::{Fact, Reading};
use crate::value::{Map, Secrets, Value};

/// What is known of a machine before anything is read of it.
#[derive(Clone)]
pub struct Machine {
    /// The name of the machine, Salt's minion id.
    pub id: Arc<str>,
    /// The files of the state tree.
    pub roots: Arc<dyn Roots>,
    /// What the machine is like.
    pub grains: Value,
    /// What was given for it; sensitive values stay so.
    pub pillar: Value,
    /// The settings, by Salt's names.
    pub options: Value,
}

/// Renders the state files and templates of one machine.
pub struct Renderer {
    machine: Machine,
    pub(super) secrets: Secrets,
    documents: Mutex<Documents>,
    known: Arc<Known>,
}

/// What templates were told so far of the machine, and what they asked last.
#[derive(Default)]
struct Known {
    facts: Mutex<Facts>,
    asked: Mutex<Vec<Fact>>,
}

/// Why something cannot be rendered.
#[derive(Debug)]
pub(in crate::converge) enum Fault {
    /// Templates ask these facts.
    Needs(Vec<Fact>),
    /// What is wrong.
    Failed(Diagnostics),
}

/// Why a template gives no text.
#[derive(Debug)]
pub(super) enum Halted {
    /// It asks these facts.
    Needs(Vec<Fact>),
    /// What is wrong.
    Flawed(Flaw),
}

struct Salt {
    words: Words,
    known: Arc<Known>,
}

impl Debug for Renderer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer")
            .field("id", &self.machine.id)
            .finish_non_exhaustive()
    }
}

impl Debug for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Renderer {
    /// Makes the renderer of a machine.
    pub fn new(machine: Machine) -> Self {
        let known = Arc::new(Known::default());
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
        let salt = Salt {
            words: Words {
                id: Arc::clone(&machine.id),
                roots: Arc::clone(&machine.roots),
                grains: machine.grains.clone(),
                pillar: machine.pillar.clone(),
                options: options.into(),
            },
            known: Arc::clone(&known),
        };
        let library: Arc<dyn Library> = Arc::new(salt);
        let mut secrets = Secrets::default();
        secrets.gather(&machine.pillar);
        let (scope, world) = (Arc::new(NullScope("")), Arc::new(nowhere()));
        let documents = Documents::new(scope, world, &library, "salt", &words);
        Self {
            secrets,
            documents: Mutex::new(documents),
            machine,
            known,
        }
    }

    /// What state functions know of the machine.
    pub fn world(self: &Arc<Self>) -> World {
        let Machine {
            id,
            roots,
            grains,
            pillar,
            options,
        } = self.machine.clone();
        World {
            id,
            roots,
            renderer: Arc::clone(self) as Arc<dyn Render>,
            grains,
            pillar,
            options,
        }
    }

    /// The files of the state tree.
    pub(in crate::converge) fn roots(&self) -> &dyn Roots {
        &*self.machine.roots
    }

    /// What is known of the machine.
    pub(in crate::converge) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// A setting.
    pub(in crate::converge) fn option(&self, name: &str) -> Option<&Value> {
        self.machine.options.get(name)
    }

    /// Renders a text. Where it asks for what is known, it is rendered again with that.
    pub(super) fn document(
        &self,
        path: &str,
        text: &str,
        words: &Map,
        facts: &Facts,
    ) -> Result<Document, Halted> {
        let documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // What was told before may have changed since.
        *lock(&self.known.facts) = Facts::default();
        loop {
            lock(&self.known.asked).clear();
            let rendered = documents.render(path, text, words);
            let asked = std::mem::take(&mut *lock(&self.known.asked));
            match rendered {
                Ok(document) => return Ok(document),
                Err(flaw) if asked.is_empty() => return Err(Halted::Flawed(flaw)),
                Err(_) => {}
            }
            let mut needs = Vec::new();
            let mut known = lock(&self.known.facts);
            for fact in asked {
                match facts.get(&fact) {
                    Ok(reading) => known.learn(fact, reading.clone()),
                    Err(Halt::Failed(why)) => known.learn(fact, Reading::Failed(why)),
                    Err(Halt::Needs(_)) => needs.push(fact),
                }
            }
            if !needs.is_empty() {
                return Err(Halted::Needs(needs));
            }
        }
    }
}

/// The words that say where a template is.
pub(super) fn place_words(sls: &str, path: &str) -> Map {
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

impl Library for Salt {
    fn load(&self, path: &str) -> Result<Option<String>, String> {
        let bytes = self
            .words
            .roots
            .read(path)
            .map_err(|error| error.to_string())?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn call(&self, function: &str, args: &[Value], named: &Map) -> Result<Value, String> {
        let facts = lock(&self.known.facts);
        let call = Call {
            function,
            args,
            named,
            words: &self.words,
            facts: &facts,
        };
        match functions::call(&call) {
            Ok(value) => Ok(value),
            Err(Halt::Failed(why)) => Err(why),
            Err(Halt::Needs(needs)) => {
                lock(&self.known.asked).extend(needs);
                Err("facts are needed".to_owned())
            }
        }
    }

    fn filters(&self) -> &'static [&'static str] {
        filters::NAMES
    }

    fn filter(&self, name: &str, args: &[Value], named: &Map) -> Result<Value, String> {
        filters::filter(name, args, named)
    }
}

impl Render for Renderer {
    fn render(&self, request: &Template<'_>, facts: &Facts) -> Result<String, Halt> {
        let mut words = place_words("", request.path);
        words.extend(request.context.clone());
        match self.document(request.path, request.text, &words, facts) {
            Ok(document) => Ok(document.text),
            Err(Halted::Needs(needs)) => Err(Halt::Needs(needs)),
            Err(Halted::Flawed(Flaw {
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
