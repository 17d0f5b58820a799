//! The marks of values: sensitive values are never shown, and data from outside the model is never evaluated.

use std::sync::Arc;

use super::{External, ExternalKind, List, Map, REDACTED, Value};

/// The marks of a value and the values within it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether any of them must not be shown.
    pub sensitive: bool,
    /// Whether any of them came from outside the model.
    pub data: bool,
}

impl Value {
    /// Marks the value as sensitive. A marked value stays as it is.
    #[must_use]
    pub fn sensitive(self) -> Self {
        match self {
            Self::Sensitive(_) => self,
            other => Self::Sensitive(Arc::new(other)),
        }
    }

    /// Marks the value as sensitive if the condition is true.
    #[must_use]
    pub fn sensitive_if(self, sensitive: bool) -> Self {
        if sensitive { self.sensitive() } else { self }
    }

    /// Marks the value as data, which is never evaluated. Numbers, truth values and entities stay as they are,
    /// because their evaluation changes nothing.
    #[must_use]
    pub fn data(self) -> Self {
        match self {
            Self::Str(_) | Self::List(_) | Self::Map(_) | Self::External(_) => {
                Self::Data(Arc::new(self))
            }
            Self::Sensitive(inner) => {
                let inner = Arc::unwrap_or_clone(inner);
                Self::Sensitive(Arc::new(inner.data()))
            }
            other => other,
        }
    }

    /// Marks the value as data if the condition is true.
    #[must_use]
    pub fn data_if(self, data: bool) -> Self {
        if data { self.data() } else { self }
    }

    /// Gives the value the marks in addition to those that it has.
    #[must_use]
    pub fn marked(self, marks: Marks) -> Self {
        self.data_if(marks.data).sensitive_if(marks.sensitive)
    }

    /// Returns the value without its marks. Marks of nested values stay.
    pub fn reveal(&self) -> &Self {
        match self {
            Self::Sensitive(inner) | Self::Data(inner) => inner.reveal(),
            other => other,
        }
    }

    /// Returns the value with each secret marked as a whole, as records keep it: no part of a secret has a mark of its
    /// own.
    #[must_use]
    pub fn with_whole_secrets(&self) -> Self {
        if !self.has_sensitive() {
            return self.clone();
        }
        match self {
            Self::Sensitive(_) => {
                let data = self.own_marks().data;
                self.revealed().data_if(data).sensitive()
            }
            Self::Data(inner) => inner.with_whole_secrets().data(),
            Self::List(items) => Self::list(items.iter().map(Self::with_whole_secrets)),
            Self::Map(map) => {
                let entries = map.iter();
                Self::map(entries.map(|(key, value)| (Arc::clone(key), value.with_whole_secrets())))
            }
            other => other.clone(),
        }
    }

    /// Marks the value as one of `locals` if the condition is true. Records do not contain it then.
    #[must_use]
    pub fn local_if(self, local: bool) -> Self {
        if !local || self.is_null() || matches!(self, Self::Sensitive(_)) {
            return self;
        }
        Self::External(Arc::new(External {
            kind: ExternalKind::Local,
            value: self,
            parts: Map::new(),
            expression: Self::str(REDACTED),
            digest: None,
            exact: None,
        }))
    }

    /// Returns true if the value or any value within it is one of `locals`.
    pub fn has_local(&self) -> bool {
        match self {
            Self::Sensitive(inner) | Self::Data(inner) => inner.has_local(),
            Self::List(items) => items.iter().any(Self::has_local),
            Self::Map(map) => map.values().any(Self::has_local),
            Self::External(external) => external.kind == ExternalKind::Local,
            _ => false,
        }
    }

    /// Returns the marks of the value itself.
    pub fn own_marks(&self) -> Marks {
        match self {
            Self::Sensitive(inner) => Marks {
                sensitive: true,
                data: inner.own_marks().data,
            },
            Self::Data(_) => Marks {
                sensitive: false,
                data: true,
            },
            _ => Marks::default(),
        }
    }

    /// Returns the marks that the value or any value within it has.
    pub fn marks(&self) -> Marks {
        let mut marks = Marks::default();
        self.gather_marks(&mut marks);
        marks
    }

    fn gather_marks(&self, marks: &mut Marks) {
        match self {
            Self::Sensitive(inner) => {
                marks.sensitive = true;
                inner.gather_marks(marks);
            }
            Self::Data(inner) => {
                marks.data = true;
                if !marks.sensitive {
                    inner.gather_marks(marks);
                }
            }
            Self::List(items) => items.iter().for_each(|item| item.gather_marks(marks)),
            Self::Map(map) => map.values().for_each(|item| item.gather_marks(marks)),
            Self::External(external) => external.value.gather_marks(marks),
            _ => {}
        }
    }

    /// Returns the value without marks, also within it. Use only for destinations that protect secrets, and for
    /// a value that the user asked to see.
    #[must_use]
    pub fn revealed(&self) -> Self {
        let is_marked = || self.marks() != Marks::default();
        match self.reveal() {
            Self::List(items) if is_marked() => Self::list(items.iter().map(Self::revealed)),
            Self::Map(map) if is_marked() => Self::map(
                map.iter()
                    .map(|(key, item)| (Arc::clone(key), item.revealed())),
            ),
            Self::External(external) => external.value.revealed(),
            other => other.clone(),
        }
    }

    /// Whether the value or any value within it is data.
    pub fn has_data(&self) -> bool {
        match self {
            Self::Data(_) => true,
            Self::Sensitive(inner) => inner.has_data(),
            Self::List(items) => items.iter().any(Self::has_data),
            Self::Map(map) => map.values().any(Self::has_data),
            Self::External(external) => external.value.has_data(),
            _ => false,
        }
    }

    /// Returns the value without the marks of data, also within it. Marks of secrets stay.
    #[must_use]
    pub fn without_data(&self) -> Self {
        match self {
            Self::Data(inner) => inner.without_data(),
            other if !other.has_data() => other.clone(),
            Self::Sensitive(inner) => inner.without_data().sensitive(),
            Self::List(items) => Self::list(items.iter().map(Self::without_data)),
            Self::Map(map) => Self::map(
                map.iter()
                    .map(|(key, item)| (Arc::clone(key), item.without_data())),
            ),
            Self::External(external) => {
                let mut external = External::clone(external);
                external.value = external.value.without_data();
                Self::External(Arc::new(external))
            }
            other => other.clone(),
        }
    }

    /// Returns the items of a list, each with the marks of the list. None if this is not a list.
    pub fn marked_items(&self) -> Option<List> {
        let marks = self.own_marks();
        let items = self.as_list()?.iter();
        Some(items.map(|item| item.clone().marked(marks)).collect())
    }

    /// Returns the entries of a map, each with the marks of the map. None if this is not a map.
    pub fn marked_entries(&self) -> Option<Map> {
        let marks = self.own_marks();
        let entries = self.as_map()?.iter();
        Some(
            entries
                .map(|(key, item)| (Arc::clone(key), item.clone().marked(marks)))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_data_changes_no_form_of_a_value() {
        let plain = Value::map([("a", Value::list(["{{ 1 }}".into(), 2.into()]))]);
        let data = plain.clone().data();
        assert_eq!(plain, data);
        assert_eq!(plain.to_string(), data.to_string());
        let json = |value: &Value| serde_json::to_string(value).unwrap();
        assert_eq!(json(&plain), json(&data));
        assert_eq!(plain.kind(), data.kind());
        assert!(data.has_data() && !data.has_sensitive() && !plain.has_data());
        assert!(!data.without_data().has_data());
        assert!(matches!(Value::Int(1).data(), Value::Int(1)));
        let items = data.marked_entries().unwrap()["a"].marked_items().unwrap();
        assert!(items[0].has_data() && !items[1].has_data());
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn the_mark_of_a_secret_is_outside_of_the_mark_of_data() {
        let both = Value::str("x");
        for value in [both.clone().data().sensitive(), both.sensitive().data()] {
            let Value::Sensitive(inner) = &value else {
                panic!("the secret shows");
            };
            assert!(matches!(**inner, Value::Data(_)));
            assert_eq!(value.marks(), value.own_marks());
            assert!(value.marks().data && value.marks().sensitive);
            assert_eq!(value.redacted().to_string(), REDACTED);
        }
    }
}
