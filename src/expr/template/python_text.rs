//! The text of engine values as Python's `str` writes them. Values of this program have no tuples, so the text of a
//! value with tuples is built from the engine value.

use std::sync::Arc;

use minijinja::ErrorKind;
use minijinja::value::{Value as JinjaValue, ValueKind};

use super::error::{Result, filter_error};
use super::lazy_object::LazyObject;
use super::limits;
use super::variables::Variables;

/// The maximum nesting depth of values with tuples.
const DEPTH: usize = 100;

/// Returns the text of a value.
pub(super) fn python_text(variables: &Arc<Variables>, value: &JinjaValue) -> Result<String> {
    // Fails if the value is too large to be walked.
    let plain = variables.revealed_value(value)?;
    if !needs_engine_value(value, 0) {
        return Ok(plain.to_string());
    }
    let mut text = String::new();
    write(variables, value, &mut text, 0)?;
    Ok(text)
}

/// Returns true if a value has parts that values of this program lack: tuples, bytes, keys that are no texts, and
/// undefined values, which are an error.
fn needs_engine_value(value: &JinjaValue, depth: usize) -> bool {
    let is_collection = matches!(value.kind(), ValueKind::Seq | ValueKind::Map);
    if value.is_undefined() || value.kind() == ValueKind::Bytes {
        return true;
    }
    if !is_collection || depth > DEPTH || value.downcast_object_ref::<LazyObject>().is_some() {
        return false;
    }
    let is_map = value.kind() == ValueKind::Map;
    let has = |item: &JinjaValue| {
        if is_map && (item.as_str().is_none() || item.kind() == ValueKind::Bytes) {
            return true;
        }
        let inner = if is_map {
            value.get_item(item).ok()
        } else {
            None
        };
        needs_engine_value(inner.as_ref().unwrap_or(item), depth + 1)
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
    if !needs_engine_value(value, depth) {
        text.push_str(&format!("{:?}", variables.revealed_value(value)?));
        return limits::check_text_length(text.len());
    }
    if value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    if let Some(bytes) = value
        .as_bytes()
        .filter(|_| value.kind() == ValueKind::Bytes)
    {
        write_bytes(bytes, text);
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

/// Writes bytes as Python does, such as `b'a\xff'`.
fn write_bytes(bytes: &[u8], text: &mut String) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') {
        '"'
    } else {
        '\''
    };
    text.push('b');
    text.push(quote);
    for byte in bytes {
        match char::from(*byte) {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            letter if letter == quote => text.extend(['\\', letter]),
            letter @ ' '..='~' => text.push(letter),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push(quote);
}
