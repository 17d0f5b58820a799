//! The function `_generate`, which creates random passwords, numbers and identifiers.

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::value::Value;

use super::call::FunctionCall;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const PUNCTUATION: &str = "%()*+,-./<>?=^_~";

/// The maximum length of a generated text.
const MAX_LENGTH: usize = 100_000;

pub(super) fn generate(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let argument = call.value()?;
    let option = |name: &str| match argument.get(name) {
        Some(value) => Ok(Some(value.clone())),
        None => call.option(name),
    };
    let preset = option("preset")?.unwrap_or_default();
    let length = option("len")?
        .and_then(|length| length.as_int())
        .unwrap_or_default();
    let length = usize::try_from(length).unwrap_or_default().min(MAX_LENGTH);
    let or = |default: usize| if length == 0 { default } else { length };
    let everything = format!("{LETTERS}{DIGITS}{PUNCTUATION}");
    let text = match preset.as_str() {
        Some("number") => pick(call, DIGITS, or(1))?,
        Some("password") => {
            // A text of one character is rarely a digit, so the number of tries is limited.
            let mut tries = (0..1000).map(|_| pick(call, &everything, or(15)));
            let with_digit = |text: &String| text.contains(|c: char| c.is_ascii_digit());
            let found = tries.find(|text| text.as_ref().map_or(true, with_digit));
            found.unwrap_or_else(|| {
                Err(call.fail("could not generate a password with a digit; increase `len`"))
            })?
        }
        _ => {
            let ranges = option("ranges")?.unwrap_or_default();
            let alphabet = alphabet(&ranges).unwrap_or(everything);
            pick(call, &alphabet, or(10))?
        }
    };
    Ok(LazyValue::Value(text.into()))
}

/// Returns the characters of ranges such as `[[a, z], [48, 58]]`. The end of a range is exclusive.
fn alphabet(ranges: &Value) -> Option<String> {
    let mut alphabet = String::new();
    for range in ranges.as_list()? {
        let [start, end] = range.as_list()?.as_slice() else {
            continue;
        };
        let code = |value: &Value| match value.reveal() {
            Value::Str(text) => text.chars().next().map(u32::from),
            other => other.as_int().and_then(|code| u32::try_from(code).ok()),
        };
        let end = code(end)?.min(u32::from(char::MAX));
        alphabet.extend(
            (code(start)?..end)
                .filter_map(char::from_u32)
                .take(MAX_LENGTH),
        );
    }
    (!alphabet.is_empty()).then_some(alphabet)
}

fn pick(call: &FunctionCall<'_>, alphabet: &str, count: usize) -> Result<String, Error> {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut bytes = vec![0; count * 8];
    let filled = call.evaluator.system().random(&mut bytes);
    filled.map_err(|problem| call.fail(problem.to_string()))?;
    let size = alphabet.len() as u64;
    let pick = |bytes: &[u8]| {
        let number = bytes
            .iter()
            .fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
        let place = usize::try_from(number % size).unwrap_or_default();
        alphabet[place]
    };
    Ok(bytes.chunks_exact(8).map(pick).collect())
}
