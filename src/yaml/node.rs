//! The tree: nodes that know their place in the text.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::value::{Map, Value};

/// One node of a document. Clones share what they point to.
#[derive(Debug, Clone)]
pub struct Node(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    span: Span,
    tag: Option<Arc<str>>,
}

/// What a node holds; scalars are resolved as ruamel's round-trip loader does.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `null`, `~` or nothing at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number beyond 64 bits, in decimal digits.
    Big(Arc<str>),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// A sequence.
    Seq(Vec<Node>),
    /// A mapping.
    Map(Mapping),
}

/// The entries of a mapping in the order of the text.
#[derive(Debug, Clone, Default)]
pub struct Mapping(indexmap::IndexMap<Arc<str>, Entry>);

/// A key's place and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where the key stands.
    pub key_span: Span,
    /// What it maps to.
    pub value: Node,
}

impl Node {
    /// Makes a node.
    pub fn new(kind: Kind, span: Span, tag: Option<Arc<str>>) -> Self {
        Self(Arc::new(Inner { kind, span, tag }))
    }

    /// What it holds.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Where it stands, exactly: without what follows it.
    pub fn span(&self) -> Span {
        self.0.span
    }

    /// Its explicit tag, such as `!vault`.
    pub fn tag(&self) -> Option<&str> {
        self.0.tag.as_deref()
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self.kind() {
            Kind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// True or false.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind() {
            Kind::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// A whole number.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind() {
            Kind::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The entries of a mapping.
    pub fn as_map(&self) -> Option<&Mapping> {
        match self.kind() {
            Kind::Map(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The items of a sequence.
    pub fn as_seq(&self) -> Option<&[Self]> {
        match self.kind() {
            Kind::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.kind(), Kind::Null)
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get(key)
    }

    /// Whether both are the very same node.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What kind of node it is, in words for messages.
    pub fn kind_name(&self) -> &'static str {
        match self.kind() {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) | Kind::Big(_) => "an integer",
            Kind::Float(_) => "a float",
            Kind::Str(_) => "a string",
            Kind::Seq(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// The value without its places. `!sensitive` marks it as sensitive; other tags are dropped.
    pub fn to_value(&self) -> Value {
        let value = match self.kind() {
            Kind::Null => Value::Null,
            Kind::Bool(truth) => Value::Bool(*truth),
            Kind::Int(number) => Value::Int(*number),
            Kind::Big(digits) => Value::Big(Arc::clone(digits)),
            Kind::Float(number) => Value::Float(*number),
            Kind::Str(text) => Value::Str(Arc::clone(text)),
            Kind::Seq(items) => Value::list(items.iter().map(Self::to_value)),
            Kind::Map(mapping) => {
                let entries = mapping
                    .iter()
                    .map(|(k, e)| (Arc::clone(k), e.value.to_value()));
                Value::from(entries.collect::<Map>())
            }
        };
        if self.tag() == Some("!sensitive") {
            value.sensitive()
        } else {
            value
        }
    }
}

impl Mapping {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0.get(key).map(|entry| &entry.value)
    }

    /// The key's place and its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.0.get(key)
    }

    /// Each key with its entry, in the order of the text.
    pub fn iter(&self) -> indexmap::map::Iter<'_, Arc<str>, Entry> {
        self.0.iter()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets a key; gives the entry it replaces.
    pub fn insert(&mut self, key: impl Into<Arc<str>>, entry: Entry) -> Option<Entry> {
        self.0.insert(key.into(), entry)
    }

    /// Takes a key out, the others stay in order.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        self.0.shift_remove(key)
    }
}

impl<'a> IntoIterator for &'a Mapping {
    type Item = (&'a Arc<str>, &'a Entry);
    type IntoIter = indexmap::map::Iter<'a, Arc<str>, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<(Arc<str>, Entry)> for Mapping {
    fn from_iter<T: IntoIterator<Item = (Arc<str>, Entry)>>(entries: T) -> Self {
        Self(entries.into_iter().collect())
    }
}
