//! Ids made of digests: of rules, of notices, and of the content of problems.

use sha2::{Digest as _, Sha256};

use crate::value::hex;

/// Returns 16 hexadecimal digits of the digest of several texts.
pub(super) fn digest_of<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    hex(&digest.finalize()[..8])
}

/// Returns the digest of a message in which numbers do not count: process ids, times and ports differ in each run.
pub(super) fn digest_of_message(message: &str) -> String {
    let words: String = message.chars().filter(|c| !c.is_ascii_digit()).collect();
    digest_of([words])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other_and_numbers_in_messages_do_not_count() {
        assert_ne!(digest_of(["ab", "c"]), digest_of(["a", "bc"]));
        assert_eq!(digest_of(["ab"]).len(), 16);
        let first = digest_of_message("process 17 ended after 3 s");
        assert_eq!(first, digest_of_message("process 204 ended after 11 s"));
        assert_ne!(first, digest_of_message("process 17 was killed after 3 s"));
    }
}
