//! The tree: nodes that know their place in the text.

use std::fmt::Display;
use std::sync::Arc;

use super::Mapping;
use crate::diagnostic::{Diagnostic, Span};
use crate::value::{Map, Value};

/// One node of a document. Clones share what they point to.
#[derive(Debug, Clone)]
pub struct Node(Arc<NodeInner>);

#[derive(Debug)]
struct NodeInner {
    kind: NodeKind,
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
pub enum NodeKind {
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
pub struct MapEntry {
    /// Where the key stands.
    pub key_span: Span,
    /// What it maps to.
    pub value: Node,
}

impl MapEntry {
    /// A value, and the place of its key.
    pub fn new(key_span: Span, value: Node) -> Self {
        Self { key_span, value }
    }
}

impl Node {
    /// Makes a node.
    pub fn new(kind: NodeKind, span: Span, tag: Option<Arc<str>>) -> Self {
        Self::with_anchor(kind, span, tag, None)
    }

    /// Makes a node that aliases and directives can name.
    pub fn with_anchor(
        kind: NodeKind,
        span: Span,
        tag: Option<Arc<str>>,
        anchor: Option<Arc<str>>,
    ) -> Self {
        let mut inner = NodeInner {
            kind: NodeKind::Null,
            span,
            weight: 1,
            depth: 0,
            has_directive: false,
            has_anchor: anchor.is_some(),
            properties: (tag.is_some() || anchor.is_some())
                .then(|| Box::new(Properties { tag, anchor })),
        };
        match &kind {
            NodeKind::Seq(items) => {
                inner.depth = 1;
                for item in items {
                    inner.contain(item);
                }
            }
            NodeKind::Map(mapping) => {
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
    pub fn kind(&self) -> &NodeKind {
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
            NodeKind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// True or false.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind() {
            NodeKind::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// A whole number.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind() {
            NodeKind::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The entries of a mapping.
    pub fn as_map(&self) -> Option<&Mapping> {
        match self.kind() {
            NodeKind::Map(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The items of a sequence.
    pub fn as_seq(&self) -> Option<&[Self]> {
        match self.kind() {
            NodeKind::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.kind(), NodeKind::Null)
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
            NodeKind::Null => "null",
            NodeKind::Bool(_) => "a boolean",
            NodeKind::Int(_) | NodeKind::Big(_) => "an integer",
            NodeKind::Float(_) => "a float",
            NodeKind::Str(_) => "a string",
            NodeKind::Seq(_) => "a list",
            NodeKind::Map(_) => "a map",
        }
    }

    /// The problem that something else has to stand here: `what` must be as expected.
    pub fn type_mismatch(&self, subject: impl Display, expected: &str) -> Diagnostic {
        let message = format!("{subject} must be {expected}, not {}", self.kind_name());
        Diagnostic::error(message).label(self.span(), "")
    }

    /// The value without its places. `!sensitive` marks it as sensitive; other tags are dropped.
    pub fn to_value(&self) -> Value {
        let value = match self.kind() {
            NodeKind::Null => Value::Null,
            NodeKind::Bool(truth) => Value::Bool(*truth),
            NodeKind::Int(number) => Value::Int(*number),
            NodeKind::Big(digits) => Value::Big(Arc::clone(digits)),
            NodeKind::Float(number) => Value::Float(*number),
            NodeKind::Str(text) => Value::Str(Arc::clone(text)),
            NodeKind::Seq(items) => Value::list(items.iter().map(Self::to_value)),
            NodeKind::Map(mapping) => {
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
    pub fn from_value(value: &Value, span: Span) -> Option<Self> {
        Self::from_value_at_depth(value, span, 0)
    }

    fn from_value_at_depth(value: &Value, span: Span, depth: usize) -> Option<Self> {
        if depth > DEPTH {
            return None;
        }
        let part = |value: &Value| Self::from_value_at_depth(value, span, depth + 1);
        let kind = match value {
            Value::Null | Value::Entity(_) => NodeKind::Null,
            Value::Bool(value) => NodeKind::Bool(*value),
            Value::Int(value) => NodeKind::Int(*value),
            Value::Big(digits) => NodeKind::Big(Arc::clone(digits)),
            Value::Float(value) => NodeKind::Float(*value),
            Value::Str(text) => NodeKind::Str(Arc::clone(text)),
            Value::List(items) => NodeKind::Seq(items.iter().map(part).collect::<Option<_>>()?),
            Value::Map(map) => {
                let entries = map.iter().map(|(key, value)| {
                    let (key_span, value) = (span, part(value)?);
                    Some((Arc::clone(key), MapEntry { key_span, value }))
                });
                NodeKind::Map(entries.collect::<Option<_>>()?)
            }
            Value::External(external) => return part(&external.value),
            Value::Sensitive(_) => NodeKind::Str(value.redacted().to_string().into()),
        };
        Some(Self::new(kind, span, None))
    }
}

impl NodeInner {
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
        let node = Node::new(NodeKind::Bool(true), Span::NONE, None);
        let problem = node.type_mismatch(format_args!("`{}`", "a"), "a map");
        let expected = format!("`a` must be a map, not {}", node.kind_name());
        assert_eq!(problem.message, expected);
    }
}
