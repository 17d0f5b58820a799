//! A validator for the part of JSON Schema that TOSCA models use: types, keys, items, ranges, patterns and
//! combinations. [`matches_schema`] is its entry for other modules.

use crate::text::Pattern;
use crate::value::Value;

/// The maximum nesting depth of a schema.
const DEPTH: usize = 128;

/// Whether a value satisfies a schema. An error means that the schema itself is invalid.
pub fn matches_schema(value: &Value, schema: &Value) -> Result<bool, String> {
    is_valid(value, schema, 0)
}

/// Whether a value satisfies a schema at a nesting depth, which is limited to [`DEPTH`].
pub(super) fn is_valid(value: &Value, schema: &Value, depth: usize) -> Result<bool, String> {
    if depth > DEPTH {
        return Err(format!("the schema nests more than {DEPTH} levels deep"));
    }
    let value = value.reveal();
    let keywords = match schema.reveal() {
        Value::Bool(answer) => return Ok(*answer),
        Value::Map(keywords) => keywords,
        other => return Err(format!("a schema must be a map, not {}", other.kind())),
    };
    for (keyword, rule) in keywords.iter() {
        let holds = match &**keyword {
            "type" => has_type(value, rule),
            "enum" => rule
                .as_list()
                .is_some_and(|options| options.contains(value)),
            "const" => rule == value,
            "allOf" | "anyOf" | "oneOf" => combined(value, keyword, rule, depth)?,
            "not" => !is_valid(value, rule, depth + 1)?,
            "pattern" => match value.as_str() {
                Some(text) => Pattern::new(rule.as_str().unwrap_or_default())
                    .and_then(|pattern| pattern.is_match(text))
                    .map_err(|error| error.to_string())?,
                None => true,
            },
            "$ref" | "$dynamicRef" => return Err("references in schemas are not supported".into()),
            keyword => in_bounds(value, keyword, rule) && parts(value, keyword, schema, depth)?,
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_type(value: &Value, rule: &Value) -> bool {
    match rule.reveal() {
        Value::List(options) => options.iter().any(|option| has_type(value, option)),
        Value::Str(name) => match (&**name, value) {
            ("object", Value::Map(_))
            | ("array", Value::List(_))
            | ("string", Value::Str(_) | Value::External(_))
            | ("boolean", Value::Bool(_))
            | ("null", Value::Null)
            | ("integer", Value::Int(_) | Value::Big(_))
            | ("number", Value::Int(_) | Value::Big(_) | Value::Float(_)) => true,
            ("integer", Value::Float(number)) => number.fract() == 0.0,
            _ => false,
        },
        _ => false,
    }
}

fn combined(value: &Value, keyword: &str, rule: &Value, depth: usize) -> Result<bool, String> {
    let schemas = rule.as_list().map(Vec::as_slice).unwrap_or_default();
    let mut count = 0;
    for schema in schemas {
        count += usize::from(is_valid(value, schema, depth + 1)?);
    }
    Ok(match keyword {
        "allOf" => count == schemas.len(),
        "anyOf" => count > 0,
        _ => count == 1,
    })
}

fn in_bounds(value: &Value, keyword: &str, rule: &Value) -> bool {
    let Some(bound) = as_float(rule) else {
        return true;
    };
    let number = as_float(value);
    let size = |size: usize| u32::try_from(size).map_or(f64::INFINITY, f64::from);
    let length = value.as_str().map(|text| size(text.chars().count()));
    let items = value.as_list().map(|items| size(items.len()));
    let keys = value.as_map().map(|map| size(map.len()));
    match keyword {
        "minimum" => number.is_none_or(|number| number >= bound),
        "maximum" => number.is_none_or(|number| number <= bound),
        "exclusiveMinimum" => number.is_none_or(|number| number > bound),
        "exclusiveMaximum" => number.is_none_or(|number| number < bound),
        "multipleOf" => number.is_none_or(|number| (number / bound).fract() == 0.0),
        "minLength" => length.is_none_or(|length| length >= bound),
        "maxLength" => length.is_none_or(|length| length <= bound),
        "minItems" => items.is_none_or(|items| items >= bound),
        "maxItems" => items.is_none_or(|items| items <= bound),
        "minProperties" => keys.is_none_or(|keys| keys >= bound),
        "maxProperties" => keys.is_none_or(|keys| keys <= bound),
        _ => true,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "bounds are compared as JSON numbers"
)]
fn as_float(value: &Value) -> Option<f64> {
    match value.reveal() {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

fn parts(value: &Value, keyword: &str, schema: &Value, depth: usize) -> Result<bool, String> {
    let Some(rule) = schema.get(keyword) else {
        return Ok(true);
    };
    match (keyword, value) {
        ("required", Value::Map(map)) => {
            let names = rule.as_list().into_iter().flatten();
            Ok(names
                .filter_map(Value::as_str)
                .all(|name| map.contains_key(name)))
        }
        ("properties", Value::Map(map)) => {
            for (name, rule) in rule.as_map().into_iter().flatten() {
                if let Some(part) = map.get(name)
                    && !is_valid(part, rule, depth + 1)?
                {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ("additionalProperties", Value::Map(map)) => {
            let known = schema.get("properties").and_then(Value::as_map);
            for (name, part) in map.iter() {
                let is_known = known.is_some_and(|known| known.contains_key(name));
                if !is_known && !is_valid(part, rule, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ("items", Value::List(items)) => {
            for item in items.iter() {
                if !is_valid(item, rule, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ("uniqueItems", Value::List(items)) if rule.is_truthy() => Ok(items
            .iter()
            .enumerate()
            .all(|(place, item)| !items[..place].contains(item))),
        _ => Ok(true),
    }
}
