//! Filters between values and JSON, YAML, base 64, digests.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands arguments over by value"
)]

use minijinja::value::{Kwargs, Value as JinjaValue};
use minijinja::{Environment, State};
use serde::Serialize as _;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};

use crate::expr::encoding;
use crate::expr::item::Item;
use crate::value::Value;

use super::filters::{Result, failed};
use super::variables::Variables;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("to_json", to_json);
    environment.add_filter("tojson", to_json);
    environment.add_filter("to_nice_json", to_nice_json);
    environment.add_filter("to_yaml", to_yaml);
    environment.add_filter("to_nice_yaml", to_yaml);
    environment.add_filter("from_json", from_json);
    environment.add_filter("from_yaml", from_yaml);
    environment.add_filter("string", string);
    environment.add_filter("b64encode", b64encode);
    environment.add_filter("b64decode", b64decode);
    environment.add_filter("hash", hash);
    environment.add_filter("checksum", sha1_of);
    environment.add_filter("sha1", sha1_of);
    environment.add_filter("md5", md5);
    environment.add_filter("password_hash", password_hash);
}

/// Text that stays text, whatever it looks like.
fn text(text: String) -> JinjaValue {
    JinjaValue::from_safe_string(text)
}

fn to_json(state: &State, value: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let value = Variables::of(state)?.open(value)?;
    let value = match options.get::<Option<bool>>("sort_keys")? {
        Some(true) => sorted(&value),
        _ => value,
    };
    let indent = options.get::<Option<usize>>("indent")?;
    let json = match indent {
        Some(indent) => indented(&value, indent)?,
        None => spaced(&value)?,
    };
    // Other options of Python's encoder change nothing here.
    options
        .args()
        .for_each(|name| drop(options.get::<JinjaValue>(name)));
    Ok(text(json))
}

fn to_nice_json(state: &State, value: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let value = Variables::of(state)?.open(value)?;
    let indent = options.get::<Option<usize>>("indent")?.unwrap_or(4);
    let sort = options.get::<Option<bool>>("sort_keys")?.unwrap_or(true);
    let value = if sort { sorted(&value) } else { value };
    options
        .args()
        .for_each(|name| drop(options.get::<JinjaValue>(name)));
    Ok(text(indented(&value, indent)?))
}

/// With a space after commas and colons, as Python writes it.
fn spaced(value: &Value) -> Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    value
        .serialize(&mut serializer)
        .map_err(|error| failed(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

fn indented(value: &Value, indent: usize) -> Result<String> {
    let indent = vec![b' '; indent.min(64)];
    let formatter = serde_json::ser::PrettyFormatter::with_indent(&indent);
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value
        .serialize(&mut serializer)
        .map_err(|error| failed(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::map(
                entries
                    .into_iter()
                    .map(|(key, item)| (key.clone(), sorted(item))),
            )
        }
        Value::List(items) => Value::list(items.iter().map(sorted)),
        other => other.clone(),
    }
}

fn to_yaml(state: &State, value: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let value = variables.open(value)?;
    options
        .args()
        .for_each(|name| drop(options.get::<JinjaValue>(name)));
    variables
        .evaluator
        .world()
        .to_yaml(&value)
        .map(text)
        .map_err(failed)
}

fn from_json(state: &State, json: &JinjaValue) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let given = variables.open(json)?;
    let Some(json) = given.as_str() else {
        // What was a literal already became a value when it was rendered.
        return Ok(variables.give(Item::Value(given)));
    };
    let parsed: serde_json::Value =
        serde_json::from_str(json).map_err(|error| failed(format!("this is no JSON: {error}")))?;
    Ok(variables.give(Item::Value(from_serde(parsed))))
}

fn from_serde(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => truth.into(),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => int.into(),
            (None, _) if number.is_u64() => Value::Big(number.to_string().into()),
            (None, float) => float.into(),
        },
        serde_json::Value::String(text) => text.into(),
        serde_json::Value::Array(items) => Value::list(items.into_iter().map(from_serde)),
        serde_json::Value::Object(map) => {
            Value::map(map.into_iter().map(|(key, item)| (key, from_serde(item))))
        }
    }
}

fn from_yaml(state: &State, yaml: &JinjaValue) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let given = variables.open(yaml)?;
    let Some(yaml) = given.as_str() else {
        return Ok(variables.give(Item::Value(given)));
    };
    let parsed = variables
        .evaluator
        .world()
        .parse_yaml(yaml)
        .map_err(failed)?;
    Ok(variables.give(Item::Value(parsed)))
}

fn string(state: &State, value: &JinjaValue) -> Result<JinjaValue> {
    if value.is_undefined() {
        return Ok(value.clone());
    }
    Ok(text(Variables::of(state)?.open(value)?.to_string()))
}

fn b64encode(text: String) -> String {
    encoding::base64(text.as_bytes())
}

fn b64decode(text: String) -> Result<String> {
    let bytes = encoding::from_base64(&text).ok_or_else(|| failed("this is not base 64"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn hash(text: String, kind: Option<String>) -> Result<String> {
    let bytes = text.as_bytes();
    Ok(match kind.as_deref().unwrap_or("sha1") {
        "sha1" => encoding::hex(&Sha1::digest(bytes)),
        "sha224" => encoding::hex(&Sha224::digest(bytes)),
        "sha256" => encoding::hex(&Sha256::digest(bytes)),
        "sha384" => encoding::hex(&Sha384::digest(bytes)),
        "sha512" => encoding::hex(&Sha512::digest(bytes)),
        other => return Err(failed(format!("the digest `{other}` is not known"))),
    })
}

fn sha1_of(text: String) -> String {
    encoding::hex(&Sha1::digest(text.as_bytes()))
}

fn md5(_: String) -> Result<String> {
    Err(failed("`md5` is not supported; use `hash('sha256')`"))
}

fn password_hash(_: String) -> Result<String> {
    Err(failed(
        "`password_hash` is not supported; hash passwords in a task",
    ))
}
