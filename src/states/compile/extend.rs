//! Extensions of high data: merges `extend` blocks into their targets (S8), and turns `require_in` and the
//! other `_in` requisites, `use` and `use_in` into extensions of their targets (S28, S29).
//!
//! Entries: [`HighData::extend`] and [`HighData::inject`], called by the compile pipeline in this order.
//! `listen_in` is left to `lower.rs`.

use std::sync::Arc;

use indexmap::IndexMap;

use super::high_data::{
    ArgumentValue, HighData, IdDeclaration, RequisiteEntry, StateArgument, StateDeclaration,
    StateItem,
};
use super::keywords::RequisiteKeyword;
use super::name_index::{Lookup, NameIndex, StateKey, index_by_name, index_by_sls};
use super::problem::StateFileProblem;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::states::{Requisite, RunOrdering};
use crate::value::{FoldMap, Value};

/// The arguments that `use` does not copy from its target.
const UNCOPIED_ARGUMENTS: [&str; 13] = [
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

impl HighData {
    /// Merges the `extend` blocks into their targets. Reports a problem for an unknown or ambiguous ID.
    pub(super) fn extend(&mut self, problems: &mut Diagnostics) {
        let extensions = std::mem::take(&mut self.extensions);
        self.merge(extensions, Lookup::Loose, problems);
    }

    fn merge(
        &mut self,
        extensions: Vec<(Arc<str>, IdDeclaration)>,
        lookup: Lookup,
        problems: &mut Diagnostics,
    ) {
        let mut names = NameIndex::default();
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
                    let env = Arc::clone(self.env_of(&extension));
                    problems.push(extension_problem(&id, &extension, env, !found.is_empty()));
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
                    Some(own) => own.extend_items(state),
                    None => drop(body.states.insert(module, state)),
                }
            }
        }
    }
}

fn extension_problem(
    id: &Arc<str>,
    extension: &IdDeclaration,
    env: Arc<str>,
    several: bool,
) -> Diagnostic {
    let (id, sls) = (Arc::clone(id), Arc::clone(&extension.sls));
    let problem = if several {
        StateFileProblem::Ambiguous { id, env, sls }
    } else {
        StateFileProblem::CannotExtend { id, env, sls }
    };
    Diagnostic::error(problem).label(extension.span, "").help(
        "check that an `include` reads the SLS with this ID, and that the ID is spelled correctly",
    )
}

impl StateDeclaration {
    /// Merges the items of an extension. An item with the same key is replaced; lists of requisites are
    /// concatenated.
    fn extend_items(&mut self, extension: Self) {
        for item in extension.items {
            let mut updated = false;
            for own in &mut self.items {
                match (&item, &mut *own) {
                    (StateItem::Function(..), StateItem::Function(..)) => {
                        own.clone_from(&item);
                        updated = true;
                    }
                    (StateItem::Arguments(new), StateItem::Arguments(old)) => {
                        let (Some(new), Some(old)) = (new.first(), old.first_mut()) else {
                            continue;
                        };
                        if new.key == old.key {
                            updated = true;
                            if !old.merge_requisites(new) {
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

impl StateArgument {
    /// Appends the requisites of another argument if both are mergeable requisite lists. Returns whether they
    /// are.
    fn merge_requisites(&mut self, other: &Self) -> bool {
        match (&mut self.value, &other.value) {
            (ArgumentValue::Requisites(word, own), ArgumentValue::Requisites(_, more))
                if word.is_mergeable() =>
            {
                own.extend_from_slice(more);
                true
            }
            _ => false,
        }
    }
}

/// Collects the extensions that `_in` requisites, `use` and `use_in` produce.
struct Injector<'a> {
    high: &'a HighData,
    ordering: RunOrdering,
    names: NameIndex,
    /// States by the value of their `name` argument.
    by_name: Option<FoldMap<Arc<str>, StateKey>>,
    by_sls: Option<FoldMap<Arc<str>, Vec<StateKey>>>,
    extensions: IndexMap<Arc<str>, IdDeclaration>,
    problems: &'a mut Diagnostics,
}

/// The states that an entry of a requisite list names.
struct RequisiteTargets {
    states: Vec<StateKey>,
    /// Says whether the entry names all states of an SLS.
    is_sls: bool,
}

/// The state that declares the `_in` requisite, `use` or `use_in`.
struct InjectionOrigin<'a> {
    id: &'a Arc<str>,
    module: &'a Arc<str>,
    body: &'a IdDeclaration,
    state: &'a StateDeclaration,
}

impl HighData {
    /// Turns every `_in` requisite, `use` and `use_in` into an extension of its target, then merges these
    /// extensions. Skips the keywords in `disabled` (S31).
    pub(super) fn inject(
        &mut self,
        ordering: RunOrdering,
        disabled: &[String],
        problems: &mut Diagnostics,
    ) {
        let mut injector = Injector {
            high: self,
            ordering,
            names: NameIndex::default(),
            by_name: None,
            by_sls: None,
            extensions: IndexMap::new(),
            problems,
        };
        for (id, body) in &self.ids {
            for (module, state) in &body.states {
                let origin = InjectionOrigin {
                    id,
                    module,
                    body,
                    state,
                };
                injector.inject_state(&origin, disabled);
            }
        }
        let extensions = injector.extensions.into_iter().collect();
        self.merge(extensions, Lookup::Strict, problems);
    }
}

impl Injector<'_> {
    fn inject_state(&mut self, origin: &InjectionOrigin<'_>, disabled: &[String]) {
        for item in &origin.state.items {
            let StateItem::Arguments(arguments) = item else {
                continue;
            };
            let Some(first) = arguments.first() else {
                continue;
            };
            let word = match RequisiteKeyword::parse(&first.key) {
                Some(RequisiteKeyword::In(Requisite::Listen)) | None => continue,
                Some(
                    word @ (RequisiteKeyword::In(_)
                    | RequisiteKeyword::Use
                    | RequisiteKeyword::UseIn),
                ) => word,
                // Salt up to 3007 shows both sides of a `prereq`.
                Some(word @ RequisiteKeyword::Direct(Requisite::Prereq))
                    if self.ordering == RunOrdering::Classic =>
                {
                    word
                }
                Some(_) => continue,
            };
            if disabled.iter().any(|name| name == word.as_str()) {
                continue;
            }
            match &first.value {
                ArgumentValue::Requisites(_, requisites) => {
                    self.inject_requisites(origin, word, requisites);
                }
                ArgumentValue::Value(value @ Value::Map(_)) => {
                    let targets = self.resolve_requisite(origin, value, first.span);
                    for target in targets.iter().flat_map(|found| &found.states) {
                        self.inject_into(origin, word, target, (1, first.span));
                    }
                }
                ArgumentValue::Value(_) => {}
            }
        }
    }

    /// Adds the requisites of a list. For each entry, Salt adds those of the entries before it again, back to the last
    /// entry that names an SLS.
    fn inject_requisites(
        &mut self,
        origin: &InjectionOrigin<'_>,
        word: RequisiteKeyword,
        requisites: &[RequisiteEntry],
    ) {
        let found: Vec<Option<RequisiteTargets>> = requisites
            .iter()
            .map(|requisite| self.resolve_requisite(origin, &requisite.written, requisite.span))
            .collect();
        let mut repeats = 0;
        let mut counted = Vec::with_capacity(found.len());
        for targets in found.iter().rev() {
            repeats += u32::from(targets.is_some());
            counted.push(repeats);
            if targets.as_ref().is_some_and(|targets| targets.is_sls) {
                repeats = 0;
            }
        }
        for ((targets, repeats), requisite) in
            found.iter().zip(counted.iter().rev()).zip(requisites)
        {
            for target in targets.iter().flat_map(|targets| &targets.states) {
                self.inject_into(origin, word, target, (*repeats, requisite.span));
            }
        }
    }

    /// Resolves an entry to the states that it names. Returns `None` for an entry that names none.
    fn resolve_requisite(
        &mut self,
        origin: &InjectionOrigin<'_>,
        written: &Value,
        span: Span,
    ) -> Option<RequisiteTargets> {
        let (id, mut module) = match written {
            Value::Str(text) => self.resolve_bare_name(text)?,
            // In a list item with several keys, Salt uses only the first.
            Value::Map(map) => {
                let (module, id) = map.first()?;
                let Value::Str(id) = id else {
                    self.report_nameless(origin, module, id, span);
                    return None;
                };
                (Arc::clone(id), Arc::clone(module))
            }
            _ => return None,
        };
        if let Some((short, _)) = module.split_once('.') {
            let problem = StateFileProblem::RequisiteDot {
                key: Arc::clone(&module),
                short: short.to_owned(),
                id: Arc::clone(origin.id),
                sls: Arc::clone(&origin.body.sls),
            };
            self.problems
                .push(Diagnostic::error(problem).label(span, ""));
            module = short.into();
        }
        let is_sls = &*module == "sls";
        let states = if is_sls {
            self.states_of_sls(&id)
        } else {
            vec![(id, module)]
        };
        Some(RequisiteTargets { states, is_sls })
    }

    /// Reports an entry whose value cannot be the name of a state.
    fn report_nameless(
        &mut self,
        origin: &InjectionOrigin<'_>,
        module: &str,
        name: &Value,
        span: Span,
    ) {
        if module == "sls" {
            return;
        }
        let problem = StateFileProblem::CannotExtend {
            id: format!("{module}: {name}").into(),
            env: Arc::clone(self.high.env_of(origin.body)),
            sls: Arc::clone(&origin.body.sls),
        };
        let diagnostic = Diagnostic::error(problem).label(span, "");
        self.problems
            .push(diagnostic.help("write the ID or the name of a state"));
    }

    /// Resolves a bare text to a state: the first state of the ID with this text, or else the last state with
    /// this `name`.
    fn resolve_bare_name(&mut self, text: &Arc<str>) -> Option<StateKey> {
        if let Some(body) = self.high.ids.get(text) {
            let first = body.states.keys().next()?;
            return Some((Arc::clone(text), Arc::clone(first)));
        }
        let high = self.high;
        let named = self.by_name.get_or_insert_with(|| index_by_name(high));
        named.get(text).cloned()
    }

    fn states_of_sls(&mut self, sls: &Arc<str>) -> Vec<StateKey> {
        let high = self.high;
        let of_sls = self.by_sls.get_or_insert_with(|| index_by_sls(high));
        of_sls.get(sls).cloned().unwrap_or_default()
    }

    fn inject_into(
        &mut self,
        origin: &InjectionOrigin<'_>,
        word: RequisiteKeyword,
        target: &StateKey,
        (repeats, span): (u32, Span),
    ) {
        let (id, module) = target;
        match word {
            RequisiteKeyword::Use => {
                let found = self.names.find(self.high, id, module, Lookup::Strict);
                for from in found {
                    let arguments = self.copy_arguments(&from, module, origin.state);
                    self.add(origin.id, origin.module, origin.body, arguments);
                }
            }
            RequisiteKeyword::UseIn => {
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
                    let arguments = self.copy_arguments(origin.id, origin.module, own);
                    self.add(&to, module, origin.body, arguments);
                }
            }
            RequisiteKeyword::In(kind) => {
                let requisite = RequisiteEntry::of(origin.module, origin.id, repeats, span);
                let word = RequisiteKeyword::Direct(kind);
                self.add_requisite(origin, word, target, requisite);
                if (kind, self.ordering) == (Requisite::Prereq, RunOrdering::Classic) {
                    let requisite = RequisiteEntry::of(module, id, repeats, span);
                    let own = (Arc::clone(origin.id), Arc::clone(origin.module));
                    self.add_requisite(origin, RequisiteKeyword::Prerequired, &own, requisite);
                }
            }
            RequisiteKeyword::Direct(Requisite::Prereq) => {
                for found in self.names.find(self.high, id, module, Lookup::Strict) {
                    let requisite = RequisiteEntry::of(origin.module, origin.id, repeats, span);
                    let target = (found, Arc::clone(module));
                    self.add_requisite(origin, RequisiteKeyword::Prerequired, &target, requisite);
                }
            }
            _ => {}
        }
    }

    /// Adds a requisite to the extension of the target, on behalf of the state `origin`.
    fn add_requisite(
        &mut self,
        origin: &InjectionOrigin<'_>,
        word: RequisiteKeyword,
        target: &StateKey,
        requisite: RequisiteEntry,
    ) {
        let (id, module) = target;
        let span = requisite.span;
        let state = self.extension_mut(id, module, origin.body);
        let known = state.items.iter_mut().find_map(|item| {
            match item {
                StateItem::Arguments(arguments) => arguments.first_mut(),
                StateItem::Function(..) => None,
            }
            .filter(|argument| &*argument.key == word.as_str())
        });
        if let Some(StateArgument {
            value: ArgumentValue::Requisites(_, requisites),
            ..
        }) = known
        {
            requisites.push(requisite);
            return;
        }
        state.items.push(StateItem::Arguments(vec![StateArgument {
            key: word.as_str().into(),
            value: ArgumentValue::Requisites(word, vec![requisite]),
            span,
            key_span: span,
            is_copied: false,
        }]));
    }

    /// The arguments of a state that another state lacks and that `use` may copy.
    fn copy_arguments(
        &self,
        id: &Arc<str>,
        module: &Arc<str>,
        other: &StateDeclaration,
    ) -> Vec<StateItem> {
        let state = self
            .high
            .ids
            .get(id)
            .and_then(|body| body.states.get(module));
        let has = |key: &Arc<str>| {
            let mut singles = other.items.iter().filter_map(StateItem::single);
            singles.any(|argument| argument.key == *key)
        };
        let items = state.into_iter().flat_map(|state| &state.items);
        let copied = items.filter(|item| {
            item.single().is_some_and(|argument| {
                let word = RequisiteKeyword::parse(&argument.key);
                let own = UNCOPIED_ARGUMENTS.contains(&&*argument.key)
                    || matches!(word, Some(RequisiteKeyword::Use | RequisiteKeyword::UseIn));
                !own && !has(&argument.key)
            })
        });
        let mut copied: Vec<StateItem> = copied.cloned().collect();
        for item in &mut copied {
            if let StateItem::Arguments(arguments) = item {
                for argument in arguments {
                    argument.is_copied = true;
                }
            }
        }
        copied
    }

    fn add(
        &mut self,
        id: &Arc<str>,
        module: &Arc<str>,
        from: &IdDeclaration,
        items: Vec<StateItem>,
    ) {
        self.extension_mut(id, module, from).items.extend(items);
    }

    fn extension_mut(
        &mut self,
        id: &Arc<str>,
        module: &Arc<str>,
        from: &IdDeclaration,
    ) -> &mut StateDeclaration {
        let body = self
            .extensions
            .entry(Arc::clone(id))
            .or_insert_with(|| IdDeclaration {
                sls: Arc::clone(&from.sls),
                file: from.file,
                states: IndexMap::new(),
                span: from.span,
            });
        body.sls = Arc::clone(&from.sls);
        let state = || StateDeclaration {
            items: Vec::new(),
            span: from.span,
        };
        body.states.entry(Arc::clone(module)).or_insert_with(state)
    }
}
