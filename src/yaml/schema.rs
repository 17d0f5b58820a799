//! The schemas for plain scalars: YAML 1.2 as ruamel reads it, or YAML 1.1 as Salt reads it.

use super::{NodeKind, scalar};

/// The schema that defines the meaning of plain scalars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Schema {
    /// The rules of ruamel's round-trip loader (YAML 1.2).
    #[default]
    Core,
    /// The rules of `PyYAML` (YAML 1.1) with Salt's changes (S11): `no` is false, and a number with leading
    /// zeros is decimal.
    Salt,
}

impl Schema {
    /// Resolves a plain scalar to null, a boolean or a number. None for a text.
    pub fn resolve(self, text: &str) -> Option<NodeKind> {
        match self {
            Self::Core => scalar::resolve(text),
            Self::Salt => resolve(text),
        }
    }
}

fn resolve(text: &str) -> Option<NodeKind> {
    match text {
        "~" | "null" | "Null" | "NULL" => return Some(NodeKind::Null),
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Some(NodeKind::Bool(true));
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Some(NodeKind::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" => return Some(NodeKind::Float(f64::NAN)),
        _ => {}
    }
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        b'0'..=b'9' | b'.' => (false, text),
        _ => return None,
    };
    if matches!(rest, ".inf" | ".Inf" | ".INF") {
        let sign = if negative { -1.0 } else { 1.0 };
        return Some(NodeKind::Float(sign * f64::INFINITY));
    }
    integer(text, rest).or_else(|| float(negative, rest, rest.len() < text.len()))
}

fn integer(text: &str, rest: &str) -> Option<NodeKind> {
    let all = |digits: &str, good: fn(u8) -> bool| {
        !digits.is_empty() && digits.bytes().all(|byte| byte == b'_' || good(byte))
    };
    let digit = |byte: u8| byte.is_ascii_digit();
    if let Some(digits) = rest.strip_prefix("0b") {
        let good = all(digits, |byte| matches!(byte, b'0' | b'1'));
        return good.then(|| scalar::integer(text)).flatten();
    }
    if let Some(digits) = rest.strip_prefix("0x") {
        let good = all(digits, |byte| byte.is_ascii_hexdigit());
        return good.then(|| scalar::integer(text)).flatten();
    }
    if rest.starts_with('0') && rest.len() > 1 {
        if !all(&rest[1..], |byte| matches!(byte, b'0'..=b'7')) {
            return None;
        }
        // Salt removes leading zeros, so only a number with a sign stays octal.
        return if rest.len() == text.len() {
            scalar::integer(rest)
        } else {
            scalar::integer(&format!("{}0o{}", &text[..1], &rest[1..]))
        };
    }
    if rest.contains(':') {
        let sixty = sexagesimal(rest)?;
        return Some(NodeKind::Int(if text.starts_with('-') {
            -sixty
        } else {
            sixty
        }));
    }
    let good = rest.starts_with(|c: char| c.is_ascii_digit()) && all(rest, digit);
    good.then(|| scalar::integer(text)).flatten()
}

/// Parses a sexagesimal number such as `12:30:45`.
fn sexagesimal(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let first = parts.next()?;
    let plain = first.starts_with(|c: char| matches!(c, '1'..='9'))
        && first
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_');
    if !plain {
        return None;
    }
    let mut sum: i64 = first.replace('_', "").parse().ok()?;
    for part in parts {
        let fits = matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
        if !fits {
            return None;
        }
        sum = sum.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    Some(sum)
}

/// Parses a float, which has a point and, in its exponent, a sign.
fn float(negative: bool, text: &str, signed: bool) -> Option<NodeKind> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(place) => (&text[..place], Some(&text[place + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.')?;
    let digits = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    let starts = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let begins = starts(whole) || (whole.is_empty() && !signed && starts(fraction));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']);
        digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|byte| byte.is_ascii_digit()))
    });
    if !begins || !digits(whole) || !digits(fraction) || !exponent_fits {
        return None;
    }
    let number: f64 = text.replace('_', "").parse().ok()?;
    Some(NodeKind::Float(if negative { -number } else { number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let kind = Schema::Salt.resolve(text);
        kind.map_or_else(|| "text".to_owned(), |kind| format!("{kind:?}"))
    }

    #[test]
    fn scalars_are_those_of_salt() {
        let cases = [
            ("yes", "Bool(true)"),
            ("Off", "Bool(false)"),
            ("y", "text"),
            ("0644", "Int(644)"),
            ("-0644", "Int(-420)"),
            ("0o644", "text"),
            ("08", "text"),
            ("00", "Int(0)"),
            ("0", "Int(0)"),
            ("0x1F", "Int(31)"),
            ("0b11", "Int(3)"),
            ("1_000", "Int(1000)"),
            ("12:30:45", "Int(45045)"),
            ("-1:30", "Int(-90)"),
            ("01:30", "text"),
            ("1:75", "text"),
            ("1e3", "text"),
            ("1.5e3", "text"),
            ("1.5e+3", "Float(1500.0)"),
            ("1.", "Float(1.0)"),
            (".5", "Float(0.5)"),
            ("-.5", "text"),
            ("-1.5", "Float(-1.5)"),
            ("-.inf", "Float(-inf)"),
            ("2001-12-14", "text"),
            ("10.0.0.1", "text"),
            ("~", "Null"),
            ("=", "text"),
            ("-", "text"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
