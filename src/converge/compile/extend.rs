//! Merges extensions into what they extend (S8).

use std::sync::Arc;

use super::high::{Argument, Body, Given, High, Item, State};
use super::problem::Problem;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::hash::FoldMap;
use crate::value::Value;

/// The environment of all state files.
pub(super) const BASE: &str = "base";

/// How an ID is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// An ID is found whether it has the state or not.
    Loose,
    /// An ID must have the state.
    Strict,
}

/// IDs by module and by a text that an argument has.
type Index = FoldMap<(Arc<str>, Arc<str>), Vec<Arc<str>>>;

/// Finds states by their names: any argument of the module that has the text counts.
#[derive(Debug, Default)]
pub(super) struct Names(Option<Index>);

impl Names {
    /// The IDs that a name stands for, with the module asked for.
    pub(super) fn find(
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
    /// Merges extensions; those of unknown IDs are problems.
    pub(super) fn extend(
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
