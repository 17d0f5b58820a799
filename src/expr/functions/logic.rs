//! The functions `if`, `and`, `or` and `not`, and the comparisons `eq`, `ne`, `lt`, `le`, `gt` and `ge`.

use std::cmp::Ordering;

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::value::Value;

use super::call::FunctionCall;
use super::scalar::quantity;

pub(super) fn if_else(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let truth = condition(call)?;
    match call.map.get(if truth { "then" } else { "else" }) {
        Some(branch) => call.evaluate_operand(branch),
        None => Ok(LazyValue::Value(truth.into())),
    }
}

pub(super) fn and(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let mut last = LazyValue::Value(false.into());
    for raw in operands(call)? {
        last = call.evaluate_operand(&raw)?;
        if !call.is_true(&last)? {
            break;
        }
    }
    Ok(last)
}

pub(super) fn or(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    for raw in operands(call)? {
        let item = call.evaluate_operand(&raw)?;
        if call.is_true(&item)? {
            return Ok(item);
        }
    }
    Ok(LazyValue::Value(false.into()))
}

pub(super) fn not(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    Ok(LazyValue::Value((!condition(call)?).into()))
}

/// Whether the condition of a call is true. The first result decides if several exist.
fn condition(call: &FunctionCall<'_>) -> Result<bool, Error> {
    if call.has_map_value() {
        return call.is_true(&call.evaluate_operand(call.raw)?);
    }
    match call.evaluator.results(call.raw, call.scene)?.first() {
        Some(first) => call.is_true(first),
        None => Ok(false),
    }
}

/// Returns the raw operands. A list is not evaluated; any other argument is evaluated, and its items are
/// quoted.
fn operands(call: &FunctionCall<'_>) -> Result<Vec<Value>, Error> {
    if let Value::List(items) = call.raw {
        return Ok(items.to_vec());
    }
    let operand = call.evaluate_operand(call.raw)?;
    let operand = call.evaluator.value_of(operand)?;
    let values = operand
        .marked_items()
        .unwrap_or_else(|| vec![operand.clone()]);
    let quote = |value| Value::map([("q", value)]);
    Ok(values.into_iter().map(quote).collect())
}

/// Compares two values for equality. Returns true if the outcome is `expected`.
pub(super) fn compare_equality(
    call: &FunctionCall<'_>,
    expected: bool,
) -> Result<LazyValue, Error> {
    let (left, right) = call.two_values()?;
    Ok(LazyValue::Value((same(&left, &right) == expected).into()))
}

/// Whether two values are equal in Python, where `True == 1`.
fn same(left: &Value, right: &Value) -> bool {
    match quantities(left, right) {
        Quantities::Ordered(order) => return order == Some(Ordering::Equal),
        Quantities::Different => return false,
        Quantities::None => {}
    }
    let number = |value: &Value| match value.reveal() {
        Value::Bool(truth) => Value::Int((*truth).into()),
        other => other.clone(),
    };
    number(left) == number(right)
}

pub(super) fn compare(
    call: &FunctionCall<'_>,
    holds: fn(Ordering) -> bool,
) -> Result<LazyValue, Error> {
    let (left, right) = call.two_values()?;
    let Some(order) = order(&left, &right) else {
        let (left, right) = (left.reveal().kind(), right.reveal().kind());
        return Err(call.fail(format!("cannot compare {left} and {right}")));
    };
    Ok(LazyValue::Value(holds(order).into()))
}

/// The comparison of two values by their quantity.
enum Quantities {
    /// Neither value has a unit, or one is compared with something else than a number.
    None,
    /// The units are of different kinds, such as bytes and seconds.
    Different,
    Ordered(Option<Ordering>),
}

/// Compares two numbers with units, or one with a plain number of basic units.
fn quantities(left: &Value, right: &Value) -> Quantities {
    let is_number = |value: &Value| matches!(value.reveal(), Value::Int(_) | Value::Float(_));
    match (quantity(left), quantity(right)) {
        (Some((_, kind)), Some((_, other))) if !std::ptr::eq(kind, other) => Quantities::Different,
        (Some((a, _)), Some((b, _))) => Quantities::Ordered(order(&a, &b)),
        (Some((a, _)), None) if is_number(right) => Quantities::Ordered(order(&a, right)),
        (None, Some((b, _))) if is_number(left) => Quantities::Ordered(order(left, &b)),
        _ => Quantities::None,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python compares such numbers the same way"
)]
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match quantities(left, right) {
        Quantities::Ordered(order) => return order,
        Quantities::Different => return None,
        Quantities::None => {}
    }
    match (left.reveal(), right.reveal()) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => (*a as f64).partial_cmp(b),
        (Value::Float(a), Value::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        (Value::External(a), b) => order(&a.value, b),
        (a, Value::External(b)) => order(a, &b.value),
        (Value::List(a), Value::List(b)) => {
            let differ = a.iter().zip(b.iter()).find(|(a, b)| a != b);
            differ.map_or_else(|| Some(a.len().cmp(&b.len())), |(a, b)| order(a, b))
        }
        _ => None,
    }
}
