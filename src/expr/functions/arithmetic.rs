//! The arithmetic functions `add`, `sub`, `mul`, `div`, `floordiv`, `mod` and `pow`, with the results of
//! Python for integers, floats, texts and lists.

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::value::Value;

use super::call::FunctionCall;

#[derive(Clone, Copy)]
enum NumericOperands {
    Ints(i64, i64),
    Floats(f64, f64),
}

pub(super) fn add(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let (left, right) = call.two_values()?;
    match (left.reveal(), right.reveal()) {
        (Value::Str(a), Value::Str(b)) => Ok(LazyValue::Value(format!("{a}{b}").into())),
        (Value::List(a), Value::List(b)) => Ok(LazyValue::Value(Value::list(
            a.iter().chain(b.iter()).cloned(),
        ))),
        (left, right) => calculate(
            call,
            numbers(call, left, right)?,
            i64::checked_add,
            |a, b| a + b,
        ),
    }
}

pub(super) fn sub(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    calculate(call, both(call)?, i64::checked_sub, |a, b| a - b)
}

pub(super) fn mul(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let (left, right) = call.two_values()?;
    match (left.reveal(), right.reveal()) {
        (Value::Int(times), sequence @ (Value::Str(_) | Value::List(_)))
        | (sequence @ (Value::Str(_) | Value::List(_)), Value::Int(times)) => {
            repeat_sequence(call, sequence, *times)
        }
        (left, right) => calculate(
            call,
            numbers(call, left, right)?,
            i64::checked_mul,
            |a, b| a * b,
        ),
    }
}

/// The maximum length of a repeated text or list.
const MAX_REPEATED_LENGTH: usize = 1 << 20;

/// Repeats a text or list, as Python's `*` does.
fn repeat_sequence(
    call: &FunctionCall<'_>,
    sequence: &Value,
    times: i64,
) -> Result<LazyValue, Error> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    let fits = |length: usize| match length.checked_mul(times) {
        Some(length) if length <= MAX_REPEATED_LENGTH => Ok(()),
        _ => Err(call.fail("the repeated text or list would be longer than the limit")),
    };
    Ok(LazyValue::Value(match sequence {
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

pub(super) fn div(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let (left, right) = floats(both(call)?);
    nonzero(call, right)?;
    Ok(LazyValue::Value((left / right).into()))
}

pub(super) fn floordiv(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let pair = both(call)?;
    nonzero(call, floats(pair).1)?;
    let floor = |a: i64, b: i64| {
        let quotient = a.checked_div(b)?;
        Some(quotient - i64::from(a % b != 0 && (a < 0) != (b < 0)))
    };
    calculate(call, pair, floor, |a, b| (a / b).floor())
}

pub(super) fn modulo(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
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

pub(super) fn pow(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let pair = both(call)?;
    if let NumericOperands::Ints(base, exponent) = pair
        && exponent >= 0
    {
        let power = u32::try_from(exponent)
            .ok()
            .and_then(|exponent| base.checked_pow(exponent));
        return power
            .map(|power| LazyValue::Value(power.into()))
            .ok_or_else(|| too_large(call));
    }
    let (base, exponent) = floats(pair);
    let power = base.powf(exponent);
    if (base == 0.0 && exponent < 0.0) || (power.is_nan() && !base.is_nan() && !exponent.is_nan()) {
        return Err(call.fail("the result is not a finite number"));
    }
    Ok(LazyValue::Value(power.into()))
}

fn both(call: &FunctionCall<'_>) -> Result<NumericOperands, Error> {
    let (left, right) = call.two_values()?;
    numbers(call, &left, &right)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python converts an integer to a float the same way"
)]
fn numbers(call: &FunctionCall<'_>, left: &Value, right: &Value) -> Result<NumericOperands, Error> {
    match (number(left), number(right)) {
        (Some(Ok(left)), Some(Ok(right))) => Ok(NumericOperands::Ints(left, right)),
        (Some(left), Some(right)) => {
            let float =
                |number: Result<i64, f64>| number.map_or_else(|float| float, |int| int as f64);
            Ok(NumericOperands::Floats(float(left), float(right)))
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
    reason = "Python converts an integer to a float the same way"
)]
fn floats(pair: NumericOperands) -> (f64, f64) {
    match pair {
        NumericOperands::Ints(left, right) => (left as f64, right as f64),
        NumericOperands::Floats(left, right) => (left, right),
    }
}

fn nonzero(call: &FunctionCall<'_>, divisor: f64) -> Result<(), Error> {
    if divisor == 0.0 {
        return Err(call.fail("cannot divide by zero"));
    }
    Ok(())
}

fn calculate(
    call: &FunctionCall<'_>,
    pair: NumericOperands,
    ints: impl Fn(i64, i64) -> Option<i64>,
    floats: impl Fn(f64, f64) -> f64,
) -> Result<LazyValue, Error> {
    match pair {
        NumericOperands::Ints(left, right) => match ints(left, right) {
            Some(result) => Ok(LazyValue::Value(result.into())),
            None => Err(too_large(call)),
        },
        NumericOperands::Floats(left, right) => Ok(LazyValue::Value(floats(left, right).into())),
    }
}

fn too_large(call: &FunctionCall<'_>) -> Error {
    call.fail("the result needs more than 64 bits")
}
