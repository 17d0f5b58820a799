//! The state functions of the module `ini`.

use std::collections::BTreeSet;

use super::document::{IniDocument, IniFormat, old_to_new};
use crate::host::change::ModeAndOwner;
use crate::host::fact::Fact;
use crate::states::modules::decision::{act_or_fail, done, require_facts};
use crate::states::modules::file_change;
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
    refuse,
};
use crate::value::{Map, Value};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "ini",
    functions: &[
        StateFunction::new("options_present", options_present)
            .about("Sets options in sections of an INI file.")
            .options("sections separator strict encoding no_spaces")
            .irreversible(REASON),
        StateFunction::new("options_absent", options_absent)
            .about("Removes options from an INI file.")
            .options("sections separator encoding")
            .irreversible(REASON),
        StateFunction::new("sections_present", sections_present)
            .about("Adds sections to an INI file.")
            .options("sections separator encoding")
            .reversed_by("sections_absent"),
        StateFunction::new("sections_absent", sections_absent)
            .about("Removes sections from an INI file.")
            .options("sections separator encoding")
            .irreversible(REASON),
    ],
    watch: None,
    aggregate: None,
};

const REASON: &str = "the previous options of the file are not recorded";

/// A file that a state edits.
struct IniEdit<'a> {
    call: &'a StateCall<'a>,
    before: String,
    document: IniDocument,
    has_folder: bool,
    /// The comments of a dry run, one for each line.
    planned: Vec<String>,
    /// True if a dry run predicts a change.
    is_planned: bool,
    changes: Map,
}

impl<'a> IniEdit<'a> {
    fn open(call: &'a StateCall<'a>, facts: &FactCache) -> Result<Self, Halt> {
        let path = call.name;
        if !path.starts_with('/') {
            return refuse(format!("`{path}` is not an absolute path"));
        }
        let is_known = |name: &str| matches!(name, "utf-8" | "utf8" | "ascii");
        if let Some(encoding) = call.non_empty_text("encoding")?
            && !is_known(&encoding.to_lowercase())
        {
            return refuse(format!(
                "`encoding: {encoding}` of ini.{} is not supported: the file must be in UTF-8",
                call.fun
            ));
        }
        let folder = file_change::parent(path);
        require_facts(
            facts,
            [
                Fact::Content(path.to_owned()),
                Fact::Target(folder.to_owned()),
            ],
        )?;
        let bytes = facts.content(path)?.unwrap_or_default();
        let Ok(before) = std::str::from_utf8(bytes) else {
            return refuse(format!("{path} is not text in UTF-8"));
        };
        let separator = call.text_or("separator", "=")?;
        let format = IniFormat::new(&separator, !call.flag("no_spaces", false))?;
        Ok(Self {
            call,
            before: before.to_owned(),
            document: IniDocument::parse(before, format),
            has_folder: facts.target(folder)?.is_some(),
            planned: Vec::new(),
            is_planned: false,
            changes: Map::new(),
        })
    }

    /// Returns the argument `sections` as a map; empty if it is missing.
    fn sections(&self) -> Result<Map, Halt> {
        match self.call.arg("sections") {
            None => Ok(Map::new()),
            Some(Value::Map(map)) => Ok(Map::clone(map)),
            Some(other) => refuse(format!(
                "`sections` of ini.{} must be a map, not {}",
                self.call.fun,
                other.kind()
            )),
        }
    }

    fn plan(&mut self, is_change: bool, comment: String) {
        self.is_planned |= is_change;
        self.planned.push(comment);
    }

    /// Returns the decision. `written` is the comment of a real run with changes, `same` of a dry run without
    /// a comment.
    fn decide(self, written: &str, same: &str) -> Result<StateDecision, Halt> {
        let path = self.call.name;
        let after = self.document.text();
        let mut planned: String = self.planned.iter().flat_map(|line| [line, "\n"]).collect();
        if planned.is_empty() {
            same.clone_into(&mut planned);
        }
        let predicted = if self.is_planned {
            StateOutcome::planned(planned)
        } else {
            StateOutcome::unchanged(planned)
        };
        let outcome = if self.changes.is_empty() {
            StateOutcome::unchanged(NO_CHANGE)
        } else {
            StateOutcome::changed(self.changes, written)
        };
        let is_idle = self.call.mode == Mode::Test && !self.is_planned;
        if after == self.before || is_idle {
            let is_test = self.call.mode == Mode::Test;
            return done(if is_test { predicted } else { outcome });
        }
        if !self.has_folder && self.call.mode == Mode::Apply {
            return refuse(format!(
                "Unable to write file '{path}'. Exception: [Errno 2] No such file or directory: '{path}'"
            ));
        }
        let is_secret = self.call.args.values().any(Value::has_sensitive);
        let write = file_change::write_hidden(path, after, ModeAndOwner::default(), is_secret);
        act_or_fail(
            predicted,
            vec![write],
            outcome,
            format!("Unable to write file '{path}': "),
        )
    }
}

const NO_CHANGE: &str = "No anomaly detected";
const CHANGED: &str = "Changes take effect";

/// Returns the end of a comment that names a section; empty for an empty name.
fn in_section(name: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!(" in section {name}")
    }
}

/// Returns the keys of a map that another map lacks.
fn missing_keys(map: Option<&Map>, desired: &Map) -> BTreeSet<String> {
    let keys = map.into_iter().flat_map(Map::keys);
    let missing = keys.filter(|key| !desired.contains_key(*key));
    missing.map(|key| (**key).to_owned()).collect()
}

/// Decides `ini.options_present`: sets options; with `strict`, removes all others.
fn options_present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut edit = IniEdit::open(call, facts)?;
    let desired = edit.sections()?;
    let now = edit.document.value();
    let is_section = |value: &Value| value.reveal().as_map().is_some();
    let part = |map: Option<&Map>, sections: bool| -> Map {
        let items = map.into_iter().flatten();
        let chosen = items.filter(|(_, value)| is_section(value) == sections);
        chosen
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let (top, sections) = (part(now.as_map(), false), part(now.as_map(), true));
    let options = part(Some(&desired), false);
    for (name, value) in &options {
        let is_same = top
            .get(name)
            .is_some_and(|now| *now == value.reveal().to_string().into());
        let word = if is_same { "Unchanged" } else { "Changed" };
        edit.plan(!is_same, format!("{word} key {name}."));
    }
    let changes = edit.document.update(&options);
    edit.changes.extend(changes);
    let desired_sections = part(Some(&desired), true);
    let is_strict = call.flag("strict", false) && !desired.is_empty();
    if is_strict {
        for name in missing_keys(Some(&top), &options) {
            edit.plan(true, format!("Removed key {name}."));
            edit.document.remove_option(None, &name);
            let before = top.get(&*name).cloned().unwrap_or_default();
            let change = old_to_new(before, Value::Null);
            edit.changes.insert(name.into(), change);
        }
        for name in missing_keys(Some(&sections), &desired_sections) {
            edit.plan(true, format!("Removed section {name}."));
            let before = edit.document.remove_section(&name).unwrap_or_default();
            let change = old_to_new(before, Value::Null);
            edit.changes.insert(name.into(), change);
        }
    }
    for (name, body) in &desired_sections {
        let now = sections.get(name).and_then(Value::as_map);
        let Some(body) = body.reveal().as_map() else {
            continue;
        };
        section_present(&mut edit, name, now, body, is_strict);
    }
    edit.decide(CHANGED, "")
}

/// Sets the options of a section; with `strict`, removes all others.
fn section_present(
    edit: &mut IniEdit<'_>,
    name: &str,
    now: Option<&Map>,
    desired: &Map,
    is_strict: bool,
) {
    let place = in_section(name);
    let mut changes = Map::new();
    if is_strict {
        for key in missing_keys(now, desired) {
            edit.plan(true, format!("Deleted key {key}{place}."));
            let before = edit.document.remove_option(Some(name), &key);
            let change = old_to_new(before.unwrap_or_default(), Value::Null);
            changes.insert(key.into(), change);
        }
    }
    for (key, value) in desired {
        let before = now.and_then(|now| now.get(key));
        let is_same = before.is_some_and(|now| *now == value.reveal().to_string().into());
        let word = if is_same { "Unchanged" } else { "Changed" };
        edit.plan(!is_same, format!("{word} key {key}{place}."));
    }
    let body = Value::map([(name, Value::map(desired.clone()))]);
    let updated = body.as_map().map(|body| edit.document.update(body));
    let own = updated.as_ref().and_then(|it| it.get(name));
    changes.extend(own.and_then(Value::as_map).cloned().unwrap_or_default());
    if !changes.is_empty() {
        edit.changes.insert(name.into(), changes.into());
    }
}

/// Decides `ini.options_absent`: removes options of sections, or options before the first section.
fn options_absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut edit = IniEdit::open(call, facts)?;
    for (name, keys) in edit.sections()? {
        let Value::List(keys) = keys.reveal() else {
            let found = edit.document.top_option(&name);
            if found.is_some_and(|value| value.is_truthy()) {
                edit.plan(true, format!("Deleted key {name}."));
                let removed = edit.document.remove_option(None, &name);
                edit.changes.insert(name, removed.unwrap_or_default());
            } else {
                edit.plan(false, format!("Key {name} does not exist."));
            }
            continue;
        };
        let place = in_section(&name);
        let mut changes = Map::new();
        for key in keys.iter() {
            let key = key.reveal().to_string();
            match edit.document.remove_option(Some(&name), &key) {
                Some(value) if value.is_truthy() => {
                    edit.plan(true, format!("Deleted key {key}{place}."));
                    changes.insert(key.into(), value);
                }
                _ => edit.plan(false, format!("Key {key}{place} does not exist.")),
            }
        }
        if !changes.is_empty() {
            edit.changes.insert(name, changes.into());
        }
    }
    edit.decide(CHANGED, "No changes detected.")
}

/// Returns the names of sections, which stand in a list or as the keys of a map.
fn section_names(call: &StateCall<'_>) -> Result<Vec<String>, Halt> {
    match call.arg("sections") {
        Some(Value::Map(map)) => Ok(map.keys().map(|key| (**key).to_owned()).collect()),
        _ => call.texts("sections"),
    }
}

/// Decides `ini.sections_present`: adds empty sections.
fn sections_present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut edit = IniEdit::open(call, facts)?;
    let now = edit.document.value();
    for name in section_names(call)? {
        if now.get(&name).is_some() {
            edit.plan(false, format!("Section unchanged {name}."));
        } else {
            edit.plan(true, format!("Created new section {name}."));
            let desired = Map::from_iter([(name.into(), Value::map(Map::new()))]);
            let changes = edit.document.update(&desired);
            edit.changes.extend(changes);
        }
    }
    edit.decide(CHANGED, "No changes detected.")
}

/// Decides `ini.sections_absent`: removes sections with their options.
fn sections_absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut edit = IniEdit::open(call, facts)?;
    for name in section_names(call)? {
        match edit.document.remove_section(&name) {
            Some(options) => {
                edit.plan(true, format!("Deleted section {name}."));
                if options.is_truthy() {
                    edit.changes.insert(name.into(), options);
                }
            }
            None => edit.plan(false, format!("Section {name} does not exist.")),
        }
    }
    edit.decide(CHANGED, "No changes detected.")
}
