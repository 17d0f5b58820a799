//! Whether each state is formed well (S10, S19, S21).

use std::sync::Arc;

use super::high::{Argument, Body, Given, High, Item, State, Want};
use super::names::Word;
use super::problem::Problem;
use crate::converge::{Ordering, Requisite};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::value::{FoldMap, Value};

/// What a state asks for, with its module: the words by what they name.
type Asked = (Arc<str>, FoldMap<Arc<str>, Arc<str>>);

/// Looks at each state.
pub(super) struct Verifier<'a> {
    ordering: Ordering,
    /// What each ID asks for last, with its module: Classic finds states that ask for each other.
    asked: FoldMap<Arc<str>, Asked>,
    problems: &'a mut Diagnostics,
}

struct Place<'a> {
    id: &'a Arc<str>,
    body: &'a Body,
    module: &'a Arc<str>,
}

impl High {
    /// Tells what is not formed well.
    pub(super) fn verify(&self, ordering: Ordering, problems: &mut Diagnostics) {
        let mut verifier = Verifier {
            ordering,
            asked: FoldMap::default(),
            problems,
        };
        for (id, body) in &self.ids {
            for (module, state) in &body.states {
                verifier.state(&Place { id, body, module }, state);
            }
        }
    }
}

impl Verifier<'_> {
    fn tell(&mut self, problem: Problem, span: Span) {
        self.problems
            .push(Diagnostic::error(problem).label(span, ""));
    }

    fn state(&mut self, place: &Place<'_>, state: &State) {
        let names = || (Arc::clone(place.id), Arc::clone(&place.body.sls));
        for item in &state.items {
            match item {
                Item::Function(function, span) if function.trim().contains(' ') => {
                    let (id, sls) = names();
                    let function = Arc::clone(function);
                    self.tell(Problem::Whitespace { function, id, sls }, *span);
                }
                Item::Function(..) => {}
                Item::Arguments(arguments) => self.arguments(place, arguments),
            }
        }
        let functions: Vec<&str> = state.functions().map(|name| &**name).collect();
        let (id, sls) = names();
        match functions.len() {
            1 => {}
            0 => self.tell(Problem::NoFunction { id, sls }, state.span),
            _ => {
                let functions = functions.join(", ");
                self.tell(Problem::TooManyFunctions { id, sls, functions }, state.span);
            }
        }
    }

    fn arguments(&mut self, place: &Place<'_>, arguments: &[Argument]) {
        let Some(first) = arguments.first() else {
            return;
        };
        let (id, sls) = (Arc::clone(place.id), Arc::clone(&place.body.sls));
        // A name is shown wherever its state is.
        if ["name", "names"].contains(&&*first.key)
            && matches!(&first.given, Given::Value(value) if value.has_sensitive())
        {
            self.tell(Problem::SecretName { id, sls }, first.span);
            return;
        }
        if &*first.key == "names" {
            if !matches!(first.given, Given::Value(Value::List(_))) {
                self.tell(Problem::NamesNotAList { id, sls }, first.span);
            }
            return;
        }
        let word = match Word::of(&first.key) {
            Some(word @ Word::Direct(_)) => word,
            Some(word @ (Word::OnfailStop | Word::Prerequired))
                if self.ordering == Ordering::Dag =>
            {
                word
            }
            _ => return,
        };
        match &first.given {
            Given::Value(_) => self.tell(Problem::RequisiteNotAList { word, id, sls }, first.span),
            Given::Wants(_, wants) => {
                let mutual = matches!(
                    word,
                    Word::Direct(
                        Requisite::Require
                            | Requisite::Watch
                            | Requisite::Prereq
                            | Requisite::Onchanges
                    )
                );
                if mutual && self.ordering == Ordering::Classic {
                    let asked = (Arc::clone(place.module), FoldMap::default());
                    self.asked.insert(Arc::clone(place.id), asked);
                }
                for want in wants {
                    self.want(place, want, mutual);
                }
            }
        }
        if arguments.len() > 1 {
            let (id, sls) = (Arc::clone(place.id), Arc::clone(&place.body.sls));
            self.tell(Problem::ManyDictionaries { id, sls }, first.span);
        }
    }

    fn want(&mut self, place: &Place<'_>, want: &Want, mutual: bool) {
        let (id, sls) = (Arc::clone(place.id), Arc::clone(&place.body.sls));
        let shape = || Problem::RequisiteShape {
            written: want.written.to_string(),
            id: Arc::clone(&id),
            sls: Arc::clone(&sls),
        };
        let id_key: Arc<str> = "id".into();
        let (key, value) = match &want.written {
            text @ Value::Str(_) => (&id_key, text),
            Value::Map(map) if map.len() == 1 || self.ordering == Ordering::Classic => {
                match map.first() {
                    Some(pair) => pair,
                    None => return self.tell(shape(), want.span),
                }
            }
            _ => return self.tell(shape(), want.span),
        };
        if let Some((short, _)) = key.split_once('.') {
            let (key, short) = (Arc::clone(key), short.to_owned());
            let (id, sls) = (Arc::clone(&id), Arc::clone(&sls));
            self.tell(
                Problem::RequisiteDot {
                    key,
                    short,
                    id,
                    sls,
                },
                want.span,
            );
        }
        if matches!(value, Value::List(_) | Value::Map(_)) {
            let written = value.to_string();
            return self.tell(Problem::RequisiteIllegal { written, sls }, want.span);
        }
        if mutual && self.ordering == Ordering::Classic {
            self.mutual(place, key, value, want.span);
        }
    }

    /// Two states that ask for each other.
    fn mutual(&mut self, place: &Place<'_>, key: &Arc<str>, value: &Value, span: Span) {
        let other: Arc<str> = value.to_string().into();
        if let Some((_, asked)) = self.asked.get_mut(place.id) {
            asked.insert(Arc::clone(&other), Arc::clone(key));
        }
        let Some((module, asked)) = self.asked.get(&other) else {
            return;
        };
        if asked.get(place.id) == Some(place.module) && module == key {
            let (sls, id) = (Arc::clone(&place.body.sls), Arc::clone(place.id));
            self.tell(Problem::Mutual { sls, id, other }, span);
        }
    }
}
