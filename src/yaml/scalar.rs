//! The meaning of plain scalars in YAML 1.2, as ruamel's round-trip loader resolves them, and the detection
//! of texts that other readers take for numbers or dates.

use std::sync::Arc;

use super::NodeKind;

/// The maximum number of digits of an integer, which is the limit of Python. Longer ones are texts.
const MAX_DIGITS: usize = 4300;

/// Resolves a plain scalar to null, a boolean or a number. None for a text.
pub(super) fn resolve(text: &str) -> Option<NodeKind> {
    match text.as_bytes().first()? {
        b'~' => (text.len() == 1).then_some(NodeKind::Null),
        b'n' | b'N' => matches!(text, "null" | "Null" | "NULL").then_some(NodeKind::Null),
        b't' | b'T' => matches!(text, "true" | "True" | "TRUE").then_some(NodeKind::Bool(true)),
        b'f' | b'F' => matches!(text, "false" | "False" | "FALSE").then_some(NodeKind::Bool(false)),
        b'0'..=b'9' | b'+' | b'-' | b'.' => integer(text).or_else(|| float(text)),
        _ => None,
    }
}

/// Parses an integer, with underscores and the prefixes `0b`, `0o` and `0x`.
pub(super) fn integer(text: &str) -> Option<NodeKind> {
    let (negative, rest) = split_sign(text);
    let (radix, digits) = split_radix(rest);
    let mut number: Option<i64> = Some(0);
    let mut count = 0_usize;
    for byte in digits.bytes() {
        if byte == b'_' {
            continue;
        }
        let digit = i64::from(char::from(byte).to_digit(radix)?);
        count += 1;
        number = number
            .and_then(|n| n.checked_mul(i64::from(radix)))
            .and_then(|n| n.checked_sub(digit));
    }
    if count == 0 || count > MAX_DIGITS {
        return None;
    }
    // The digits are subtracted, because only that reaches the smallest number.
    let number = number.and_then(|n| if negative { Some(n) } else { n.checked_neg() });
    Some(number.map_or_else(|| big(negative, digits, radix), NodeKind::Int))
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn split_radix(text: &str) -> (u32, &str) {
    match text.as_bytes() {
        [b'0', b'b', ..] => (2, &text[2..]),
        [b'0', b'o', ..] => (8, &text[2..]),
        [b'0', b'x', ..] => (16, &text[2..]),
        _ => (10, text),
    }
}

/// Returns the decimal digits of an integer that exceeds 64 bits.
fn big(negative: bool, digits: &str, radix: u32) -> NodeKind {
    let mut decimal: Vec<u8> = Vec::with_capacity(digits.len() + 1);
    if radix == 10 {
        decimal.extend(digits.bytes().filter(|byte| *byte != b'_'));
        let zeros = decimal.iter().take_while(|byte| **byte == b'0').count();
        decimal.drain(..zeros);
    } else {
        // The digits are little-endian during the computation.
        for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
            let mut carry = digit;
            for place in &mut decimal {
                let sum = u32::from(*place) * radix + carry;
                *place = u8::try_from(sum % 10).unwrap_or_default();
                carry = sum / 10;
            }
            while carry > 0 {
                decimal.push(u8::try_from(carry % 10).unwrap_or_default());
                carry /= 10;
            }
        }
        decimal.reverse();
        for digit in &mut decimal {
            *digit += b'0';
        }
    }
    let sign = if negative { "-" } else { "" };
    let text = format!("{sign}{}", String::from_utf8_lossy(&decimal));
    NodeKind::Big(Arc::from(text))
}

/// Parses a float, including infinity and NaN.
pub(super) fn float(text: &str) -> Option<NodeKind> {
    let (negative, rest) = split_sign(text);
    let number = match rest {
        ".inf" | ".Inf" | ".INF" => f64::INFINITY,
        ".nan" | ".NaN" | ".NAN" if rest.len() == text.len() => f64::NAN,
        _ => {
            let parts = FloatParts::of(rest)?;
            // Without digits before the point, ruamel requires a sign in the exponent.
            let bare = rest.starts_with('.') && parts.exponent && !parts.exponent_sign;
            if bare || rest.starts_with('_') || !parts.digit {
                return None;
            }
            if rest.contains('_') {
                rest.replace('_', "").parse().ok()?
            } else {
                rest.parse().ok()?
            }
        }
    };
    Some(NodeKind::Float(if negative { -number } else { number }))
}

/// The components found in the text of an unsigned float.
struct FloatParts {
    digit: bool,
    exponent: bool,
    exponent_sign: bool,
}

impl FloatParts {
    /// Parses `12`, `1.5`, `1.`, `.5` and exponents, with underscores. A point or an exponent is required.
    fn of(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(place) => (&text[..place], Some(&text[place + 1..])),
            None => (text, None),
        };
        let mut points = 0;
        let mut digit = false;
        for byte in mantissa.bytes() {
            match byte {
                b'0'..=b'9' => digit = true,
                b'_' => {}
                b'.' => points += 1,
                _ => return None,
            }
        }
        let some = mantissa.len() > points;
        if points > 1 || !some || (points == 0 && exponent.is_none()) {
            return None;
        }
        let unsigned = exponent.map(|e| e.strip_prefix(['+', '-']).unwrap_or(e));
        if unsigned.is_some_and(|e| e.is_empty() || !e.bytes().all(|b| b.is_ascii_digit())) {
            return None;
        }
        Some(Self {
            digit,
            exponent: exponent.is_some(),
            exponent_sign: exponent.is_some_and(|e| e.starts_with(['+', '-'])),
        })
    }
}

/// Whether a reader of YAML 1.1 or 1.2 (`PyYAML`, ruamel, this one) takes a plain scalar for another type
/// than text.
pub(super) fn is_ambiguous(text: &str) -> bool {
    let Some(first) = text.as_bytes().first() else {
        return true;
    };
    match first {
        b'~' | b'=' => text.len() == 1,
        b'<' => text == "<<",
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' => {
            const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
            text.len() <= 5 && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
        }
        b'0'..=b'9' | b'+' | b'-' | b'.' => looks_like_number(text) || looks_like_date(text),
        _ => false,
    }
}

/// Returns true if readers of YAML 1.1 may read another value from a plain scalar than `kind`, or none that can be
/// written back as `kind` is written.
pub(super) fn differs_in_yaml_1_1(text: &str, kind: &NodeKind) -> bool {
    let (_, unsigned) = split_sign(text);
    match kind {
        NodeKind::Str(_) => is_ambiguous(text) && !matches!(text, "=" | "<<"),
        NodeKind::Int(_) | NodeKind::Big(_) => {
            (unsigned.starts_with('0') && unsigned.len() > 1) || text.contains('_')
        }
        NodeKind::Float(_) => text.contains(['e', 'E', '_']),
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Seq(_) | NodeKind::Map(_) => false,
    }
}

fn looks_like_number(text: &str) -> bool {
    let (_, rest) = split_sign(text);
    let (radix, digits) = split_radix(rest);
    let whole = !digits.is_empty()
        && digits
            .bytes()
            .all(|byte| byte == b'_' || char::from(byte).is_digit(radix));
    whole
        || rest.eq_ignore_ascii_case(".inf")
        || rest.eq_ignore_ascii_case(".nan")
        || FloatParts::of(rest).is_some()
        || is_sexagesimal(rest)
}

/// Whether a text is a sexagesimal number of YAML 1.1, such as `12:30:45` or `1:30.5`.
fn is_sexagesimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let sixty = |part: &str| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    let mut more = parts.peekable();
    first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && more.peek().is_some()
        && more.all(sixty)
}

/// Whether a text is a date such as `2001-12-14`, with or without a time.
fn looks_like_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let digits = |part: &str, max_digits: usize| {
        (1..=max_digits).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    let day = rest
        .find(['T', 't', ' ', '\t'])
        .map_or(rest, |end| &rest[..end]);
    year.len() == 4 && digits(year, 4) && digits(month, 2) && digits(day, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        resolve(text).map_or_else(|| "text".to_owned(), |kind| format!("{kind:?}"))
    }

    #[test]
    fn scalars_are_those_of_ruamel() {
        let cases = [
            ("yes", "text"),
            ("0755", "Int(755)"),
            ("0o755", "Int(493)"),
            ("0x1F", "Int(31)"),
            ("0b11", "Int(3)"),
            ("12:30:45", "text"),
            ("1e3", "Float(1000.0)"),
            (
                "123456789012345678901234567890",
                "Big(\"123456789012345678901234567890\")",
            ),
            ("-0xFFFFFFFFFFFFFFFF", "Big(\"-18446744073709551615\")"),
            ("-9223372036854775808", "Int(-9223372036854775808)"),
            ("9223372036854775808", "Big(\"9223372036854775808\")"),
            ("2001-12-14", "text"),
            (".inf", "Float(inf)"),
            ("-.inf", "Float(-inf)"),
            (".nan", "Float(NaN)"),
            ("+.nan", "text"),
            ("~", "Null"),
            ("1_000", "Int(1000)"),
            ("1.", "Float(1.0)"),
            ("1_0.5", "Float(10.5)"),
            (".5", "Float(0.5)"),
            (".5e3", "text"),
            (".5e+3", "Float(500.0)"),
            ("+1", "Int(1)"),
            ("-_", "text"),
            ("0o", "text"),
            ("08", "Int(8)"),
            ("_1", "text"),
            ("1.2.3", "text"),
            ("tRue", "text"),
            ("1e", "text"),
            ("1e400", "Float(inf)"),
            ("=", "text"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_another_reader_could_take_for_a_number_is_ambiguous() {
        for text in [
            "yes",
            "OFF",
            "y",
            "1_0",
            "0o7",
            "12:30",
            "1:30.5",
            "2001-12-14",
            "2001-1-1 10:00",
            "=",
            "<<",
            "~",
            "",
            "-_",
            "0x_",
            "._",
            ".5e3",
            ".NaN",
            "1e3",
            "Null",
        ] {
            assert!(is_ambiguous(text), "{text}");
        }
        for text in [
            "10.0.0.1",
            "1.2.3",
            "yesterday",
            "-foo",
            "0x",
            "<<REDACTED>>",
            "v1",
            "a",
            "12:99",
        ] {
            assert!(!is_ambiguous(text), "{text}");
        }
    }
}
