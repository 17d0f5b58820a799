//! Type scopes: the namespace in which a piece of YAML looks up its names.
//!
//! Each imported file has a namespace, because an import can prefix names. Nearly all readers of the module
//! are methods of [`TypeScope`]; this file has the helpers that they share.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Severity, Span};
use crate::value::{Map, Value};
use crate::yaml::{Mapping, Node};

use super::definition::TypeKey;
use super::entity_types::Reference;
use super::problems::Problems;
use super::section::TypeSection;
use super::types::{ROOT, Types};

/// The namespace to look up names in, with the types to look them up among.
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

    /// Returns the directory of the file that contains the location.
    pub(super) fn base_dir(self, span: Span) -> Arc<PathBuf> {
        Arc::clone(self.types.base_dir_at(span, self.namespace))
    }

    /// Returns the type with the name, if it belongs to the section.
    pub(super) fn find(self, name: &str, section: TypeSection) -> Option<TypeKey> {
        let key = self
            .types
            .find_by_ancestors(self.namespace, name, section)?;
        (self.types.section(key) == section).then_some(key)
    }

    /// Returns the type with the name. Reports an error if it is unknown or belongs to another section.
    pub(super) fn require(self, name: &str, section: TypeSection, span: Span) -> Option<TypeKey> {
        match self.types.find_by_ancestors(self.namespace, name, section) {
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
                    "`{name}` is {}, but {} is required",
                    found.noun_with_article(),
                    section.noun_with_article()
                );
                self.problems().error(Check::UnknownType, message, span);
                None
            }
        }
    }

    /// Returns the type that a definition mentions.
    ///
    /// In an imported file an unknown type is only a warning: it is harmless as long as no template needs it.
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

    /// Returns the map of a node. Reports any other kind of node except null.
    pub(super) fn map(self, node: &Node, subject: impl FnOnce() -> String) -> Option<&Mapping> {
        self.content_of_kind(node, "a map", subject, Node::as_map)
    }

    /// Returns the content of a node if it has the expected kind. Reports any other kind of node except null.
    fn content_of_kind<'n, T>(
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

    /// Returns the map under a key. Reports any other kind of node.
    pub(super) fn map_at<'n>(
        self,
        mapping: &'n Mapping,
        key: &str,
        subject: impl FnOnce() -> String,
    ) -> Option<&'n Mapping> {
        let node = mapping.get(key)?;
        self.map(node, || format!("`{key}` of {}", subject()))
    }

    /// Returns the list under a key, or an empty one. Reports any other kind of node.
    pub(super) fn list_at<'n>(
        self,
        mapping: &'n Mapping,
        key: &str,
        subject: impl FnOnce() -> String,
    ) -> &'n [Node] {
        let subject = || format!("`{key}` of {}", subject());
        let node = mapping.get(key);
        let items =
            node.and_then(|node| self.content_of_kind(node, "a list", subject, Node::as_seq));
        items.unwrap_or_default()
    }

    /// Returns the text under a key. Reports any other kind of node.
    pub(super) fn text_at(
        self,
        mapping: &Mapping,
        key: &str,
        subject: impl FnOnce() -> String,
    ) -> Option<Arc<str>> {
        let subject = || format!("`{key}` of {}", subject());
        let text = self.content_of_kind(mapping.get(key)?, "a string", subject, Node::as_str);
        text.map(Arc::from)
    }

    /// Returns the name in a node, with this namespace to look it up in later.
    pub(super) fn reference(self, node: &Node) -> Option<Reference> {
        Some(Reference {
            name: node.as_str()?.into(),
            span: node.span(),
            namespace: self.namespace,
        })
    }

    /// Adds a problem to those of the service template.
    pub(super) fn report(self, diagnostic: Diagnostic) {
        self.problems().report(diagnostic);
    }
}

/// Returns the entries of the map under a key as values. Empty if there is no map.
pub(super) fn values_at(mapping: &Mapping, key: &str) -> Map {
    mapping.get(key).map(values).unwrap_or_default()
}

/// Returns the entries of a node as values. Empty if the node is no map.
pub(super) fn values(node: &Node) -> Map {
    match node.to_value().reveal() {
        Value::Map(map) => Map::clone(map),
        _ => Map::default(),
    }
}

/// Returns the `description` without surrounding whitespace.
pub(super) fn description(mapping: &Mapping) -> Option<Arc<str>> {
    mapping
        .get("description")
        .and_then(Node::as_str)
        .map(|text| text.trim().into())
}
