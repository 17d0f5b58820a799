//! Python's `%` formatting: `'%s is %05.2f' | format(name, number)`.

use crate::value::Value;

use super::error::{Result, filter_error};
use super::limits;

/// A format specification: the part of the text after a `%`.
struct FormatSpec {
    name: Option<String>,
    flags: String,
    width: Option<usize>,
    precision: Option<usize>,
    conversion: char,
}

/// Replaces the `%…` specifications of a text by values: in order, or by name from a map.
pub(super) fn format(text: &str, values: &[Value], names: &Value) -> Result<String> {
    let mut done = String::new();
    let mut rest = text;
    let mut values = values.iter();
    while let Some((before, after)) = rest.split_once('%') {
        done += before;
        let (spec, after) = read(after, &mut values)?;
        rest = after;
        if spec.conversion == '%' {
            done.push('%');
            continue;
        }
        let missing = || {
            filter_error(format!(
                "`format`: there are not enough values for `{text}`"
            ))
        };
        let value = match &spec.name {
            Some(name) => names.get(name),
            None => values.next(),
        };
        let shown = format_value(&spec, value.ok_or_else(missing)?)?;
        limits::check_text_length(done.len() + shown.len().max(spec.width.unwrap_or_default()))?;
        done += &pad(&spec, &shown);
    }
    if values.next().is_some() {
        return Err(filter_error(format!(
            "`format`: there are too many values for `{text}`"
        )));
    }
    Ok(done + rest)
}

fn read<'t, 'v>(
    text: &'t str,
    values: &mut impl Iterator<Item = &'v Value>,
) -> Result<(FormatSpec, &'t str)> {
    let mut rest = text;
    let mut name = None;
    if let Some((inner, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        name = Some(inner.to_owned());
        rest = after;
    }
    let end = rest.find(|c| !"#0- +".contains(c)).unwrap_or(rest.len());
    let flags = rest[..end].to_owned();
    rest = &rest[end..];
    let width = number(&mut rest, values)?;
    let mut precision = None;
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        precision = Some(number(&mut rest, values)?.unwrap_or_default());
    }
    rest = rest.trim_start_matches(['h', 'l', 'L']);
    let Some(conversion) = rest.chars().next() else {
        return Err(filter_error(
            "`format`: the text ends within a `%` specification",
        ));
    };
    let spec = FormatSpec {
        name,
        flags,
        width,
        precision,
        conversion,
    };
    Ok((spec, &rest[conversion.len_utf8()..]))
}

fn number<'v>(
    rest: &mut &str,
    values: &mut impl Iterator<Item = &'v Value>,
) -> Result<Option<usize>> {
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        let width = values.next().and_then(Value::as_int);
        return Ok(width.and_then(|width| usize::try_from(width).ok()));
    }
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let digits = &rest[..end];
    *rest = &rest[end..];
    if digits.is_empty() {
        return Ok(None);
    }
    let number = digits.parse().unwrap_or(usize::MAX);
    limits::check_text_length(number)?;
    Ok(Some(number))
}

fn format_value(spec: &FormatSpec, value: &Value) -> Result<String> {
    let wrong = || {
        let kind = value.kind();
        filter_error(format!(
            "`format`: `%{}` takes a number, not {kind}",
            spec.conversion
        ))
    };
    Ok(match spec.conversion {
        's' | 'r' | 'a' => {
            let text = match (spec.conversion, value) {
                ('s', _) => value.to_string(),
                _ => format!("{value:?}"),
            };
            match spec.precision {
                Some(length) => text.chars().take(length).collect(),
                None => text,
            }
        }
        'c' => match value {
            Value::Int(code) => {
                let code = u32::try_from(*code).ok().and_then(char::from_u32);
                code.ok_or_else(wrong)?.to_string()
            }
            other => other.to_string().chars().take(1).collect(),
        },
        'd' | 'i' | 'u' => match value {
            Value::Big(digits) => signed(spec, digits.to_string()),
            _ => signed(spec, whole(value).ok_or_else(wrong)?.to_string()),
        },
        'x' | 'X' | 'o' => {
            let whole = whole(value).ok_or_else(wrong)?;
            let (digits, prefix) = match spec.conversion {
                'x' => (format!("{:x}", whole.unsigned_abs()), "0x"),
                'X' => (format!("{:X}", whole.unsigned_abs()), "0X"),
                _ => (format!("{:o}", whole.unsigned_abs()), "0o"),
            };
            let prefix = if spec.flags.contains('#') { prefix } else { "" };
            let sign = if whole < 0 { "-" } else { "" };
            signed(spec, format!("{sign}{prefix}{digits}"))
        }
        'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
            let float = float(value).ok_or_else(wrong)?;
            signed(spec, float_text(spec, float))
        }
        other => {
            return Err(filter_error(format!(
                "`format`: the conversion `%{other}` is not known"
            )));
        }
    })
}

/// Returns a number as a float. None for any other value.
#[expect(clippy::cast_precision_loss, reason = "Python does the same")]
pub(super) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Bool(truth) => Some(u8::from(*truth).into()),
        Value::Float(float) => Some(*float),
        Value::Big(digits) => digits.parse().ok(),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Float(float) => (float.abs() < 9.2e18).then_some(*float as i64),
        Value::Bool(truth) => Some((*truth).into()),
        other => other.as_int(),
    }
}

fn signed(spec: &FormatSpec, text: String) -> String {
    match text.starts_with('-') {
        false if spec.flags.contains('+') => format!("+{text}"),
        false if spec.flags.contains(' ') => format!(" {text}"),
        _ => text,
    }
}

fn float_text(spec: &FormatSpec, float: f64) -> String {
    let precision = spec.precision.unwrap_or(6).min(1000);
    let text = match spec.conversion {
        _ if !float.is_finite() => float.to_string().to_lowercase(),
        'f' | 'F' => format!("{float:.precision$}"),
        'e' | 'E' => exponent(float, precision),
        _ => {
            let precision = precision.max(1);
            let short = exponent(float, precision - 1);
            let power: i32 = short
                .split_once('e')
                .and_then(|(_, power)| power.parse().ok())
                .unwrap_or_default();
            let limit = i32::try_from(precision).unwrap_or(i32::MAX);
            if (-4..limit).contains(&power) {
                let decimals = usize::try_from(limit - 1 - power).unwrap_or_default();
                trimmed(&format!("{float:.decimals$}"), spec)
            } else {
                let (digits, power) = short.split_once('e').unwrap_or((&short, ""));
                format!("{}e{power}", trimmed(digits, spec))
            }
        }
    };
    if spec.conversion.is_ascii_uppercase() {
        text.to_uppercase()
    } else {
        text
    }
}

fn trimmed(digits: &str, spec: &FormatSpec) -> String {
    if !digits.contains('.') || spec.flags.contains('#') {
        return digits.to_owned();
    }
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// Formats a float with an exponent that has a sign and at least two digits, as C does.
fn exponent(float: f64, precision: usize) -> String {
    let text = format!("{float:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', power),
    };
    format!("{digits}e{sign}{power:0>2}")
}

fn pad(spec: &FormatSpec, text: &str) -> String {
    let missing = spec
        .width
        .unwrap_or_default()
        .saturating_sub(text.chars().count());
    let is_number = !matches!(spec.conversion, 's' | 'r' | 'a' | 'c');
    if spec.flags.contains('-') {
        format!("{text}{}", " ".repeat(missing))
    } else if spec.flags.contains('0') && is_number {
        let digits = text.trim_start_matches(['+', '-', ' ']);
        let sign = &text[..text.len() - digits.len()];
        format!("{sign}{}{digits}", "0".repeat(missing))
    } else {
        format!("{}{text}", " ".repeat(missing))
    }
}
