//! High data: state declarations by ID as written, and the reader that builds them from a rendered SLS (S1,
//! S2).
//!
//! [`SlsReader`] reads one rendered SLS; `sls_loader.rs` calls it and collects the results in [`HighData`].
//! Later steps extend, exclude and lower this data. Nothing here runs or renders a file.

use std::sync::Arc;

use indexmap::IndexMap;

use super::keywords::RequisiteKeyword;
use super::problem::StateFileProblem;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::value::{Map, Value};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind, Schema};

/// The merged content of all loaded SLS files.
#[derive(Debug, Default)]
pub(super) struct HighData {
    /// The declarations by ID. IDs of an SLS come before the IDs of the SLS files it includes.
    pub(super) ids: IndexMap<Arc<str>, IdDeclaration>,
    /// The `extend` blocks, merged into `ids` later (S8).
    pub(super) extensions: Vec<(Arc<str>, IdDeclaration)>,
    /// The `exclude` entries of all loaded files (S9).
    pub(super) exclusions: Vec<Exclusion>,
    /// The rendered SLS files, in the order in which rendering began.
    pub(super) files: Vec<SlsFile>,
}

/// An SLS file that was rendered, with its place in the include tree.
#[derive(Debug)]
pub(super) struct SlsFile {
    pub(super) sls: Arc<str>,
    pub(super) env: Arc<str>,
    /// The index of the SLS that included this file first.
    pub(super) parent: Option<usize>,
    /// The path within the state tree.
    pub(super) path: String,
}

/// The declaration of an ID: its states by module.
#[derive(Debug, Clone)]
pub(super) struct IdDeclaration {
    pub(super) sls: Arc<str>,
    /// The index of the SLS in [`HighData::files`].
    pub(super) file: usize,
    pub(super) states: IndexMap<Arc<str>, StateDeclaration>,
    pub(super) span: Span,
}

/// A state of an ID: its function and arguments in the order they are written.
#[derive(Debug, Clone)]
pub(super) struct StateDeclaration {
    pub(super) items: Vec<StateItem>,
    pub(super) span: Span,
}

/// An item in the list of a state: a function name or arguments.
#[derive(Debug, Clone)]
pub(super) enum StateItem {
    Function(Arc<str>, Span),
    /// The arguments in one list item: nearly always a single one, never none.
    Arguments(Vec<StateArgument>),
}

/// An argument of a state, with the source position of its value.
#[derive(Debug, Clone)]
pub(super) struct StateArgument {
    pub(super) key: Arc<str>,
    pub(super) value: ArgumentValue,
    /// The source position of the value.
    pub(super) span: Span,
    pub(super) key_span: Span,
    /// Says whether `use` copied the argument from another state.
    pub(super) is_copied: bool,
}

/// The value of an argument. Requisite lists keep the source positions of their entries.
#[derive(Debug, Clone)]
pub(super) enum ArgumentValue {
    Value(Value),
    Requisites(RequisiteKeyword, Vec<RequisiteEntry>),
}

/// An entry in a requisite list, with its source position.
#[derive(Debug, Clone)]
pub(super) struct RequisiteEntry {
    /// The written form, such as `{"test": "a"}` or `"a"`.
    pub(super) written: Value,
    /// How often low data shows the entry.
    pub(super) repeats: u32,
    pub(super) span: Span,
}

/// An entry of `exclude`: IDs or SLS files to leave out.
#[derive(Debug, Clone)]
pub(super) enum Exclusion {
    /// A pattern: excludes every SLS whose name matches.
    Sls(Arc<str>),
    Id(Arc<str>),
}

impl HighData {
    /// The environment of the file that has a declaration.
    pub(super) fn env_of(&self, body: &IdDeclaration) -> &Arc<str> {
        &self.files[body.file].env
    }
}

impl StateItem {
    /// The key of the first argument, or `None` for a function.
    pub(super) fn key(&self) -> Option<&Arc<str>> {
        match self {
            Self::Function(..) => None,
            Self::Arguments(arguments) => arguments.first().map(|argument| &argument.key),
        }
    }

    /// The argument, if this item holds exactly one.
    pub(super) fn single(&self) -> Option<&StateArgument> {
        match self {
            Self::Arguments(arguments) if arguments.len() == 1 => arguments.first(),
            _ => None,
        }
    }
}

impl StateArgument {
    /// Makes an argument. A list under a requisite keyword becomes a list of requisite entries.
    pub(super) fn new(key: Arc<str>, value: Value, span: Span) -> Self {
        let argument_value = match (RequisiteKeyword::parse(&key), &value) {
            (Some(word), Value::List(items)) => {
                let requisite = |written: &Value| RequisiteEntry {
                    written: written.clone(),
                    repeats: 1,
                    span,
                };
                ArgumentValue::Requisites(word, items.iter().map(requisite).collect())
            }
            _ => ArgumentValue::Value(value),
        };
        Self {
            key,
            value: argument_value,
            span,
            key_span: span,
            is_copied: false,
        }
    }

    /// The argument's value as written, with requisites as a plain list.
    pub(super) fn to_value(&self) -> Value {
        match &self.value {
            ArgumentValue::Value(value) => value.clone(),
            ArgumentValue::Requisites(_, requisites) => {
                Value::list(requisites.iter().map(|requisite| requisite.written.clone()))
            }
        }
    }
}

impl RequisiteEntry {
    /// Makes a requisite entry of the form `{state: id}`.
    pub(super) fn of(state: &Arc<str>, id: &Arc<str>, repeats: u32, span: Span) -> Self {
        let pair = (Arc::clone(state), Value::Str(Arc::clone(id)));
        Self {
            written: Value::from(Map::from_iter([pair])),
            repeats,
            span,
        }
    }
}

impl StateDeclaration {
    /// The function names in this state; a valid state has exactly one.
    pub(super) fn functions(&self) -> impl Iterator<Item = &Arc<str>> {
        self.items.iter().filter_map(|item| match item {
            StateItem::Function(name, _) => Some(name),
            StateItem::Arguments(_) => None,
        })
    }

    /// The arguments of all items, in the order they are written.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &StateArgument> {
        self.items.iter().flat_map(|item| match item {
            StateItem::Function(..) => [].iter(),
            StateItem::Arguments(arguments) => arguments.iter(),
        })
    }
}

/// The content of one SLS file.
#[derive(Debug, Default)]
pub(super) struct SlsContent {
    pub(super) ids: Vec<(Arc<str>, IdDeclaration)>,
    pub(super) includes: Vec<SlsInclude>,
    pub(super) extensions: Vec<(Arc<str>, IdDeclaration)>,
    pub(super) exclusions: Vec<Exclusion>,
}

/// An entry of `include`: another SLS file to load.
#[derive(Debug, Clone)]
pub(super) struct SlsInclude {
    /// The environment, if the entry names one.
    pub(super) env: Option<Arc<str>>,
    /// The SLS name as written, possibly relative or a pattern.
    pub(super) name: Arc<str>,
    pub(super) span: Span,
}

/// Reads one rendered SLS file and reports problems of its structure.
pub(super) struct SlsReader<'a> {
    pub(super) sources: &'a Sources,
    pub(super) sls: Arc<str>,
    pub(super) file: usize,
    pub(super) problems: &'a mut Diagnostics,
}

impl SlsReader<'_> {
    /// Reads the root node of a rendered SLS.
    pub(super) fn read(&mut self, root: &Node) -> SlsContent {
        let mut sls = SlsContent::default();
        let Some(map) = root.as_map() else {
            if !is_falsy(root) {
                let problem = StateFileProblem::NotADictionary {
                    sls: Arc::clone(&self.sls),
                };
                self.report(problem, root.span());
            }
            return sls;
        };
        for (key, entry) in map {
            match &**key {
                "include" if entry.value.as_seq().is_some() => {
                    self.includes(&entry.value, &mut sls);
                }
                "include" => {
                    self.report_not_a_list("include", entry.value.span());
                    // Salt additionally treats `include` as an ID in this case and reports that too.
                    let (id, sls) = (Arc::clone(key), Arc::clone(&self.sls));
                    self.report(
                        StateFileProblem::IdNotADictionary { id, sls },
                        entry.key_span,
                    );
                }
                "extend" => self.extensions(&entry.value, &mut sls),
                "exclude" => self.exclusions(&entry.value, &mut sls),
                _ => {
                    if let Some(body) = self.parse_id(key, entry.key_span, &entry.value) {
                        sls.ids.push((Arc::clone(key), body));
                    }
                }
            }
        }
        sls
    }

    fn report(&mut self, problem: StateFileProblem, span: Span) {
        self.problems
            .push(Diagnostic::error(problem).label(span, ""));
    }

    fn report_not_a_list(&mut self, word: &'static str, span: Span) {
        let sls = Arc::clone(&self.sls);
        self.report(StateFileProblem::NotAList { word, sls }, span);
    }

    fn includes(&mut self, list: &Node, sls: &mut SlsContent) {
        for item in list.as_seq().unwrap_or_default() {
            let span = item.span();
            let single = item.as_map().filter(|map| map.len() == 1);
            let pair = single.and_then(|map| map.iter().next());
            match (item.kind(), pair) {
                (NodeKind::Str(name), _) => sls.includes.push(SlsInclude {
                    env: None,
                    name: Arc::clone(name),
                    span,
                }),
                (_, Some((env, entry))) if entry.value.as_str().is_some() => {
                    let name = entry.value.as_str().unwrap_or_default();
                    sls.includes.push(SlsInclude {
                        env: Some(Arc::clone(env)),
                        name: name.into(),
                        span: entry.value.span(),
                    });
                }
                _ => self.report(
                    StateFileProblem::IncludeShape {
                        found: item.kind_name(),
                    },
                    span,
                ),
            }
        }
    }

    fn extensions(&mut self, node: &Node, sls: &mut SlsContent) {
        let Some(map) = node.as_map() else {
            let own = Arc::clone(&self.sls);
            return self.report(StateFileProblem::ExtendShape { sls: own }, node.span());
        };
        for (id, entry) in map {
            let Some(states) = entry.value.as_map() else {
                let own = Arc::clone(&self.sls);
                self.report(
                    StateFileProblem::ExtendShape { sls: own },
                    entry.value.span(),
                );
                continue;
            };
            let mut body = self.empty_declaration(entry.key_span);
            for (key, entry) in states {
                if let Some((module, state)) = self.state(id, key, entry) {
                    body.states.insert(module, state);
                }
            }
            sls.extensions.push((Arc::clone(id), body));
        }
    }

    fn exclusions(&mut self, node: &Node, sls: &mut SlsContent) {
        let Some(items) = node.as_seq() else {
            return self.report_not_a_list("exclude", node.span());
        };
        for item in items {
            let text = |value: Option<&Node>| value.and_then(Node::as_str).map(Arc::from);
            if let Some(name) = text(Some(item)) {
                sls.exclusions.push(Exclusion::Sls(name));
            } else if let Some(name) = text(item.get("sls")) {
                sls.exclusions.push(Exclusion::Sls(name));
            } else if let Some(id) = text(item.get("id")) {
                sls.exclusions.push(Exclusion::Id(id));
            }
        }
    }

    fn empty_declaration(&self, span: Span) -> IdDeclaration {
        IdDeclaration {
            sls: Arc::clone(&self.sls),
            file: self.file,
            states: IndexMap::new(),
            span,
        }
    }

    /// Reports an ID that is not a string.
    fn report_invalid_id(&mut self, id: &str, found: NodeKind, span: Span) {
        let shown = match found {
            NodeKind::Null => "None".to_owned(),
            NodeKind::Bool(true) => "True".to_owned(),
            NodeKind::Bool(false) => "False".to_owned(),
            _ => id.to_owned(),
        };
        let problem = StateFileProblem::IdNotAString {
            id: shown,
            sls: Arc::clone(&self.sls),
            found: Node::new(found, span, None).kind_name(),
        };
        self.report(problem, span);
    }

    fn parse_id(&mut self, id: &Arc<str>, span: Span, node: &Node) -> Option<IdDeclaration> {
        let sls = Arc::clone(&self.sls);
        if let Some(found) = self.key_kind(id, span) {
            self.report_invalid_id(id, found, span);
        } else if id.starts_with("__") {
            return None;
        }
        let mut body = self.empty_declaration(span);
        if let NodeKind::Str(text) = node.kind()
            && let Some((module, function)) = text.split_once('.')
        {
            let function = function.split('.').next().unwrap_or_default();
            let items = vec![StateItem::Function(function.into(), node.span())];
            let span = node.span();
            body.states
                .insert(module.into(), StateDeclaration { items, span });
            return Some(body);
        }
        let Some(states) = node.as_map() else {
            self.report(
                StateFileProblem::IdNotADictionary {
                    id: Arc::clone(id),
                    sls,
                },
                span,
            );
            return None;
        };
        self.states(id, states, &mut body);
        Some(body)
    }

    fn states(&mut self, id: &Arc<str>, states: &Mapping, body: &mut IdDeclaration) {
        let sls = Arc::clone(&self.sls);
        let mut later = Vec::new();
        for (key, entry) in states {
            if key.starts_with("__") {
                continue;
            }
            let Some((module, state)) = self.state(id, key, entry) else {
                continue;
            };
            let twice = body.states.contains_key(&module)
                || later.iter().any(|(other, _)| *other == module);
            if twice {
                let (id, sls) = (Arc::clone(id), Arc::clone(&sls));
                self.report(StateFileProblem::SameStateTwice { id, sls }, entry.key_span);
            } else if key.contains('.') {
                later.push((module, state));
            } else {
                body.states.insert(module, state);
            }
        }
        // States in the dotted short form come after the others (S2).
        body.states.extend(later);
    }

    /// The YAML kind of an unquoted key that is not a string, or `None` for a string.
    fn key_kind(&self, key: &str, span: Span) -> Option<NodeKind> {
        // A quoted key always counts as a string. Its source text is longer than its value because of the
        // quotes.
        if self.sources.text(span) != key {
            return None;
        }
        if key.is_empty() {
            return Some(NodeKind::Null);
        }
        Schema::Salt.resolve(key)
    }

    /// Reads a state under an ID and returns its module name. Reports a problem and returns `None` if the
    /// arguments are not a list.
    fn state(
        &mut self,
        id: &Arc<str>,
        key: &Arc<str>,
        entry: &MapEntry,
    ) -> Option<(Arc<str>, StateDeclaration)> {
        let Some(items) = entry.value.as_seq() else {
            self.report_invalid_state(id, key, &entry.value);
            return None;
        };
        let mut state = StateDeclaration {
            items: Self::items(items),
            span: entry.key_span,
        };
        let module = split_dotted_key(key, &mut state);
        Some((module, state))
    }

    fn report_invalid_state(&mut self, id: &Arc<str>, state: &Arc<str>, node: &Node) {
        let (id, sls) = (Arc::clone(id), Arc::clone(&self.sls));
        let problem = if node.is_null() {
            let state = Arc::clone(state);
            StateFileProblem::TrailingColon { id, sls, state }
        } else {
            StateFileProblem::StateNotAList { id, sls }
        };
        self.report(problem, node.span());
    }

    fn items(nodes: &[Node]) -> Vec<StateItem> {
        let item = |node: &Node| match node.kind() {
            NodeKind::Str(text) => Some(StateItem::Function(Arc::clone(text), node.span())),
            NodeKind::Map(map) if !map.is_empty() => {
                let argument = |(key, entry): (&Arc<str>, &MapEntry)| parse_argument(key, entry);
                Some(StateItem::Arguments(map.iter().map(argument).collect()))
            }
            _ => None,
        };
        nodes.iter().filter_map(item).collect()
    }
}

/// Whether the node is falsy in Python: null, `false`, zero, or empty.
fn is_falsy(node: &Node) -> bool {
    !node.to_value().is_truthy()
}

fn parse_argument(key: &Arc<str>, entry: &MapEntry) -> StateArgument {
    let node = &entry.value;
    let argument_value = match (RequisiteKeyword::parse(key), node.as_seq()) {
        (Some(word), Some(items)) => {
            let requisite = |item: &Node| RequisiteEntry {
                written: item.to_value(),
                repeats: 1,
                span: item.span(),
            };
            ArgumentValue::Requisites(word, items.iter().map(requisite).collect())
        }
        _ => ArgumentValue::Value(node.to_value()),
    };
    StateArgument {
        key: Arc::clone(key),
        value: argument_value,
        span: node.span(),
        key_span: entry.key_span,
        is_copied: false,
    }
}

/// Reads the arguments in a list of maps, such as the list under an entry of `names`.
pub(super) fn parse_arguments(value: &Value, span: Span) -> Vec<StateArgument> {
    let maps = value.as_list().into_iter().flatten();
    let entries = maps.filter_map(Value::as_map).flatten();
    entries
        .map(|(key, value)| StateArgument::new(Arc::clone(key), value.clone(), span))
        .collect()
}

/// Returns the module part of a key. A function behind the dot becomes the last item of the state (S1).
fn split_dotted_key(key: &Arc<str>, state: &mut StateDeclaration) -> Arc<str> {
    let Some((module, function)) = key.split_once('.') else {
        return Arc::clone(key);
    };
    let function = function.split('.').next().unwrap_or_default();
    let span = state.span;
    state.items.push(StateItem::Function(function.into(), span));
    module.into()
}
