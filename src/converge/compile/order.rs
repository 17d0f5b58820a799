//! Numbers of chunks, and Classic order (S14, S15).

use super::lower::Draft;
use crate::value::Value;

/// How far from the others those stand that come last.
const LAST: f64 = 1_000_000.0;

/// The numbers of a chunk.
#[derive(Debug, Clone)]
pub(super) struct Number {
    /// The number of its state, without its place among names.
    pub(super) state: f64,
    /// Its own.
    pub(super) own: f64,
    /// Its own, as people see it.
    pub(super) shown: Value,
}

/// Gives each draft its number.
pub(super) fn numbers(drafts: &[Draft]) -> Vec<Number> {
    let cap = cap(drafts);
    drafts.iter().map(|draft| number(draft, cap)).collect()
}

/// What stands for an order that is no number: more than each that is one, nearly always.
fn cap(drafts: &[Draft]) -> f64 {
    let mut cap = 1.0;
    for draft in drafts {
        let Some(order @ (Value::Int(_) | Value::Big(_))) = &draft.order else {
            continue;
        };
        let order = float(order);
        if order > cap - 1.0 && order > 0.0 {
            cap = order + 100.0;
        }
    }
    cap
}

#[expect(clippy::cast_precision_loss, reason = "orders are small")]
fn float(order: &Value) -> f64 {
    match order {
        Value::Int(number) => *number as f64,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Float(number) if !number.is_nan() => *number,
        Value::Big(digits) => digits.parse().unwrap_or(0.0),
        _ => 0.0,
    }
}

fn number(draft: &Draft, cap: f64) -> Number {
    let is_float = matches!(draft.order, Some(Value::Float(_)));
    let written = match &draft.order {
        Some(Value::Str(word)) if &**word == "last" => cap + LAST,
        Some(Value::Str(word)) if &**word == "first" => 0.0,
        Some(order @ (Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Bool(_))) => {
            float(order)
        }
        _ => cap,
    };
    let from_end = |order: f64| {
        if order < 0.0 {
            cap + LAST + order
        } else {
            order
        }
    };
    let place = draft.place.map_or(0.0, |place| f64::from(place) / 10_000.0);
    let own = from_end(written + place);
    let whole = !is_float && draft.place.is_none();
    Number {
        state: from_end(written),
        own,
        shown: if whole {
            whole_number(own)
        } else {
            Value::Float(own)
        },
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast stops at the largest number"
)]
fn whole_number(number: f64) -> Value {
    Value::Int(number as i64)
}

/// The places of drafts by number, equal ones by module, name and function.
pub(super) fn sorted(drafts: &[Draft], numbers: &[Number]) -> Vec<usize> {
    let labels: Vec<String> = drafts.iter().map(label).collect();
    let mut places: Vec<usize> = (0..drafts.len()).collect();
    places.sort_by(|a, b| {
        let by_number = numbers[*a].own.total_cmp(&numbers[*b].own);
        by_number.then_with(|| labels[*a].cmp(&labels[*b]))
    });
    places
}

fn label(draft: &Draft) -> String {
    [&*draft.state, &*draft.name, &*draft.fun].concat()
}
