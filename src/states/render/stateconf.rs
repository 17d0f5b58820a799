//! The renderer `stateconf`: names of states that belong to their file, parameters of files, and a state that stands
//! for the whole file.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use crate::diagnostic::Span;
use crate::value::{Map, Value};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The state function that holds parameters of a file.
const SET_FUNCTION: &str = "stateconf.set";
/// The module of that function.
const SET_MODULE: &str = "stateconf";
/// The state before all others of a file.
const START_ID: &str = ".start";
/// The state that requires all others of a file.
const GOAL_ID: &str = ".goal";
/// The keys of a state file that are no IDs.
const DECLARATIONS: [&str; 3] = ["include", "exclude", "extend"];
/// The requisites whose lists of an extension are joined with those of the extended parameters.
const JOINED: [&str; 5] = ["require", "watch", "listen", "onchanges", "onfail"];
/// The requisites in which a name may begin with a dot.
const REQUISITES: [&str; 12] = [
    "require",
    "require_in",
    "watch",
    "watch_in",
    "use",
    "use_in",
    "listen",
    "listen_in",
    "onchanges",
    "onchanges_in",
    "onfail",
    "onfail_in",
];

/// The line that ends the parameters of a file.
static END_MARKER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"#\s*-+\s*end of state config\s*-+").expect("the expression is valid")
});

/// The options of the renderer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StateconfOptions {
    /// Makes the state `.start` (`-s`).
    has_start: bool,
    /// Makes the state `.goal`, unless `-G` is given.
    has_goal: bool,
}

/// The parameters of all files of a compilation, and those that extensions give.
#[derive(Debug, Default)]
pub(in crate::states) struct StateconfParameters {
    own: BTreeMap<Arc<str>, Map>,
    extensions: BTreeMap<Arc<str>, Map>,
}

impl StateconfOptions {
    /// Parses the arguments of the renderer, such as `-Gs yaml . jinja`. Sets `json` if JSON comes out of the template.
    pub(super) fn parse(arguments: &str, json: &mut bool) -> Result<Self, String> {
        let mut options = Self {
            has_start: false,
            has_goal: true,
        };
        let mut words = arguments.split_whitespace().peekable();
        while let Some(flags) = words.peek().and_then(|word| word.strip_prefix('-')) {
            for flag in flags.chars() {
                match flag {
                    'G' => options.has_goal = false,
                    's' => options.has_start = true,
                    other => {
                        return Err(format!(
                            "the option `-{other}` of the renderer stateconf is not supported; use -G or -s"
                        ));
                    }
                }
            }
            words.next();
        }
        match words.collect::<Vec<_>>().as_slice() {
            [] | ["yaml", ".", "jinja"] => {}
            ["json", ".", "jinja"] => *json = true,
            other => {
                return Err(format!(
                    "the renderer stateconf cannot combine `{}`; write `#!stateconf yaml . jinja`",
                    other.join(" ")
                ));
            }
        }
        Ok(options)
    }
}

/// Returns the part of a file with its parameters, which is rendered first. `None` without an end of parameters.
pub(super) fn parameter_part(text: &str) -> Option<&str> {
    END_MARKER.find(text).map(|end| &text[..end.start()])
}

/// Returns the variables of the template of a file: the parameters, with short names for those of the file.
pub(super) fn variables(sls: &str, parameters: &StateconfParameters) -> Map {
    let path = sls.replace('.', "/");
    let folder = path.rsplit_once('/').map_or(sls, |(folder, _)| folder);
    let folder = if folder.is_empty() { "." } else { folder };
    let mut all = Map::from_iter([("sls_dir".into(), folder.into())]);
    let prefix = format!("{sls}::");
    for (id, values) in &parameters.own {
        let name = id.strip_prefix(&prefix).unwrap_or(id);
        all.insert(name.into(), Value::from(values.clone()));
    }
    all
}

/// The stage of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Only the parameters are read.
    Parameters,
    Whole(StateconfOptions),
}

/// Rewrites the content of a file: makes its names full ones, adds states, and keeps parameters.
pub(super) fn process(
    root: &Node,
    sls: &str,
    stage: Stage,
    parameters: &mut StateconfParameters,
) -> Result<Node, String> {
    if !root.is_null() && root.as_map().is_none() {
        return Ok(root.clone());
    }
    let mut data = Mapping::default();
    for (key, entry) in root.as_map().into_iter().flatten() {
        let value = match &**key {
            "include" | "exclude" => relative_entries(&entry.value, sls)?,
            _ => full_form(&entry.value),
        };
        data.insert(Arc::clone(key), MapEntry::new(entry.key_span, value));
    }
    let span = root.span();
    if let Stage::Whole(options) = stage {
        if options.has_start {
            add_start(&mut data, span)?;
        }
        if options.has_goal {
            add_goal(&mut data, span)?;
        }
    }
    let data = rename(&data, sls)?;
    parameters.extract(&data);
    Ok(Node::new(NodeKind::Map(data), span, None))
}

impl StateconfParameters {
    /// Keeps the parameters of the states of a file, and of those that it extends.
    fn extract(&mut self, data: &Mapping) {
        for (id, entry) in data {
            if &**id == "extend" {
                for (id, entry) in entry.value.as_map().into_iter().flatten() {
                    let Some(values) = set_arguments(&entry.value) else {
                        continue;
                    };
                    self.extensions
                        .entry(Arc::clone(id))
                        .or_default()
                        .extend(values);
                }
            }
            if let Some(values) = set_arguments(&entry.value) {
                let own = self.own.entry(Arc::clone(id)).or_default();
                own.extend(values);
                if let Some(extension) = self.extensions.get_mut(id) {
                    join_requisites(extension, own);
                    own.extend(extension.clone());
                }
            }
        }
    }
}

fn join_requisites(extension: &mut Map, own: &Map) {
    for word in JOINED {
        let added = own.get(word).and_then(Value::as_list);
        if let (Some(Value::List(items)), Some(added)) = (extension.get(word), added) {
            let joined = items.iter().chain(added).cloned();
            let joined = Value::list(joined.collect::<Vec<_>>());
            extension.insert(word.into(), joined);
        }
    }
}

/// The arguments of `stateconf.set` in the states of an ID.
fn set_arguments(states: &Node) -> Option<Map> {
    let arguments = states
        .get(SET_MODULE)
        .or_else(|| states.get(SET_FUNCTION))?;
    let items = arguments.as_seq().unwrap_or_default().iter();
    let pairs = items.filter_map(|item| item.as_map()?.iter().next());
    let pairs = pairs.map(|(key, entry)| (Arc::clone(key), entry.value.to_value()));
    Some(pairs.collect())
}

/// The form `{function: []}` of a state that is written as a text.
fn full_form(states: &Node) -> Node {
    let Some(function) = states.as_str() else {
        return states.clone();
    };
    let empty = Node::new(NodeKind::Seq(Vec::new()), states.span(), None);
    one_entry(function, empty)
}

fn one_entry(key: &str, value: Node) -> Node {
    let span = value.span();
    let mut map = Mapping::default();
    map.insert(key, MapEntry::new(span, value));
    Node::new(NodeKind::Map(map), span, None)
}

fn text_node(text: String, span: Span) -> Node {
    Node::new(NodeKind::Str(text.into()), span, None)
}

fn sequence(items: Vec<Node>, span: Span) -> Node {
    Node::new(NodeKind::Seq(items), span, None)
}

/// Replaces the names of files that begin with a dot, in `include` and in `exclude`.
fn relative_entries(list: &Node, sls: &str) -> Result<Node, String> {
    let Some(items) = list.as_seq() else {
        return Ok(list.clone());
    };
    let full = |name: &Node| match name.as_str().filter(|name| name.starts_with('.')) {
        Some(text) => relative_sls(text, sls).map(|text| text_node(text, name.span())),
        None => Ok(name.clone()),
    };
    let mut entries = Vec::with_capacity(items.len());
    for item in items {
        let named = item.as_map().and_then(|map| map.iter().next());
        entries.push(match named {
            Some((key, entry)) => one_entry(key, full(&entry.value)?),
            None => full(item)?,
        });
    }
    Ok(sequence(entries, list.span()))
}

/// The full name of a file whose name begins with dots.
fn relative_sls(name: &str, sls: &str) -> Result<String, String> {
    let rest = name.trim_start_matches('.');
    let levels = name.len() - rest.len();
    let mut parts: Vec<&str> = sls.split('.').collect();
    let Some(kept) = parts.len().checked_sub(levels) else {
        return Err(format!(
            "`{name}` leads above the top level of the state tree"
        ));
    };
    parts.truncate(kept);
    parts.push(rest);
    Ok(parts.join("."))
}

/// The full ID of a state whose ID begins with a dot.
fn full_id(id: &str, sls: &str) -> Result<String, String> {
    if id.contains("::") {
        return relative_sls(id, sls);
    }
    let name = relative_sls(id, &format!("{sls}."))?;
    Ok(match name.rsplit_once('.') {
        Some((file, id)) => format!("{file}::{id}"),
        None => name,
    })
}

/// The module of a state such as `file` or `file.managed`.
fn module_of(state: &str) -> &str {
    state.split_once('.').map_or(state, |(module, _)| module)
}

fn declarations(data: &Mapping) -> impl Iterator<Item = (&Arc<str>, &MapEntry)> {
    let is_id = |id: &str| !DECLARATIONS.contains(&id) && !id.starts_with("__");
    data.iter().filter(move |(id, _)| is_id(id))
}

/// Adds the state that the first state of the file requires.
fn add_start(data: &mut Mapping, span: Span) -> Result<(), String> {
    if data.get(START_ID).is_some() {
        return Err(format!(
            "the ID `{START_ID}` is reserved for the state before all others"
        ));
    }
    let first = declarations(data).find_map(|(id, entry)| {
        let (state, _) = entry.value.as_map()?.iter().next()?;
        Some((Arc::clone(id), Arc::clone(state)))
    });
    if let Some((id, state)) = first {
        let target = one_entry(module_of(&state), text_node(id.to_string(), span));
        add_set(data, START_ID, "require_in", vec![target], span);
    }
    Ok(())
}

/// Adds the state that requires all other states of the file.
fn add_goal(data: &mut Mapping, span: Span) -> Result<(), String> {
    if data.get(GOAL_ID).is_some() {
        return Err(format!(
            "the ID `{GOAL_ID}` is reserved for the state after all others"
        ));
    }
    let mut targets = Vec::new();
    for (id, entry) in declarations(data) {
        for (state, _) in entry.value.as_map().into_iter().flatten() {
            if !state.starts_with("__") {
                let id = text_node(id.to_string(), span);
                targets.push(one_entry(module_of(state), id));
            }
        }
    }
    add_set(data, GOAL_ID, "require", targets, span);
    Ok(())
}

fn add_set(data: &mut Mapping, id: &str, requisite: &str, targets: Vec<Node>, span: Span) {
    let arguments = vec![one_entry(requisite, sequence(targets, span))];
    let states = one_entry(SET_FUNCTION, sequence(arguments, span));
    data.insert(id, MapEntry::new(span, states));
}

/// Gives IDs that begin with a dot their full names, also in requisites. Such states come after the others.
fn rename(data: &Mapping, sls: &str) -> Result<Mapping, String> {
    let (mut kept, mut renamed) = (Mapping::default(), Vec::new());
    for (id, entry) in data {
        let own = |value: Node| MapEntry::new(entry.key_span, value);
        if &**id == "extend" {
            let inner = match entry.value.as_map() {
                Some(inner) => {
                    let span = entry.value.span();
                    Node::new(NodeKind::Map(rename(inner, sls)?), span, None)
                }
                None => entry.value.clone(),
            };
            kept.insert(Arc::clone(id), own(inner));
        } else if DECLARATIONS.contains(&&**id) {
            kept.insert(Arc::clone(id), entry.clone());
        } else {
            let short = id.strip_prefix('.');
            let states = rename_states(&entry.value, short, sls)?;
            match short {
                Some(_) => renamed.push((full_id(id, sls)?, own(states))),
                None => drop(kept.insert(Arc::clone(id), own(states))),
            }
        }
    }
    for (id, entry) in renamed {
        if kept.get(&id).is_some() {
            return Err(format!(
                "the ID `{id}` is declared twice, once with a short name"
            ));
        }
        kept.insert(id, entry);
    }
    Ok(kept)
}

/// Gives the requisites of an ID their full names. States of an ID with a short name get it as their `name`.
fn rename_states(states: &Node, short: Option<&str>, sls: &str) -> Result<Node, String> {
    let Some(map) = states.as_map() else {
        return Ok(states.clone());
    };
    let mut all = Mapping::default();
    for (state, entry) in map {
        let Some(items) = entry.value.as_seq() else {
            all.insert(Arc::clone(state), entry.clone());
            continue;
        };
        let mut arguments = Vec::with_capacity(items.len() + 1);
        for item in items {
            arguments.push(rename_requisites(item, sls)?);
        }
        let is_named = items.iter().any(|item| {
            let key = item.as_map().and_then(|map| map.iter().next());
            key.is_some_and(|(key, _)| &**key == "name")
        });
        if let Some(short) = short.filter(|_| !is_named && module_of(state) != SET_MODULE) {
            let name = text_node(short.to_owned(), entry.value.span());
            arguments.insert(0, one_entry("name", name));
        }
        let arguments = sequence(arguments, entry.value.span());
        all.insert(Arc::clone(state), MapEntry::new(entry.key_span, arguments));
    }
    Ok(Node::new(NodeKind::Map(all), states.span(), None))
}

/// Gives the names in a requisite their full form. Other arguments stay.
fn rename_requisites(argument: &Node, sls: &str) -> Result<Node, String> {
    let Some((word, entry)) = argument.as_map().and_then(|map| map.iter().next()) else {
        return Ok(argument.clone());
    };
    let Some(items) = entry
        .value
        .as_seq()
        .filter(|_| REQUISITES.contains(&&**word))
    else {
        return Ok(argument.clone());
    };
    let mut targets = Vec::with_capacity(items.len());
    for item in items {
        let target = item.as_map().and_then(|map| map.iter().next());
        let short = target.and_then(|(state, entry)| Some((state, entry.value.as_str()?)));
        targets.push(match short.filter(|(_, id)| id.starts_with('.')) {
            Some((state, id)) => one_entry(state, text_node(full_id(id, sls)?, item.span())),
            None => item.clone(),
        });
    }
    Ok(one_entry(word, sequence(targets, entry.value.span())))
}
