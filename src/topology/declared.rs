//! What templates declare of attributes and properties.

use std::sync::Arc;

use crate::tosca::{AttributeDecl, Property};
use crate::value::Value;

/// What is declared of an attribute or property: its value, and whether it is sensitive. An
/// attribute that has no value yet is null.
pub(super) fn declared(
    properties: &indexmap::IndexMap<Arc<str>, Property>,
    attributes: &indexmap::IndexMap<Arc<str>, AttributeDecl>,
    name: &str,
) -> (Option<Value>, bool) {
    let property = properties.get(name);
    let attribute = attributes.get(name);
    let definition = property.and_then(|property| property.definition.as_ref());
    let sensitive = definition.is_some_and(|definition| definition.is_sensitive())
        || attribute.is_some_and(|attribute| attribute.sensitive);
    let value = property.map(|property| property.value.clone());
    (
        value.or_else(|| attribute.map(|attribute| attribute.default.clone().unwrap_or_default())),
        sensitive,
    )
}
