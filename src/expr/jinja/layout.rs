//! Filters that lay text out, and a few on numbers.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands arguments over by value"
)]

use minijinja::value::{Kwargs, Value as JinjaValue};
use minijinja::{Environment, State};
use sha2::{Digest as _, Sha256};

use crate::expr::reads::Read;
use crate::value::Value;

use super::filters::{Result, failed};
use super::variables::Variables;

/// The widest text that is filled up.
const WIDEST: usize = 100_000;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("wordcount", wordcount);
    environment.add_filter("center", center);
    environment.add_filter("truncate", truncate);
    environment.add_filter("urlencode", urlencode);
    environment.add_filter("pow", |base: f64, exponent: f64| base.powf(exponent));
    environment.add_filter("root", |value: f64, base: Option<f64>| {
        value.powf(1.0 / base.unwrap_or(2.0))
    });
    environment.add_filter("log", |value: f64, base: Option<f64>| {
        value.log(base.unwrap_or(std::f64::consts::E))
    });
    environment.add_filter("random", random);
}

fn text_of(state: &State, value: &JinjaValue) -> Result<String> {
    Ok(Variables::of(state)?.open(value)?.to_string())
}

fn wordcount(state: &State, value: &JinjaValue) -> Result<usize> {
    Ok(text_of(state, value)?.split_whitespace().count())
}

fn center(state: &State, value: &JinjaValue, width: Option<usize>) -> Result<String> {
    let text = text_of(state, value)?;
    let width = width.unwrap_or(80).min(WIDEST);
    Ok(format!("{text:^width$}"))
}

fn truncate(
    state: &State,
    value: &JinjaValue,
    length: Option<usize>,
    killwords: Option<bool>,
    options: Kwargs,
) -> Result<String> {
    let length = length.or(options.get("length")?).unwrap_or(255);
    let killwords = killwords.or(options.get("killwords")?).unwrap_or_default();
    let end: Option<String> = options.get("end")?;
    let end = end.unwrap_or_else(|| "...".to_owned());
    let leeway = options.get::<Option<usize>>("leeway")?.unwrap_or(5);
    let text = text_of(state, value)?;
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(text);
    }
    let kept: String = text
        .chars()
        .take(length.saturating_sub(end.chars().count()))
        .collect();
    let kept = match kept.rsplit_once(' ') {
        Some((words, _)) if !killwords => words.to_owned(),
        _ => kept,
    };
    Ok(kept + &end)
}

/// Percent-encodes a text, or the pairs of a map as a query.
fn urlencode(state: &State, value: &JinjaValue) -> Result<String> {
    let variables = Variables::of(state)?;
    let encoded = |value: &Value, safe: &str| {
        let mut encoded = String::new();
        for byte in value.to_string().bytes() {
            let plain = byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte);
            if plain || safe.as_bytes().contains(&byte) {
                encoded.push(char::from(byte));
            } else {
                encoded.push('%');
                encoded += &crate::expr::encoding::hex(&[byte]).to_uppercase();
            }
        }
        encoded
    };
    Ok(match variables.open(value)? {
        Value::Map(map) => {
            let pairs = map.iter().map(|(key, value)| {
                let key = Value::Str(key.clone());
                format!("{}={}", encoded(&key, ""), encoded(value, ""))
            });
            pairs.collect::<Vec<_>>().join("&")
        }
        other => encoded(&other, "/"),
    })
}

/// An item of a list, or a number below another; the same each time for a `seed`.
fn random(state: &State, value: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let mut bytes = [0; 8];
    if let Some(seed) = options.get::<Option<JinjaValue>>("seed")? {
        bytes.copy_from_slice(&Sha256::digest(seed.to_string())[..8]);
    } else {
        variables.evaluator.tracker().read(Read::Volatile, None);
        variables.evaluator.world().random(&mut bytes);
    }
    let number = u64::from_be_bytes(bytes);
    if let Some(end) = value.as_i64().filter(|end| *end > 0) {
        return Ok((number % end.unsigned_abs()).into());
    }
    let items: Vec<_> = value.try_iter()?.collect();
    let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
    let place = number
        .checked_rem(count)
        .and_then(|place| usize::try_from(place).ok());
    let item = place.and_then(|place| items.into_iter().nth(place));
    item.ok_or_else(|| failed("`random` takes a list with items, or a number above zero"))
}
