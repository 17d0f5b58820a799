//! The state `file.serialize`: writes a dataset as a YAML or JSON file.
//!
//! [`serialize`] is the entry. With `merge_if_exists` the dataset is merged into the values that the
//! file has. The JSON writer reproduces Python's `json.dumps` with Salt's defaults.
use std::sync::Arc;

use super::content_check::ContentCheck;
use super::contents::{encode, get_at_path};
use super::desired_file::{
    DesiredFile, FileBody, LinkPolicy, NewFileDiff, ParentPolicy, plan_file,
};
use super::managed::{backup_policy, mode_of_secret};
use super::plan::{FilePlan, PathOwners, absolute_name, target_fact};
use super::text_diff::DiffVisibility;
use crate::expr::pyyaml_text;
use crate::states::modules::decision::{require_facts, unchanged};
use crate::states::{FactCache, Halt, StateCall, StateDecision, refuse};
use crate::value::{Map, Value};
use crate::yaml::{Schema, parse_text};

/// The format in which a dataset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Serializer {
    Yaml,
    Json,
}

/// Decides `file.serialize`: writes a dataset to a file.
pub(super) fn serialize(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = absolute_name(call, facts)?;
    require_facts(facts, [target_fact(&path)])?;
    let is_file = facts.target(&path)?.is_some_and(|entry| !entry.is_folder());
    if !call.flag("create", true) && !is_file {
        let comment = format!("File {path} is not present and is not set for creation");
        return unchanged(comment);
    }
    let serializer = serializer(call)?;
    let dataset = dataset(call)?;
    let secret = dataset.has_sensitive();
    let mut existing = None;
    let mut written = without_sensitive_marks(&dataset);
    if call.flag("merge_if_exists", false) && is_file {
        let bytes = facts.content(&path)?.unwrap_or_default();
        let is = parse_json(bytes, serializer)?;
        if !is.is_null() {
            written = merge(&is, &written);
            if written == is {
                let comment = format!("The file {path} is in the correct state");
                return unchanged(comment);
            }
            existing = Some(is);
        }
    }
    let text = serialize_to_text(call, &written, serializer)?;
    let owners = PathOwners::from_call(call, facts)?;
    owners.check_accounts(call.mode)?;
    let mut desired = DesiredFile {
        path: path.clone(),
        body: FileBody::Explicit(encode(call, text)?),
        owners,
        mode: call
            .mode("mode")?
            .or(mode_of_secret(secret, facts.target(&path)?)),
        parents: if call.flag("makedirs", false) {
            ParentPolicy::Create(None)
        } else {
            ParentPolicy::Required
        },
        replace: true,
        visibility: DiffVisibility::from_flags(call.flag("show_changes", true), secret),
        new_file_diff: NewFileDiff::Message,
        links: LinkPolicy::Follow,
        backup: backup_policy(call)?,
        assume_present: false,
        signature: None,
    };
    let check = ContentCheck::from_call(call, &mut desired)?;
    let mut work = plan_file(&desired, call.mode, facts)?;
    if work.test.result.is_none() {
        work.test.comment = format!("Dataset will be serialized and stored into {path}");
    }
    add_merge_report(call, &mut work, existing.filter(|_| !secret), &written);
    if let Some(check) = check {
        return check.before_write(call, work, &desired);
    }
    Ok(work.into_decision(call.mode))
}

/// Adds the differences between merged values, and the warning about an ignored option, to both
/// outcomes.
fn add_merge_report(
    call: &StateCall<'_>,
    work: &mut FilePlan,
    existing: Option<Value>,
    merged: &Value,
) {
    if let Some(existing) = existing
        && existing.as_map().is_some()
        && let Some(diff) = differences(&existing, merged)
    {
        for outcome in [&mut work.test, &mut work.apply] {
            outcome.changes.insert("diff".into(), diff.clone());
        }
    }
    if call.arg("deserializer_opts").is_some() && !call.flag("merge_if_exists", false) {
        let warning =
            "The 'deserializer_opts' option is ignored unless merge_if_exists is set to True.";
        for outcome in [&mut work.test, &mut work.apply] {
            outcome.warnings.push(warning.to_owned());
        }
    }
}

fn serializer(call: &StateCall<'_>) -> Result<Serializer, Halt> {
    let (one, other) = (call.text("serializer")?, call.text("formatter")?);
    let is_set = |name: &Option<String>| name.as_ref().is_some_and(|name| !name.is_empty());
    if is_set(&one) && is_set(&other) {
        return refuse("Only one of serializer and formatter are allowed");
    }
    let name = one.filter(|it| !it.is_empty()).or(other);
    match name.map(|name| name.to_lowercase()).as_deref() {
        None | Some("" | "yaml") => Ok(Serializer::Yaml),
        Some("json") => Ok(Serializer::Json),
        Some(name) => refuse(format!(
            "The {name} serializer could not be found. It either does not exist or its \
             prerequisites are not installed."
        )),
    }
}

fn dataset(call: &StateCall<'_>) -> Result<Value, Halt> {
    let explicit = call.args.get("dataset").filter(|value| !value.is_null());
    let pillar = call.non_empty_text("dataset_pillar")?;
    match (explicit, pillar) {
        (Some(explicit), Some(_)) if explicit.is_truthy() => {
            refuse("Only one of 'dataset' and 'dataset_pillar' is permitted")
        }
        (_, Some(key)) => {
            Ok(get_at_path(&call.context.pillar, &key, ":").unwrap_or(Value::str("")))
        }
        (Some(explicit), None) => Ok(explicit.clone()),
        (None, None) => refuse("Neither 'dataset' nor 'dataset_pillar' was defined"),
    }
}

/// Returns a copy of a value without its marks of sensitivity, so that it can be written.
fn without_sensitive_marks(value: &Value) -> Value {
    match value.reveal() {
        Value::List(items) => Value::list(items.iter().map(without_sensitive_marks)),
        Value::Map(map) => Value::map(
            map.iter()
                .map(|(key, value)| (Arc::clone(key), without_sensitive_marks(value))),
        ),
        other => other.clone(),
    }
}

fn parse_json(bytes: &[u8], serializer: Serializer) -> Result<Value, Halt> {
    let fail = |why: String| Halt::Failed(format!("Failed to deserialize existing data: {why}"));
    let text = std::str::from_utf8(bytes).map_err(|error| fail(error.to_string()))?;
    let schema = match serializer {
        Serializer::Yaml => Schema::Salt,
        Serializer::Json => Schema::Core,
    };
    let node = parse_text(schema, text).map_err(fail)?;
    Ok(node.to_value())
}

/// Returns the argument `serializer_opts`, given as a map or a list of maps.
fn serializer_options(call: &StateCall<'_>) -> Map {
    match call.arg("serializer_opts") {
        Some(Value::Map(map)) => (**map).clone(),
        Some(Value::List(items)) => items
            .iter()
            .filter_map(Value::as_map)
            .flat_map(|map| map.iter())
            .map(|(key, value)| (Arc::clone(key), value.clone()))
            .collect(),
        _ => Map::new(),
    }
}

fn serialize_to_text(
    call: &StateCall<'_>,
    value: &Value,
    serializer: Serializer,
) -> Result<String, Halt> {
    let options = serializer_options(call);
    let known: &[&str] = match serializer {
        Serializer::Yaml => &["default_flow_style", "allow_unicode"],
        Serializer::Json => &["indent", "separators", "sort_keys", "ensure_ascii"],
    };
    if let Some(key) = options.keys().find(|key| !known.contains(&&***key)) {
        return refuse(format!(
            "`serializer_opts: {key}` of file.serialize is not supported"
        ));
    }
    if serializer == Serializer::Json {
        let is_encoded = call.non_empty_text("encoding")?.is_some();
        return Ok(json_text(value, &JsonStyle::from_options(&options, is_encoded)) + "\n");
    }
    if options
        .get("default_flow_style")
        .is_some_and(Value::is_truthy)
    {
        return refuse("`serializer_opts: default_flow_style` of file.serialize must be false");
    }
    // The YAML document already ends with a newline; for JSON above, one is added.
    let text = pyyaml_text(value).map_err(Halt::Failed)?;
    Ok(text)
}

/// Merges two values: maps key by key; any other value is replaced.
fn merge(base: &Value, over: &Value) -> Value {
    let (Value::Map(base), Value::Map(over)) = (base, over) else {
        return over.clone();
    };
    let mut all = (**base).clone();
    for (key, value) in over.iter() {
        let value = match all.get(key) {
            Some(is) => merge(is, value),
            None => value.clone(),
        };
        all.insert(Arc::clone(key), value);
    }
    Value::map(all)
}

/// Returns the differences key by key; None without any.
fn differences(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Map(old), Value::Map(new)) = (old, new) else {
        return None;
    };
    let mut all = Map::new();
    for (key, value) in new.iter() {
        let is = old.get(key);
        let differs = match (is, value) {
            (Some(is), value) if is == value => continue,
            (Some(is @ Value::Map(_)), Value::Map(_)) => differences(is, value),
            (is, value) => {
                let is = is.cloned().unwrap_or(Value::str("<_null_>"));
                Some(Value::map([("new", value.clone()), ("old", is)]))
            }
        };
        all.extend(differs.map(|differs| (Arc::clone(key), differs)));
    }
    (!all.is_empty()).then(|| Value::map(all))
}

/// The style of JSON output, by the names of Python's `json.dumps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonStyle {
    /// The indentation of each level; None writes everything on one line.
    indent: Option<String>,
    /// The separators between items, and between a key and its value.
    separators: (String, String),
    sorted: bool,
    /// Whether characters outside ASCII are escaped.
    ascii: bool,
}

impl JsonStyle {
    /// Reads the style from the options of `file.serialize`. Defaults: two spaces, sorted keys.
    pub(super) fn from_options(options: &Map, is_encoded: bool) -> Self {
        let flag = |key: &str, otherwise| options.get(key).map_or(otherwise, Value::is_truthy);
        let separators = options.get("separators").and_then(Value::as_list);
        let separator = |index: usize, otherwise: &str| {
            separators
                .and_then(|all| all.get(index))
                .map_or_else(|| otherwise.to_owned(), ToString::to_string)
        };
        Self {
            indent: match options.get("indent") {
                None => Some("  ".to_owned()),
                Some(Value::Int(count)) => usize::try_from(*count).ok().map(|it| " ".repeat(it)),
                Some(Value::Str(text)) => Some(text.to_string()),
                Some(_) => None,
            },
            separators: (separator(0, ","), separator(1, ": ")),
            sorted: flag("sort_keys", true),
            ascii: flag("ensure_ascii", !is_encoded),
        }
    }
}

/// Returns a value as JSON text without a final newline.
fn json_text(value: &Value, style: &JsonStyle) -> String {
    let mut out = String::new();
    write_json(value, style, 0, &mut out);
    out
}

fn write_json(value: &Value, style: &JsonStyle, depth: usize, out: &mut String) {
    match value.reveal() {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Big(digits) => out.push_str(digits),
        Value::Float(number) if number.is_nan() => out.push_str("NaN"),
        Value::Float(number) if number.is_infinite() => {
            out.push_str(if *number > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            });
        }
        Value::List(items) if items.is_empty() => out.push_str("[]"),
        Value::Map(map) if map.is_empty() => out.push_str("{}"),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                write_separator(style, index, depth + 1, out);
                write_json(item, style, depth + 1, out);
            }
            write_line_break(style, depth, out);
            out.push(']');
        }
        Value::Map(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            if style.sorted {
                pairs.sort_by_key(|(key, _)| *key);
            }
            out.push('{');
            for (index, (key, item)) in pairs.into_iter().enumerate() {
                write_separator(style, index, depth + 1, out);
                write_quoted(key, style.ascii, out);
                out.push_str(&style.separators.1);
                write_json(item, style, depth + 1, out);
            }
            write_line_break(style, depth, out);
            out.push('}');
        }
        number @ Value::Float(_) => out.push_str(&number.to_string()),
        other => write_quoted(&other.to_string(), style.ascii, out),
    }
}

fn write_separator(style: &JsonStyle, index: usize, depth: usize, out: &mut String) {
    if index > 0 {
        out.push_str(&style.separators.0);
    }
    write_line_break(style, depth, out);
}

fn write_line_break(style: &JsonStyle, depth: usize, out: &mut String) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
}

fn write_quoted(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for sign in text.chars() {
        match sign {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            sign if sign < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(sign)));
            }
            sign if ascii && !sign.is_ascii() => {
                for unit in sign.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            sign => out.push(sign),
        }
    }
    out.push('"');
}
