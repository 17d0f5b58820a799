//! Parser for Ansible's TOML inventories: turns the text into a tree of YAML nodes with places.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The maximum nesting depth of tables and arrays.
const MAX_DEPTH: usize = 64;

/// Parses a text into a mapping of groups.
pub(super) fn read(text: &str, source: SourceId) -> Result<Node, Diagnostics> {
    let root = DeTable::parse(text).map_err(|error| {
        let place = span(source, error.span().unwrap_or(0..0));
        let message = format!("the text is not valid TOML: {}", error.message());
        Diagnostics::from(Diagnostic::error(message).label(place, ""))
    })?;
    let place = span(source, root.span());
    let map = mapping(root.get_ref(), source, 0)?;
    Ok(Node::new(NodeKind::Map(map), place, None))
}

fn span(source: SourceId, range: Range<usize>) -> Span {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(source, place(range.start), place(range.end))
}

fn mapping(table: &DeTable<'_>, source: SourceId, depth: usize) -> Result<Mapping, Diagnostics> {
    let entries = table.iter().map(|(key, value)| {
        let entry = MapEntry::new(span(source, key.span()), node(value, source, depth + 1)?);
        Ok((Arc::from(&**key.get_ref()), entry))
    });
    entries.collect()
}

fn node(value: &Spanned<DeValue<'_>>, source: SourceId, depth: usize) -> Result<Node, Diagnostics> {
    let place = span(source, value.span());
    if depth > MAX_DEPTH {
        let message = format!("the tables are nested more than {MAX_DEPTH} levels deep");
        return Err(Diagnostic::error(message).label(place, "").into());
    }
    let kind = match value.get_ref() {
        DeValue::String(text) => NodeKind::Str(Arc::from(&**text)),
        DeValue::Boolean(truth) => NodeKind::Bool(*truth),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => NodeKind::Int(number),
            Err(_) => NodeKind::Str(number.as_str().into()),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => NodeKind::Float(number),
            Err(_) => NodeKind::Str(number.as_str().into()),
        },
        DeValue::Datetime(time) => NodeKind::Str(time.to_string().into()),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| node(item, source, depth + 1));
            NodeKind::Seq(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => NodeKind::Map(mapping(table, source, depth)?),
    };
    Ok(Node::new(kind, place, None))
}
