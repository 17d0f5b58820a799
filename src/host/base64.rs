//! Bytes in base 64, as hashed host names and scripts carry them.

/// Bytes in base 64, padded.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = (group >> (18 - 6 * place)) & 63;
            text.push(if place <= chunk.len() {
                char::from(DIGITS[digit as usize])
            } else {
                '='
            });
        }
    }
    text
}

/// The bytes of a text in base 64; none if it is none.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_a_trip_through_base_64() {
        for length in 0..20_u8 {
            let bytes: Vec<u8> = (0..length).map(|at| at.wrapping_mul(97)).collect();
            assert_eq!(from_base64(&base64(&bytes)).unwrap(), bytes);
        }
        assert_eq!(base64(b"abcd"), "YWJjZA==");
        assert!(from_base64("?").is_none());
    }
}
