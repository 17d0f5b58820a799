//! Filters of Salt whose arguments or results are values of the engine: bytes, tuples and methods.

use indexmap::IndexMap;
use minijinja::value::{Kwargs, Rest, Value as JinjaValue, ValueKind};
use minijinja::{Environment, ErrorKind, State};

use super::error::{Result, filter_error};

/// The names of the filters.
pub const DOCUMENT_FILTERS: [&str; 8] = [
    "is_list",
    "json_decode_dict",
    "json_decode_list",
    "json_encode_dict",
    "json_encode_list",
    "mac_str_to_bytes",
    "method_call",
    "to_bytes",
];

/// The maximum depth of values whose texts become bytes.
const DEPTH: usize = 100;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("is_list", is_list);
    environment.add_filter("method_call", method_call);
    environment.add_filter("to_bytes", to_bytes);
    environment.add_filter("mac_str_to_bytes", hardware_address);
    for (name, kind) in [
        ("json_decode_dict", ValueKind::Map),
        ("json_encode_dict", ValueKind::Map),
        ("json_decode_list", ValueKind::Seq),
        ("json_encode_list", ValueKind::Seq),
    ] {
        environment.add_filter(name, move |value: &JinjaValue| {
            if value.kind() != kind {
                return Err(filter_error(format!(
                    "`{name}` takes a {kind}, not a {}",
                    value.kind()
                )));
            }
            encoded(value, 0)
        });
    }
}

/// Returns true if a value is a list. A tuple is none.
pub(super) fn is_list(value: &JinjaValue) -> bool {
    value.kind() == ValueKind::Seq && !value.is_tuple()
}

/// Calls a method of a value. The result is none if there is no such method.
fn method_call(
    state: &mut State,
    value: &JinjaValue,
    name: &str,
    args: Rest<JinjaValue>,
    named: Kwargs,
) -> Result<JinjaValue> {
    let mut args = args.0;
    if named.args().next().is_some() {
        args.push(named.into());
    }
    match value.call_method(state, name, &args) {
        Err(error) if error.kind() == ErrorKind::UnknownMethod => Ok(JinjaValue::from(())),
        answer => answer,
    }
}

/// Encodes a text as the argument `encoding` says.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
fn to_bytes(value: &JinjaValue, args: Rest<JinjaValue>, named: Kwargs) -> Result<JinjaValue> {
    let encoding = match args.first() {
        Some(encoding) => Some(encoding.clone()),
        None => named.get::<Option<JinjaValue>>("encoding")?,
    };
    let encoding = encoding.filter(|encoding| !encoding.is_none());
    let encoding = encoding.map_or_else(|| "utf-8".to_owned(), |encoding| encoding.to_string());
    encode(value, &encoding)
}

/// Encodes a text.
fn encode(value: &JinjaValue, encoding: &str) -> Result<JinjaValue> {
    if value.kind() == ValueKind::Bytes {
        return Ok(value.clone());
    }
    let Some(text) = value.as_str() else {
        return Err(filter_error(format!(
            "`to_bytes` takes a text, not a {}",
            value.kind()
        )));
    };
    let encoding = encoding.to_lowercase();
    let limit = match encoding.as_str() {
        "utf-8" | "utf8" => return Ok(JinjaValue::from_bytes(text.as_bytes().to_vec())),
        "ascii" | "us-ascii" => 0x7f,
        "latin-1" | "latin1" | "iso-8859-1" => 0xff,
        other => {
            return Err(filter_error(format!(
                "`to_bytes`: the encoding `{other}` is not supported; use utf-8, ascii or latin-1"
            )));
        }
    };
    let byte = |letter: char| {
        let byte = u8::try_from(u32::from(letter)).ok();
        byte.filter(|byte| *byte <= limit)
            .ok_or_else(|| filter_error(format!("`to_bytes`: {encoding} has no `{letter}`")))
    };
    let bytes = text.chars().map(byte).collect::<Result<Vec<u8>>>()?;
    Ok(JinjaValue::from_bytes(bytes))
}

/// Returns the six bytes of a hardware address such as `de:ad:be:ef:00:01`.
fn hardware_address(text: &str) -> Result<JinjaValue> {
    let invalid = || filter_error(format!("`{text}` is not a hardware address"));
    let digits = match text.len() {
        12 => text.to_owned(),
        17 => {
            let separator = text.chars().nth(2).unwrap_or(':');
            text.replace(separator, "")
        }
        _ => return Err(invalid()),
    };
    if !digits.is_ascii() || digits.len() != 12 {
        return Err(invalid());
    }
    let byte = |place: usize| u8::from_str_radix(&digits[place..place + 2], 16);
    let bytes: std::result::Result<Vec<u8>, _> = (0..12).step_by(2).map(byte).collect();
    Ok(JinjaValue::from_bytes(bytes.map_err(|_| invalid())?))
}

/// Encodes all texts of a list or a map. Tuples become lists.
fn encoded(value: &JinjaValue, depth: usize) -> Result<JinjaValue> {
    if depth > DEPTH {
        return Err(filter_error("a value nests too deeply"));
    }
    match value.kind() {
        ValueKind::String => encode(value, "utf-8"),
        ValueKind::Seq => {
            let items = value.try_iter()?.map(|item| encoded(&item, depth + 1));
            Ok(JinjaValue::from(items.collect::<Result<Vec<_>>>()?))
        }
        ValueKind::Map => {
            let entry = |key: JinjaValue| {
                let item = encoded(&value.get_item(&key)?, depth + 1)?;
                Ok((encoded(&key, depth + 1)?, item))
            };
            let entries = value.try_iter()?.map(entry);
            let entries = entries.collect::<Result<IndexMap<JinjaValue, JinjaValue>>>()?;
            Ok(JinjaValue::from_object(entries))
        }
        _ => Ok(value.clone()),
    }
}
