//! Percent encoding of text, as in URLs.

use super::digest::hex;

/// Decodes `%` followed by two hexadecimal digits.
///
/// A `%` without two digits stays unchanged. Bytes that are not UTF-8 are replaced.
pub fn decode_percent(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..2).filter(|_| *first == b'%');
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Encodes each byte as `%` and two digits unless it is a letter, a digit, one of `-._~`, or in `safe`.
pub fn encode_percent(text: &str, safe: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || safe.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(["%", &hex(&[byte]).to_uppercase()]);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_encoded_unless_they_are_safe() {
        assert_eq!(encode_percent("a b/c~é", b""), "a%20b%2Fc~%C3%A9");
        assert_eq!(encode_percent("a b/c", b"/"), "a%20b/c");
    }

    #[test]
    fn bytes_are_read_and_what_is_no_byte_stays() {
        let cases = [
            ("plain", "plain"),
            ("a%20b", "a b"),
            ("%c3%A4", "ä"),
            ("100%", "100%"),
            ("%+1", "%+1"),
            ("%zz%2", "%zz%2"),
            ("%25 25", "% 25"),
        ];
        for (text, decoded) in cases {
            assert_eq!(decode_percent(text), decoded);
        }
    }
}
