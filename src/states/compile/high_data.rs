//! High data: IDs with their states, as written, and how they are read from an SLS as it was
//! rendered (S1, S2).

use std::sync::Arc;

use indexmap::IndexMap;

use super::keywords::RequisiteKeyword;
use super::problem::StateFileProblem;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::value::{Map, Value};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind, Schema};

/// All that state files say.
#[derive(Debug, Default)]
pub(super) struct HighData {
    /// The IDs. Those of an SLS stand before those of what it includes.
    pub(super) ids: IndexMap<Arc<str>, IdDeclaration>,
    /// What is to be merged into IDs (S8).
    pub(super) extensions: Vec<(Arc<str>, IdDeclaration)>,
    /// What is left out (S9).
    pub(super) exclusions: Vec<Exclusion>,
    /// The SLS that were rendered, in the order in which they were begun.
    pub(super) files: Vec<SlsFile>,
}

/// An SLS that was rendered.
#[derive(Debug)]
pub(super) struct SlsFile {
    /// Its name.
    pub(super) sls: Arc<str>,
    /// The SLS that included it first.
    pub(super) parent: Option<usize>,
    /// Its path in the state tree.
    pub(super) path: String,
}

/// What an ID declares.
#[derive(Debug, Clone)]
pub(super) struct IdDeclaration {
    /// The SLS it is declared in.
    pub(super) sls: Arc<str>,
    /// The place of that SLS among the files.
    pub(super) file: usize,
    /// Its states by module.
    pub(super) states: IndexMap<Arc<str>, StateDeclaration>,
    /// Where the ID is written.
    pub(super) span: Span,
}

/// A state of an ID: its function and arguments, in the order of writing.
#[derive(Debug, Clone)]
pub(super) struct StateDeclaration {
    pub(super) items: Vec<StateItem>,
    pub(super) span: Span,
}

/// An item of a state.
#[derive(Debug, Clone)]
pub(super) enum StateItem {
    /// The name of a function.
    Function(Arc<str>, Span),
    /// Arguments; nearly always one. There is no empty list of them.
    Arguments(Vec<StateArgument>),
}

/// An argument.
#[derive(Debug, Clone)]
pub(super) struct StateArgument {
    pub(super) key: Arc<str>,
    pub(super) value: ArgumentValue,
    /// Where its value is written.
    pub(super) span: Span,
}

/// What an argument is given.
#[derive(Debug, Clone)]
pub(super) enum ArgumentValue {
    /// A value.
    Value(Value),
    /// A list of requisites.
    Requisites(RequisiteKeyword, Vec<RequisiteEntry>),
}

/// A requisite as written.
#[derive(Debug, Clone)]
pub(super) struct RequisiteEntry {
    /// Such as `{"test": "a"}`, or `"a"`.
    pub(super) written: Value,
    pub(super) span: Span,
}

/// What is left out.
#[derive(Debug, Clone)]
pub(super) enum Exclusion {
    /// All of the SLS whose names fit.
    Sls(Arc<str>),
    /// An ID.
    Id(Arc<str>),
}

impl StateItem {
    /// The first argument's key.
    pub(super) fn key(&self) -> Option<&Arc<str>> {
        match self {
            Self::Function(..) => None,
            Self::Arguments(arguments) => arguments.first().map(|argument| &argument.key),
        }
    }

    /// The argument, if it is a single one.
    pub(super) fn single(&self) -> Option<&StateArgument> {
        match self {
            Self::Arguments(arguments) if arguments.len() == 1 => arguments.first(),
            _ => None,
        }
    }
}

impl StateArgument {
    /// Makes an argument; lists of requisites are told apart.
    pub(super) fn new(key: Arc<str>, value: Value, span: Span) -> Self {
        let argument_value = match (RequisiteKeyword::parse(&key), &value) {
            (Some(word), Value::List(items)) => {
                let requisite = |written: &Value| RequisiteEntry {
                    written: written.clone(),
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
        }
    }

    /// What it is given, as a value.
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
    /// `{state: id}`.
    pub(super) fn of(state: &Arc<str>, id: &Arc<str>, span: Span) -> Self {
        let pair = (Arc::clone(state), Value::Str(Arc::clone(id)));
        Self {
            written: Value::from(Map::from_iter([pair])),
            span,
        }
    }
}

impl StateDeclaration {
    /// The functions that it names.
    pub(super) fn functions(&self) -> impl Iterator<Item = &Arc<str>> {
        self.items.iter().filter_map(|item| match item {
            StateItem::Function(name, _) => Some(name),
            StateItem::Arguments(_) => None,
        })
    }

    /// Its arguments.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &StateArgument> {
        self.items.iter().flat_map(|item| match item {
            StateItem::Function(..) => [].iter(),
            StateItem::Arguments(arguments) => arguments.iter(),
        })
    }
}

/// The contents of one SLS.
#[derive(Debug, Default)]
pub(super) struct SlsContent {
    pub(super) ids: Vec<(Arc<str>, IdDeclaration)>,
    pub(super) includes: Vec<SlsInclude>,
    pub(super) extensions: Vec<(Arc<str>, IdDeclaration)>,
    pub(super) exclusions: Vec<Exclusion>,
}

/// An SLS that another includes.
#[derive(Debug, Clone)]
pub(super) struct SlsInclude {
    /// The environment, if one is said.
    pub(super) env: Option<Arc<str>>,
    /// The name, as written.
    pub(super) name: Arc<str>,
    pub(super) span: Span,
}

/// Reads one SLS.
pub(super) struct SlsReader<'a> {
    pub(super) sources: &'a Sources,
    pub(super) sls: Arc<str>,
    pub(super) file: usize,
    pub(super) problems: &'a mut Diagnostics,
}

impl SlsReader<'_> {
    /// Reads what was rendered.
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
                    // Salt takes it for an ID then.
                    let (id, sls) = (Arc::clone(key), Arc::clone(&self.sls));
                    self.report(
                        StateFileProblem::IdNotADictionary { id, sls },
                        entry.key_span,
                    );
                }
                "extend" => self.extensions(&entry.value, &mut sls),
                "exclude" => self.exclusions(&entry.value, &mut sls),
                _ => {
                    if let Some(body) = self.id(key, entry.key_span, &entry.value) {
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
            let mut body = self.body(entry.key_span);
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

    fn body(&self, span: Span) -> IdDeclaration {
        IdDeclaration {
            sls: Arc::clone(&self.sls),
            file: self.file,
            states: IndexMap::new(),
            span,
        }
    }

    /// Tells of an ID that is no text.
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

    fn id(&mut self, id: &Arc<str>, span: Span, node: &Node) -> Option<IdDeclaration> {
        let sls = Arc::clone(&self.sls);
        if let Some(found) = self.key_kind(id, span) {
            self.report_invalid_id(id, found, span);
        } else if id.starts_with("__") {
            return None;
        }
        let mut body = self.body(span);
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
        // What is written with a dot stands behind what is not (S2).
        body.states.extend(later);
    }

    /// The kind of a key that is not a text; none if it is one.
    fn key_kind(&self, key: &str, span: Span) -> Option<NodeKind> {
        // What stands in quotes is longer than what it says.
        if self.sources.text(span) != key {
            return None;
        }
        if key.is_empty() {
            return Some(NodeKind::Null);
        }
        Schema::Salt.resolve(key)
    }

    /// The state that stands under a key of an ID, with its module; none, and a problem, if its
    /// arguments are no list.
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
                let argument =
                    |(key, entry): (&Arc<str>, &MapEntry)| parse_argument(key, &entry.value);
                Some(StateItem::Arguments(map.iter().map(argument).collect()))
            }
            _ => None,
        };
        nodes.iter().filter_map(item).collect()
    }
}

/// Nothing, or what Python takes for nothing.
fn is_falsy(node: &Node) -> bool {
    !node.to_value().is_truthy()
}

fn parse_argument(key: &Arc<str>, node: &Node) -> StateArgument {
    let argument_value = match (RequisiteKeyword::parse(key), node.as_seq()) {
        (Some(word), Some(items)) => {
            let requisite = |item: &Node| RequisiteEntry {
                written: item.to_value(),
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
    }
}

/// The arguments in a list of maps, such as those of an entry of `names`.
pub(super) fn parse_arguments(value: &Value, span: Span) -> Vec<StateArgument> {
    let maps = value.as_list().into_iter().flatten();
    let entries = maps.filter_map(Value::as_map).flatten();
    entries
        .map(|(key, value)| StateArgument::new(Arc::clone(key), value.clone(), span))
        .collect()
}

/// The module of a key; a function behind a dot becomes the last item (S1).
fn split_dotted_key(key: &Arc<str>, state: &mut StateDeclaration) -> Arc<str> {
    let Some((module, function)) = key.split_once('.') else {
        return Arc::clone(key);
    };
    let function = function.split('.').next().unwrap_or_default();
    let span = state.span;
    state.items.push(StateItem::Function(function.into(), span));
    module.into()
}
