//! The text of engine values as Python's `str` writes them. Values of this program have no tuples, so the text of a
//! value with tuples is built from the engine value.

use std::sync::Arc;

use minijinja::value::{Value as JinjaValue, ValueKind};

use super::error::{Result, filter_error};
use super::lazy_object::LazyObject;
use super::limits;
use super::variables::Variables;

/// The maximum nesting depth of values with tuples.
const DEPTH: usize = 100;

/// Returns the text of a value.
pub(super) fn python_text(variables: &Arc<Variables>, value: &JinjaValue) -> Result<String> {
    if !has_tuple(value, 0) {
        return Ok(variables.revealed_value(value)?.to_string());
    }
    let mut text = String::new();
    write(variables, value, &mut text, 0)?;
    Ok(text)
}

fn has_tuple(value: &JinjaValue, depth: usize) -> bool {
    let is_collection = matches!(value.kind(), ValueKind::Seq | ValueKind::Map);
    if !is_collection || depth > DEPTH || value.downcast_object_ref::<LazyObject>().is_some() {
        return false;
    }
    let is_map = value.kind() == ValueKind::Map;
    let has = |item: &JinjaValue| {
        let inner = if is_map {
            value.get_item(item).ok()
        } else {
            None
        };
        has_tuple(inner.as_ref().unwrap_or(item), depth + 1)
    };
    value.is_tuple()
        || value
            .try_iter()
            .is_ok_and(|mut items| items.any(|item| has(&item)))
}

fn write(
    variables: &Arc<Variables>,
    value: &JinjaValue,
    text: &mut String,
    depth: usize,
) -> Result<()> {
    if depth > DEPTH {
        return Err(filter_error("a value nests too deeply"));
    }
    if !has_tuple(value, depth) {
        text.push_str(&format!("{:?}", variables.revealed_value(value)?));
        return limits::check_text_length(text.len());
    }
    let is_map = value.kind() == ValueKind::Map;
    let (open, close) = match (is_map, value.is_tuple()) {
        (true, _) => ('{', '}'),
        (false, true) => ('(', ')'),
        (false, false) => ('[', ']'),
    };
    text.push(open);
    for (place, item) in value.try_iter()?.enumerate() {
        if place > 0 {
            text.push_str(", ");
        }
        write(variables, &item, text, depth + 1)?;
        if is_map {
            text.push_str(": ");
            write(variables, &value.get_item(&item)?, text, depth + 1)?;
        }
    }
    if value.is_tuple() && value.len() == Some(1) {
        text.push(',');
    }
    text.push(close);
    Ok(())
}
