//! The maps of a document's variables whose keys keep their order in the filter `yaml`.

use std::collections::HashSet;
use std::sync::Arc;

use crate::value::{Map, Value};

/// The maps that keep the order of their keys, by their address. The owner keeps the maps alive.
#[derive(Debug, Default)]
pub(super) struct OrderedMaps(HashSet<usize>);

impl OrderedMaps {
    /// Adds all maps within a value.
    pub(super) fn add(&mut self, value: &Value) {
        match value.reveal() {
            Value::List(items) => items.iter().for_each(|item| self.add(item)),
            Value::Map(map) => {
                self.0.insert(address(map));
                map.values().for_each(|item| self.add(item));
            }
            _ => {}
        }
    }

    /// Returns true if a value is one of the maps.
    pub(super) fn has(&self, value: &Value) -> bool {
        matches!(value.reveal(), Value::Map(map) if self.0.contains(&address(map)))
    }
}

fn address(map: &Arc<Map>) -> usize {
    Arc::as_ptr(map).addr()
}
