//! Arithmetic on two numbers, as Python does it.

use crate::expr::error::Error;
use crate::expr::item::Item;
use crate::value::Value;

use super::call::Call;

#[derive(Clone, Copy)]
enum Pair {
    Ints(i64, i64),
    Floats(f64, f64),
}

pub(super) fn add(call: &Call<'_>) -> Result<Item, Error> {
    let (left, right) = call.pair()?;
    match (left.reveal(), right.reveal()) {
        (Value::Str(a), Value::Str(b)) => Ok(Item::Value(format!("{a}{b}").into())),
        (Value::List(a), Value::List(b)) => {
            Ok(Item::Value(Value::list(a.iter().chain(b.iter()).cloned())))
        }
        (left, right) => calculate(
            call,
            numbers(call, left, right)?,
            i64::checked_add,
            |a, b| a + b,
        ),
    }
}

pub(super) fn sub(call: &Call<'_>) -> Result<Item, Error> {
    calculate(call, both(call)?, i64::checked_sub, |a, b| a - b)
}

pub(super) fn mul(call: &Call<'_>) -> Result<Item, Error> {
    let (left, right) = call.pair()?;
    match (left.reveal(), right.reveal()) {
        (Value::Int(times), sequence @ (Value::Str(_) | Value::List(_)))
        | (sequence @ (Value::Str(_) | Value::List(_)), Value::Int(times)) => {
            repeated(call, sequence, *times)
        }
        (left, right) => calculate(
            call,
            numbers(call, left, right)?,
            i64::checked_mul,
            |a, b| a * b,
        ),
    }
}

/// How long what is repeated may become.
const LENGTH: usize = 1 << 20;

/// A text or list so many times in a row.
fn repeated(call: &Call<'_>, sequence: &Value, times: i64) -> Result<Item, Error> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    let fits = |length: usize| match length.checked_mul(times) {
        Some(length) if length <= LENGTH => Ok(()),
        _ => Err(call.fail("the result is too long")),
    };
    Ok(Item::Value(match sequence {
        Value::Str(text) => {
            fits(text.len())?;
            text.repeat(if text.is_empty() { 0 } else { times }).into()
        }
        Value::List(items) => {
            fits(items.len())?;
            let times = if items.is_empty() { 0 } else { times };
            Value::list(std::iter::repeat_n(items.iter(), times).flatten().cloned())
        }
        other => other.clone(),
    }))
}

pub(super) fn div(call: &Call<'_>) -> Result<Item, Error> {
    let (left, right) = floats(both(call)?);
    nonzero(call, right)?;
    Ok(Item::Value((left / right).into()))
}

pub(super) fn floordiv(call: &Call<'_>) -> Result<Item, Error> {
    let pair = both(call)?;
    nonzero(call, floats(pair).1)?;
    let floor = |a: i64, b: i64| {
        let quotient = a.checked_div(b)?;
        Some(quotient - i64::from(a % b != 0 && (a < 0) != (b < 0)))
    };
    calculate(call, pair, floor, |a, b| (a / b).floor())
}

pub(super) fn modulo(call: &Call<'_>) -> Result<Item, Error> {
    let pair = both(call)?;
    nonzero(call, floats(pair).1)?;
    let modulo = |a: i64, b: i64| {
        let rest = a.checked_rem(b)?;
        Some(if rest != 0 && (rest < 0) != (b < 0) {
            rest + b
        } else {
            rest
        })
    };
    calculate(call, pair, modulo, |a, b| a - b * (a / b).floor())
}

pub(super) fn pow(call: &Call<'_>) -> Result<Item, Error> {
    let pair = both(call)?;
    if let Pair::Ints(base, exponent) = pair
        && exponent >= 0
    {
        let power = u32::try_from(exponent)
            .ok()
            .and_then(|exponent| base.checked_pow(exponent));
        return power
            .map(|power| Item::Value(power.into()))
            .ok_or_else(|| too_large(call));
    }
    let (base, exponent) = floats(pair);
    let power = base.powf(exponent);
    if (base == 0.0 && exponent < 0.0) || (power.is_nan() && !base.is_nan() && !exponent.is_nan()) {
        return Err(call.fail("the result is no number"));
    }
    Ok(Item::Value(power.into()))
}

fn both(call: &Call<'_>) -> Result<Pair, Error> {
    let (left, right) = call.pair()?;
    numbers(call, &left, &right)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python makes a float of an integer the same way"
)]
fn numbers(call: &Call<'_>, left: &Value, right: &Value) -> Result<Pair, Error> {
    match (number(left), number(right)) {
        (Some(Ok(left)), Some(Ok(right))) => Ok(Pair::Ints(left, right)),
        (Some(left), Some(right)) => {
            let float =
                |number: Result<i64, f64>| number.map_or_else(|float| float, |int| int as f64);
            Ok(Pair::Floats(float(left), float(right)))
        }
        _ => {
            let (left, right) = (left.reveal().kind(), right.reveal().kind());
            Err(call.fail(format!("takes two numbers, not {left} and {right}")))
        }
    }
}

fn number(value: &Value) -> Option<Result<i64, f64>> {
    match value.reveal() {
        Value::Int(int) => Some(Ok(*int)),
        Value::Bool(truth) => Some(Ok((*truth).into())),
        Value::Float(float) => Some(Err(*float)),
        Value::External(external) => number(&external.value),
        _ => None,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python makes a float of an integer the same way"
)]
fn floats(pair: Pair) -> (f64, f64) {
    match pair {
        Pair::Ints(left, right) => (left as f64, right as f64),
        Pair::Floats(left, right) => (left, right),
    }
}

fn nonzero(call: &Call<'_>, divisor: f64) -> Result<(), Error> {
    if divisor == 0.0 {
        return Err(call.fail("cannot divide by zero"));
    }
    Ok(())
}

fn calculate(
    call: &Call<'_>,
    pair: Pair,
    ints: impl Fn(i64, i64) -> Option<i64>,
    floats: impl Fn(f64, f64) -> f64,
) -> Result<Item, Error> {
    match pair {
        Pair::Ints(left, right) => match ints(left, right) {
            Some(result) => Ok(Item::Value(result.into())),
            None => Err(too_large(call)),
        },
        Pair::Floats(left, right) => Ok(Item::Value(floats(left, right).into())),
    }
}

fn too_large(call: &Call<'_>) -> Error {
    call.fail("the result needs more than 64 bits")
}
