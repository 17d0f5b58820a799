//! The content that a state gives explicitly: `contents`, `contents_pillar` or `contents_grains`.
//!
//! `file.managed` uses it instead of a source. Sensitive pillar values make the whole content secret.

use super::source::{contains_secrets, render_source, template_context};
use super::text_diff::with_newlines;
use crate::states::{FactCache, Halt, StateCall, refuse};
use crate::value::Value;

/// The bytes of an explicit content, already encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExplicitContents {
    pub(super) bytes: Vec<u8>,
    /// Whether results must hide the content.
    pub(super) secret: bool,
}

/// Counts the arguments that give a content; more than one is an error for the caller.
pub(super) fn count_content_arguments(call: &StateCall<'_>) -> usize {
    ["contents", "contents_pillar", "contents_grains"]
        .into_iter()
        .filter(|key| call.arg(key).is_some())
        .count()
}

/// Returns the explicit content of a state; None if the state has no such argument.
pub(super) fn explicit_contents(
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<Option<ExplicitContents>, Halt> {
    let (value, name) = if let Some(keys) = call.arg("contents_pillar") {
        let value = look_up_keys(call, keys, &call.context.pillar, "Pillar")?;
        (value, format!("contents_pillar {keys}"))
    } else if let Some(keys) = call.arg("contents_grains") {
        let value = look_up_keys(call, keys, &call.context.grains, "Grain")?;
        (value, format!("contents_grains {keys}"))
    } else if let Some(value) = call.args.get("contents").filter(|it| !it.is_null()) {
        (value.clone(), "'contents'".to_owned())
    } else {
        return Ok(None);
    };
    if !call.flag("allow_empty", true) && !value.is_truthy() {
        return refuse(format!(
            "{name} value would result in empty contents. Set allow_empty to True to allow the \
             managed file to be empty."
        ));
    }
    let parts: Vec<String> = match value.reveal() {
        Value::List(items) => items.iter().map(plain_text).collect(),
        Value::Null => vec!["None".to_owned()],
        other => vec![plain_text(other)],
    };
    if parts.is_empty() {
        return refuse(
            "Contents specified by contents/contents_pillar/contents_grains is not a string or \
             list of strings, and is not binary data. SLS is likely malformed.",
        );
    }
    let mut text = with_newlines(parts.iter().map(String::as_str));
    if !call.flag("contents_newline", true) {
        text.truncate(text.trim_end_matches('\n').trim_end_matches('\r').len());
    }
    let mut secret = value.has_sensitive();
    if let Some(template) = call.non_empty_text("template")? {
        if template != "jinja" {
            return refuse(format!(
                "Specified template format {template} is not supported"
            ));
        }
        text = render_source(call, text.as_bytes(), "", &template_context(call)?, facts)?;
        secret |= contains_secrets(call, &text);
    }
    let bytes = encode(call, text)?;
    Ok(Some(ExplicitContents { bytes, secret }))
}

/// Returns a value as Python's `str` prints it, with sensitive text revealed.
fn plain_text(value: &Value) -> String {
    value.reveal().to_string()
}

fn look_up_keys(
    call: &StateCall<'_>,
    keys: &Value,
    within: &Value,
    source: &str,
) -> Result<Value, Halt> {
    let delimiter = call.text("contents_delimiter")?;
    let delimiter = delimiter
        .as_deref()
        .filter(|it| !it.is_empty())
        .unwrap_or(":");
    let find = |key: &Value| {
        let key = key.to_string();
        get_at_path(within, &key, delimiter)
            .ok_or_else(|| Halt::Failed(format!("{source} {key} does not exist")))
    };
    let Some(several) = keys.as_list() else {
        return find(keys);
    };
    let mut parts = Vec::new();
    let mut secret = false;
    for key in several {
        let value = find(key)?;
        secret |= value.has_sensitive();
        parts.push(plain_text(&value));
    }
    Ok(Value::str(parts.join("\n")).sensitive_if(secret))
}

/// Returns the value at a path of keys. A part of the path may be an index into a list.
///
/// The result is sensitive if a value on the path is.
pub(super) fn get_at_path(within: &Value, path: &str, delimiter: &str) -> Option<Value> {
    let mut found = within.clone();
    let mut secret = matches!(found, Value::Sensitive(_));
    for part in path.split(delimiter) {
        let next = match found.reveal() {
            Value::Map(map) => map.get(part).cloned().or_else(|| {
                // The key may be a number in YAML, which is not equal to its text.
                map.iter()
                    .find(|(key, _)| &***key == part)
                    .map(|(_, value)| value.clone())
            }),
            Value::List(items) => part
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index).cloned()),
            _ => None,
        }?;
        secret |= matches!(next, Value::Sensitive(_));
        found = next;
    }
    Some(found.sensitive_if(secret))
}

/// Encodes the text as the argument `encoding` demands; UTF-8 by default.
pub(super) fn encode(call: &StateCall<'_>, text: String) -> Result<Vec<u8>, Halt> {
    let Some(name) = call.non_empty_text("encoding")? else {
        return Ok(text.into_bytes());
    };
    let plain: String = name
        .to_ascii_lowercase()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let single = |max: u32| {
        text.chars()
            .map(|sign| {
                u8::try_from(u32::from(sign))
                    .ok()
                    .filter(|byte| u32::from(*byte) <= max)
                    .ok_or_else(|| {
                        Halt::Failed(format!(
                            "Unable to manage file: '{name}' codec can't encode character '{sign}'"
                        ))
                    })
            })
            .collect::<Result<Vec<u8>, Halt>>()
    };
    match &*plain {
        "utf8" => Ok(text.into_bytes()),
        "utf8sig" => Ok(format!("\u{feff}{text}").into_bytes()),
        "ascii" | "usascii" => single(127),
        "latin1" | "iso88591" | "l1" => single(255),
        "utf16le" => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        "utf16be" => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        "utf16" => Ok(std::iter::once(0xfeff)
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect()),
        _ => refuse(format!("Unable to manage file: unknown encoding: {name}")),
    }
}
