//! Bytes as text: base 64, base 32, hexadecimal.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Bytes in base 64, padded.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = digits(bytes, 6, BASE64);
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// Bytes in base 32, not padded.
pub(super) fn base32(bytes: &[u8]) -> String {
    digits(bytes, 5, BASE32)
}

/// The bytes of a text in base 64; both alphabets, white space ignored.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut pending, mut bits) = (0u32, 0);
    for byte in text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
    {
        let byte = match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        };
        let digit = BASE64.iter().position(|digit| *digit == byte)?;
        pending = (pending << 6) | u32::try_from(digit).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((pending >> bits).to_le_bytes()[0]);
            pending &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

/// Bytes as digits of so many bits each, most significant first.
fn digits(bytes: &[u8], width: u32, alphabet: &[u8]) -> String {
    let mut text = String::new();
    let (mut pending, mut bits) = (0u32, 0);
    let mut push = |digit: u32| text.push(char::from(alphabet[digit as usize]));
    for byte in bytes {
        pending = (pending << 8) | u32::from(*byte);
        bits += 8;
        while bits >= width {
            bits -= width;
            push(pending >> bits);
            pending &= (1 << bits) - 1;
        }
    }
    if bits > 0 {
        push(pending << (width - bits));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_as_the_standard_does() {
        assert_eq!(base64(b"abcd"), "YWJjZA==");
        assert_eq!(from_base64("YWJjZA==").unwrap(), b"abcd");
        assert_eq!(base32(b"foob"), "MZXW6YQ");
        assert!(from_base64("?").is_none());
    }
}
