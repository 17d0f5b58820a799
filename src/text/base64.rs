//! Base64 in the standard alphabet: a strict encoder, and a decoder as lenient as those of other programs.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Other programs ignore the bits after the last byte, so the decoder does too.
const CONFIG: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);

const PADDED: GeneralPurpose = GeneralPurpose::new(&ALPHABET, CONFIG);

const UNPADDED: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    CONFIG.with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Encodes bytes as base64 with padding.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes base64 text. Padding may be missing or too long. None if other characters occur.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if digits.len() % 4 != 1 {
        return UNPADDED.decode(digits).ok();
    }
    // A single last digit holds less than a byte. It is dropped after a check that it is a digit.
    let mut bytes = UNPADDED.decode(format!("{digits}A")).ok()?;
    bytes.pop();
    Some(bytes)
}

/// Whether a text is correctly padded base64 of at least one byte.
pub fn is_padded(text: &str) -> bool {
    !text.is_empty() && PADDED.decode(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_a_trip_through_base_64() {
        for length in 0..20_u8 {
            let bytes: Vec<u8> = (0..length).map(|at| at.wrapping_mul(97)).collect();
            assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
            assert_eq!(is_padded(&encode(&bytes)), length > 0);
        }
        assert_eq!(encode(b"ann:secret"), "YW5uOnNlY3JldA==");
        assert_eq!(encode(b"abcd"), "YWJjZA==");
        assert_eq!(encode(b"abc"), "YWJj");
        assert_eq!(encode(b"ab"), "YWI=");
    }

    #[test]
    fn padding_may_be_left_out_and_bits_left_over_are_ignored() {
        let read = |text| decode(text).map(|bytes| String::from_utf8(bytes).unwrap());
        for text in ["YWJjZA==", "YWJjZA", "YWJjZA=====", "YWJjZB==", "YWJjZ"] {
            let whole = if text == "YWJjZ" { "abc" } else { "abcd" };
            assert_eq!(read(text).as_deref(), Some(whole), "{text}");
        }
        assert_eq!(read("A").as_deref(), Some(""));
        assert_eq!(read("==").as_deref(), Some(""));
        for text in [
            "?", "YWJj?", "YW Jj", "YWJj\n", "YW==YWJj", "-_-_", "\u{e9}",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn padding_is_exact_where_it_must_be() {
        for text in ["AAAA", "AAA=", "AA==", "AAB="] {
            assert!(is_padded(text), "{text}");
        }
        for text in [
            "", "AAA", "AA=", "A===", "====", "AA!A", "AA=A", "AA==AAAA", "AA-_", "AA A",
        ] {
            assert!(!is_padded(text), "{text}");
        }
    }
}
