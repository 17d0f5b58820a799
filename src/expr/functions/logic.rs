//! `if`, `and`, `or`, `not` and comparisons.

use std::cmp::Ordering;

use crate::expr::error::Error;
use crate::expr::item::Item;
use crate::value::Value;

use super::call::Call;

pub(super) fn if_else(call: &Call<'_>) -> Result<Item, Error> {
    let truth = condition(call)?;
    match call.map.get(if truth { "then" } else { "else" }) {
        Some(branch) => call.one(branch),
        None => Ok(Item::Value(truth.into())),
    }
}

pub(super) fn and(call: &Call<'_>) -> Result<Item, Error> {
    let mut last = Item::Value(false.into());
    for raw in operands(call)? {
        last = call.one(&raw)?;
        if !call.is_true(&last)? {
            break;
        }
    }
    Ok(last)
}

pub(super) fn or(call: &Call<'_>) -> Result<Item, Error> {
    for raw in operands(call)? {
        let item = call.one(&raw)?;
        if call.is_true(&item)? {
            return Ok(item);
        }
    }
    Ok(Item::Value(false.into()))
}

pub(super) fn not(call: &Call<'_>) -> Result<Item, Error> {
    Ok(Item::Value((!condition(call)?).into()))
}

/// Whether a condition holds: of more than one result the first decides.
fn condition(call: &Call<'_>) -> Result<bool, Error> {
    if call.maps_value() {
        return call.is_true(&call.one(call.raw)?);
    }
    match call.evaluator.results(call.raw, call.scene)?.first() {
        Some(first) => call.is_true(first),
        None => Ok(false),
    }
}

/// The raw operands: those of a list as they are written, those of anything else quoted.
fn operands(call: &Call<'_>) -> Result<Vec<Value>, Error> {
    if let Value::List(items) = call.raw {
        return Ok(items.to_vec());
    }
    let values = match call.evaluator.value_of(call.one(call.raw)?)?.reveal() {
        Value::List(items) => items.to_vec(),
        other => vec![other.clone()],
    };
    let quote = |value| Value::map([("q", value)]);
    Ok(values.into_iter().map(quote).collect())
}

/// Whether two values are equal, or with `wanted` false that they differ.
pub(super) fn equal(call: &Call<'_>, wanted: bool) -> Result<Item, Error> {
    let (left, right) = call.pair()?;
    Ok(Item::Value((same(&left, &right) == wanted).into()))
}

/// Whether two values are equal as Python sees it, for which true is 1.
fn same(left: &Value, right: &Value) -> bool {
    let number = |value: &Value| match value.reveal() {
        Value::Bool(truth) => Value::Int((*truth).into()),
        other => other.clone(),
    };
    number(left) == number(right)
}

pub(super) fn compare(call: &Call<'_>, holds: fn(Ordering) -> bool) -> Result<Item, Error> {
    let (left, right) = call.pair()?;
    let Some(order) = order(&left, &right) else {
        let (left, right) = (left.reveal().kind(), right.reveal().kind());
        return Err(call.fail(format!("cannot compare {left} and {right}")));
    };
    Ok(Item::Value(holds(order).into()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python compares such numbers the same way"
)]
fn order(left: &Value, right: &Value) -> Option<Ordering> {
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
