//! The builder of the node tree. The parser feeds it events; it handles keys, merge keys (`<<`), anchors,
//! aliases and spans, and enforces the limits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::emit::emit_flow;
use super::{MapEntry, Mapping, Node, NodeKind};
use crate::diagnostic::{Check, Diagnostic, Diagnostics, SourceId, Span};
use crate::value::Fold;
use crate::value::limits::limits;

/// The reason why the parser stops early.
pub(super) enum ParseStop {
    /// An error that is not yet among the reported problems.
    Problem(Box<Diagnostic>),
    /// The error is among the reported problems already.
    Reported,
}

impl ParseStop {
    pub(super) fn problem(diagnostic: Diagnostic) -> Self {
        Self::Problem(Box::new(diagnostic))
    }
}

/// The properties of a collection that are known when it starts.
pub(super) struct CollectionHead {
    start: u32,
    end: u32,
    flow: bool,
    tag: Option<Arc<str>>,
    anchor: Option<(usize, Arc<str>)>,
}

impl CollectionHead {
    pub(super) fn new(
        span: Span,
        flow: bool,
        tag: Option<Arc<str>>,
        anchor: Option<(usize, Arc<str>)>,
    ) -> Self {
        Self {
            start: span.start,
            end: span.end,
            flow,
            tag,
            anchor,
        }
    }
}

enum CollectionBody {
    Seq,
    Map(OpenMap),
}

#[derive(Default)]
struct OpenMap {
    merges: Vec<(Node, Span)>,
    key: PendingKey,
}

#[derive(Default)]
enum PendingKey {
    /// The next node is a key.
    #[default]
    Expected,
    /// The next node is the value of this key.
    Named(Arc<str>, Span),
    /// The next node is the value of a merge key `<<`.
    Merge,
    /// The next node is the value of a rejected key.
    Refused,
}

struct OpenCollection {
    head: CollectionHead,
    body: CollectionBody,
    /// The index of its first item or entry in the stack shared by the open collections.
    first: usize,
    weight: u32,
}

/// The state of the construction of one tree.
pub(super) struct Builder<'t> {
    text: &'t str,
    source: SourceId,
    max_depth: usize,
    max_nodes: u32,
    max_keys: usize,
    frames: Vec<OpenCollection>,
    /// The items of the open lists and the entries of the open maps, each as one stack.
    ///
    /// A collection takes its own part from the end when it closes, so that no collection has to grow.
    items: Vec<Node>,
    entries: Vec<(Arc<str>, MapEntry)>,
    root: Option<Node>,
    keys: HashSet<Arc<str>, Fold>,
    anchors: HashMap<usize, Node>,
    pub(super) problems: Diagnostics,
}

impl<'t> Builder<'t> {
    pub(super) fn new(text: &'t str, source: SourceId, limits: &Limits) -> Self {
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Self {
            text,
            source,
            max_depth: limits.max_depth,
            // The number of nodes that the text itself can state is bounded by its length.
            max_nodes: limits.max_nodes.max(bytes),
            max_keys: limits.max_keys,
            frames: Vec::new(),
            items: Vec::new(),
            entries: Vec::new(),
            root: None,
            keys: HashSet::default(),
            anchors: HashMap::new(),
            problems: Diagnostics::default(),
        }
    }

    pub(super) fn finish(self) -> Result<Node, Diagnostics> {
        if self.problems.has_errors() {
            return Err(self.problems);
        }
        let empty_span = Span::new(self.source, 0, 0);
        Ok(self
            .root
            .unwrap_or_else(|| Node::new(NodeKind::Null, empty_span, None)))
    }

    /// Whether the next scalar is a key.
    pub(super) fn expects_key(&self) -> bool {
        self.open_map()
            .is_some_and(|map| matches!(map.key, PendingKey::Expected))
    }

    /// Whether the next node is the value of a key.
    pub(super) fn expects_value(&self) -> bool {
        self.open_map()
            .is_some_and(|map| !matches!(map.key, PendingKey::Expected))
    }

    fn open_map(&self) -> Option<&OpenMap> {
        match &self.frames.last()?.body {
            CollectionBody::Map(map) => Some(map),
            CollectionBody::Seq => None,
        }
    }

    pub(super) fn start_sequence(&mut self, mut head: CollectionHead) -> Result<(), ParseStop> {
        if !head.flow && self.expects_value() {
            head.start = self.first_dash(head.start);
        }
        self.start(head, CollectionBody::Seq)
    }

    pub(super) fn start_mapping(&mut self, head: CollectionHead) -> Result<(), ParseStop> {
        self.start(head, CollectionBody::Map(OpenMap::default()))
    }

    fn start(&mut self, head: CollectionHead, body: CollectionBody) -> Result<(), ParseStop> {
        if self.frames.len() >= self.max_depth {
            let span = Span::new(self.source, head.start, head.end);
            return Err(ParseStop::problem(
                Diagnostic::error(format!(
                    "lists and maps nest more than {} levels deep",
                    self.max_depth
                ))
                .check(Check::YamlSyntax)
                .label(span, "too deep"),
            ));
        }
        let first = match body {
            CollectionBody::Seq => self.items.len(),
            CollectionBody::Map(_) => self.entries.len(),
        };
        self.frames.push(OpenCollection {
            head,
            body,
            first,
            weight: 1,
        });
        Ok(())
    }

    /// Returns the position of the first dash. The parser reports a list that is indented like its key after
    /// the dash.
    fn first_dash(&self, start: u32) -> u32 {
        let before = &self.text[..start as usize];
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let head = before[line..].trim_end_matches([' ', '\t']);
        if head.trim_start_matches(' ') == "-" {
            u32::try_from(line + head.len() - 1).unwrap_or(start)
        } else {
            start
        }
    }

    pub(super) fn end(&mut self, span: Span) -> Result<(), ParseStop> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        let head = frame.head;
        // The parser reports the end of a block collection at the start of the next token.
        let end = if head.flow && span.start < span.end {
            span.end
        } else {
            head.end
        };
        let span = Span::new(self.source, head.start, end);
        let kind = match frame.body {
            CollectionBody::Seq => NodeKind::Seq(self.items.split_off(frame.first)),
            CollectionBody::Map(map) => NodeKind::Map(self.close(map, frame.first)),
        };
        let (id, name) = head
            .anchor
            .map_or((None, None), |(id, name)| (Some(id), Some(name)));
        self.add(Node::with_anchor(kind, span, head.tag, name), id, span)
    }

    /// Takes the entries of a map and adds those of its merge keys. Explicit keys win, then the first map
    /// that contains the key.
    fn close(&mut self, map: OpenMap, first: usize) -> Mapping {
        let (mut mapping, duplicates) = Mapping::from_entries(self.entries.split_off(first));
        for (key, twin) in duplicates {
            let first = mapping
                .entry(&key)
                .map_or(Span::NONE, |entry| entry.key_span);
            self.problems.push(
                Diagnostic::error(format!("the key `{key}` occurs twice"))
                    .check(Check::DuplicateKey)
                    .label(twin.key_span, "again here")
                    .label(first, "first here")
                    .help("remove or rename one of them"),
            );
        }
        for (node, span) in map.merges {
            let maps = match node.kind() {
                NodeKind::Seq(items) => items.as_slice(),
                _ => std::slice::from_ref(&node),
            };
            for item in maps {
                let Some(inherited) = item.as_map() else {
                    self.problems.push(
                        Diagnostic::error(format!("`<<` cannot merge {}", item.kind_name()))
                            .check(Check::WrongKind)
                            .label(span, "expected a map or a list of maps"),
                    );
                    continue;
                };
                for (key, entry) in inherited {
                    mapping.inherit(key, entry);
                }
            }
        }
        mapping
    }

    pub(super) fn alias(&mut self, id: usize, span: Span) -> Result<(), ParseStop> {
        let Some(node) = self.anchors.get(&id).cloned() else {
            return Err(ParseStop::problem(
                Diagnostic::error("this alias is within the value that it refers to")
                    .check(Check::YamlSyntax)
                    .label(span, "the value would contain itself"),
            ));
        };
        if self.expects_key()
            && let NodeKind::Str(text) = node.kind()
        {
            let text = Arc::clone(text);
            self.key(&text, false, span);
            return Ok(());
        }
        self.add(node, None, span)
    }

    /// Sets the key of the open mapping, whose value is the next node.
    pub(super) fn key(&mut self, text: &str, plain: bool, span: Span) {
        let key = if plain && text == "<<" {
            PendingKey::Merge
        } else {
            PendingKey::Named(self.intern(text), span)
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.head.end = frame.head.end.max(span.end);
            if let CollectionBody::Map(map) = &mut frame.body {
                map.key = key;
            }
        }
    }

    fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.keys.get(text) {
            return Arc::clone(known);
        }
        let key: Arc<str> = Arc::from(text);
        self.keys.insert(Arc::clone(&key));
        key
    }

    /// Returns a text as a shared string. Short texts, such as statuses, occur many times and are stored
    /// once.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        const SHORT: usize = 16;
        if text.len() <= SHORT {
            self.intern(text)
        } else {
            Arc::from(text)
        }
    }

    fn set_key(&mut self, key: PendingKey) {
        if let Some(OpenCollection {
            body: CollectionBody::Map(map),
            ..
        }) = self.frames.last_mut()
        {
            map.key = key;
        }
    }

    /// Adds a finished node to the open collection. `place` is its span there, which for an alias differs
    /// from the span of the node.
    pub(super) fn add(
        &mut self,
        node: Node,
        id: Option<usize>,
        span: Span,
    ) -> Result<(), ParseStop> {
        if let Some(id) = id {
            self.anchors.insert(id, node.clone());
        }
        let depth = node.depth() + self.frames.len();
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.head.end = frame.head.end.max(span.end);
        frame.weight = frame.weight.saturating_add(node.weight());
        if frame.weight > self.max_nodes || depth > self.max_depth {
            let deep = depth > self.max_depth;
            return Err(self.limit_exceeded(deep, span));
        }
        match &mut frame.body {
            CollectionBody::Seq => self.items.push(node),
            CollectionBody::Map(map) => match std::mem::take(&mut map.key) {
                PendingKey::Expected => self.nonscalar_key(&node, span),
                PendingKey::Refused => {}
                PendingKey::Merge => map.merges.push((node, span)),
                PendingKey::Named(key, key_span) => {
                    if self.entries.len() - frame.first >= self.max_keys {
                        return Err(too_many_keys(self.max_keys, key_span));
                    }
                    let value = node;
                    self.entries.push((key, MapEntry { key_span, value }));
                }
            },
        }
        Ok(())
    }

    /// Converts a node to a key.
    ///
    /// A scalar with an anchor becomes its text. A list of scalars, which TOSCA 2.0 allows (`[service, 2]:
    /// …`), becomes its flow-style text. Other collections are errors.
    fn nonscalar_key(&mut self, node: &Node, span: Span) {
        match node.kind() {
            NodeKind::Seq(items) if items.iter().all(|item| item.depth() == 0) => {
                let text = emit_flow(&node.to_value());
                self.key(&text, false, span);
            }
            NodeKind::Seq(_) | NodeKind::Map(_) => {
                self.problems.push(
                    Diagnostic::error(format!("{} cannot be a key", node.kind_name()))
                        .check(Check::WrongKind)
                        .label(span, "a key must be a text")
                        .help("quote the key if it is a text, as in `'{{ name }}': value`"),
                );
                self.set_key(PendingKey::Refused);
            }
            NodeKind::Str(text) => self.key(&Arc::clone(text), false, span),
            _ => {
                let text = &self.text[span.start as usize..span.end as usize];
                self.key(text, false, span);
            }
        }
    }

    /// Reports that the document grows too large or too deep if each alias counts as a copy.
    #[cold]
    fn limit_exceeded(&mut self, deep: bool, span: Span) -> ParseStop {
        let (message, label) = if deep {
            (
                "aliases make the document too deep",
                "exceeds the depth limit",
            )
        } else {
            (
                "aliases make the document too large",
                "exceeds the size limit",
            )
        };
        self.problems.push(
            Diagnostic::error(message)
                .check(Check::YamlSyntax)
                .label(span, label)
                .help("use fewer aliases: each one counts as a full copy of its value"),
        );
        ParseStop::Reported
    }
}

/// Reports that a map has too many keys.
#[cold]
fn too_many_keys(limit: usize, span: Span) -> ParseStop {
    ParseStop::problem(
        Diagnostic::error(format!("a map must have at most {limit} keys"))
            .check(Check::YamlSyntax)
            .label(span, "one key too many")
            .help("split the map, or store the data in a file of another format"),
    )
}

/// The limits for a document. Text beyond them is rejected with a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum nesting depth of collections.
    pub max_depth: usize,
    /// The maximum number of nodes, with each alias and merge counted as a copy.
    ///
    /// A text may always have as many nodes as bytes.
    pub max_nodes: u32,
    /// The maximum number of keys that a text states for one map.
    pub max_keys: usize,
    /// The maximum size of a text, in bytes.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 250,
            max_nodes: 10_000_000,
            max_keys: 500_000,
            max_bytes: limits().text,
        }
    }
}
