//! Words for a shell.

/// A word as a POSIX shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |sign: u8| sign.is_ascii_alphanumeric() || b"-_./:=,+@%".contains(&sign);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
