//! High data: IDs with their states, as written (S1).

use std::sync::Arc;

use indexmap::IndexMap;

use super::names::Word;
use crate::diagnostic::Span;
use crate::value::{Map, Value};

/// All that state files say.
#[derive(Debug, Default)]
pub(super) struct High {
    /// The IDs. Those of an SLS stand before those of what it includes.
    pub(super) ids: IndexMap<Arc<str>, Body>,
    /// What is to be merged into IDs (S8).
    pub(super) extensions: Vec<(Arc<str>, Body)>,
    /// What is left out (S9).
    pub(super) exclusions: Vec<Exclusion>,
    /// The SLS that were rendered, in the order in which they were begun.
    pub(super) files: Vec<File>,
}

/// An SLS that was rendered.
#[derive(Debug)]
pub(super) struct File {
    /// Its name.
    pub(super) sls: Arc<str>,
    /// The SLS that included it first.
    pub(super) parent: Option<usize>,
    /// Its path in the state tree.
    pub(super) path: String,
}

/// What an ID declares.
#[derive(Debug, Clone)]
pub(super) struct Body {
    /// The SLS it is declared in.
    pub(super) sls: Arc<str>,
    /// The place of that SLS among the files.
    pub(super) file: usize,
    /// Its states by module.
    pub(super) states: IndexMap<Arc<str>, State>,
    /// Where the ID is written.
    pub(super) span: Span,
}

/// A state of an ID: its function and arguments, in the order of writing.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) items: Vec<Item>,
    pub(super) span: Span,
}

/// An item of a state.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// The name of a function.
    Function(Arc<str>, Span),
    /// Arguments; nearly always one. There is no empty list of them.
    Arguments(Vec<Argument>),
}

/// An argument.
#[derive(Debug, Clone)]
pub(super) struct Argument {
    pub(super) key: Arc<str>,
    pub(super) given: Given,
    /// Where its value is written.
    pub(super) span: Span,
}

/// What an argument is given.
#[derive(Debug, Clone)]
pub(super) enum Given {
    /// A value.
    Value(Value),
    /// A list of requisites.
    Wants(Word, Vec<Want>),
}

/// A requisite as written.
#[derive(Debug, Clone)]
pub(super) struct Want {
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

impl Item {
    /// The first argument's key.
    pub(super) fn key(&self) -> Option<&Arc<str>> {
        match self {
            Self::Function(..) => None,
            Self::Arguments(arguments) => arguments.first().map(|argument| &argument.key),
        }
    }

    /// The argument, if it is a single one.
    pub(super) fn single(&self) -> Option<&Argument> {
        match self {
            Self::Arguments(arguments) if arguments.len() == 1 => arguments.first(),
            _ => None,
        }
    }
}

impl Argument {
    /// Makes an argument; lists of requisites are told apart.
    pub(super) fn new(key: Arc<str>, value: Value, span: Span) -> Self {
        let given = match (Word::of(&key), &value) {
            (Some(word), Value::List(items)) => {
                let want = |written: &Value| Want {
                    written: written.clone(),
                    span,
                };
                Given::Wants(word, items.iter().map(want).collect())
            }
            _ => Given::Value(value),
        };
        Self { key, given, span }
    }

    /// What it is given, as a value.
    pub(super) fn value(&self) -> Value {
        match &self.given {
            Given::Value(value) => value.clone(),
            Given::Wants(_, wants) => Value::list(wants.iter().map(|want| want.written.clone())),
        }
    }
}

impl Want {
    /// `{state: id}`.
    pub(super) fn of(state: &Arc<str>, id: &Arc<str>, span: Span) -> Self {
        let pair = (Arc::clone(state), Value::Str(Arc::clone(id)));
        Self {
            written: Value::from(Map::from_iter([pair])),
            span,
        }
    }
}

impl State {
    /// The functions that it names.
    pub(super) fn functions(&self) -> impl Iterator<Item = &Arc<str>> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(name, _) => Some(name),
            Item::Arguments(_) => None,
        })
    }

    /// Its arguments.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.items.iter().flat_map(|item| match item {
            Item::Function(..) => [].iter(),
            Item::Arguments(arguments) => arguments.iter(),
        })
    }
}
