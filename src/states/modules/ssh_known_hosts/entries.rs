//! Lines of a `known_hosts` file.

use crate::states::{Halt, refuse};
use crate::text::base64;
use crate::value::{Value, hex_digest};

/// The key of a host.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KnownHost {
    /// The name as it is written, perhaps hashed.
    pub(super) name: String,
    /// The kind of the key, such as `ssh-ed25519`.
    pub(super) kind: String,
    pub(super) key: String,
    /// The digest of the key as pairs of hex digits.
    pub(super) fingerprint: String,
}

impl KnownHost {
    /// Parses a line; None for a comment, or if the key is not base64.
    fn parse(line: &str, algorithm: &str) -> Result<Option<Self>, Halt> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, kind, key] = words.as_slice() else {
            return Ok(None);
        };
        if name.starts_with('#') || !base64::is_padded(key) {
            return Ok(None);
        }
        let Some(bytes) = base64::decode(key) else {
            return Ok(None);
        };
        let Some(digest) = hex_digest(&algorithm.to_ascii_lowercase(), &bytes) else {
            return refuse(format!(
                "The fingerprint_hash_type {algorithm} is not supported."
            ));
        };
        let pairs: Vec<&str> = (0..digest.len() / 2)
            .filter_map(|pair| digest.get(2 * pair..2 * pair + 2))
            .collect();
        Ok(Some(Self {
            name: (*name).to_owned(),
            kind: (*kind).to_owned(),
            key: (*key).to_owned(),
            fingerprint: pairs.join(":"),
        }))
    }

    /// Returns the entry in the form of changes.
    pub(super) fn value(&self) -> Value {
        Value::map([
            ("hostname", self.name.as_str().into()),
            ("key", self.key.as_str().into()),
            ("enc", self.kind.as_str().into()),
            ("fingerprint", self.fingerprint.as_str().into()),
        ])
    }
}

/// Parses the output of `ssh-keygen -F` or `ssh-keyscan`.
pub(super) fn parse_hosts(text: &str, algorithm: &str) -> Result<Vec<KnownHost>, Halt> {
    let hosts = text.lines().map(|line| KnownHost::parse(line, algorithm));
    hosts.filter_map(Result::transpose).collect()
}

/// Returns the numbers of the lines that `ssh-keygen -F` found, from 1 on; with `kind`, only those of its keys.
pub(super) fn found_lines(text: &str, kind: Option<&str>) -> Vec<usize> {
    let mut lines = text.lines();
    let mut numbers = Vec::new();
    while let (Some(comment), Some(entry)) = (lines.next(), lines.next()) {
        let number = comment
            .split_whitespace()
            .last()
            .and_then(|it| it.parse().ok());
        let found = entry.split_whitespace().rev().nth(1);
        if let Some(number) = number.filter(|_| kind.is_none() || kind == found) {
            numbers.push(number);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_host_are_found_by_kind() {
        let text = "# Host a found: line 3 \na ssh-rsa AAAA\n# Host a found: line 7\n|1|x= ssh-ed25519 AAAA\n";
        assert_eq!(found_lines(text, None), [3, 7]);
        assert_eq!(found_lines(text, Some("ssh-ed25519")), [7]);
        let hosts = parse_hosts(text, "md5").unwrap();
        assert_eq!(hosts.len(), 2);
        assert_eq!(hosts[0].fingerprint.len(), 47);
        assert!(parse_hosts(text, "crc").is_err());
        assert!(
            parse_hosts("a b c d\na ssh-rsa AA\n", "md5")
                .unwrap()
                .is_empty()
        );
    }
}
