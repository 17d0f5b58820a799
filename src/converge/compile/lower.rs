//! High data to chunks that are not ordered yet (S12, S13).

use std::sync::Arc;

use indexmap::IndexMap;

use super::high::{Argument, Body, Given, High, State};
use super::read::arguments_of;
use crate::diagnostic::Span;
use crate::value::Value;

/// A chunk before it has its number.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) id: Arc<str>,
    pub(super) sls: Arc<str>,
    pub(super) file: usize,
    pub(super) state: Arc<str>,
    pub(super) fun: Arc<str>,
    pub(super) name: Arc<str>,
    /// The order as written or numbered; none if there is none.
    pub(super) order: Option<Value>,
    /// Its place among the `names`, from 1.
    pub(super) place: Option<u32>,
    /// All other arguments, each as given last.
    pub(super) fields: IndexMap<Arc<str>, (Given, Span)>,
    pub(super) span: Span,
}

impl High {
    /// One draft for each ID, module and name, in the order of high data.
    pub(super) fn lower(&self) -> Vec<Draft> {
        let mut drafts = Vec::with_capacity(self.ids.len());
        for (id, body) in &self.ids {
            for (module, state) in &body.states {
                lower(id, body, module, state, &mut drafts);
            }
        }
        drafts
    }
}

fn lower(id: &Arc<str>, body: &Body, module: &Arc<str>, state: &State, drafts: &mut Vec<Draft>) {
    let Some(fun) = state.functions().next() else {
        return;
    };
    let mut draft = Draft {
        id: Arc::clone(id),
        sls: Arc::clone(&body.sls),
        file: body.file,
        state: Arc::clone(module),
        fun: Arc::clone(fun),
        name: Arc::clone(id),
        order: None,
        place: None,
        fields: IndexMap::new(),
        span: state.span,
    };
    let mut names: Vec<&Value> = Vec::new();
    let mut seen = crate::hash::FoldSet::default();
    let mut names_span = state.span;
    for argument in state.arguments() {
        match (&*argument.key, &argument.given) {
            ("names", Given::Value(Value::List(list))) => {
                names_span = argument.span;
                names.extend(
                    list.iter()
                        .filter(|entry| seen.insert(format!("{entry:?}"))),
                );
            }
            ("name", Given::Value(Value::Str(name))) => draft.name = Arc::clone(name),
            ("name", _) => draft.name = Arc::clone(id),
            _ => draft.take(argument.clone()),
        }
    }
    if names.is_empty() {
        drafts.push(draft);
        return;
    }
    for (place, entry) in (1..).zip(names) {
        let mut live = draft.clone();
        live.place = Some(place);
        match entry {
            Value::Map(map) if !map.is_empty() => {
                for (name, arguments) in map.iter().take(1) {
                    live.name = Arc::clone(name);
                    for argument in arguments_of(arguments, names_span) {
                        live.take(argument);
                    }
                }
            }
            other => live.name = other.to_string().into(),
        }
        drafts.push(live);
    }
}

impl Draft {
    fn take(&mut self, argument: Argument) {
        let Argument { key, given, span } = argument;
        match (&*key, given) {
            ("state" | "fun" | "names", _) => {}
            ("name", Given::Value(name)) => self.name = name.to_string().into(),
            ("order", Given::Value(order)) => self.order = Some(order),
            (_, given) => drop(self.fields.insert(key, (given, span))),
        }
    }
}
