//! Converts TOSCA data types to JSON Schema, in the variant that the user interface expects.

use serde_json::{Value as Json, json};

use super::values::{self, Object, ObjectExt as _};
use crate::tosca::{DataKind, PropertyDef, Rule, ScalarKind, Schema, Types};
use crate::value::{Map, REDACTED, Value};

/// The maximum nesting depth of data types.
const MAX_DEPTH: usize = 16;

/// The number used for unbounded occurrences.
pub(super) const UNBOUNDED: u32 = u32::MAX;

/// Returns the schema of an object with the given properties. `type_name` names its data type.
pub(super) fn of_properties<'d>(
    types: &Types,
    defs: impl IntoIterator<Item = &'d PropertyDef>,
    type_name: Option<&str>,
) -> Object {
    object_of(types, defs, type_name, 0)
}

fn object_of<'d>(
    types: &Types,
    defs: impl IntoIterator<Item = &'d PropertyDef>,
    type_name: Option<&str>,
    depth: usize,
) -> Object {
    let mut properties: Object = defs
        .into_iter()
        .map(|def| (def.name.to_string(), of_property(types, def, depth).into()))
        .collect();
    if let Some(type_name) = type_name {
        properties.put("$toscatype", json!({ "const": type_name }));
    }
    let mut object = Object::new();
    object.put("type", "object");
    object.put("properties", properties);
    object
}

fn of_property(types: &Types, def: &PropertyDef, depth: usize) -> Object {
    let mut object = Object::new();
    object.put("title", def.title.as_deref().unwrap_or(&def.name));
    if let Some(default) = &def.default
        && !values::is_server_only(default)
    {
        let hidden = def.is_sensitive() && !values::is_front_end(default);
        let shown = if hidden {
            REDACTED.into()
        } else {
            values::json(default)
        };
        if !shown.is_null() {
            object.put("default", shown);
        }
    }
    if def.required {
        object.put("required", true);
    }
    object.put_some("description", def.description.as_deref());
    for (key, value) in &def.metadata {
        object.insert(key.to_string(), values::json(value));
    }
    add_schema(types, &mut object, &def.schema, &def.metadata, depth);
    object
}

/// Returns the schema of the items of a list or the values of a map.
fn of_entry(types: &Types, schema: &Schema, depth: usize) -> Object {
    let mut object = Object::new();
    object.put("required", true);
    add_schema(types, &mut object, schema, &Map::default(), depth);
    object
}

fn add_schema(types: &Types, object: &mut Object, schema: &Schema, metadata: &Map, depth: usize) {
    let type_name = schema.type_name.as_str();
    let is_own = matches!(type_name, "string" | "boolean" | "map" | "list");
    if !is_own && !object.contains_key("properties") {
        object.put("$toscatype", type_name);
    }
    let mut rules: Vec<&Rule> = Vec::new();
    let simple = match schema.kind {
        _ if fixed(type_name).is_some() => None,
        DataKind::Data(key) => types.data_type_of(key),
        _ => None,
    };
    match &simple {
        Some(data) if data.simple.is_none() => complex(types, object, schema, data, depth),
        Some(data) => {
            let base = data.simple.as_deref().unwrap_or(schema);
            object.extend(of_kind(base, metadata));
            rules.extend(base.constraints.iter().map(|constraint| &constraint.rule));
        }
        None => object.extend(fixed(type_name).unwrap_or_else(|| of_kind(schema, metadata))),
    }
    if let Some(entry) = schema.entry.as_ref().filter(|_| depth < MAX_DEPTH) {
        let is_list = schema.kind == DataKind::List;
        let key = if is_list {
            "items"
        } else {
            "additionalProperties"
        };
        object.insert(key.to_owned(), of_entry(types, entry, depth + 1).into());
    }
    rules.extend(schema.constraints.iter().map(|constraint| &constraint.rule));
    let mut mapped = rules.iter().filter_map(|rule| {
        let (key, value) = constraint_value(rule)?;
        of_constraint(object, key, &value)
    });
    let first = mapped.next();
    let rest: Vec<Object> = mapped.collect();
    match first {
        None => {}
        Some(only) if rest.is_empty() => object.extend(only),
        Some(first) => {
            let all: Vec<Object> = std::iter::once(first).chain(rest).collect();
            object.put("allOf", json!(all));
        }
    }
}

/// Adds the schema of a data type with properties.
fn complex(
    types: &Types,
    object: &mut Object,
    schema: &Schema,
    data: &crate::tosca::DataType,
    depth: usize,
) {
    if depth >= MAX_DEPTH {
        object.put("type", "object");
        return;
    }
    let own = data.properties.values().map(|def| &**def);
    let (visible, hidden): (Vec<_>, Vec<_>) =
        own.partition(|def| values::is_user_visible(def, None));
    if let Some(Json::Object(default)) = object.get_mut("default") {
        for def in hidden {
            default.remove(&*def.name);
        }
    }
    let mut inner = object_of(types, visible, Some(schema.type_name.as_str()), depth + 1);
    if data.metadata.contains_key("additionalProperties") {
        let any = json!({ "type": "string", "required": true });
        object.put("additionalProperties", any);
        let properties = inner.get("properties").and_then(Json::as_object);
        if properties.is_some_and(|properties| properties.len() == 1) {
            inner.remove("properties");
        }
    }
    object.extend(inner);
}

/// Returns the predefined schema of special types, regardless of their base type.
fn fixed(type_name: &str) -> Option<Object> {
    let short = type_name.strip_prefix("tosca.datatypes.network.");
    let schema = match short.unwrap_or(type_name) {
        "PortDef" => json!({ "type": "number", "minimum": 1, "maximum": 65535 }),
        "PortSpec" => json!({
            "type": "string",
            "additionalProperties": { "required": true, "$toscatype": "any", "type": "string" },
        }),
        _ => return None,
    };
    schema.as_object().cloned()
}

fn of_kind(schema: &Schema, metadata: &Map) -> Object {
    let schema = match schema.kind {
        DataKind::Integer | DataKind::Float => json!({ "type": "number" }),
        DataKind::Boolean => json!({ "type": "boolean" }),
        DataKind::Range => {
            json!({ "type": "array", "items": { "type": "integer", "maxItems": 2 } })
        }
        DataKind::List => json!({ "type": "array" }),
        DataKind::Map => json!({ "type": "object" }),
        DataKind::Scalar(_) => match metadata.get("default_unit") {
            Some(unit) => json!({ "type": "number", "default_unit": values::json(unit) }),
            None => json!({ "type": "string" }),
        },
        _ => json!({ "type": "string" }),
    };
    schema.as_object().cloned().unwrap_or_default()
}

/// Returns the TOSCA keyword and value of a constraint.
pub(super) fn constraint_value(rule: &Rule) -> Option<(&'static str, Value)> {
    let count = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let bound = |bound: &Option<Value>| bound.clone().unwrap_or_else(|| "UNBOUNDED".into());
    Some(match rule {
        Rule::Equal(value) => ("equal", value.clone()),
        Rule::GreaterThan(value) => ("greater_than", value.clone()),
        Rule::GreaterOrEqual(value) => ("greater_or_equal", value.clone()),
        Rule::LessThan(value) => ("less_than", value.clone()),
        Rule::LessOrEqual(value) => ("less_or_equal", value.clone()),
        Rule::InRange(low, high) => ("in_range", Value::list([bound(low), bound(high)])),
        Rule::ValidValues(all) => ("valid_values", Value::list(all.iter().cloned())),
        Rule::Length(length) => ("length", count(*length)),
        Rule::MinLength(length) => ("min_length", count(*length)),
        Rule::MaxLength(length) => ("max_length", count(*length)),
        Rule::Pattern(text, _) => ("pattern", Value::Str(text.clone())),
        Rule::Schema(schema) => ("schema", schema.clone()),
        Rule::Version(_) => return None,
    })
}

/// Converts a constraint to JSON Schema, for values of `schema`; `None` if JSON Schema cannot express it.
pub(super) fn of_constraint(schema: &Object, key: &str, value: &Value) -> Option<Object> {
    let scalar = schema
        .get("$toscatype")
        .and_then(Json::as_str)
        .and_then(scalar_kind);
    let unit = schema.get("default_unit").and_then(Json::as_str);
    let plain = |value: &Value| match scalar {
        Some(kind) => match (values::in_base_units(kind, value), unit) {
            (Some(base), Some(unit)) => values::in_unit(kind, base, unit),
            (Some(base), None) => values::number(base),
            (None, _) => values::json(value),
        },
        None => values::json(value),
    };
    let suffix = match schema.get("type").and_then(Json::as_str) {
        _ if scalar.is_some() => "imum",
        Some("string") if key != "in_range" => "Length",
        Some("object") => "Properties",
        Some("array") => "Items",
        _ => "imum",
    };
    let mut object = Object::new();
    let mut set = |name: String, value: Json| drop(object.insert(name, value));
    match (key, value.as_list().map(Vec::as_slice)) {
        ("schema", _) => return values::json(value).as_object().cloned(),
        ("pattern", _) => set("pattern".to_owned(), values::json(value)),
        ("equal", _) | ("valid_values", Some([_])) => set("const".to_owned(), values::json(value)),
        ("valid_values", _) => set("enum".to_owned(), values::json(value)),
        ("greater_than", _) => set("exclusiveMinimum".to_owned(), plain(value)),
        ("greater_or_equal", _) => set("minimum".to_owned(), plain(value)),
        ("less_than", _) => set("exclusiveMaximum".to_owned(), plain(value)),
        ("less_or_equal", _) => set("maximum".to_owned(), plain(value)),
        ("in_range", Some([low, high])) => {
            for (prefix, bound) in [("min", low), ("max", high)] {
                if bound.as_str() != Some("UNBOUNDED") {
                    set(format!("{prefix}{suffix}"), plain(bound));
                }
            }
        }
        ("min_length", _) => set(format!("min{suffix}"), values::json(value)),
        ("max_length", _) => set(format!("max{suffix}"), values::json(value)),
        ("length", _) => {
            set(format!("min{suffix}"), values::json(value));
            set(format!("max{suffix}"), values::json(value));
        }
        _ => return None,
    }
    Some(object)
}

fn scalar_kind(type_name: &str) -> Option<ScalarKind> {
    Some(match type_name.strip_prefix("scalar-unit.")? {
        "size" => ScalarKind::Size,
        "time" => ScalarKind::Time,
        "frequency" => ScalarKind::Frequency,
        "bitrate" => ScalarKind::Bitrate,
        _ => return None,
    })
}

/// Whether values of a schema can be stored in an environment variable.
pub(super) fn is_plain(types: &Types, schema: &Schema) -> bool {
    if fixed(schema.type_name.as_str()).is_some() {
        return true;
    }
    match schema.kind {
        DataKind::Data(key) => types
            .data_type_of(key)
            .and_then(|data| data.simple.clone())
            .is_some_and(|simple| {
                !matches!(simple.kind, DataKind::Data(_)) && is_plain(types, &simple)
            }),
        DataKind::List | DataKind::Map | DataKind::Range | DataKind::Scalar(_) => false,
        _ => true,
    }
}
