//! Indexes of high data: the states that a name, or an SLS, stands for in `extend`, in `_in` requisites and in `use`.

use std::sync::Arc;

use super::high_data::{ArgumentValue, HighData, StateArgument};
use crate::value::{FoldMap, Value};

/// A state by its ID and module.
pub(super) type StateKey = (Arc<str>, Arc<str>);

/// The rule by which an ID is accepted as the target of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// An ID matches whether or not it declares the state module.
    Loose,
    /// An ID matches only if it declares the state module.
    Strict,
}

/// IDs by state module and by the text of one of their arguments.
type IdsByText = FoldMap<(Arc<str>, Arc<str>), Vec<Arc<str>>>;

/// Finds states by name. Every text argument of a state of the module counts as a name, as in Salt. The index
/// is built on first use.
#[derive(Debug, Default)]
pub(super) struct NameIndex(Option<IdsByText>);

impl NameIndex {
    /// The IDs that a name stands for, among states of the given module. `sls` as the module selects all IDs
    /// of an SLS.
    pub(super) fn find(
        &mut self,
        high: &HighData,
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
        let index = self.0.get_or_insert_with(|| build_name_index(high));
        let key = (Arc::clone(state), Arc::clone(name));
        index.get(&key).cloned().unwrap_or_default()
    }
}

fn build_name_index(high: &HighData) -> IdsByText {
    let mut found = IdsByText::default();
    for (id, body) in &high.ids {
        for (module, state) in &body.states {
            for item in &state.items {
                if let Some(StateArgument {
                    value: ArgumentValue::Value(Value::Str(text)),
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

/// Finds states by the value of their argument `name`.
pub(super) fn index_by_name(high: &HighData) -> FoldMap<Arc<str>, StateKey> {
    let mut named = FoldMap::default();
    for (id, body) in &high.ids {
        for (module, state) in &body.states {
            for argument in state.arguments() {
                if let ("name", ArgumentValue::Value(Value::Str(name))) =
                    (&*argument.key, &argument.value)
                {
                    named.insert(Arc::clone(name), (Arc::clone(id), Arc::clone(module)));
                }
            }
        }
    }
    named
}

/// Finds the states of each SLS.
pub(super) fn index_by_sls(high: &HighData) -> FoldMap<Arc<str>, Vec<StateKey>> {
    let mut of_sls: FoldMap<Arc<str>, Vec<StateKey>> = FoldMap::default();
    for (id, body) in &high.ids {
        let states = of_sls.entry(Arc::clone(&body.sls)).or_default();
        let own = body.states.keys();
        states.extend(own.map(|module| (Arc::clone(id), Arc::clone(module))));
    }
    of_sls
}
