//! Encrypted scalars, such as those with `!vault`, which a [`TagReader`] of a higher layer decrypts.

use std::collections::HashMap;
use std::sync::Arc;

use super::node::OPENED_TAG;
use super::{MapEntry, Node, NodeKind};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::value::{REDACTED, Value};

/// A decoder of tagged scalars, such as `!vault`.
pub trait TagReader {
    /// Decodes a scalar. None if the reader does not handle the tag.
    ///
    /// `path` is the place of the value in its document: keys and list indices, joined by dots.
    fn read(&self, tag: &str, text: &str, path: &str) -> Option<Result<Value, TagError>>;
}

/// The reason why a tagged scalar cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagError {
    pub reason: String,
    /// A hint about what to do.
    pub help: Option<String>,
}

impl Node {
    /// Returns the tree with all encrypted values decrypted and marked as sensitive.
    ///
    /// A value that cannot be decrypted is a problem, and becomes a redacted value. A tree without tags is
    /// returned as it is.
    #[must_use]
    pub fn opened(&self, reader: &dyn TagReader, problems: &mut Diagnostics) -> Self {
        if !self.has_tags() {
            return self.clone();
        }
        let mut opening = Opening {
            reader,
            problems,
            done: HashMap::new(),
            path: String::new(),
        };
        opening.node(self)
    }

    /// Returns the tree with each part marked as decrypted.
    #[must_use]
    pub fn sensitive(&self) -> Self {
        marked(self, &Arc::from(OPENED_TAG), None)
    }

    /// Converts the node to a value without positions. `reader` decodes the tagged scalars.
    pub fn to_value_with(&self, reader: &dyn TagReader) -> Result<Value, Diagnostics> {
        let mut problems = Diagnostics::default();
        let value = self.opened(reader, &mut problems).to_value();
        if problems.has_errors() {
            Err(problems)
        } else {
            Ok(value)
        }
    }
}

/// The decryption of a tree.
struct Opening<'a> {
    reader: &'a dyn TagReader,
    problems: &'a mut Diagnostics,
    /// The results by address, so that a value with many aliases is decrypted once.
    done: HashMap<usize, Node>,
    /// The place of the current node.
    path: String,
}

impl Opening<'_> {
    fn node(&mut self, node: &Node) -> Node {
        if !node.has_tags() {
            return node.clone();
        }
        if let Some(known) = self.done.get(&node.address()) {
            return known.clone();
        }
        let opened = self.new_node(node);
        self.done.insert(node.address(), opened.clone());
        opened
    }

    fn new_node(&mut self, node: &Node) -> Node {
        let kind = match node.kind() {
            NodeKind::Seq(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.part(&index.to_string(), item));
                NodeKind::Seq(items.collect())
            }
            NodeKind::Map(map) => NodeKind::Map(map.map_keyed_entries(|key, entry| {
                MapEntry::new(entry.key_span, self.part(key, &entry.value))
            })),
            NodeKind::Str(text) => return self.scalar(node, text),
            _ => return node.clone(),
        };
        let (tag, anchor) = (node.tag().map(Arc::from), node.anchor().map(Arc::from));
        Node::with_anchor(kind, node.span(), tag, anchor)
    }

    fn part(&mut self, step: &str, node: &Node) -> Node {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(step);
        let part = self.node(node);
        self.path.truncate(length);
        part
    }

    fn scalar(&mut self, node: &Node, text: &str) -> Node {
        let tag = node.tag().unwrap_or_default();
        let value = match self.reader.read(tag, text, &self.path) {
            None => return node.clone(),
            // The tags of nodes replace the marks of values.
            Some(Ok(value)) => value.revealed(),
            Some(Err(error)) => {
                let message = format!("this `{tag}` value cannot be decrypted: {}", error.reason);
                let problem = Diagnostic::error(message).label(node.span(), "");
                self.problems.push(problem.help_if(error.help));
                Value::from(REDACTED)
            }
        };
        let opened = Node::from_value(&value, node.span()).unwrap_or_else(|| {
            let message = format!("this `{tag}` value nests too deeply");
            let problem = Diagnostic::error(message).label(node.span(), "");
            self.problems.push(problem);
            Node::new(NodeKind::Null, node.span(), None)
        });
        marked(
            &opened,
            &Arc::from(OPENED_TAG),
            node.anchor().map(Arc::from),
        )
    }
}

/// Marks a node and all nodes within it, so that each part of a decrypted collection keeps the mark.
fn marked(node: &Node, tag: &Arc<str>, anchor: Option<Arc<str>>) -> Node {
    let kind =
        match node.kind() {
            NodeKind::Seq(items) => {
                NodeKind::Seq(items.iter().map(|item| marked(item, tag, None)).collect())
            }
            NodeKind::Map(map) => NodeKind::Map(map.map_entries(|entry| {
                MapEntry::new(entry.key_span, marked(&entry.value, tag, None))
            })),
            scalar => scalar.clone(),
        };
    Node::with_anchor(kind, node.span(), Some(Arc::clone(tag)), anchor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, Patch, Route, apply, parse};

    /// Reverses texts, and notes the places of values in them.
    struct Reverse;

    impl TagReader for Reverse {
        fn read(&self, tag: &str, text: &str, path: &str) -> Option<Result<Value, TagError>> {
            let reversed: String = text.trim_end().chars().rev().collect();
            match tag {
                "!vault" if text.is_empty() => Some(Err(TagError {
                    reason: "it is empty".to_owned(),
                    help: None,
                })),
                "!vault" => Some(Ok(Value::from(reversed).sensitive())),
                "!path" => Some(Ok(Value::map([("at", Value::from(path))]).sensitive())),
                _ => None,
            }
        }
    }

    fn parsed(text: &str) -> Node {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", text, None);
        parse(&sources, id, &Limits::default()).unwrap()
    }

    fn read(text: &str) -> Result<Value, Diagnostics> {
        parsed(text).to_value_with(&Reverse)
    }

    #[test]
    fn a_reader_opens_its_own_tags() {
        let value = read("a: [!vault abc, !other d, !sensitive e]").unwrap();
        let items = value.get("a").unwrap();
        assert_eq!(items.to_string(), "[<<REDACTED>>, 'd', <<REDACTED>>]");
        assert_eq!(items.as_list().unwrap()[0].as_str(), Some("cba"));
    }

    #[test]
    fn values_that_cannot_be_opened_are_problems_and_become_redacted() {
        let problems = read("a: !vault ''").unwrap_err();
        let messages: Vec<_> = problems
            .iter()
            .map(|problem| problem.message.as_str())
            .collect();
        assert_eq!(
            messages,
            ["this `!vault` value cannot be decrypted: it is empty"]
        );
        let node = parsed("a: !vault ''").opened(&Reverse, &mut Diagnostics::default());
        assert_eq!(node.get("a").unwrap().as_str(), Some(REDACTED));
    }

    #[test]
    fn a_reader_learns_the_place_of_a_value_and_its_parts_are_marked() {
        let node = parsed("a: [1, {b c: !path x}]").opened(&Reverse, &mut Diagnostics::default());
        let value = &node.get("a").unwrap().as_seq().unwrap()[1];
        let part = value.get("b c").unwrap().get("at").unwrap();
        assert_eq!(part.as_str(), Some("a.1.b c"));
        assert!(part.is_sensitive() && part.is_opened());
    }

    #[test]
    fn an_edit_keeps_the_text_of_an_encrypted_value() {
        let text = "a: !vault |\n  abc\nb: 1\nc: [!vault abc]\n";
        let root = parsed(text).opened(&Reverse, &mut Diagnostics::default());
        let patch = Patch::set(Route::keys(["b"]), Value::from(2));
        assert_eq!(
            apply(text, &root, &[patch]).unwrap(),
            text.replace('1', "2")
        );
    }

    #[test]
    fn aliases_of_an_encrypted_value_share_its_result() {
        let mut text = "a0: &a0 [!vault abc]\n".to_owned();
        for level in 1..=12 {
            let below = level - 1;
            text.push_str(&format!("a{level}: &a{level} [*a{below}, *a{below}]\n"));
        }
        let node = parsed(&text).opened(&Reverse, &mut Diagnostics::default());
        let pair = node.get("a12").unwrap().as_seq().unwrap();
        assert!(pair[0].is_same(&pair[1]));
    }
}
