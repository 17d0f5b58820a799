//! The common interface of values and nodes, so that both are merged by the same rules.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use super::{MapEntry, Mapping, Node, NodeKind};
use crate::diagnostic::Span;
use crate::value::Value;

/// A tree that can be merged: a [`Value`] or a [`Node`].
pub(super) trait MergeTree: Clone {
    /// The position of a key: a span for nodes, nothing for values.
    type Mark: Copy;

    fn is_map(&self) -> bool;
    fn is_null(&self) -> bool;
    /// Returns the number of keys, or 0 if this is not a map.
    fn len(&self) -> usize;
    /// Iterates over the keys with their values. Empty if this is not a map.
    fn fields(&self) -> impl Iterator<Item = (&Arc<str>, Self::Mark, &Self)>;
    fn field(&self, key: &str) -> Option<&Self>;
    fn items(&self) -> Option<&[Self]>;
    fn text(&self) -> Option<&str>;
    fn null(&self) -> Self;
    /// Creates a map with the position of `over`.
    fn map(fields: Vec<(Arc<str>, Self::Mark, Self)>, over: &Self) -> Self;
    /// Creates a list with the position of `over`.
    fn list(items: Vec<Self>, over: &Self) -> Self;
    /// Whether both are equal in Python.
    fn equals(&self, other: &Self) -> bool;
    /// Returns a hash that is the same for equal trees.
    fn fingerprint(&self) -> u64;
}

impl MergeTree for Value {
    type Mark = ();

    fn is_map(&self) -> bool {
        matches!(self, Self::Map(_))
    }

    fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    fn len(&self) -> usize {
        match self {
            Self::Map(map) => map.len(),
            _ => 0,
        }
    }

    fn fields(&self) -> impl Iterator<Item = (&Arc<str>, (), &Self)> {
        let map = match self {
            Self::Map(map) => Some(map),
            _ => None,
        };
        map.into_iter()
            .flat_map(|map| map.iter().map(|(key, value)| (key, (), value)))
    }

    fn field(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(key),
            _ => None,
        }
    }

    fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    fn null(&self) -> Self {
        Self::Null
    }

    fn map(fields: Vec<(Arc<str>, (), Self)>, _over: &Self) -> Self {
        Self::Map(Arc::new(
            fields
                .into_iter()
                .map(|(key, (), value)| (key, value))
                .collect(),
        ))
    }

    fn list(items: Vec<Self>, _over: &Self) -> Self {
        Self::from(items)
    }

    fn equals(&self, other: &Self) -> bool {
        self == other
    }

    fn fingerprint(&self) -> u64 {
        match self {
            Self::Null => print("null"),
            Self::Bool(truth) => print(truth),
            Self::Int(number) => print_int(*number),
            Self::Float(number) => print_float(*number),
            Self::Big(text) | Self::Str(text) => print(text),
            Self::List(items) => print_list(items),
            Self::Map(map) => print_map(map.iter()),
            Self::Sensitive(inner) | Self::Data(inner) => inner.fingerprint(),
            Self::Entity(entity) => print(entity.key()),
            Self::External(external) => external.value.fingerprint(),
        }
    }
}

impl MergeTree for Node {
    type Mark = Span;

    fn is_map(&self) -> bool {
        matches!(self.kind(), NodeKind::Map(_))
    }

    fn is_null(&self) -> bool {
        matches!(self.kind(), NodeKind::Null)
    }

    fn len(&self) -> usize {
        self.as_map().map_or(0, Mapping::len)
    }

    fn fields(&self) -> impl Iterator<Item = (&Arc<str>, Span, &Self)> {
        let entries = self.as_map().into_iter().flat_map(Mapping::iter);
        entries.map(|(key, entry)| (key, entry.key_span, &entry.value))
    }

    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn items(&self) -> Option<&[Self]> {
        self.as_seq()
    }

    fn text(&self) -> Option<&str> {
        self.as_str()
    }

    fn null(&self) -> Self {
        Self::new(NodeKind::Null, self.span(), None)
    }

    fn map(fields: Vec<(Arc<str>, Span, Self)>, over: &Self) -> Self {
        let entries = fields
            .into_iter()
            .map(|(key, key_span, value)| (key, MapEntry { key_span, value }));
        let kind = NodeKind::Map(entries.collect());
        Self::new(kind, over.span(), over.tag().map(Arc::from))
    }

    fn list(items: Vec<Self>, over: &Self) -> Self {
        Self::new(NodeKind::Seq(items), over.span(), over.tag().map(Arc::from))
    }

    fn equals(&self, other: &Self) -> bool {
        if self.is_same(other) {
            return true;
        }
        match (self.kind(), other.kind()) {
            (NodeKind::Seq(a), NodeKind::Seq(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            (NodeKind::Map(a), NodeKind::Map(b)) => {
                let same = |key: &str, a: &Self| b.get(key).is_some_and(|b| a.equals(b));
                a.len() == b.len() && a.iter().all(|(key, entry)| same(key, &entry.value))
            }
            (NodeKind::Seq(_) | NodeKind::Map(_), _) | (_, NodeKind::Seq(_) | NodeKind::Map(_)) => {
                false
            }
            // Scalars are compared as values, and their tags must be equal.
            _ => self.tag() == other.tag() && self.to_value() == other.to_value(),
        }
    }

    fn fingerprint(&self) -> u64 {
        match self.kind() {
            NodeKind::Null => print("null"),
            NodeKind::Bool(truth) => print(truth),
            NodeKind::Int(number) => print_int(*number),
            NodeKind::Float(number) => print_float(*number),
            NodeKind::Big(text) | NodeKind::Str(text) => print(text),
            NodeKind::Seq(items) => print_list(items),
            NodeKind::Map(map) => print_map(map.iter().map(|(key, entry)| (key, &entry.value))),
        }
    }
}

fn print<T: std::hash::Hash + ?Sized>(part: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

#[expect(clippy::cast_precision_loss, reason = "equal numbers stay equal")]
fn print_int(number: i64) -> u64 {
    print_float(number as f64)
}

fn print_float(number: f64) -> u64 {
    // Positive and negative zero are equal.
    print(&(number + 0.0).to_bits())
}

fn print_list<T: MergeTree>(items: &[T]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for item in items {
        hasher.write_u64(item.fingerprint());
    }
    hasher.finish()
}

/// Returns a hash that does not depend on the order of keys.
fn print_map<'a, T: MergeTree + 'a>(fields: impl Iterator<Item = (&'a Arc<str>, &'a T)>) -> u64 {
    fields.fold(0, |sum, (key, value)| {
        sum.wrapping_add(print(&(&**key, value.fingerprint())))
    })
}
