//! Finds numbers in JSON that do not keep all their digits when they are read and written again.

/// The number of decimal digits that every floating-point number of 64 bits keeps.
const EXACT_DIGITS: usize = 15;

/// Returns the first number of a JSON text that would change. The text is valid JSON.
pub(super) fn inexact_number(text: &[u8]) -> Option<String> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at = end_of_text(text, at),
            b'-' | b'0'..=b'9' => {
                let rest = &text[at..];
                let is_part =
                    |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = rest
                    .iter()
                    .position(|byte| !is_part(byte))
                    .unwrap_or(rest.len());
                let number = String::from_utf8_lossy(&rest[..length]);
                if !is_exact(&number) {
                    return Some(number.into_owned());
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

fn end_of_text(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn is_exact(number: &str) -> bool {
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    let digits = number.split(['e', 'E']).next().unwrap_or_default();
    let digits = digits.bytes().filter(u8::is_ascii_digit);
    if digits.skip_while(|digit| *digit == b'0').count() <= EXACT_DIGITS {
        return true;
    }
    // A longer number is kept if it is the shortest form of its value.
    number
        .parse::<f64>()
        .is_ok_and(|value| value.to_string() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_would_change_are_found() {
        let fine = r#"{"a": [1, -2, 0.1, 1e5, 18446744073709551615, 0.30000000000000004], "123456789012345678901234567890": "\"9e999999999999999999"}"#;
        assert_eq!(inexact_number(fine.as_bytes()), None);
        for number in [
            "123456789012345678901234567890",
            "0.1000000000000000055511151231257827",
        ] {
            let text = format!("[0, {number}]");
            assert_eq!(inexact_number(text.as_bytes()).as_deref(), Some(number));
        }
    }
}
