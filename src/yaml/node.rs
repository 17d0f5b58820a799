//! The tree: nodes that know their place in the text.

use std::fmt::Display;
use std::sync::Arc;

use super::Mapping;
use crate::diagnostic::{Diagnostic, Span};
use crate::value::{Map, Value};

/// One node of a document. Clones share what they point to.
#[derive(Debug, Clone)]
pub struct Node(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    span: Span,
    properties: Option<Box<Properties>>,
    /// How many nodes there are if every alias is a copy; stops at the largest number.
    weight: u32,
    /// How many collections stand inside each other.
    depth: u16,
    /// Whether a key in it starts as a merge directive does.
    has_directive: bool,
    /// Whether it, or a node in it, has an anchor.
    has_anchor: bool,
}

#[derive(Debug)]
struct Properties {
    tag: Option<Arc<str>>,
    anchor: Option<Arc<str>>,
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

/// A key's place and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where the key stands.
    pub key_span: Span,
    /// What it maps to.
    pub value: Node,
}

impl Entry {
    /// A value, and the place of its key.
    pub fn new(key_span: Span, value: Node) -> Self {
        Self { key_span, value }
    }
}

impl Node {
    /// Makes a node.
    pub fn new(kind: Kind, span: Span, tag: Option<Arc<str>>) -> Self {
        Self::with_anchor(kind, span, tag, None)
    }

    /// Makes a node that aliases and directives can name.
    pub fn with_anchor(
        kind: Kind,
        span: Span,
        tag: Option<Arc<str>>,
        anchor: Option<Arc<str>>,
    ) -> Self {
        let mut inner = Inner {
            kind: Kind::Null,
            span,
            weight: 1,
            depth: 0,
            has_directive: false,
            has_anchor: anchor.is_some(),
            properties: (tag.is_some() || anchor.is_some())
                .then(|| Box::new(Properties { tag, anchor })),
        };
        match &kind {
            Kind::Seq(items) => {
                inner.depth = 1;
                for item in items {
                    inner.contain(item);
                }
            }
            Kind::Map(mapping) => {
                inner.depth = 1;
                for (key, entry) in mapping {
                    inner.has_directive |= key.as_bytes().first() == Some(&b'+');
                    inner.contain(&entry.value);
                }
            }
            _ => {}
        }
        inner.kind = kind;
        Self(Arc::new(inner))
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
        self.0.properties.as_ref()?.tag.as_deref()
    }

    /// The name that aliases give it.
    pub fn anchor(&self) -> Option<&str> {
        self.0.properties.as_ref()?.anchor.as_deref()
    }

    /// How many nodes there are in it, itself included, with every alias counted as a copy.
    pub fn weight(&self) -> u32 {
        self.0.weight
    }

    /// How many collections stand inside each other; 0 for a scalar.
    pub fn depth(&self) -> usize {
        usize::from(self.0.depth)
    }

    /// Whether a key in it starts with `+`, so that it may be a merge directive.
    pub fn may_have_directives(&self) -> bool {
        self.0.has_directive
    }

    /// Whether it, or a node in it, has an anchor.
    pub fn has_anchors(&self) -> bool {
        self.0.has_anchor
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

    /// A number that no other living node has.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
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

    /// The problem that something else has to stand here: `what` must be as expected.
    pub fn must_be(&self, what: impl Display, expected: &str) -> Diagnostic {
        let message = format!("{what} must be {expected}, not {}", self.kind_name());
        Diagnostic::error(message).label(self.span(), "")
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
        value.sensitive_if(self.tag() == Some("!sensitive"))
    }
}

/// How deep a value may nest that becomes a node.
const DEPTH: usize = 128;

impl Node {
    /// A value as a node at a place: secrets redacted, instances as null. None if it nests too deep.
    pub fn of_value(value: &Value, span: Span) -> Option<Self> {
        Self::of_part(value, span, 0)
    }

    fn of_part(value: &Value, span: Span, depth: usize) -> Option<Self> {
        if depth > DEPTH {
            return None;
        }
        let part = |value: &Value| Self::of_part(value, span, depth + 1);
        let kind = match value {
            Value::Null | Value::Entity(_) => Kind::Null,
            Value::Bool(value) => Kind::Bool(*value),
            Value::Int(value) => Kind::Int(*value),
            Value::Big(digits) => Kind::Big(Arc::clone(digits)),
            Value::Float(value) => Kind::Float(*value),
            Value::Str(text) => Kind::Str(Arc::clone(text)),
            Value::List(items) => Kind::Seq(items.iter().map(part).collect::<Option<_>>()?),
            Value::Map(map) => {
                let entries = map.iter().map(|(key, value)| {
                    let (key_span, value) = (span, part(value)?);
                    Some((Arc::clone(key), Entry { key_span, value }))
                });
                Kind::Map(entries.collect::<Option<_>>()?)
            }
            Value::External(external) => return part(&external.value),
            Value::Sensitive(_) => Kind::Str(value.redacted().to_string().into()),
        };
        Some(Self::new(kind, span, None))
    }
}

impl Inner {
    fn contain(&mut self, child: &Node) {
        self.weight = self.weight.saturating_add(child.0.weight);
        self.depth = self.depth.max(child.0.depth.saturating_add(1));
        self.has_directive |= child.0.has_directive;
        self.has_anchor |= child.0.has_anchor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_says_what_must_stand_in_its_place() {
        let node = Node::new(Kind::Bool(true), Span::NONE, None);
        let problem = node.must_be(format_args!("`{}`", "a"), "a map");
        let expected = format!("`a` must be a map, not {}", node.kind_name());
        assert_eq!(problem.message, expected);
    }
}
