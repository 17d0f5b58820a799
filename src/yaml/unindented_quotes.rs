//! A workaround for quoted texts whose continuation lines are not indented.
//!
//! YAML forbids them, but other readers accept them, and TOSCA's own example of a long description contains
//! one. The parser indents such lines in a copy and parses again.

use std::collections::HashMap;
use std::sync::Arc;

use super::{MapEntry, Node, NodeKind};
use crate::diagnostic::Span;

/// The number of inserted spaces, more than any likely nesting needs. The indentation does not become part
/// of the text.
const PAD: usize = 256;

/// The maximum number of lines that are indented.
const MAX_LINES: usize = 16;

/// A copy of a text with such lines indented.
pub(super) struct IndentedCopy {
    text: String,
    /// The offsets, in the copy, of the inserted spaces.
    insertions: Vec<usize>,
}

impl IndentedCopy {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            insertions: Vec::new(),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Indents one more line. Returns false if that cannot help.
    pub(super) fn indent(&mut self, offset: usize) -> bool {
        let later = self
            .insertions
            .last()
            .is_none_or(|last| offset > last + PAD);
        let can = later && self.insertions.len() < MAX_LINES && self.text.is_char_boundary(offset);
        if can {
            self.text.insert_str(offset, &" ".repeat(PAD));
            self.insertions.push(offset);
        }
        can
    }

    /// Returns the tree of the copy with the positions of the original text.
    pub(super) fn restore(&self, root: &Node) -> Node {
        self.node(root, &mut HashMap::new())
    }

    fn node(&self, node: &Node, done: &mut HashMap<usize, Node>) -> Node {
        if let Some(known) = done.get(&node.address()) {
            return known.clone();
        }
        let kind = match node.kind() {
            NodeKind::Seq(items) => {
                NodeKind::Seq(items.iter().map(|item| self.node(item, done)).collect())
            }
            NodeKind::Map(map) => NodeKind::Map(map.map_entries(|entry| {
                MapEntry::new(self.span(entry.key_span), self.node(&entry.value, done))
            })),
            scalar => scalar.clone(),
        };
        let (tag, anchor) = (node.tag().map(Arc::from), node.anchor().map(Arc::from));
        let restored = Node::with_anchor(kind, self.span(node.span()), tag, anchor);
        done.insert(node.address(), restored.clone());
        restored
    }

    fn span(&self, span: Span) -> Span {
        Span::new(
            span.source,
            self.original_offset(span.start),
            self.original_offset(span.end),
        )
    }

    fn original_offset(&self, place: u32) -> u32 {
        let here = place as usize;
        let blanks: usize = self
            .insertions
            .iter()
            .map(|pad| here.saturating_sub(*pad).min(PAD))
            .sum();
        u32::try_from(here - blanks).unwrap_or(place)
    }
}
