//! A cache with a bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many entries are kept.
const BOUND: usize = 10_000;

/// Texts and what was made of them. Forgets everything when it is full.
#[derive(Debug)]
pub(super) struct Cache<T>(Mutex<HashMap<Arc<str>, T>>);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Cache<T> {
    pub(super) fn get(&self, text: &str) -> Option<T> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(text).cloned()
    }

    pub(super) fn put(&self, text: &str, made: T) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= BOUND {
            known.clear();
        }
        known.insert(text.into(), made);
    }
}
