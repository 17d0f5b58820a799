//! The node tree of a document, in which each node knows its position in the text.

use std::fmt::Display;
use std::sync::Arc;

use super::Mapping;
use super::encrypted::EncryptedScalar;
use crate::diagnostic::{Check, Diagnostic, Span};
use crate::value::{Map, Value};

/// The tag of values that must not be shown.
const SENSITIVE_TAG: &str = "!sensitive";

/// The tag of nodes whose value was decrypted. No text can have it, because of the blank.
pub(super) const OPENED_TAG: &str = "!sensitive opened";

/// A node of a document. Clones share their content.
#[derive(Debug, Clone)]
pub struct Node(Arc<NodeInner>);

#[derive(Debug)]
struct NodeInner {
    kind: NodeKind,
    span: Span,
    properties: Option<Box<Properties>>,
    /// The number of nodes, with each alias counted as a copy. The number saturates.
    weight: u32,
    /// The maximum number of nested collections.
    depth: u16,
    /// Whether the node contains a key that starts like a merge directive.
    has_directive: bool,
    /// Whether the node or one within it has an anchor.
    has_anchor: bool,
    /// True if the node or one within it has an explicit tag.
    has_tag: bool,
}

#[derive(Debug)]
struct Properties {
    tag: Option<Arc<str>>,
    anchor: Option<Arc<str>>,
    /// The text of a plain scalar that readers of YAML 1.1 read otherwise.
    plain_text: Option<Arc<str>>,
}

/// The content of a node. Scalars are resolved as ruamel's round-trip loader does.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// The scalars `null` and `~`, or an empty value.
    Null,
    /// The scalar `true` or `false`, in three spellings each.
    Bool(bool),
    /// An integer that fits into 64 bits.
    Int(i64),
    /// An integer that needs more than 64 bits, as decimal digits.
    Big(Arc<str>),
    /// A floating-point number of 64 bits.
    Float(f64),
    /// A text, plain, quoted or as a block.
    Str(Arc<str>),
    /// A sequence, also called a list.
    Seq(Vec<Node>),
    /// A mapping, also called a map.
    Map(Mapping),
}

/// The value of a key, with the position of the key.
#[derive(Debug, Clone)]
pub struct MapEntry {
    pub key_span: Span,
    pub value: Node,
}

impl MapEntry {
    pub fn new(key_span: Span, value: Node) -> Self {
        Self { key_span, value }
    }
}

impl Node {
    /// Creates a node without an anchor.
    pub fn new(kind: NodeKind, span: Span, tag: Option<Arc<str>>) -> Self {
        Self::with_anchor(kind, span, tag, None)
    }

    /// Creates a node with an anchor, to which aliases and directives can refer.
    pub fn with_anchor(
        kind: NodeKind,
        span: Span,
        tag: Option<Arc<str>>,
        anchor: Option<Arc<str>>,
    ) -> Self {
        let properties = Properties {
            tag,
            anchor,
            plain_text: None,
        };
        Self::with_properties(kind, span, properties)
    }

    /// Creates the node of a plain scalar that keeps its text, because readers of YAML 1.1 read it otherwise.
    pub(super) fn with_plain_text(
        kind: NodeKind,
        span: Span,
        anchor: Option<Arc<str>>,
        text: Arc<str>,
    ) -> Self {
        let properties = Properties {
            tag: None,
            anchor,
            plain_text: Some(text),
        };
        Self::with_properties(kind, span, properties)
    }

    fn with_properties(kind: NodeKind, span: Span, properties: Properties) -> Self {
        let Properties {
            tag,
            anchor,
            plain_text,
        } = &properties;
        let mut inner = NodeInner {
            kind: NodeKind::Null,
            span,
            weight: 1,
            depth: 0,
            has_directive: false,
            has_anchor: anchor.is_some(),
            has_tag: tag.is_some(),
            properties: (tag.is_some() || anchor.is_some() || plain_text.is_some())
                .then(|| Box::new(properties)),
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

    /// Returns the content of the node.
    pub fn kind(&self) -> &NodeKind {
        &self.0.kind
    }

    /// Returns the exact position of the node, without white space or comments after it.
    pub fn span(&self) -> Span {
        self.0.span
    }

    /// Returns the explicit tag, such as `!vault`.
    pub fn tag(&self) -> Option<&str> {
        self.0.properties.as_ref()?.tag.as_deref()
    }

    /// Returns the name by which aliases refer to the node.
    pub fn anchor(&self) -> Option<&str> {
        self.0.properties.as_ref()?.anchor.as_deref()
    }

    /// Returns the number of nodes within it, including itself, with each alias counted as a copy.
    pub fn weight(&self) -> u32 {
        self.0.weight
    }

    /// Returns the number of nested collections, which is 0 for a scalar.
    pub fn depth(&self) -> usize {
        usize::from(self.0.depth)
    }

    /// Whether a key within the node starts with `+` and may be a merge directive.
    pub fn may_have_directives(&self) -> bool {
        self.0.has_directive
    }

    /// Whether the node or one within it has an anchor.
    pub fn has_anchors(&self) -> bool {
        self.0.has_anchor
    }

    /// Returns true if the node or one within it has an explicit tag.
    pub fn has_tags(&self) -> bool {
        self.0.has_tag
    }

    /// Returns true if the value must not be shown: it is marked as sensitive, or was encrypted in the text.
    pub fn is_sensitive(&self) -> bool {
        matches!(self.tag(), Some(SENSITIVE_TAG | OPENED_TAG))
    }

    /// Returns true if the text has the value in encrypted form.
    pub fn is_opened(&self) -> bool {
        self.tag() == Some(OPENED_TAG)
    }

    /// Returns the text of a string node.
    pub fn as_str(&self) -> Option<&str> {
        match self.kind() {
            NodeKind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a boolean node.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind() {
            NodeKind::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Returns the number of an integer node.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind() {
            NodeKind::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the entries of a mapping node.
    pub fn as_map(&self) -> Option<&Mapping> {
        match self.kind() {
            NodeKind::Map(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// Returns the items of a sequence node.
    pub fn as_seq(&self) -> Option<&[Self]> {
        match self.kind() {
            NodeKind::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// Whether the node is null or empty.
    pub fn is_null(&self) -> bool {
        matches!(self.kind(), NodeKind::Null)
    }

    /// Returns the value of a key, if the node is a mapping that contains it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get(key)
    }

    /// Whether both are the same node in memory, not just equal.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the address of the node, which is unique as long as the node exists.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Returns the type of the node in words, for messages.
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

    /// Creates the error that a value of another type is expected at this position.
    pub fn type_mismatch(&self, subject: impl Display, expected: &str) -> Diagnostic {
        let message = format!("{subject} must be {expected}, not {}", self.kind_name());
        Diagnostic::error(message)
            .check(Check::WrongKind)
            .label(self.span(), "")
    }

    /// Converts the node to a value without positions. `!sensitive` and decryption mark the value as sensitive,
    /// an encrypted value stays encrypted, and other tags are dropped.
    pub fn to_value(&self) -> Value {
        self.to_value_in(false)
    }

    /// Converts the node like [`Self::to_value`], but plain scalars that readers of YAML 1.1 read otherwise keep their
    /// texts.
    pub fn to_value_with_texts(&self) -> Value {
        self.to_value_in(true)
    }

    fn to_value_in(&self, keeps_texts: bool) -> Value {
        let value = match self.kind() {
            NodeKind::Null => Value::Null,
            NodeKind::Bool(truth) => Value::Bool(*truth),
            NodeKind::Int(number) => Value::Int(*number),
            NodeKind::Big(digits) => Value::Big(Arc::clone(digits)),
            NodeKind::Float(number) => Value::Float(*number),
            NodeKind::Str(text) => match EncryptedScalar::new(self.tag().unwrap_or_default(), text)
            {
                Some(encrypted) => encrypted.to_value(None),
                None => Value::Str(Arc::clone(text)),
            },
            NodeKind::Seq(items) => {
                Value::list(items.iter().map(|item| item.to_value_in(keeps_texts)))
            }
            NodeKind::Map(mapping) => {
                let entries = mapping
                    .iter()
                    .map(|(k, e)| (Arc::clone(k), e.value.to_value_in(keeps_texts)));
                Value::from(entries.collect::<Map>())
            }
        };
        let properties = self.0.properties.as_ref().filter(|_| keeps_texts);
        let text = properties.and_then(|properties| properties.plain_text.clone());
        let value = match text {
            Some(text) => value.with_plain_text(text),
            None => value,
        };
        value.sensitive_if(self.is_sensitive())
    }
}

/// The maximum nesting depth of a value that is converted to a node.
const DEPTH: usize = 128;

impl Node {
    /// Converts a value to a node with a position. Secrets are redacted, and entities become expressions.
    /// None if the value nests too deeply.
    pub fn from_value(value: &Value, span: Span) -> Option<Self> {
        Self::from_value_at_depth(value, span, 0)
    }

    fn from_value_at_depth(value: &Value, span: Span, depth: usize) -> Option<Self> {
        if depth > DEPTH {
            return None;
        }
        let part = |value: &Value| Self::from_value_at_depth(value, span, depth + 1);
        let kind = match value {
            Value::Null => NodeKind::Null,
            Value::Entity(entity) => return part(entity.expression()),
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
            Value::Data(inner) => return part(inner),
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
        self.has_tag |= child.0.has_tag;
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
