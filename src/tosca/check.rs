//! Checks values against their schemas and normalizes them.
//!
//! [`check`] is the entry: it converts a value to the form that its type prescribes (for example `80` to
//! `"80"` for a string) and reports each violation with its location in the YAML text. Values that contain
//! expressions are checked later, after their evaluation.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::expr::is_stand_alone;
use crate::text::did_you_mean;
use crate::value::{Map, REDACTED, Value};
use crate::yaml::Node;

use super::definition::{DataKind, PropertyDef, Schema};
use super::types::Types;
use super::version;

/// The maximum depth of nested types and values. Below it, values are not checked.
const MAX_DEPTH: usize = 300;

/// Functions of TOSCA that turn a map of one key into an expression, in addition to those that the evaluator
/// itself supports.
const STANDARD_FUNCTIONS: [&str; 2] = ["join", "get_operation_output"];

/// Whether a value must be evaluated before it can be checked.
pub(super) fn is_expression(value: &Value) -> bool {
    match value {
        Value::Str(text) => ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)),
        Value::Map(map) => {
            map.contains_key("eval")
                || map.contains_key("ref")
                || (map.len() == 1 && map.keys().all(|key| is_function(key)))
        }
        Value::Sensitive(inner) => is_expression(inner),
        _ => false,
    }
}

fn is_function(name: &str) -> bool {
    is_stand_alone(name) || STANDARD_FUNCTIONS.contains(&name)
}

/// A step of the path from a value to one of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathSegment {
    Key(Arc<str>),
    Index(usize),
}

/// A violation, with the path to the part of the value that it is about.
#[derive(Debug)]
struct ValueFault {
    path: Vec<PathSegment>,
    check: Check,
    message: String,
    /// The name that was probably meant.
    hint: Option<String>,
}

/// The name of a value in messages, such as ``property `port` ``, and of the entity that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) name: fmt::Arguments<'a>,
    /// The owner, such as ``node template `web` ``. Empty if the name says enough.
    pub(super) owner: &'a str,
}

impl<'a> From<fmt::Arguments<'a>> for Subject<'a> {
    fn from(name: fmt::Arguments<'a>) -> Self {
        Self { name, owner: "" }
    }
}

/// Checks one value against its definition and collects the violations.
pub(super) struct ValueChecker<'a> {
    types: &'a Types,
    subject: Subject<'a>,
    sensitive: bool,
    path: Vec<PathSegment>,
    faults: Vec<ValueFault>,
}

/// Checks a value against a definition. Returns the normalized value and the violations.
///
/// `origin` is the YAML node that the value came from, and the span to report if it came from none.
pub(super) fn check<'a>(
    types: &'a Types,
    def: &PropertyDef,
    value: &Value,
    subject: impl Into<Subject<'a>>,
    origin: (Option<&Node>, Span),
) -> (Value, Vec<Diagnostic>) {
    let mut check = ValueChecker {
        types,
        subject: subject.into(),
        sensitive: def.is_sensitive() || value.has_sensitive(),
        path: Vec::new(),
        faults: Vec::new(),
    };
    let value = check.check_top(def, value);
    let (node, span) = origin;
    let messages = check.faults.into_iter().map(|fault| {
        let is_key = fault.check == Check::UndeclaredProperty;
        let place = node.map_or(span, |node| span_of_part(node, &fault.path, is_key));
        Diagnostic::error(fault.message)
            .check(fault.check)
            .contained()
            .label(place, "")
            .help_if(fault.hint.or_else(|| usual_hint(fault.check, def)))
    });
    (value, messages.collect())
}

/// Returns the hint for a fault that has none of its own.
fn usual_hint(check: Check, def: &PropertyDef) -> Option<String> {
    let name = &def.name;
    match check {
        Check::WrongType => Some(format!(
            "the type of `{name}` is `{}`",
            def.schema.type_name
        )),
        Check::Constraint => Some(format!(
            "choose a value that the constraints of `{name}` allow"
        )),
        _ => None,
    }
}

/// Checks an output of an operation and returns the violations as messages.
pub fn check_output(types: &Types, def: &PropertyDef, value: &Value) -> Vec<String> {
    let subject = format_args!("output `{}`", def.name);
    let (_, problems) = check(types, def, value, subject, (None, Span::NONE));
    problems.into_iter().map(|it| it.message).collect()
}

/// Checks a value that an artifact gets as an argument. Expressions pass.
pub fn check_argument(
    types: &Types,
    def: &PropertyDef,
    value: &Value,
    span: Span,
) -> Vec<Diagnostic> {
    let subject = format_args!("argument `{}`", def.name);
    check(types, def, value, subject, (None, span)).1
}

/// Returns the span of a part of a value or of its key, or of the nearest enclosing part that the text contains.
fn span_of_part(node: &Node, path: &[PathSegment], is_key: bool) -> Span {
    let mut node = node;
    for (at, step) in (1..).zip(path) {
        if let (true, PathSegment::Key(key)) = (is_key && at == path.len(), step)
            && let Some(entry) = node.as_map().and_then(|map| map.entry(key))
        {
            return entry.key_span;
        }
        let inner = match step {
            PathSegment::Key(key) => node.get(key),
            PathSegment::Index(index) => node.as_seq().and_then(|items| items.get(*index)),
        };
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node.span()
}

impl ValueChecker<'_> {
    fn check_top(&mut self, def: &PropertyDef, value: &Value) -> Value {
        let value = match (def.schema.kind, value) {
            // A string property accepts numbers and booleans and takes their text.
            (
                DataKind::String,
                Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Big(_),
            ) => Value::str(value.to_string()),
            (DataKind::Scalar(_), Value::Int(_) | Value::Float(_)) => {
                match def.metadata.get("default_unit").and_then(Value::as_str) {
                    Some(unit) => Value::str(format!("{value} {unit}")),
                    None => value.clone(),
                }
            }
            _ => value.clone(),
        };
        self.value(&def.schema, &value, 0)
    }

    fn value(&mut self, schema: &Schema, value: &Value, depth: usize) -> Value {
        if value.is_null() || is_expression(value) || depth > MAX_DEPTH {
            return value.clone();
        }
        let found = self.faults.len();
        let value = match value {
            Value::Sensitive(inner) => match &**inner {
                Value::Data(inner) => self.value_of_kind(schema, inner, depth).data(),
                inner => self.value_of_kind(schema, inner, depth),
            }
            .sensitive(),
            Value::Data(inner) => self.value_of_kind(schema, inner, depth).data(),
            value => self.value_of_kind(schema, value, depth),
        };
        // A value of the wrong type also violates the constraints: report the type only.
        if self.faults.len() == found {
            for constraint in &schema.constraints {
                if let Some(why) = constraint.rule.violation(self.simple_kind(schema), &value) {
                    self.report_value(Check::Constraint, &value, &why);
                }
            }
        }
        value
    }

    /// Returns the simple type that a data type refines. Constraints compare values as that type.
    fn simple_kind(&self, schema: &Schema) -> DataKind {
        let mut kind = schema.kind;
        for _ in 0..MAX_DEPTH {
            let DataKind::Data(key) = kind else { break };
            let simple = self
                .types
                .data_type_of(key)
                .and_then(|found| found.simple.clone());
            let Some(simple) = simple else { break };
            kind = simple.kind;
        }
        kind
    }

    fn value_of_kind(&mut self, schema: &Schema, value: &Value, depth: usize) -> Value {
        match schema.kind {
            DataKind::Any | DataKind::Json | DataKind::Xml => value.clone(),
            DataKind::String => self.string(value),
            DataKind::Integer => self.number(value, "an integer", as_integer(value)),
            // `number`, unlike `float`, keeps whole numbers as integers.
            DataKind::Float if schema.type_name == "number" && value.as_int().is_some() => {
                value.clone()
            }
            DataKind::Float => self.number(value, "a number", as_float(value)),
            DataKind::Boolean => self.number(value, "true or false", as_boolean(value)),
            DataKind::Timestamp => self.timestamp(value),
            DataKind::Version => self.version(value),
            DataKind::Range => self.range(value),
            DataKind::List => self.list(schema, value, depth),
            DataKind::Map => self.map(schema, value, depth),
            DataKind::Scalar(kind) => {
                let text = value.to_string();
                if let Some(scalar) = kind.read(&text) {
                    return Value::str(format!("{} {}", scalar.number, scalar.unit));
                }
                let units: Vec<_> = kind.units().iter().map(|(unit, _)| *unit).collect();
                self.report_mismatch(
                    value,
                    &format!("is not a number with a unit ({})", units.join(", ")),
                );
                value.clone()
            }
            DataKind::Data(key) => self.data(key, value, depth),
        }
    }

    fn string(&mut self, value: &Value) -> Value {
        if !matches!(value, Value::Str(_)) {
            self.report_mismatch(value, &format!("is {}, not a string", value.kind()));
        }
        value.clone()
    }

    fn number(&mut self, value: &Value, expected: &str, read: Option<Value>) -> Value {
        read.unwrap_or_else(|| {
            self.report_mismatch(value, &format!("is not {expected}"));
            value.clone()
        })
    }

    fn timestamp(&mut self, value: &Value) -> Value {
        if !value
            .to_string()
            .starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            self.report_mismatch(value, "is not a timestamp such as `2024-01-31T12:00:00Z`");
        }
        value.clone()
    }

    fn version(&mut self, value: &Value) -> Value {
        let text = value.to_string();
        if version::is_version(&text) {
            return Value::str(text);
        }
        self.report_mismatch(value, "is not a version such as `1.2.0`");
        value.clone()
    }

    fn range(&mut self, value: &Value) -> Value {
        let bound = |value: &Value| match value {
            Value::Str(text) if &**text == "UNBOUNDED" => Some(None),
            other => as_float(other).map(Some),
        };
        let read = match value.as_list().map(Vec::as_slice) {
            Some([low, high]) => bound(low).zip(bound(high)),
            _ => None,
        };
        let ordered = match read {
            Some((Some(Value::Float(low)), Some(Value::Float(high)))) => low <= high,
            Some(_) => true,
            None => false,
        };
        if !ordered {
            self.report_mismatch(
                value,
                "is not a range: a list of a lower and an upper bound, such as `[1, 10]`",
            );
        }
        value.clone()
    }

    fn list(&mut self, schema: &Schema, value: &Value, depth: usize) -> Value {
        let Some(items) = value.as_list() else {
            self.report_mismatch(value, &format!("is {}, not a list", value.kind()));
            return value.clone();
        };
        let Some(entry) = &schema.entry else {
            return value.clone();
        };
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.path.push(PathSegment::Index(index));
            read.push(self.value(entry, item, depth + 1));
            self.path.pop();
        }
        Value::from(read)
    }

    fn map(&mut self, schema: &Schema, value: &Value, depth: usize) -> Value {
        let Some(map) = value.as_map() else {
            self.report_mismatch(value, &format!("is {}, not a map", value.kind()));
            return value.clone();
        };
        if schema.entry.is_none() && schema.key.is_none() {
            return value.clone();
        }
        let mut read = Map::with_capacity(map.len());
        for (key, item) in map {
            self.path.push(PathSegment::Key(Arc::clone(key)));
            if let Some(schema) = &schema.key {
                let _checked = self.value(schema, &Value::Str(Arc::clone(key)), depth + 1);
            }
            let item = match &schema.entry {
                Some(entry) => self.value(entry, item, depth + 1),
                None => item.clone(),
            };
            self.path.pop();
            read.insert(Arc::clone(key), item);
        }
        Value::from(read)
    }

    fn data(&mut self, key: super::definition::TypeKey, value: &Value, depth: usize) -> Value {
        let Some(data) = self.types.data_type_of(key) else {
            return value.clone();
        };
        if let Some(simple) = &data.simple {
            let value = match (simple.kind, value) {
                (DataKind::String, Value::Int(_) | Value::Float(_) | Value::Bool(_)) => {
                    Value::str(value.to_string())
                }
                _ => value.clone(),
            };
            return self.value(simple, &value, depth + 1);
        }
        let Some(map) = value.as_map() else {
            // A port may be written in the short form, such as `80:8080/tcp`.
            if &*data.name.shared() != "tosca.datatypes.network.PortSpec" {
                let why = format!(
                    "is {}, but the type `{}` requires a map",
                    value.kind(),
                    data.name
                );
                self.report_mismatch(value, &why);
            }
            return value.clone();
        };
        self.fields(&data, map, depth)
    }

    fn fields(&mut self, data: &super::entity_types::DataType, map: &Map, depth: usize) -> Value {
        let mut read = Map::with_capacity(map.len());
        for (name, item) in map {
            self.path.push(PathSegment::Key(Arc::clone(name)));
            let def = data.properties.get(name);
            if def.is_none() && !data.open {
                let message = format!("{} is not a field of `{}`", self.name(), data.name);
                self.add_fault(Check::UndeclaredProperty, message);
                let names = data.properties.keys().map(|name| &**name);
                if let Some(fault) = self.faults.last_mut() {
                    fault.hint = did_you_mean(name, names);
                }
            }
            let item = match def {
                Some(def) => self.value(&def.schema, item, depth + 1),
                None => item.clone(),
            };
            self.path.pop();
            read.insert(Arc::clone(name), item);
        }
        for (name, def) in &data.properties {
            if read.contains_key(name) {
                continue;
            }
            match &def.default {
                Some(default) if !default.is_null() => {
                    read.insert(Arc::clone(name), default.clone());
                }
                _ if def.required => {
                    let message = format!(
                        "{} has no `{name}`, which the type `{}` requires",
                        self.name(),
                        data.name
                    );
                    self.add_fault(Check::MissingProperty, message);
                }
                _ => {}
            }
        }
        Value::from(read)
    }

    /// Returns the subject with the path to the current part and its owner, such as ``property
    /// `ports[0].source` in node template `web` ``.
    fn name(&self) -> String {
        let name = self.name_of_part();
        match self.subject.owner {
            "" => name,
            owner => format!("{name} in {owner}"),
        }
    }

    fn name_of_part(&self) -> String {
        let mut name = self.subject.name.to_string();
        if self.path.is_empty() {
            return name;
        }
        if name.ends_with('`') {
            name.pop();
        }
        for step in &self.path {
            match step {
                PathSegment::Key(key) => {
                    name.push('.');
                    name.push_str(key);
                }
                PathSegment::Index(index) => {
                    name.push('[');
                    name.push_str(&index.to_string());
                    name.push(']');
                }
            }
        }
        name.push('`');
        name
    }

    fn report_mismatch(&mut self, value: &Value, why: &str) {
        self.report_value(Check::WrongType, value, why);
    }

    fn report_value(&mut self, check: Check, value: &Value, why: &str) {
        let shown = if self.sensitive {
            REDACTED.to_owned()
        } else {
            format!("`{}`", abbreviate(value))
        };
        let message = format!("the value {shown} of {} {why}", self.name());
        self.add_fault(check, message);
    }

    fn add_fault(&mut self, check: Check, message: String) {
        self.faults.push(ValueFault {
            path: self.path.clone(),
            check,
            message,
            hint: None,
        });
    }
}

/// Returns a value as text, shortened to 60 characters.
fn abbreviate(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        return text;
    }
    text.chars().take(57).chain("...".chars()).collect()
}

fn as_integer(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) | Value::Big(_) => Some(value.clone()),
        Value::Bool(truth) => Some(Value::Int(i64::from(*truth))),
        Value::Str(text) => text.trim().parse().ok().map(Value::Int),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "the type requires a float")]
fn as_float(value: &Value) -> Option<Value> {
    match value {
        Value::Float(_) => Some(value.clone()),
        Value::Int(number) => Some(Value::Float(*number as f64)),
        Value::Big(digits) => digits.parse().ok().map(Value::Float),
        Value::Str(text) => text.trim().parse().ok().map(Value::Float),
        _ => None,
    }
}

fn as_boolean(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::Str(text) => match text.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}
