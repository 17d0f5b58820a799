//! The variables that imported templates see, and the places where relative imports start.
//!
//! As in Jinja2, a template that is imported without `with context` sees the variables of the document and not those
//! of the template that imports it. As in Salt, `tplfile` and its like name the template that was loaded last.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minijinja::value::Value as JinjaValue;
use minijinja::{Environment, State};

use crate::value::Map;

use super::inserted_names::{HIDES_FUNCTION, ISOLATED_FUNCTION, OUTER_FUNCTION, PLACE_FUNCTION};
use super::variables::Variables;

/// The last character of the name under which a template without context is loaded.
const ISOLATED: char = '\u{1}';

/// The names that the engine refuses to assign, and those that each template sets itself.
const KEPT_NAMES: [&str; 5] = ["self", "loop", "tplfile", "tpldir", "tpldot"];

/// The place of a template in the tree of files, as its variables tell it.
#[derive(Debug, Clone, Default)]
struct TemplatePlace {
    file: String,
    /// The folder, from which relative imports start; empty for the top of the tree.
    folder: String,
}

/// The imports of the document that is being rendered.
#[derive(Debug, Default)]
struct Imports {
    /// The place of the template that was loaded last.
    last: TemplatePlace,
    /// The path of each loaded template by its name as written.
    loaded: HashMap<String, String>,
    /// The place of each template at its first import without context.
    isolated: HashMap<String, TemplatePlace>,
    /// The variables of the document.
    values: Arc<BTreeMap<String, JinjaValue>>,
}

/// The imports of a renderer, which renders one document at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct ImportState(Arc<Mutex<Imports>>);

impl ImportState {
    fn lock(&self) -> MutexGuard<'_, Imports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a document with these variables. Relative imports start from the folder of its name if it has no `tpldir`.
    pub(super) fn begin(
        &self,
        name: &str,
        words: &Map,
        values: &Arc<BTreeMap<String, JinjaValue>>,
    ) {
        let word = |key: &str| words.get(key).map(ToString::to_string);
        let folder = word("tpldir").unwrap_or_else(|| template_folder(name).to_owned());
        let file = word("tplfile").unwrap_or_else(|| name.to_owned());
        *self.lock() = Imports {
            last: TemplatePlace {
                file,
                folder: if folder == "." { String::new() } else { folder },
            },
            values: Arc::clone(values),
            ..Imports::default()
        };
    }

    /// Returns the name under which a template is loaded, for its name as an import writes it.
    pub(super) fn resolve(&self, name: &str) -> String {
        let (written, is_isolated) = split_name(name);
        let written = written.strip_prefix("salt://").unwrap_or(written);
        let mut imports = self.lock();
        let path = match imports.loaded.get(written) {
            Some(path) => path.clone(),
            None => imports.load(written),
        };
        if !is_isolated {
            return path;
        }
        let place = imports.last.clone();
        imports.isolated.entry(path.clone()).or_insert(place);
        format!("{path}{ISOLATED}")
    }

    /// Adds the functions whose calls are inserted into imports and imported templates.
    pub(super) fn add_functions(&self, environment: &mut Environment<'_>) {
        environment.add_function(ISOLATED_FUNCTION, isolated_name);
        environment.add_function(HIDES_FUNCTION, hides);
        let imports = self.clone();
        environment.add_function(OUTER_FUNCTION, move |state: &State, name: &str| {
            let own = imports.lock().values.get(name).cloned();
            own.or_else(|| {
                let mut globals = state.env().globals();
                globals.find(|(global, _)| *global == name).map(|it| it.1)
            })
            .unwrap_or(JinjaValue::UNDEFINED)
        });
        let imports = self.clone();
        environment.add_function(PLACE_FUNCTION, move |state: &State, name: &str| {
            let path = split_name(state.name()).0;
            let imports = imports.lock();
            let place = imports.isolated.get(path).unwrap_or(&imports.last);
            match name {
                "tplfile" => place.file.clone(),
                "tpldir" => tpldir(&place.folder).to_owned(),
                _ => place.folder.replace('/', "."),
            }
        });
    }
}

impl Imports {
    /// Notes that a template is loaded, and returns its path.
    fn load(&mut self, written: &str) -> String {
        let is_relative = matches!(written.split('/').next(), Some("." | ".."));
        let path = if is_relative {
            path_from(&self.last.folder, written)
        } else {
            template_folder(written).clone_into(&mut self.last.folder);
            written.to_owned()
        };
        written.clone_into(&mut self.last.file);
        self.loaded.insert(written.to_owned(), path.clone());
        path
    }
}

/// Splits the name of a loaded template into its path, and true if it is without context.
pub(super) fn split_name(name: &str) -> (&str, bool) {
    match name.strip_suffix(ISOLATED) {
        Some(path) => (path, true),
        None => (name, false),
    }
}

/// Returns a message without the signs of templates without context.
pub(super) fn plain_message(message: &str) -> String {
    message.replace(ISOLATED, "")
}

/// Returns the prepared text of a template that hides the variables of the template that imports it.
///
/// The added tags contain no line break, so that lines keep their numbers.
pub(super) fn isolated_text(prepared: &str) -> String {
    let environment = Environment::empty();
    let Ok(template) = environment.template_from_str(prepared) else {
        return prepared.to_owned();
    };
    let mut names: Vec<String> = template.undeclared_variables(false).into_iter().collect();
    names.retain(|name| !name.starts_with("__") && !KEPT_NAMES.contains(&&**name));
    names.sort_unstable();
    let mut text = String::with_capacity(prepared.len() + 64 * names.len());
    for name in ["tplfile", "tpldir", "tpldot"] {
        text.push_str(&format!("{{% set {name} = {PLACE_FUNCTION}('{name}') %}}"));
    }
    for name in names {
        text.push_str(&format!(
            "{{% if {HIDES_FUNCTION}('{name}') %}}{{% set {name} = {OUTER_FUNCTION}('{name}') %}}{{% endif %}}"
        ));
    }
    text.push_str(prepared);
    text
}

/// Returns the name of a template for an import without context. A list of names stays as it is.
fn isolated_name(name: JinjaValue) -> JinjaValue {
    match name.as_str() {
        Some(name) => format!("{name}{ISOLATED}").into(),
        None => name,
    }
}

/// Returns true if a name has a value here, so that the template that is being imported has to hide it.
fn hides(state: &State, name: &str) -> Result<bool, minijinja::Error> {
    let variables = Variables::from_state(state)?;
    let tracker = variables.evaluator.tracker();
    let mut missing = None;
    tracker.update_notes(|notes| missing = notes.missing.take());
    let found = state.lookup(name);
    tracker.update_notes(|notes| notes.missing = missing);
    Ok(found.is_some_and(|value| !value.is_undefined()))
}

/// Returns the folder of a template; empty at the root of the tree.
pub fn template_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the value of `tpldir` for the folder of a template.
pub fn tpldir(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}

/// Returns the path that a relative one means. Paths that leave the tree begin with `..`.
fn path_from(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_names_start_from_the_folder_of_the_template_that_was_loaded_last() {
        let imports = ImportState::default();
        imports.begin("a/b.sls", &Map::new(), &Arc::default());
        assert_eq!(imports.resolve("./c.jinja"), "a/c.jinja");
        assert_eq!(imports.resolve("x/y/z.jinja"), "x/y/z.jinja");
        assert_eq!(imports.resolve("../d.jinja"), "x/d.jinja");
        assert_eq!(imports.resolve("./c.jinja"), "a/c.jinja");
        assert_eq!(imports.resolve("../../../e\u{1}"), "../e\u{1}");
    }
}
