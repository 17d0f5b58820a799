//! Conversion of JSON to values, and sorting of map keys for output and comparison.

use std::sync::Arc;

use super::value::Value;

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(truth) => truth.into(),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Self::Int(whole),
                (None, Some(float)) if number.is_f64() => Self::Float(float),
                _ => Self::Big(number.to_string().into()),
            },
            serde_json::Value::String(text) => text.into(),
            serde_json::Value::Array(items) => Self::list(items.into_iter().map(Self::from)),
            serde_json::Value::Object(map) => {
                Self::map(map.into_iter().map(|(key, item)| (key, Self::from(item))))
            }
        }
    }
}

impl Value {
    /// Returns the value with the keys of each map in alphabetical order, at every depth.
    #[must_use]
    pub fn sorted(&self) -> Self {
        match self {
            Self::List(items) => Self::list(items.iter().map(Self::sorted)),
            Self::Map(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(key, _)| *key);
                let entries = entries.into_iter();
                Self::map(entries.map(|(key, item)| (Arc::clone(key), item.sorted())))
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        Value::from(serde_json::from_str::<serde_json::Value>(text).unwrap())
    }

    #[test]
    fn numbers_keep_their_kind() {
        assert_eq!(read("-7"), Value::Int(-7));
        assert_eq!(read("1.0"), Value::Float(1.0));
        assert_eq!(
            read("18446744073709551615"),
            Value::Big("18446744073709551615".into())
        );
    }

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let sorted = read(r#"{"b": [{"d": 1, "c": 2}], "a": null}"#).sorted();
        assert_eq!(
            serde_json::to_string(&sorted).unwrap(),
            r#"{"a":null,"b":[{"c":2,"d":1}]}"#
        );
    }
}
