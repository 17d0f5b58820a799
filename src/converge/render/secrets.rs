//! Texts that nobody may see, found again in what templates made of them.

use std::sync::Arc;

use crate::value::{Map, Value};

/// Shorter texts are found only where they stand alone.
const SHORT: usize = 4;

/// The sensitive texts of a pillar.
#[derive(Debug, Default)]
pub(super) struct Secrets(Vec<Arc<str>>);

impl Secrets {
    /// Gathers what is sensitive in a value.
    pub(super) fn of(value: &Value) -> Self {
        let mut secrets = Self::default();
        secrets.gather(value, false);
        secrets.0.sort_unstable();
        secrets.0.dedup();
        secrets
    }

    fn gather(&mut self, value: &Value, sensitive: bool) {
        match value {
            Value::Sensitive(inner) => self.gather(inner, true),
            Value::List(items) => items.iter().for_each(|item| self.gather(item, sensitive)),
            Value::Map(map) => map.values().for_each(|item| self.gather(item, sensitive)),
            Value::External(external) => self.gather(&external.value, sensitive),
            Value::Null | Value::Bool(_) => {}
            scalar if sensitive => {
                let text = scalar.to_string();
                if !text.is_empty() {
                    self.0.push(text.into());
                }
            }
            _ => {}
        }
    }

    /// The value with each text marked that holds one of the secrets.
    pub(super) fn mark(&self, value: Value) -> Value {
        match value {
            Value::List(items) => Value::list(items.iter().map(|item| self.mark(item.clone()))),
            Value::Map(map) => {
                let marked = map
                    .iter()
                    .map(|(key, item)| (Arc::clone(key), self.mark(item.clone())));
                Value::from(marked.collect::<Map>())
            }
            Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Big(_) => {
                let text = value.to_string();
                value.sensitive_if(self.are_in(&text))
            }
            other => other,
        }
    }

    fn are_in(&self, text: &str) -> bool {
        self.0
            .iter()
            .any(|secret| **secret == *text || (secret.len() >= SHORT && text.contains(&**secret)))
    }

    /// The text with each secret covered, as long as before.
    pub(super) fn cover(&self, text: &str) -> String {
        let mut covered = text.to_owned();
        for secret in self.0.iter().filter(|secret| secret.len() >= SHORT) {
            covered = covered.replace(&**secret, &"*".repeat(secret.len()));
        }
        covered
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
