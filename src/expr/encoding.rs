//! Base64 as templates accept it (more lenient than [`crate::text`]), and base32 for the digests in labels.

use crate::text::base64;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Decodes base64 text.
///
/// Accepts both alphabets and ignores padding and white space anywhere. Returns None if the text is not
/// base64.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits: String = text
        .chars()
        .filter(|sign| !sign.is_ascii_whitespace() && *sign != '=')
        .map(|sign| match sign {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    base64::decode(&digits)
}

/// Encodes bytes as base32 without padding.
pub(super) fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut pending, mut bits) = (0u32, 0);
    let mut push = |digit: u32| text.push(char::from(BASE32[digit as usize]));
    for byte in bytes {
        pending = (pending << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            push(pending >> bits);
            pending &= (1 << bits) - 1;
        }
    }
    if bits > 0 {
        push(pending << (5 - bits));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_as_the_standard_does() {
        assert_eq!(from_base64("YWJjZA==").unwrap(), b"abcd");
        assert_eq!(base32(b"foob"), "MZXW6YQ");
        assert!(from_base64("?").is_none());
    }

    #[test]
    fn templates_read_more_than_files_and_machines_write() {
        for (text, bytes) in [
            ("YWJj ZA\n==\x0c", &b"abcd"[..]),
            ("YW=JjZA", b"abcd"),
            ("-_-_", &[0xfb, 0xff, 0xbf]),
        ] {
            assert_eq!(from_base64(text).as_deref(), Some(bytes), "{text:?}");
            assert_eq!(base64::decode(text), None, "{text:?}");
        }
        assert_eq!(from_base64("YWJjZ").unwrap(), b"abc");
        assert!(from_base64("YWJj\x0b").is_none());
    }
}
