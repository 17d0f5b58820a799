//! The functions `scalar` and `scalar_value`: numbers with units such as `4 GB`, and conversions between
//! units.

use std::sync::Arc;

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::value::units::{self, Units};
use crate::value::{External, ExternalKind, Map, Value, unfurl_json};

use super::call::FunctionCall;

/// Returns the kind of a unit, its standard spelling and its factor. An exact match wins over one that
/// ignores case.
fn unit(name: &str) -> Option<(Units, &'static str, f64)> {
    let kinds = [units::SIZE, units::TIME, units::FREQUENCY, units::BITRATE];
    let find = |same: &dyn Fn(&str) -> bool| {
        kinds.into_iter().find_map(|kind| {
            let (name, factor) = kind.iter().find(|(name, _)| same(name))?;
            Some((kind, *name, *factor))
        })
    };
    find(&|known| known == name).or_else(|| find(&|known| known.eq_ignore_ascii_case(name)))
}

struct Scalar {
    number: f64,
    unit: &'static str,
    factor: f64,
    kind: Units,
}

fn parse(call: &FunctionCall<'_>, text: &str) -> Result<Scalar, Error> {
    let text = text.trim();
    let end = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let number = text[..end].trim().parse().ok();
    match (number, unit(text[end..].trim())) {
        (Some(number), Some((kind, unit, factor))) => Ok(Scalar {
            number,
            unit,
            factor,
            kind,
        }),
        _ => Err(call.fail(format!(
            "`{text}` is not a number with a unit, such as `4 GB`"
        ))),
    }
}

/// Returns the number of basic units that the result of `scalar` stands for, and the kind of its unit.
pub(super) fn quantity(value: &Value) -> Option<(Value, Units)> {
    let Value::External(external) = value.reveal() else {
        return None;
    };
    let (kind, ..) = unit(external.parts.get("unit")?.as_str()?)?;
    Some((external.parts.get("base")?.clone(), kind))
}

pub(super) fn scalar(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let argument = call.value()?;
    if matches!(argument, Value::External(_)) || argument.is_null() {
        return Ok(LazyValue::Value(argument));
    }
    let scalar = parse(call, &argument.reveal().to_string())?;
    let number = integer_if_whole(scalar.number);
    let text = Value::from(format!("{number} {}", scalar.unit));
    let base = integer_if_whole(scalar.number * scalar.factor);
    let parts = [
        ("value", number),
        ("unit", scalar.unit.into()),
        ("base", base),
    ];
    let expression = Value::map([("scalar", text.clone())]);
    Ok(LazyValue::Value(Value::External(Arc::new(External {
        kind: ExternalKind::Other,
        parts: parts
            .into_iter()
            .map(|(name, part)| (name.into(), part))
            .collect::<Map>(),
        digest: Some(unfurl_json("eval", expression.clone())),
        exact: Some(text.clone()),
        value: text,
        expression: Value::map([("eval", expression)]),
    }))))
}

pub(super) fn scalar_value(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let argument = call.value()?;
    let round = call.option("round")?.filter(|round| !round.is_null());
    let (number, is_whole) = match argument.reveal() {
        Value::Null => return Ok(LazyValue::Value(argument)),
        Value::Int(_) if round.is_none() => return Ok(LazyValue::Value(argument)),
        #[expect(clippy::cast_precision_loss, reason = "Python divides the same way")]
        Value::Int(number) => (*number as f64, true),
        Value::Float(number) => (*number, false),
        text => {
            let scalar = parse(call, &text.to_string())?;
            let Some(name) = call.text("unit")? else {
                let is_whole = scalar.number.fract() == 0.0;
                return Ok(LazyValue::Value(round_number(
                    scalar.number,
                    is_whole,
                    round.as_ref(),
                )));
            };
            let known = unit(&name).filter(|(kind, ..)| std::ptr::eq(*kind, scalar.kind));
            let problem = || {
                call.fail(format!(
                    "`{name}` is not a unit that `{}` can be converted to",
                    scalar.unit
                ))
            };
            let target = known.ok_or_else(problem)?.2;
            (scalar.number * scalar.factor / target, false)
        }
    };
    Ok(LazyValue::Value(round_number(
        number,
        is_whole,
        round.as_ref(),
    )))
}

/// Rounds a number as the option `round` demands: a number of digits, `ceil` or `floor`.
///
/// Without the option, a number below 1 keeps its fraction and any other number becomes an integer. A number
/// that was no integer stays a float when a number of digits is given.
fn round_number(number: f64, is_whole: bool, round: Option<&Value>) -> Value {
    match round.map(Value::reveal) {
        Some(Value::Int(places)) => {
            let places = i32::try_from((*places).clamp(-300, 300)).unwrap_or_default();
            let scale = 10f64.powi(places);
            let value = (number * scale).round_ties_even() / scale;
            if is_whole {
                integer_if_whole(value)
            } else {
                value.into()
            }
        }
        Some(Value::Str(rounding)) if &**rounding == "ceil" => integer_if_whole(number.ceil()),
        Some(Value::Str(rounding)) if &**rounding == "floor" => integer_if_whole(number.floor()),
        _ if number.abs() < 1.0 => number.into(),
        _ => integer_if_whole(number.round_ties_even()),
    }
}

/// Returns an integer if the number is one within the precision of a float.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn integer_if_whole(number: f64) -> Value {
    let near = number.round();
    if (number - near).abs() < 1e-13 && near.abs() < 9e15 {
        Value::Int(near as i64)
    } else {
        Value::Float(number)
    }
}
