//! Text in which some bytes are written as `%` and two digits.

/// The text with `%` and two hexadecimal digits read as the byte they stand for; other `%` stand for
/// themselves, and what is no UTF-8 then is replaced.
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

#[cfg(test)]
mod tests {
    use super::*;

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
