//! The built-in types of the TOSCA and Unfurl profiles.
//!
//! The profiles are embedded as text. A scan by indentation splits them into types, once per process. The
//! type loader parses a type when a template first uses it.

use std::sync::OnceLock;

use crate::diagnostic::Span;
use crate::yaml::{MapEntry, Mapping, Node, NodeKind, Schema, parse_text};

use super::section::TypeSection;

const PROFILES: &[&str] = &[
    include_str!("../../schemas/tosca/simple-1.3.yaml"),
    include_str!("../../schemas/tosca/nfv-1.0.yaml"),
    include_str!("../../schemas/tosca/unfurl.yaml"),
];

/// A built-in type as unparsed YAML text.
#[derive(Debug, Clone, Copy)]
pub(super) struct BuiltIn {
    pub(super) section: TypeSection,
    pub(super) name: &'static str,
    pub(super) body: &'static str,
}

/// Returns every built-in type of all profiles.
pub(super) fn built_in_types() -> &'static [BuiltIn] {
    static FOUND: OnceLock<Vec<BuiltIn>> = OnceLock::new();
    FOUND.get_or_init(|| PROFILES.iter().copied().flat_map(types_in).collect())
}

/// Finds the types of a profile by indentation.
///
/// Sections start at column 0 and types at column 2. Lines that are indented further are the body of a type.
fn types_in(text: &'static str) -> Vec<BuiltIn> {
    let mut types: Vec<BuiltIn> = Vec::new();
    let mut section = None;
    let mut open: Option<(TypeSection, &'static str, usize)> = None;
    let mut place = 0;
    for line in text.split_inclusive('\n') {
        let start = place;
        place += line.len();
        let content = line.trim_end();
        let is_header = content.starts_with(|c: char| c.is_ascii_alphabetic());
        let type_name = content
            .strip_prefix("  ")
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
            .and_then(|rest| rest.strip_suffix(':'));
        let ends = is_header || type_name.is_some();
        if ends && let Some((section, name, from)) = open.take() {
            let body = &text[from..start];
            types.push(BuiltIn {
                section,
                name,
                body,
            });
        }
        if is_header {
            section = content.strip_suffix(':').and_then(TypeSection::from_key);
        } else if let (Some(section), Some(name)) = (section, type_name) {
            open = Some((section, name, place));
        }
    }
    if let Some((section, name, from)) = open {
        let body = &text[from..];
        types.push(BuiltIn {
            section,
            name,
            body,
        });
    }
    types
}

/// Parses the body of a built-in type.
///
/// The nodes have no spans, because the text is in no file of the user.
pub(super) fn parse_built_in(body: &str) -> Node {
    match parse_text(Schema::Core, body) {
        Ok(node) => without_spans(&node),
        // Cannot happen: a test parses every built-in type.
        Err(_) => Node::new(NodeKind::Null, Span::NONE, None),
    }
}

fn without_spans(node: &Node) -> Node {
    let kind = match node.kind() {
        NodeKind::Seq(items) => NodeKind::Seq(items.iter().map(without_spans).collect()),
        NodeKind::Map(mapping) => NodeKind::Map(
            mapping
                .iter()
                .map(|(key, entry)| {
                    let entry = MapEntry::new(Span::NONE, without_spans(&entry.value));
                    (std::sync::Arc::clone(key), entry)
                })
                .collect::<Mapping>(),
        ),
        scalar => scalar.clone(),
    };
    Node::new(kind, Span::NONE, node.tag().map(Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_type_is_found_and_parses() {
        let types = built_in_types();
        assert!(types.len() > 110, "{}", types.len());
        for built_in in types {
            let node = parse_built_in(built_in.body);
            assert!(node.get("description").is_some(), "{}", built_in.name);
        }
    }

    #[test]
    fn no_type_is_built_in_twice() {
        let names: std::collections::HashSet<_> =
            built_in_types().iter().map(|found| found.name).collect();
        assert_eq!(names.len(), built_in_types().len());
    }
}
