//! Converts values to JSON for exports. Distinguishes expressions by who evaluates them, and redacts secrets.

use serde_json::Value as Json;

use crate::expr::{Evaluator, is_template, port_spec};
use crate::tosca::{DataKind, PropertyDef, ScalarKind};
use crate::value::{Map, REDACTED, Value, units};

/// A JSON object that keeps the order of its keys.
pub(super) type Object = serde_json::Map<String, Json>;

/// Functions that the user interface evaluates.
const FRONT_END_FUNCTIONS: [&str; 3] = ["get_env", "secret", "_generate"];

/// Converts a value to JSON. Secrets are redacted, also within expressions.
pub(super) fn json(value: &Value) -> Json {
    serde_json::to_value(redact(value)).unwrap_or_default()
}

/// Redacts secrets that an author wrote into expressions.
fn redact(value: &Value) -> Value {
    match value {
        Value::Str(text) if is_template(text) && text.contains("sensitive") => Value::str(REDACTED),
        Value::List(items) => Value::list(items.iter().map(redact)),
        Value::Map(map) => Value::map(map.iter().map(|(key, part)| {
            let is_secret = &**key == "sensitive"
                && !is_function(part)
                && !matches!(part, Value::Bool(_) | Value::Null);
            let part = if is_secret {
                Value::str(REDACTED)
            } else {
                redact(part)
            };
            (key.clone(), part)
        })),
        // Data is no expression, whatever it looks like.
        other => other.clone(),
    }
}

pub(super) fn declared_visibility(metadata: &Map) -> Option<String> {
    if let Some(declared) = metadata.get("visibility").filter(|it| it.is_truthy()) {
        return Some(declared.to_string());
    }
    let internal = metadata.get("internal").is_some_and(Value::is_truthy);
    internal.then(|| "hidden".to_owned())
}

/// An extension of JSON objects with short methods to set entries.
pub(super) trait ObjectExt {
    fn put(&mut self, key: &str, value: impl Into<Json>);

    /// Sets an entry if there is a value.
    fn put_some(&mut self, key: &str, value: Option<impl Into<Json>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }
}

impl ObjectExt for Object {
    fn put(&mut self, key: &str, value: impl Into<Json>) {
        self.insert(key.to_owned(), value.into());
    }
}

/// Whether a template is omitted from the export.
pub(super) fn is_omitted(object: &Object) -> bool {
    object.get("visibility").is_some_and(|it| it == "omit")
}

/// Whether a value is an expression.
pub(super) fn is_function(value: &Value) -> bool {
    match value.reveal() {
        Value::Str(text) => is_template(text),
        other => Evaluator::is_expression(other),
    }
}

/// Whether the user interface evaluates the value.
pub(super) fn is_front_end(value: &Value) -> bool {
    let Some(map) = value.as_map() else {
        return false;
    };
    match map.get("eval") {
        Some(Value::Str(text)) => text.contains("abspath") || text.contains("get_dir"),
        Some(expression) => ["abspath", "get_dir"]
            .iter()
            .any(|name| expression.get(name).is_some()),
        None => FRONT_END_FUNCTIONS
            .iter()
            .any(|name| map.contains_key(*name)),
    }
}

/// Whether only this program can evaluate the value.
pub(super) fn is_server_only(value: &Value) -> bool {
    match value.reveal() {
        Value::List(items) => items.iter().any(is_function),
        other => !is_front_end(other) && is_function(other),
    }
}

/// Whether a property is computed and not set by the user.
pub(super) fn is_computed(def: &PropertyDef, value: Option<&Value>) -> bool {
    matches!(&*def.name, "tosca_id" | "state" | "tosca_name")
        || value.or(def.default.as_ref()).is_some_and(is_server_only)
        || def.flag("computed")
}

/// Whether users can see and set a property.
pub(super) fn is_user_visible(def: &PropertyDef, value: Option<&Value>) -> bool {
    match def.metadata.get("user_settable") {
        Some(declared) => declared.is_truthy(),
        None => def.default.is_none() && !is_computed(def, value),
    }
}

/// Converts a property or attribute: redacts secrets, and converts to the unit of its definition.
pub(super) fn of_property(def: Option<&PropertyDef>, value: &Value) -> Json {
    let Some(def) = def else {
        return json(value);
    };
    let may_hold = !is_function(value) || value.as_str().is_some();
    if def.is_sensitive() && may_hold && !is_front_end(value) {
        return REDACTED.into();
    }
    if is_port_spec(def.schema.type_name.as_str())
        && let Some(parts) = value.as_map()
    {
        return port_spec(parts).into();
    }
    let unit = def.metadata.get("default_unit").and_then(Value::as_str);
    if let (DataKind::Scalar(kind), Some(unit)) = (def.schema.kind, unit)
        && let Some(base) = in_base_units(kind, value)
    {
        return in_unit(kind, base, unit);
    }
    json(value)
}

fn is_port_spec(type_name: &str) -> bool {
    matches!(type_name, "PortSpec" | "tosca.datatypes.network.PortSpec")
}

/// Converts a number with a unit to base units; the base unit of frequencies is gigahertz.
pub(super) fn in_base_units(kind: ScalarKind, value: &Value) -> Option<f64> {
    let text = value.reveal().to_string();
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(end?);
    let (_, factor) = units::find(units_of(kind), unit.trim())?;
    Some(number.parse::<f64>().ok()? * factor / base_of(kind))
}

/// Converts a number of base units to another unit; an unknown unit leaves it unchanged.
pub(super) fn in_unit(kind: ScalarKind, base: f64, unit: &str) -> Json {
    let factor =
        units::find(units_of(kind), unit).map_or(1.0, |(_, factor)| factor / base_of(kind));
    number(base / factor)
}

fn base_of(kind: ScalarKind) -> f64 {
    match kind {
        ScalarKind::Frequency => 1e9,
        _ => 1.0,
    }
}

fn units_of(kind: ScalarKind) -> units::Units {
    match kind {
        ScalarKind::Size => units::SIZE,
        ScalarKind::Time => units::TIME,
        ScalarKind::Frequency => units::FREQUENCY,
        ScalarKind::Bitrate => units::BITRATE,
    }
}

/// Converts a number to JSON, as an integer if it is whole.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and within what a double holds exactly"
)]
pub(super) fn number(value: f64) -> Json {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Json::from(value as i64)
    } else {
        Json::from(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_written_into_expressions_are_redacted() {
        let secret = Value::map([("sensitive", Value::str("hush"))]);
        let nested = Value::map([("eval", secret.clone())]);
        let list = Value::list([secret, nested, Value::str("{{ 'hush' | sensitive }}")]);
        let shown = json(&list).to_string();
        assert!(!shown.contains("hush"), "{shown}");
        let declared = Value::map([("sensitive", Value::map([("get_env", Value::str("PW"))]))]);
        assert!(json(&declared).to_string().contains("PW"));
        assert_eq!(json(&Value::str("hush").sensitive()), REDACTED);
    }

    #[test]
    fn numbers_change_their_unit() {
        let base = in_base_units(ScalarKind::Size, &Value::str("3 GB")).unwrap();
        assert_eq!(in_unit(ScalarKind::Size, base, "MB"), 3000);
        let slow = in_base_units(ScalarKind::Frequency, &Value::str("100 MHz")).unwrap();
        assert_eq!(number(slow), 0.1);
    }
}
