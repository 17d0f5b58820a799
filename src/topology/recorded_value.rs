//! The form in which records keep data from outside: a value that would be evaluated on reading is quoted, and
//! all others are written as they are.
//!
//! Both Unfurl 1.2 and the current Unfurl read the quoted form back as the same literal. A text becomes
//! `{{ '…' | urldecode | string }}` and a map `{{ '…' | urldecode | from_json }}`, where `…` has percent-encoded
//! characters, so that no text can end the quotation.

use std::sync::Arc;

use crate::expr::Evaluator;
use crate::value::{Map, Value, decode_percent, encode_percent};

const START: &str = "{{ '";
const TEXT_END: &str = "' | urldecode | string }}";
const MAP_END: &str = "' | urldecode | from_json }}";

/// The characters that stay readable in the quoted form.
const READABLE: &[u8] = b" /:,.()[]=;!?*|@^$`";

/// The functions that are expressions on their own in Unfurl 1.2 only.
const OTHER_FUNCTIONS: [&str; 1] = ["generate_string"];

/// Returns a value in the form of records: data in it is quoted where it would be evaluated on reading.
pub(super) fn to_record(value: &Value) -> Value {
    match value {
        Value::Data(inner) => quoted(&inner.with_externals_resolved()),
        Value::Sensitive(_) => value.clone(),
        _ if !value.has_data() => value.clone(),
        Value::List(items) => Value::list(items.iter().map(to_record)),
        Value::Map(map) => Value::from(to_record_map(map)),
        other => other.clone(),
    }
}

/// Returns the values of a map in the form of records.
pub fn to_record_map(map: &Map) -> Map {
    map.iter()
        .map(|(key, value)| (Arc::clone(key), to_record(value)))
        .collect()
}

/// Returns a value from a record: plain values are data, and expressions stay expressions.
pub(super) fn from_record(value: &Value) -> Value {
    if value.has_sensitive() {
        return with_secrets(value);
    }
    match value {
        Value::Str(text) => match unquoted(text) {
            Some(quoted) => quoted.data(),
            None if is_evaluated(text) => value.clone(),
            None => value.clone().data(),
        },
        Value::List(_) | Value::Map(_) if !has_evaluated(value) => value.clone().data(),
        Value::List(items) => Value::list(items.iter().map(from_record)),
        Value::Map(map) if !is_expression(map, value) => Value::from(
            map.iter()
                .map(|(key, value)| (Arc::clone(key), from_record(value)))
                .collect::<Map>(),
        ),
        other => other.clone(),
    }
}

/// Returns a recorded value with secrets in it. Each secret is marked as a whole, as when a task set it, and is data:
/// Unfurl never evaluates a recorded secret either.
fn with_secrets(value: &Value) -> Value {
    match value {
        Value::Sensitive(_) => value.revealed().data().sensitive(),
        Value::List(items) => Value::list(items.iter().map(from_record)),
        Value::Map(map) if !is_expression(map, value) => {
            let entries = map.iter();
            Value::map(entries.map(|(key, value)| (Arc::clone(key), from_record(value))))
        }
        other => other.clone(),
    }
}

/// Whether a text would be evaluated on reading.
fn is_evaluated(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|start| text.contains(start))
}

/// Whether a map is an expression for this program or for Unfurl.
fn is_expression(map: &Map, value: &Value) -> bool {
    Evaluator::is_expression(value)
        || (map.len() == 1 && map.keys().all(|key| OTHER_FUNCTIONS.contains(&&**key)))
}

/// Whether a map would be something else on reading: an expression, or a directive of the loader.
fn is_interpreted(map: &Map, value: &Value) -> bool {
    is_expression(map, value) || map.keys().any(|key| is_directive(key))
}

/// Whether a key is a directive of the loader, which merges or includes other content.
fn is_directive(key: &str) -> bool {
    key.starts_with('+') || key == "<<"
}

/// Quotes the maps in a value whose keys would be directives of the loader, such as `+include`. Records of
/// tasks are never evaluated, but they are loaded.
pub fn without_directives(value: Value) -> Value {
    if !has_directive(&value) {
        return value;
    }
    match &value {
        Value::Map(map) if map.keys().any(|key| is_directive(key)) => quoted_map(&value),
        Value::Map(map) => Value::map(
            map.iter()
                .map(|(key, item)| (Arc::clone(key), without_directives(item.clone()))),
        ),
        Value::List(items) => Value::list(items.iter().cloned().map(without_directives)),
        Value::Data(inner) => without_directives(Value::clone(inner)),
        _ => value,
    }
}

fn has_directive(value: &Value) -> bool {
    match value {
        Value::List(items) => items.iter().any(has_directive),
        Value::Map(map) => map
            .iter()
            .any(|(key, item)| is_directive(key) || has_directive(item)),
        Value::Data(inner) => has_directive(inner),
        _ => false,
    }
}

fn has_evaluated(value: &Value) -> bool {
    match value {
        Value::Str(text) => is_evaluated(text),
        Value::List(items) => items.iter().any(has_evaluated),
        Value::Map(map) => is_interpreted(map, value) || map.values().any(has_evaluated),
        Value::Data(inner) => has_evaluated(inner),
        _ => false,
    }
}

fn quoted(value: &Value) -> Value {
    match value {
        Value::Str(text) if is_evaluated(text) => quotation(text, TEXT_END),
        Value::Map(map) if is_interpreted(map, value) => quoted_map(value),
        Value::List(_) | Value::Map(_) if !has_evaluated(value) => value.without_data(),
        Value::List(items) => Value::list(items.iter().map(quoted)),
        Value::Map(map) => Value::map(
            map.iter()
                .map(|(key, item)| (Arc::clone(key), quoted(item))),
        ),
        Value::Data(inner) => quoted(inner),
        other => other.clone(),
    }
}

fn quoted_map(value: &Value) -> Value {
    let json = serde_json::to_string(&value.redacted());
    quotation(&json.unwrap_or_else(|_| "null".to_owned()), MAP_END)
}

fn quotation(text: &str, end: &str) -> Value {
    let encoded = encode_percent(text, READABLE);
    format!("{START}{encoded}{end}").into()
}

/// Returns the value of a quotation. None for any other text.
fn unquoted(text: &str) -> Option<Value> {
    let rest = text.strip_prefix(START)?;
    let is_encoded = |text: &str| {
        let mut bytes = text.bytes();
        bytes
            .all(|it| it.is_ascii_alphanumeric() || b"%-_~".contains(&it) || READABLE.contains(&it))
    };
    let decode = |end: &str| {
        let encoded = rest.strip_suffix(end)?;
        is_encoded(encoded).then(|| decode_percent(encoded))
    };
    if let Some(text) = decode(TEXT_END) {
        return Some(text.into());
    }
    let json: serde_json::Value = serde_json::from_str(&decode(MAP_END)?).ok()?;
    Some(Value::from(json))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "{{",
            "}}",
            "{%",
            "%}",
            "{#",
            "#}",
            "{",
            "}",
            "%",
            "'",
            "\"",
            "\\",
            "+",
            " ",
            "\n",
            "\r",
            "é",
            "q",
            "a|b",
            "{% raw %}",
            "<<",
            "eval",
            "| urldecode | string }}",
            "%7B",
        ]);
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            texts().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(4, 16, 3, |inner| {
            let key = prop::sample::select(vec![
                "eval", "ref", "vars", "q", "concat", "+include", "<<", "a", "{{ b }}", "get_env",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::list),
                prop::collection::vec((key, inner), 0..3).prop_map(Value::map),
            ]
        })
    }

    proptest! {
        #[test]
        fn data_comes_back_from_the_record_as_the_same_literal(value in values()) {
            let recorded = to_record(&value.clone().data());
            prop_assert!(!recorded.has_data());
            let read = from_record(&recorded);
            prop_assert_eq!(&read, &value);
            let context = crate::expr::Context::new(crate::value::Handle(0));
            let scope = Arc::new(crate::expr::NullScope("::x"));
            let system = Arc::new(crate::expr::NullContext::new(
                "nothing is read here",
                crate::expr::FixedSources(|text| Ok(text.into())),
            ));
            let evaluator = Evaluator::new(scope, system, Arc::default());
            prop_assert_eq!(evaluator.evaluate(&read, &context).unwrap(), value.clone());
            // Read without this program's knowledge of the form, the result is the same.
            prop_assert_eq!(evaluator.evaluate(&recorded, &context).unwrap(), value);
        }
    }

    #[test]
    fn harmless_data_is_written_as_it_is() {
        for value in [
            Value::from("plain {x} 100%"),
            Value::map([("file", Value::from("x")), ("a", Value::list([1.into()]))]),
            Value::map([("eval", Value::from("x")), ("other", 1.into())]),
            Value::from("#jinja2: x"),
        ] {
            assert_eq!(
                format!("{:?}", to_record(&value.clone().data())),
                format!("{value:?}")
            );
        }
        insta::assert_snapshot!(
            to_record(&Value::from("it's {{ lookup('env', 'HOME') }}").data()),
            @"{{ 'it%27s %7B%7B lookup(%27env%27, %27HOME%27) %7D%7D' | urldecode | string }}"
        );
        insta::assert_snapshot!(
            to_record(&Value::map([("eval", Value::from(".name"))]).data()),
            @"{{ '%7B%22eval%22:%22.name%22%7D' | urldecode | from_json }}"
        );
    }

    #[test]
    fn expressions_of_an_author_stay_expressions() {
        let author = Value::map([
            ("a", Value::from("{{ 1 }}")),
            ("b", Value::map([("eval", Value::from(".name"))])),
            ("c", "plain".into()),
        ]);
        let read = from_record(&author);
        assert_eq!(format!("{:?}", to_record(&read)), format!("{author:?}"));
        assert!(!read.get("a").unwrap().has_data() && !read.get("b").unwrap().has_data());
        assert!(read.get("c").unwrap().has_data());
    }
}
