//! Python's operator `%`: the formatting of a text, or the remainder of a division.

use minijinja::value::{Value as JinjaValue, ValueKind};

use super::arguments::FilterArguments;
use super::error::{Result, filter_error};
use super::percent_format;
use crate::value::{List, Value};

/// Evaluates `left % right`. The right side of a text is a tuple of values, a map, or a single value.
pub(super) fn remainder(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let (left, [right]) = (args.subject, args.positional.as_slice()) else {
        return Err(filter_error("the operator `%` has no right side"));
    };
    let Some(text) = left.as_str() else {
        return number_remainder(left, right);
    };
    let value = args.variables.revealed_value(right)?;
    let names = match right.kind() {
        ValueKind::Map => value.clone(),
        _ => Value::Null,
    };
    let values: List = match &value {
        Value::List(items) if right.is_tuple() => List::clone(items),
        // A map is a single value only if the text asks for one.
        Value::Map(_) if text.contains("%(") || !text.contains('%') => List::new(),
        _ => vec![value],
    };
    Ok(percent_format::format(text, &values, &names)?.into())
}

/// Returns the remainder of a division that rounds down, as Python does.
fn number_remainder(left: &JinjaValue, right: &JinjaValue) -> Result<JinjaValue> {
    let unsupported = || {
        filter_error(format!(
            "the operator `%` cannot take {} and {}",
            left.kind(),
            right.kind()
        ))
    };
    if !left.is_number() || !right.is_number() {
        return Err(unsupported());
    }
    if let (true, true) = (left.is_integer(), right.is_integer()) {
        let (a, b) = (i128::try_from(left.clone()), i128::try_from(right.clone()));
        let (Ok(a), Ok(b)) = (a, b) else {
            return Err(unsupported());
        };
        let rest = a
            .checked_rem(b)
            .ok_or_else(|| filter_error("integer modulo by zero"))?;
        let is_opposite = rest != 0 && (rest < 0) != (b < 0);
        return Ok(JinjaValue::from(if is_opposite { rest + b } else { rest }));
    }
    let (a, b) = (f64::try_from(left.clone())?, f64::try_from(right.clone())?);
    if b == 0.0 {
        return Err(filter_error("float modulo by zero"));
    }
    Ok(JinjaValue::from(a - b * (a / b).floor()))
}
