//! Merges extensions into what they extend (S8), and turns `require_in` and its like, and `use`,
//! into extensions of their targets (S28, S29).

use std::sync::Arc;

use indexmap::IndexMap;

use super::high::{Argument, Body, Given, High, Item, State, Want};
use super::names::Word;
use super::problem::Problem;
use crate::converge::Requisite;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::value::{FoldMap, Value};

/// The environment of all state files.
pub(super) const BASE: &str = "base";

/// The arguments that `use` does not copy.
const OWN: [&str; 13] = [
    "name",
    "names",
    "require",
    "require_in",
    "watch",
    "watch_in",
    "onfail",
    "onfail_in",
    "onfail_stop",
    "onchanges",
    "onchanges_in",
    "prereq",
    "prereq_in",
];

/// How an ID is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// An ID is found whether it has the state or not.
    Loose,
    /// An ID must have the state.
    Strict,
}

/// IDs by module and by a text that an argument has.
type Index = FoldMap<(Arc<str>, Arc<str>), Vec<Arc<str>>>;

/// Finds states by their names: any argument of the module that has the text counts.
#[derive(Debug, Default)]
struct Names(Option<Index>);

impl Names {
    /// The IDs that a name stands for, with the module asked for.
    fn find(
        &mut self,
        high: &High,
        name: &Arc<str>,
        state: &Arc<str>,
        lookup: Lookup,
    ) -> Vec<Arc<str>> {
        let own = high.ids.get(name);
        if own.is_some_and(|body| lookup == Lookup::Loose || body.states.contains_key(state)) {
            return vec![Arc::clone(name)];
        }
        if &**state == "sls" {
            let of_sls = high.ids.iter().filter(|(_, body)| body.sls == *name);
            return of_sls.map(|(id, _)| Arc::clone(id)).collect();
        }
        let index = self.0.get_or_insert_with(|| index(high));
        let key = (Arc::clone(state), Arc::clone(name));
        index.get(&key).cloned().unwrap_or_default()
    }
}

fn index(high: &High) -> Index {
    let mut found = Index::default();
    for (id, body) in &high.ids {
        for (module, state) in &body.states {
            for item in &state.items {
                if let Some(Argument {
                    given: Given::Value(Value::Str(text)),
                    ..
                }) = item.single()
                {
                    let key = (Arc::clone(module), Arc::clone(text));
                    found.entry(key).or_default().push(Arc::clone(id));
                }
            }
        }
    }
    found
}

impl High {
    /// Merges the extensions that are written; those of unknown IDs are problems.
    pub(super) fn extend(&mut self, problems: &mut Diagnostics) {
        let extensions = std::mem::take(&mut self.extensions);
        self.merge(extensions, Lookup::Loose, problems);
    }

    fn merge(
        &mut self,
        extensions: Vec<(Arc<str>, Body)>,
        lookup: Lookup,
        problems: &mut Diagnostics,
    ) {
        let mut names = Names::default();
        for (id, extension) in extensions {
            let Some(first) = extension.states.keys().next() else {
                continue;
            };
            let mut target = Arc::clone(&id);
            let known = self
                .ids
                .get(&id)
                .is_some_and(|body| body.states.contains_key(first));
            if !known {
                let found = names.find(self, &id, first, lookup);
                let [only] = found.as_slice() else {
                    problems.push(refusal(&id, &extension, !found.is_empty()));
                    continue;
                };
                target = Arc::clone(only);
            }
            if self.excludes(&extension.sls) {
                continue;
            }
            let Some(body) = self.ids.get_mut(&target) else {
                continue;
            };
            for (module, state) in extension.states {
                match body.states.get_mut(&module) {
                    Some(own) => own.items_extended(state),
                    None => drop(body.states.insert(module, state)),
                }
            }
        }
    }
}

fn refusal(id: &Arc<str>, extension: &Body, several: bool) -> Diagnostic {
    let (id, sls) = (Arc::clone(id), Arc::clone(&extension.sls));
    let env = BASE.into();
    let problem = if several {
        Problem::Ambiguous { id, env, sls }
    } else {
        Problem::CannotExtend { id, env, sls }
    };
    Diagnostic::error(problem)
        .label(extension.span, "")
        .help("is an include missing, or is the ID misspelt?")
}

impl State {
    /// Merges items: functions and arguments of the same key are replaced, requisites put together.
    fn items_extended(&mut self, extension: Self) {
        for item in extension.items {
            let mut updated = false;
            for own in &mut self.items {
                match (&item, &mut *own) {
                    (Item::Function(..), Item::Function(..)) => {
                        own.clone_from(&item);
                        updated = true;
                    }
                    (Item::Arguments(new), Item::Arguments(old)) => {
                        let (Some(new), Some(old)) = (new.first(), old.first_mut()) else {
                            continue;
                        };
                        if new.key == old.key {
                            updated = true;
                            if !old.join(new) {
                                own.clone_from(&item);
                            }
                        } else if &*new.key == "name" && &*old.key == "names" {
                            own.clone_from(&item);
                        }
                    }
                    _ => {}
                }
            }
            if !updated {
                self.items.push(item);
            }
        }
    }
}

impl Argument {
    /// Adds the requisites of another to its own, if they are such.
    fn join(&mut self, other: &Self) -> bool {
        match (&mut self.given, &other.given) {
            (Given::Wants(word, own), Given::Wants(_, more)) if word.is_joined() => {
                own.extend_from_slice(more);
                true
            }
            _ => false,
        }
    }
}

/// A state, by its ID and module.
type Place = (Arc<str>, Arc<str>);

/// Gathers what others are to say.
struct Injector<'a> {
    high: &'a High,
    names: Names,
    /// States by the names of their own.
    named: Option<FoldMap<Arc<str>, Place>>,
    /// The states of each SLS.
    of_sls: Option<FoldMap<Arc<str>, Vec<Place>>>,
    extensions: IndexMap<Arc<str>, Body>,
    problems: &'a mut Diagnostics,
}

/// Whose requisite is turned round.
struct Origin<'a> {
    id: &'a Arc<str>,
    module: &'a Arc<str>,
    body: &'a Body,
    state: &'a State,
}

impl High {
    /// Turns all that is said for others into what they say.
    pub(super) fn inject(&mut self, disabled: &[String], problems: &mut Diagnostics) {
        let mut injector = Injector {
            high: self,
            names: Names::default(),
            named: None,
            of_sls: None,
            extensions: IndexMap::new(),
            problems,
        };
        for (id, body) in &self.ids {
            for (module, state) in &body.states {
                let origin = Origin {
                    id,
                    module,
                    body,
                    state,
                };
                injector.state(&origin, disabled);
            }
        }
        let extensions = injector.extensions.into_iter().collect();
        self.merge(extensions, Lookup::Strict, problems);
    }
}

impl Injector<'_> {
    fn state(&mut self, origin: &Origin<'_>, disabled: &[String]) {
        for item in &origin.state.items {
            let Item::Arguments(arguments) = item else {
                continue;
            };
            let Some(first) = arguments.first() else {
                continue;
            };
            let word = match Word::of(&first.key) {
                Some(Word::In(Requisite::Listen)) | None => continue,
                Some(word @ (Word::In(_) | Word::Use | Word::UseIn)) => word,
                Some(_) => continue,
            };
            if disabled.iter().any(|name| name == word.text()) {
                continue;
            }
            match &first.given {
                Given::Wants(_, wants) => {
                    for want in wants {
                        self.want(origin, word, &want.written, want.span);
                    }
                }
                Given::Value(value @ Value::Map(_)) => self.want(origin, word, value, first.span),
                Given::Value(_) => {}
            }
        }
    }

    fn want(&mut self, origin: &Origin<'_>, word: Word, written: &Value, span: Span) {
        let pairs: Vec<Place> = match written {
            Value::Str(text) => self.bare(text).into_iter().collect(),
            Value::Map(map) => {
                let pairs = map.iter().filter_map(|(module, id)| match id {
                    Value::Str(id) => Some((Arc::clone(id), Arc::clone(module))),
                    _ => None,
                });
                // Of several keys in an item of a list, the first counts.
                pairs.take(1).collect()
            }
            _ => return,
        };
        for (id, mut module) in pairs {
            if let Some((short, _)) = module.split_once('.') {
                let problem = Problem::RequisiteDot {
                    key: Arc::clone(&module),
                    short: short.to_owned(),
                    id: Arc::clone(origin.id),
                    sls: Arc::clone(&origin.body.sls),
                };
                self.problems
                    .push(Diagnostic::error(problem).label(span, ""));
                module = short.into();
            }
            let targets = if &*module == "sls" {
                self.sls(&id)
            } else {
                vec![(id, module)]
            };
            for target in targets {
                self.turn(origin, word, &target, span);
            }
        }
    }

    /// The state that a bare text names: the first one of an ID, or the last one of a name.
    fn bare(&mut self, text: &Arc<str>) -> Option<Place> {
        if let Some(body) = self.high.ids.get(text) {
            let first = body.states.keys().next()?;
            return Some((Arc::clone(text), Arc::clone(first)));
        }
        let high = self.high;
        let named = self.named.get_or_insert_with(|| named(high));
        named.get(text).cloned()
    }

    fn sls(&mut self, sls: &Arc<str>) -> Vec<Place> {
        let high = self.high;
        let of_sls = self.of_sls.get_or_insert_with(|| of_sls(high));
        of_sls.get(sls).cloned().unwrap_or_default()
    }

    fn turn(&mut self, origin: &Origin<'_>, word: Word, target: &Place, span: Span) {
        let (id, module) = target;
        match word {
            Word::Use => {
                let found = self.names.find(self.high, id, module, Lookup::Strict);
                for from in found {
                    let arguments = self.copied(&from, module, origin.state);
                    self.add(origin.id, origin.module, origin.body, arguments);
                }
            }
            Word::UseIn => {
                let found = self.names.find(self.high, id, module, Lookup::Strict);
                for to in found {
                    let Some(own) = self
                        .high
                        .ids
                        .get(&to)
                        .and_then(|body| body.states.get(module))
                    else {
                        continue;
                    };
                    let arguments = self.copied(origin.id, origin.module, own);
                    self.add(&to, module, origin.body, arguments);
                }
            }
            Word::In(kind) => {
                let want = Want::of(origin.module, origin.id, span);
                let state = self.extension(id, module, origin.body);
                let known = state.items.iter_mut().find_map(|item| {
                    match item {
                        Item::Arguments(arguments) => arguments.first_mut(),
                        Item::Function(..) => None,
                    }
                    .filter(|argument| &*argument.key == kind.word())
                });
                if let Some(Argument {
                    given: Given::Wants(_, wants),
                    ..
                }) = known
                {
                    wants.push(want);
                    return;
                }
                state.items.push(Item::Arguments(vec![Argument {
                    key: kind.word().into(),
                    given: Given::Wants(Word::Direct(kind), vec![want]),
                    span,
                }]));
            }
            _ => {}
        }
    }

    /// The arguments of a state that another has not.
    fn copied(&self, id: &Arc<str>, module: &Arc<str>, other: &State) -> Vec<Item> {
        let state = self
            .high
            .ids
            .get(id)
            .and_then(|body| body.states.get(module));
        let has = |key: &Arc<str>| {
            let mut singles = other.items.iter().filter_map(Item::single);
            singles.any(|argument| argument.key == *key)
        };
        let items = state.into_iter().flat_map(|state| &state.items);
        let copied = items.filter(|item| {
            item.single().is_some_and(|argument| {
                let word = Word::of(&argument.key);
                let own =
                    OWN.contains(&&*argument.key) || matches!(word, Some(Word::Use | Word::UseIn));
                !own && !has(&argument.key)
            })
        });
        copied.cloned().collect()
    }

    fn add(&mut self, id: &Arc<str>, module: &Arc<str>, from: &Body, items: Vec<Item>) {
        self.extension(id, module, from).items.extend(items);
    }

    fn extension(&mut self, id: &Arc<str>, module: &Arc<str>, from: &Body) -> &mut State {
        let body = self
            .extensions
            .entry(Arc::clone(id))
            .or_insert_with(|| Body {
                sls: Arc::clone(&from.sls),
                file: from.file,
                states: IndexMap::new(),
                span: from.span,
            });
        body.sls = Arc::clone(&from.sls);
        let state = || State {
            items: Vec::new(),
            span: from.span,
        };
        body.states.entry(Arc::clone(module)).or_insert_with(state)
    }
}

fn named(high: &High) -> FoldMap<Arc<str>, Place> {
    let mut named = FoldMap::default();
    for (id, body) in &high.ids {
        for (module, state) in &body.states {
            for argument in state.arguments() {
                if let ("name", Given::Value(Value::Str(name))) = (&*argument.key, &argument.given)
                {
                    named.insert(Arc::clone(name), (Arc::clone(id), Arc::clone(module)));
                }
            }
        }
    }
    named
}

fn of_sls(high: &High) -> FoldMap<Arc<str>, Vec<Place>> {
    let mut of_sls: FoldMap<Arc<str>, Vec<Place>> = FoldMap::default();
    for (id, body) in &high.ids {
        let states = of_sls.entry(Arc::clone(&body.sls)).or_default();
        let own = body.states.keys();
        states.extend(own.map(|module| (Arc::clone(id), Arc::clone(module))));
    }
    of_sls
}
