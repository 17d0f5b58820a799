//! Filters that convert between values and JSON, YAML, base64 and digests.
use minijinja::State;
use minijinja::value::Value as JinjaValue;
use serde::Serialize as _;

use crate::expr::encoding;
use crate::text::base64;
use crate::value::{List, Value, hex_digest, name_uuid};

use super::arguments::{FilterArguments, FilterTable};
use super::error::{Result, filter_error};
use super::pyyaml_dump::{DumpStyle, dump};
use super::variables::Variables;

/// The default namespace of the identifiers that `to_uuid` creates.
const NAMESPACE: &str = "361e6d51-faec-444a-9079-341386da8e2e";

/// The options of Python's JSON encoder. Those that no filter reads are accepted without effect.
const JSON: &[&str] = &[
    "indent",
    "sort_keys",
    "ensure_ascii",
    "separators",
    "vault_to_text",
    "preprocess_unsafe",
    "skipkeys",
    "allow_nan",
    "check_circular",
    "cls",
    "default",
];
const YAML: &[&str] = &[
    "indent",
    "width",
    "sort_keys",
    "default_flow_style",
    "allow_unicode",
    "default_style",
    "line_break",
    "explicit_start",
    "explicit_end",
    "canonical",
    "encoding",
];

const PASSWORD: &[&str] = &[
    "hashtype",
    "salt",
    "salt_size",
    "rounds",
    "encrypt",
    "ident",
];

/// The filters that convert between values and texts.
pub(super) const FILTERS: FilterTable = &[
    ("to_json", JSON, |args| to_json(args, None, false)),
    ("tojson", &["indent"], |args| html_json(args, true)),
    ("to_nice_json", JSON, |args| to_json(args, Some(4), true)),
    ("to_yaml", YAML, |args| to_yaml(args, None, 2)),
    ("to_nice_yaml", YAML, |args| to_yaml(args, Some(false), 4)),
    ("from_json", &[], from_json),
    ("from_yaml", &[], from_yaml),
    ("from_yaml_all", &[], from_yaml_all),
    ("b64encode", &["encoding"], b64encode),
    ("b64decode", &["encoding"], b64decode),
    ("hash", &["hashtype"], hash),
    ("checksum", &[], |args| digest(args, "sha1")),
    ("sha1", &[], |args| digest(args, "sha1")),
    ("md5", &[], |args| digest(args, "md5")),
    ("to_uuid", &["namespace"], to_uuid),
    ("password_hash", PASSWORD, password_hash),
];

/// The filters that differ in documents: Salt does not sort the keys of `tojson`.
pub(super) const DOCUMENT_FILTERS: FilterTable =
    &[("tojson", &["indent"], |args| html_json(args, false))];

/// Marks a text as safe, so that it stays text even if it looks like a literal.
fn text(text: String) -> JinjaValue {
    JinjaValue::from_safe_string(text)
}

/// Encodes JSON as Python does. `indent` and `is_sorted` are the defaults of the options.
fn to_json(
    args: &FilterArguments<'_>,
    indent: Option<usize>,
    is_sorted: bool,
) -> Result<JinjaValue> {
    let value = args.subject()?;
    let is_sorted = args.flag("sort_keys", is_sorted)?;
    let value = if is_sorted { value.sorted() } else { value };
    let json = json_text(&value, args.size("indent")?.or(indent))?;
    Ok(text(escape_non_ascii(
        json,
        args.flag("ensure_ascii", true)?,
    )))
}

/// Encodes JSON that is safe within HTML, as Jinja2 does.
fn html_json(args: &FilterArguments<'_>, is_sorted: bool) -> Result<JinjaValue> {
    let value = args.subject()?;
    let value = if is_sorted { value.sorted() } else { value };
    let json = json_text(&value, args.size("indent")?)?;
    let mut safe = escape_non_ascii(json, true);
    for (character, escape) in [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\'', "\\u0027"),
    ] {
        safe = safe.replace(character, escape);
    }
    Ok(text(safe))
}

/// Escapes the characters that are not ASCII, as Python's encoder does by default.
fn escape_non_ascii(json: String, escapes: bool) -> String {
    if !escapes || json.is_ascii() {
        return json;
    }
    let mut escaped = String::new();
    for character in json.chars() {
        if character.is_ascii() {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            escaped += &format!("\\u{unit:04x}");
        }
    }
    escaped
}

/// Encodes a value as JSON: indented, or with a space after commas and colons, as Python does.
fn json_text(value: &Value, indent: Option<usize>) -> Result<String> {
    let Some(indent) = indent else {
        return serialize_value(value, SpacedFormatter);
    };
    let indent = vec![b' '; indent.min(64)];
    let formatter = serde_json::ser::PrettyFormatter::with_indent(&indent);
    serialize_value(value, formatter)
}

fn serialize_value(value: &Value, formatter: impl serde_json::ser::Formatter) -> Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value
        .serialize(&mut serializer)
        .map_err(|error| filter_error(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

struct SpacedFormatter;

impl serde_json::ser::Formatter for SpacedFormatter {
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

fn to_yaml(
    args: &FilterArguments<'_>,
    brackets: Option<bool>,
    indent: usize,
) -> Result<JinjaValue> {
    let brackets = match args.raw("default_flow_style") {
        Some(input) if input.is_none() => None,
        Some(input) => Some(input.is_true()),
        None => brackets,
    };
    let style = DumpStyle {
        indent: args.size("indent")?.unwrap_or(indent).clamp(2, 9),
        brackets,
        sorted: args.flag("sort_keys", true)?,
        width: args.size("width")?.unwrap_or(80),
        quotes_colons: false,
    };
    let yaml = dump(&args.subject()?, style).map_err(|problem| args.fail(problem))?;
    Ok(text(yaml))
}

fn from_json(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let input = args.subject()?;
    let Some(json) = input.as_str() else {
        // A text that was a literal became a value when it was rendered.
        return args.engine_value(input);
    };
    let parsed: serde_json::Value = serde_json::from_str(json)
        .map_err(|error| filter_error(format!("the text is not valid JSON: {error}")))?;
    args.engine_value(Value::from(parsed))
}

fn from_yaml(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let input = args.subject()?;
    let Some(yaml) = input.as_str() else {
        return args.engine_value(input);
    };
    let parsed = args.evaluator().system().parse_yaml(yaml);
    args.engine_value(parsed.map_err(|problem| args.fail(problem))?)
}

fn from_yaml_all(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let input = args.subject()?;
    if input.is_null() {
        return args.engine_value(input);
    }
    let text = args.subject_text()?;
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    {
        return args.engine_list(List::new());
    }
    let mut documents = vec![String::new()];
    for line in text.lines() {
        let rest = line
            .strip_prefix("---")
            .filter(|rest| rest.is_empty() || rest.starts_with(' '));
        match (rest, documents.last_mut()) {
            (Some(rest), last) => {
                if last.is_some_and(|last| last.trim().is_empty()) {
                    documents.pop();
                }
                documents.push(format!("{}\n", rest.trim_start()));
            }
            (None, Some(last)) if line != "..." => *last += &format!("{line}\n"),
            _ => {}
        }
    }
    let system = args.evaluator().system();
    let parsed = documents.iter().map(|document| match document.trim() {
        "" => Ok(Value::Null),
        _ => system
            .parse_yaml(document)
            .map_err(|problem| args.fail(problem)),
    });
    args.engine_list(parsed.collect::<Result<List>>()?)
}

pub(super) fn string(state: &State, value: &JinjaValue) -> Result<JinjaValue> {
    if value.is_undefined() {
        return Ok(value.clone());
    }
    let variables = Variables::from_state(state)?;
    Ok(match value.as_str() {
        Some(own) => text(own.to_owned()),
        None if value.downcast_object_ref::<super::dates::Time>().is_some() => {
            text(value.to_string())
        }
        None => text(variables.revealed_value(value)?.to_string()),
    })
}

fn b64encode(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let bytes = match encoding_of(args)?.as_str() {
        "utf-16-le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16-be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        "latin-1" => {
            let byte = |c: char| {
                u8::try_from(u32::from(c))
                    .map_err(|_| args.fail(format!("`{c}` is not in latin-1")))
            };
            text.chars().map(byte).collect::<Result<Vec<u8>>>()?
        }
        _ => text.into_bytes(),
    };
    Ok(base64::encode(&bytes).into())
}

fn b64decode(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let bytes = encoding::from_base64(&args.subject_text()?);
    let bytes = bytes.ok_or_else(|| args.fail("the text is not base64"))?;
    let units = |from: fn([u8; 2]) -> u16| -> String {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| from([pair[0], pair[1]]))
            .collect();
        String::from_utf16_lossy(&units)
    };
    Ok(match encoding_of(args)?.as_str() {
        "utf-16-le" => units(u16::from_le_bytes),
        "utf-16-be" => units(u16::from_be_bytes),
        "latin-1" => bytes.iter().map(|byte| char::from(*byte)).collect(),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
    .into())
}

fn encoding_of(args: &FilterArguments<'_>) -> Result<String> {
    let name = args.text("encoding")?.unwrap_or_else(|| "utf-8".to_owned());
    let name = name.to_lowercase().replace('_', "-");
    match name.as_str() {
        "utf-8" | "utf8" | "ascii" | "us-ascii" => Ok("utf-8".to_owned()),
        "utf-16-le" | "utf-16le" => Ok("utf-16-le".to_owned()),
        "utf-16-be" | "utf-16be" => Ok("utf-16-be".to_owned()),
        "latin-1" | "latin1" | "iso-8859-1" => Ok("latin-1".to_owned()),
        other => Err(args.fail(format!("the encoding `{other}` is not known"))),
    }
}

fn hash(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let kind = args.text("hashtype")?;
    digest(args, kind.as_deref().unwrap_or("sha1"))
}

fn digest(args: &FilterArguments<'_>, kind: &str) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let digest = hex_digest(kind, text.as_bytes()).ok_or_else(|| {
        let known = "`md5`, `sha1`, `sha224`, `sha256`, `sha384` and `sha512`";
        args.fail(format!(
            "the digest `{kind}` is not known; the known ones are {known}"
        ))
    })?;
    Ok(digest.into())
}

/// Returns an identifier that depends only on the text and the namespace (RFC 9562, version 5).
fn to_uuid(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let namespace = args.text("namespace")?;
    let namespace = namespace.as_deref().unwrap_or(NAMESPACE);
    let digits: String = namespace.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16)
        .ok()
        .filter(|_| digits.len() == 32);
    let number =
        number.ok_or_else(|| args.fail(format!("the namespace `{namespace}` is not a UUID")))?;
    let name = args.subject_text()?;
    Ok(name_uuid(number.to_be_bytes(), name.as_bytes()).into())
}

fn password_hash(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    Err(args.fail(
        "templates cannot hash passwords; hash the password in a task, or store the hash as a secret",
    ))
}
