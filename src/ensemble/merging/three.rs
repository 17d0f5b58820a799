//! A value before the changes of two sides, and after each.

use std::sync::Arc;

use crate::value::Value;

/// Whether both sides can have one value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Agreed<'v> {
    /// This one, or none.
    On(Option<&'v Value>),
    /// Both changed it, each differently.
    Not,
}

/// A value before both sides' changes, and after each.
#[derive(Clone, Copy)]
pub(super) struct Three<'v> {
    pub(super) base: Option<&'v Value>,
    pub(super) first: Option<&'v Value>,
    pub(super) second: Option<&'v Value>,
}

impl<'v> Three<'v> {
    pub(super) fn within(self, key: &str) -> Self {
        let part = |whole: Option<&'v Value>| whole.and_then(|whole| whole.get(key));
        Self {
            base: part(self.base),
            first: part(self.first),
            second: part(self.second),
        }
    }

    /// The value, if one side alone changed it, or both alike.
    pub(super) fn agreed(self) -> Agreed<'v> {
        if self.first == self.second || self.second == self.base {
            Agreed::On(self.first)
        } else if self.first == self.base {
            Agreed::On(self.second)
        } else {
            Agreed::Not
        }
    }

    /// The keys of all maps, those of the first side first.
    pub(super) fn keys(self) -> Vec<Arc<str>> {
        let mut keys: Vec<Arc<str>> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for value in [self.first, self.second, self.base].into_iter().flatten() {
            for key in value
                .as_map()
                .into_iter()
                .flat_map(indexmap::IndexMap::keys)
            {
                if seen.insert(Arc::clone(key)) {
                    keys.push(Arc::clone(key));
                }
            }
        }
        keys
    }

    pub(super) fn are_maps(self) -> bool {
        let all = [self.first, self.second];
        all.iter()
            .all(|value| value.is_some_and(|value| value.as_map().is_some()))
    }
}
