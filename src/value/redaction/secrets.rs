//! A set of secret texts.

use std::borrow::Cow;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, OnceLock};

use indexmap::IndexSet;

use super::super::{Map, REDACTED, Value};
use super::matcher::Matcher;

/// A set of secret texts. Clones share their content.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<SecretTexts>);

/// The texts, and the search for them, which is made when it is first needed.
#[derive(Default)]
struct SecretTexts {
    texts: IndexSet<String>,
    /// A search for the first of the texts.
    earlier: Matcher,
    matcher: OnceLock<Matcher>,
}

impl SecretTexts {
    fn matcher(&self) -> &Matcher {
        self.matcher.get_or_init(|| {
            let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
            self.earlier.extended(&texts)
        })
    }
}

impl Clone for SecretTexts {
    fn clone(&self) -> Self {
        let earlier = self.matcher.get().unwrap_or(&self.earlier);
        Self {
            texts: self.texts.clone(),
            earlier: earlier.clone(),
            matcher: OnceLock::new(),
        }
    }
}

impl PartialEq for SecretTexts {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for SecretTexts {}

impl Secrets {
    /// Adds a secret, unless it is empty.
    pub fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() && !self.0.texts.contains(&text) {
            let all = Arc::make_mut(&mut self.0);
            if let Some(matcher) = all.matcher.take() {
                all.earlier = matcher;
            }
            all.texts.insert(text);
        }
    }

    /// Adds the texts of the sensitive values within a value.
    pub fn gather(&mut self, value: &Value) {
        self.gather_within(value, false);
    }

    fn gather_within(&mut self, value: &Value, secret: bool) {
        match value {
            Value::Sensitive(inner) => self.gather_within(inner, true),
            Value::List(items) => items
                .iter()
                .for_each(|item| self.gather_within(item, secret)),
            Value::Map(map) => map
                .values()
                .for_each(|item| self.gather_within(item, secret)),
            Value::Data(inner) => self.gather_within(inner, secret),
            Value::External(external) => self.gather_within(&external.value, secret),
            other if secret && !other.is_null() => self.add(other.to_string()),
            _ => {}
        }
    }

    /// Adds the secrets of another set.
    pub fn append(&mut self, others: &Self) {
        // The search for the larger set is used again.
        if self.len() < others.len() {
            let own = std::mem::replace(self, others.clone());
            return self.append(&own);
        }
        if !Arc::ptr_eq(&self.0, &others.0) {
            others
                .0
                .texts
                .iter()
                .for_each(|secret| self.add(secret.as_str()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.texts.is_empty()
    }

    /// Returns the number of secrets.
    pub fn len(&self) -> usize {
        self.0.texts.len()
    }

    /// Returns true if a text is a secret, or contains a form of one.
    pub fn occur_in(&self, text: &str) -> bool {
        self.0.texts.contains(text) || self.occur_in_bytes(text.as_bytes())
    }

    /// Returns true if bytes contain a form of a secret.
    pub fn occur_in_bytes(&self, bytes: &[u8]) -> bool {
        !self.is_empty() && self.0.matcher().occurs_in(bytes)
    }

    /// Returns true if a text may contain a secret, even a very short one. Use only where a false positive is
    /// harmless.
    pub fn may_occur_in(&self, text: &str) -> bool {
        self.occur_in(text)
            || self
                .0
                .texts
                .iter()
                .any(|secret| text.contains(secret.as_str()))
    }

    /// Returns the start of the first form of a secret in a text.
    pub(super) fn first_place_in(&self, text: &[u8]) -> Option<usize> {
        let places = self.0.matcher().places_in(text);
        places.first().map(|place| place.start)
    }

    /// Replaces each form of a secret in a text by [`REDACTED`].
    pub fn redact(&self, text: &str) -> String {
        self.replace(text, |_| REDACTED.into())
    }

    /// Replaces each form of a secret in a text by asterisks, so that positions stay valid.
    pub fn mask(&self, text: &str) -> String {
        self.replace(text, |hidden| {
            let keep = |byte| if byte == b'\n' { '\n' } else { '*' };
            hidden.bytes().map(keep).collect::<String>().into()
        })
    }

    fn replace(&self, text: &str, by: impl Fn(&str) -> Cow<'static, str>) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        if self.0.texts.contains(text) {
            return by(text).into_owned();
        }
        let mut replaced = String::with_capacity(text.len());
        let mut rest = 0;
        for place in self.0.matcher().places_in(text.as_bytes()) {
            let start = text.floor_char_boundary(place.start).max(rest);
            let end = text.ceil_char_boundary(place.end).max(start);
            replaced.push_str(&text[rest..start]);
            replaced.push_str(&by(&text[start..end]));
            rest = end;
        }
        replaced.push_str(&text[rest..]);
        replaced
    }

    /// Marks the texts and numbers of a value as sensitive that contain a secret, and maps with such a key.
    pub fn mark(&self, value: Value) -> Value {
        match value {
            Value::List(items) => Value::list(items.iter().map(|item| self.mark(item.clone()))),
            Value::Map(map) => {
                let marked = map
                    .iter()
                    .map(|(key, item)| (Arc::clone(key), self.mark(item.clone())));
                let marked = Value::from(marked.collect::<Map>());
                marked.sensitive_if(map.keys().any(|key| self.occur_in(key)))
            }
            Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Big(_) => {
                let text = value.to_string();
                value.sensitive_if(self.occur_in(&text))
            }
            Value::Data(inner) => self.mark(Arc::unwrap_or_clone(inner)).data(),
            other => other,
        }
    }
}

impl Debug for Secrets {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {REDACTED}", self.len())
    }
}

impl<T: Into<String>> FromIterator<T> for Secrets {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut secrets = Self::default();
        texts.into_iter().for_each(|text| secrets.add(text));
        secrets
    }
}
