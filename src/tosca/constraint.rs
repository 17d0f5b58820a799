//! Constraints on values: parsing and checking.
//!
//! [`read_constraints`] parses the `constraints` of a definition. `Rule::violation` checks a value against
//! one of them. [`compare`] orders values by their type.

use std::cmp::Ordering;

use crate::diagnostic::{Check, Diagnostic};
use crate::text::{Pattern, did_you_mean};
use crate::value::Value;
use crate::yaml::Node;

use super::definition::{Constraint, DataKind, Rule};
use super::problems::Problems;
use super::version;

const CONSTRAINT_NAMES: &[&str] = &[
    "equal",
    "greater_than",
    "greater_or_equal",
    "less_than",
    "less_or_equal",
    "in_range",
    "valid_values",
    "length",
    "min_length",
    "max_length",
    "pattern",
    "schema",
    "version",
];

/// Whether a key is the name of a constraint.
pub(super) fn is_constraint_name(name: &str) -> bool {
    CONSTRAINT_NAMES.contains(&name)
}

/// Reads a list of constraints. Reports malformed ones and leaves them out.
pub(super) fn read_constraints(node: &Node, subject: &str, problems: &Problems) -> Vec<Constraint> {
    if node.is_null() {
        return Vec::new();
    }
    let Some(items) = node.as_seq() else {
        problems.report(node.type_mismatch(format_args!("`constraints` of {subject}"), "a list"));
        return Vec::new();
    };
    let read = |item| match read_constraint(item) {
        Ok(constraint) => Some(constraint),
        Err(diagnostic) => {
            problems.report(diagnostic);
            None
        }
    };
    items.iter().filter_map(read).collect()
}

/// Reads a constraint: a map with exactly one key.
pub(super) fn read_constraint(node: &Node) -> Result<Constraint, Diagnostic> {
    let entry = node.as_map().filter(|map| map.len() == 1);
    let Some((name, entry)) = entry.and_then(|map| map.iter().next()) else {
        let message = "a constraint must be a map with one key";
        return Err(Diagnostic::error(message)
            .check(Check::WrongKind)
            .label(node.span(), ""));
    };
    if !is_constraint_name(name) {
        let mut problem = Diagnostic::error(format!("there is no constraint `{name}`"))
            .check(Check::InvalidType)
            .label(entry.key_span, "");
        problem.help = did_you_mean(name, CONSTRAINT_NAMES.iter().copied());
        return Err(problem);
    }
    let rule = read_rule(name, &entry.value).map_err(|why| {
        Diagnostic::error(format!("`{name}` {why}"))
            .check(Check::InvalidType)
            .label(entry.value.span(), "")
    })?;
    Ok(Constraint {
        rule,
        span: entry.key_span,
    })
}

fn read_rule(name: &str, node: &Node) -> Result<Rule, String> {
    let value = node.to_value();
    Ok(match name {
        "equal" => Rule::Equal(value),
        "greater_than" => Rule::GreaterThan(comparable(value)?),
        "greater_or_equal" => Rule::GreaterOrEqual(comparable(value)?),
        "less_than" => Rule::LessThan(comparable(value)?),
        "less_or_equal" => Rule::LessOrEqual(comparable(value)?),
        "in_range" => {
            let Some([low, high]) = value.as_list().map(Vec::as_slice) else {
                return Err("needs a list of two bounds".to_owned());
            };
            Rule::InRange(parse_bound(low)?, parse_bound(high)?)
        }
        "valid_values" => match value.as_list() {
            Some(values) => Rule::ValidValues(values.clone()),
            None => return Err("needs a list of values".to_owned()),
        },
        "length" => Rule::Length(parse_count(&value)?),
        "min_length" => Rule::MinLength(parse_count(&value)?),
        "max_length" => Rule::MaxLength(parse_count(&value)?),
        "pattern" => {
            let text = value.as_str().ok_or("needs a regular expression")?;
            let whole = Pattern::new(&format!(r"\A(?:{text})\z"));
            let pattern = whole.map_err(|error| {
                let why = error.reason();
                format!("`{text}` is not a supported regular expression: {why}")
            })?;
            Rule::Pattern(text.into(), pattern)
        }
        "schema" => Rule::Schema(value),
        _ => Rule::Version(value.to_string().into()),
    })
}

fn comparable(value: Value) -> Result<Value, String> {
    match value.reveal() {
        Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Str(_) => Ok(value),
        other => Err(format!("cannot compare with {}", other.kind())),
    }
}

fn parse_bound(value: &Value) -> Result<Option<Value>, String> {
    if value.as_str() == Some("UNBOUNDED") {
        return Ok(None);
    }
    comparable(value.clone()).map(Some)
}

fn parse_count(value: &Value) -> Result<u64, String> {
    value
        .as_int()
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| "needs a whole number that is not negative".to_owned())
}

impl Rule {
    /// Returns the reason why a value violates the rule, or `None` if the rule holds.
    ///
    /// The text completes a sentence that starts with `the value … `.
    pub(super) fn violation(&self, kind: DataKind, value: &Value) -> Option<String> {
        let items = value.as_list().filter(|_| kind == DataKind::List);
        if let Some(items) = items.filter(|_| self.is_about_items()) {
            return items
                .iter()
                .find_map(|item| self.violation(DataKind::Any, item));
        }
        if let Self::Pattern(text, pattern) = self
            && let Err(error) = pattern.is_match(&value.to_string())
        {
            return Some(format!(
                "cannot be matched with the pattern `{text}`: {error}"
            ));
        }
        (!self.holds(kind, value)).then(|| self.violation_message())
    }

    fn holds(&self, kind: DataKind, value: &Value) -> bool {
        let order = |other: &Value| compare(kind, value, other);
        match self {
            Self::Equal(other) => value == other || order(other) == Some(Ordering::Equal),
            Self::GreaterThan(other) => order(other) == Some(Ordering::Greater),
            Self::GreaterOrEqual(other) => order(other).is_some_and(Ordering::is_ge),
            Self::LessThan(other) => order(other) == Some(Ordering::Less),
            Self::LessOrEqual(other) => order(other).is_some_and(Ordering::is_le),
            Self::InRange(low, high) => in_range(kind, value, low.as_ref(), high.as_ref()),
            Self::ValidValues(values) => values
                .iter()
                .any(|valid| valid == value || order(valid) == Some(Ordering::Equal)),
            Self::Length(expected) => length(value) == Some(*expected),
            Self::MinLength(least) => length(value).is_some_and(|length| length >= *least),
            Self::MaxLength(max) => length(value).is_some_and(|length| length <= *max),
            Self::Pattern(_, pattern) => pattern.is_match(&value.to_string()) == Ok(true),
            Self::Version(expected) => version::admits(expected, &value.to_string()) == Some(true),
            Self::Schema(_) => true,
        }
    }

    /// Returns the message for a value that violates the rule.
    fn violation_message(&self) -> String {
        match self {
            Self::Equal(other) => format!("is not equal to `{other}`"),
            Self::GreaterThan(other) => format!("must be greater than `{other}`"),
            Self::GreaterOrEqual(other) => format!("must be greater than or equal to `{other}`"),
            Self::LessThan(other) => format!("must be less than `{other}`"),
            Self::LessOrEqual(other) => format!("must be less than or equal to `{other}`"),
            Self::InRange(Some(low), Some(high)) => format!("is not between {low} and {high}"),
            Self::InRange(Some(low), None) => format!("must be at least {low}"),
            Self::InRange(None, Some(high)) => format!("must be at most {high}"),
            Self::InRange(None, None) => "is not comparable".to_owned(),
            Self::ValidValues(values) => format!("is not one of {}", listed(values)),
            Self::Length(expected) => format!("must have the length {expected}"),
            Self::MinLength(least) => format!("must have at least the length {least}"),
            Self::MaxLength(max) => format!("must have at most the length {max}"),
            Self::Pattern(text, _) => format!("does not match the pattern `{text}`"),
            Self::Version(expected) => format!("is not a version that satisfies `{expected}`"),
            Self::Schema(_) => String::new(),
        }
    }

    fn is_about_items(&self) -> bool {
        !matches!(
            self,
            Self::Equal(_)
                | Self::Length(_)
                | Self::MinLength(_)
                | Self::MaxLength(_)
                | Self::Schema(_)
        )
    }
}

fn listed(values: &[Value]) -> String {
    let words: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
    words.join(", ")
}

fn in_range(kind: DataKind, value: &Value, low: Option<&Value>, high: Option<&Value>) -> bool {
    if let (DataKind::Range, Some(bounds)) = (kind, value.as_list()) {
        return bounds.iter().all(|bound| {
            bound.as_str() == Some("UNBOUNDED") || in_range(DataKind::Any, bound, low, high)
        });
    }
    low.is_none_or(|low| compare(kind, value, low).is_some_and(Ordering::is_ge))
        && high.is_none_or(|high| compare(kind, value, high).is_some_and(Ordering::is_le))
}

/// Compares two values as values of a type. Returns `None` if they cannot be compared.
pub(super) fn compare(kind: DataKind, left: &Value, right: &Value) -> Option<Ordering> {
    if let DataKind::Scalar(scalar) = kind {
        let base = |value: &Value| scalar.read(&value.to_string()).map(|read| read.base);
        return base(left)?.partial_cmp(&base(right)?);
    }
    if kind == DataKind::Version {
        return version::compare(&left.to_string(), &right.to_string());
    }
    match (left.reveal(), right.reveal()) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Str(left), Value::Str(right)) => Some(left.cmp(right)),
        (left, right) => number(left)?.partial_cmp(&number(right)?),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an integer is compared with a float as Python compares them, up to its precision"
)]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Big(digits) => digits.parse().ok(),
        _ => None,
    }
}

fn length(value: &Value) -> Option<u64> {
    let length = match value.reveal() {
        Value::Str(text) => text.chars().count(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}
