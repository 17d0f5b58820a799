//! The syntax of expressions in YAML values: which maps are expressions, which texts are templates, and the
//! parts of an expression (`vars`, `foreach`, `strict`, …).

use crate::value::{Map, Value};

/// The keys that may accompany `eval`.
pub(super) const PARTS: [&str; 6] = ["vars", "trace", "foreach", "select", "strict", "base_dir"];

/// The functions that are expressions on their own, without `eval`.
pub(super) const STAND_ALONE: [&str; 11] = [
    "get_input",
    "concat",
    "token",
    "get_property",
    "has_env",
    "get_env",
    "get_attribute",
    "get_nodes_of_type",
    "get_artifact",
    "_generate",
    "q",
];

/// The parts of an expression map.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expression<'a> {
    /// The source of the results: a path, a template or a function map.
    pub(super) source: &'a Value,
    pub(super) vars: Option<&'a Map>,
    pub(super) foreach: Option<&'a Value>,
    pub(super) select: Option<&'a Value>,
    pub(super) strict: Option<StrictMode>,
    pub(super) base_dir: Option<&'a str>,
}

/// The requirement of the option `strict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StrictMode {
    /// Whether an undefined name is an error.
    Undefined(bool),
    /// The expression must return a result.
    Required,
    /// The expression must return a result that is not null.
    NotNull,
}

impl<'a> Expression<'a> {
    /// Parses a map that is an expression. None for any other value.
    pub(super) fn parse(raw: &'a Value) -> Option<Self> {
        if is_expression(raw) {
            Some(Self::parse_query(raw))
        } else {
            None
        }
    }

    /// Parses a query, which is any expression, including a bare path or function.
    ///
    /// The parts may stand beside a function too, unless the function stands alone. `foreach` beside a
    /// function stays with it, because the call refuses it.
    pub(super) fn parse_query(raw: &'a Value) -> Self {
        let bare = Self {
            source: raw,
            vars: None,
            foreach: None,
            select: None,
            strict: None,
            base_dir: None,
        };
        let Value::Map(map) = raw else { return bare };
        if map.keys().next().is_some_and(|first| is_stand_alone(first)) {
            return bare;
        }
        let expression = map.get("eval").or_else(|| map.get("ref"));
        Self {
            source: expression.unwrap_or(raw),
            // Variables are evaluated, and data never is.
            vars: map
                .get("vars")
                .filter(|vars| !vars.own_marks().data)
                .and_then(Value::as_map),
            foreach: map
                .get("foreach")
                .filter(|part| expression.is_some() && part.is_truthy()),
            select: map.get("select").filter(|part| part.is_truthy()),
            strict: map.get("strict").and_then(StrictMode::parse),
            base_dir: expression.and(map.get("base_dir")).and_then(Value::as_str),
        }
    }
}

impl StrictMode {
    fn parse(raw: &Value) -> Option<Self> {
        match raw {
            Value::Bool(strict) => Some(Self::Undefined(*strict)),
            Value::Str(text) if &**text == "required" => Some(Self::Required),
            Value::Str(text) if &**text == "notnull" => Some(Self::NotNull),
            _ => None,
        }
    }
}

/// Whether a function is an expression on its own, without `eval`.
pub fn is_stand_alone(name: &str) -> bool {
    STAND_ALONE.contains(&name)
}

/// Returns true if a raw value is a map that forms an expression.
pub fn is_expression(raw: &Value) -> bool {
    let Value::Map(map) = raw else { return false };
    if map.contains_key("eval") || map.contains_key("ref") {
        let parts = PARTS.iter().filter(|part| map.contains_key(**part)).count();
        return parts + 1 == map.len();
    }
    map.len() == 1 && map.keys().all(|key| is_stand_alone(key))
}

/// Whether a text contains a Jinja2 tag.
pub fn is_template(text: &str) -> bool {
    let mut braces = text.match_indices('{');
    braces.any(|(at, _)| matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%')))
}

/// Whether a raw value contains an expression or a template.
pub fn needs_evaluation(raw: &Value) -> bool {
    match raw {
        Value::Str(text) => is_template(text),
        Value::List(items) => items.iter().any(needs_evaluation),
        Value::Map(map) => is_expression(raw) || map.values().any(needs_evaluation),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_an_expression_by_its_keys() {
        let yes = [
            Value::map([("eval", ".name".into())]),
            Value::map([("ref", Value::from(".name")), ("vars", Value::Null)]),
            Value::map([("get_input", "x".into())]),
        ];
        let no = [
            Value::map([("eval", Value::from(".name")), ("other", 1.into())]),
            Value::map([("get_input", Value::from("x")), ("other", 1.into())]),
            Value::map([("file", "x".into())]),
            Value::map::<&str>([]),
            "eval".into(),
        ];
        assert!(yes.iter().all(is_expression));
        assert!(!no.iter().any(is_expression));
    }

    #[test]
    fn a_shell_length_is_no_template() {
        assert!(!is_template("echo ${#list}"));
        assert!(is_template("a {% if x %}"));
    }
}
