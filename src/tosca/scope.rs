//! Where a piece of text stands: its namespace decides what names mean in it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::value::{Map, Value};
use crate::yaml::{Mapping, Node};

use super::definition::TypeKey;
use super::entity_types::Reference;
use super::problems::Problems;
use super::section::TypeSection;
use super::types::{ROOT, Types};

/// The namespace that a piece of text stands in.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypeScope<'a> {
    pub(super) types: &'a Types,
    pub(super) namespace: u32,
}

impl<'a> TypeScope<'a> {
    pub(super) fn of(types: &'a Types, namespace: u32) -> Self {
        Self { types, namespace }
    }

    pub(super) fn problems(self) -> &'a Problems {
        &self.types.problems
    }

    /// The directory of the file that a place is in.
    pub(super) fn base_dir(self, span: Span) -> Arc<PathBuf> {
        Arc::clone(self.types.base_dir_at(span, self.namespace))
    }

    /// The type of a name, if it is of the section.
    pub(super) fn find(self, name: &str, section: TypeSection) -> Option<TypeKey> {
        let key = self.types.find(self.namespace, name, section)?;
        (self.types.section(key) == section).then_some(key)
    }

    /// The type of a name; reports one that is unknown or of another kind.
    pub(super) fn require(self, name: &str, section: TypeSection, span: Span) -> Option<TypeKey> {
        match self.types.find(self.namespace, name, section) {
            None => {
                self.types
                    .report_unknown(self.namespace, name, section, span);
                None
            }
            Some(key) => {
                let found = self.types.section(key);
                if found == section {
                    return Some(key);
                }
                let message = format!(
                    "`{name}` is {}, but {} is needed",
                    found.noun_with_article(),
                    section.noun_with_article()
                );
                self.problems().error(message, span);
                None
            }
        }
    }

    /// Finds a type that a definition mentions. In an imported file one that is not there does no
    /// harm as long as nothing needs it, so that it is only warned of.
    pub(super) fn find_or_warn(
        self,
        name: &str,
        section: TypeSection,
        span: Span,
    ) -> Option<TypeKey> {
        let found = self.find(name, section);
        if found.is_none() && self.namespace != ROOT {
            let mut problem = self.types.unknown(self.namespace, name, section, span);
            problem.severity = Severity::Warning;
            self.report(problem);
            return None;
        }
        self.require(name, section, span)
    }

    /// The map of a node; reports anything else but null.
    pub(super) fn map(self, node: &Node, subject: impl FnOnce() -> String) -> Option<&Mapping> {
        self.typed_child(node, "a map", subject, Node::as_map)
    }

    /// What a node holds, if that is what is expected. Nothing at all is no problem.
    fn typed_child<'n, T>(
        self,
        node: &'n Node,
        expected: &str,
        subject: impl FnOnce() -> String,
        read: impl FnOnce(&'n Node) -> Option<T>,
    ) -> Option<T> {
        let found = read(node);
        if found.is_none() && !node.is_null() {
            self.problems()
                .report(node.type_mismatch(subject(), expected));
        }
        found
    }

    /// The map under a key.
    pub(super) fn map_at<'n>(
        self,
        mapping: &'n Mapping,
        key: &str,
        subject: impl FnOnce() -> String,
    ) -> Option<&'n Mapping> {
        let node = mapping.get(key)?;
        self.map(node, || format!("`{key}` of {}", subject()))
    }

    /// The list under a key.
    pub(super) fn list_at<'n>(
        self,
        mapping: &'n Mapping,
        key: &str,
        subject: impl FnOnce() -> String,
    ) -> &'n [Node] {
        let subject = || format!("`{key}` of {}", subject());
        let node = mapping.get(key);
        let items = node.and_then(|node| self.typed_child(node, "a list", subject, Node::as_seq));
        items.unwrap_or_default()
    }

    /// The text under a key.
    pub(super) fn text_at(
        self,
        mapping: &Mapping,
        key: &str,
        subject: impl FnOnce() -> String,
    ) -> Option<Arc<str>> {
        let subject = || format!("`{key}` of {}", subject());
        let text = self.typed_child(mapping.get(key)?, "a string", subject, Node::as_str);
        text.map(Arc::from)
    }

    /// A name under a key, to be looked up here later.
    pub(super) fn reference(self, node: &Node) -> Option<Reference> {
        Some(Reference {
            name: node.as_str()?.into(),
            span: node.span(),
            namespace: self.namespace,
        })
    }

    /// Reports a problem.
    pub(super) fn report(self, diagnostic: Diagnostic) {
        self.problems().report(diagnostic);
    }
}

/// The entries under a key as values; nothing if it is no map.
pub(super) fn values_at(mapping: &Mapping, key: &str) -> Map {
    mapping.get(key).map(values).unwrap_or_default()
}

/// The entries of a node as values; nothing if it is no map.
pub(super) fn values(node: &Node) -> Map {
    match node.to_value().reveal() {
        Value::Map(map) => Map::clone(map),
        _ => Map::default(),
    }
}

/// The `description` without the blanks around it.
pub(super) fn description(mapping: &Mapping) -> Option<Arc<str>> {
    mapping
        .get("description")
        .and_then(Node::as_str)
        .map(|text| text.trim().into())
}
