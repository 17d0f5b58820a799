//! Digests of values: this program's own SHA-256, which is typed and delimited, and Unfurl's SHA-1, which
//! compatible records need.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};

use super::upstream_form::{FormChoice, SecretForm};
use super::{ExternalKind, REDACTED, Value};

/// Returns the SHA-1 that Unfurl records for values in the given order, as lowercase hexadecimal (rule U-i).
///
/// The digest covers neither types nor delimiters, and sensitive values are redacted.
pub fn unfurl_digest<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    upstream_digest(values, &mut |_| SecretForm::Redacted)
}

/// Returns true if a digest that Unfurl has recorded is that of the values, whatever Unfurl took for secret.
///
/// Unfurl puts some secrets into digests as they are, some redacted, and some by the place that they are read
/// from. The record does not say which, so the forms are tried.
pub fn matches_unfurl_digest(values: &[&Value], recorded: &str) -> bool {
    FormChoice::all(values).any(|mut choice| {
        upstream_digest(values.iter().copied(), &mut |value| choice.of(value)) == recorded
    })
}

fn upstream_digest<'a>(
    values: impl IntoIterator<Item = &'a Value>,
    form: &mut dyn FnMut(&Value) -> SecretForm,
) -> String {
    let mut hasher = Sha1::new();
    for value in values {
        feed_upstream(value, &mut |bytes| hasher.update(bytes), form);
    }
    hex(&hasher.finalize())
}

/// Returns a map of one entry in the form that Unfurl uses for objects in its digests: indented JSON.
pub fn unfurl_json(key: &str, value: Value) -> Value {
    let map = Value::map([(key, value)]);
    serde_json::to_string_pretty(&map).map_or(map, Value::from)
}

fn feed_upstream(
    value: &Value,
    feed: &mut dyn FnMut(&[u8]),
    form: &mut dyn FnMut(&Value) -> SecretForm,
) {
    match value {
        Value::Null => {}
        Value::Entity(entity) => feed_reference(entity.key(), feed),
        Value::Bool(true) => feed(b"true"),
        Value::Bool(false) => feed(b"false"),
        Value::Int(number) => feed(number.to_string().as_bytes()),
        Value::Big(digits) => feed(digits.as_bytes()),
        Value::Float(_) => feed(value.to_string().as_bytes()),
        Value::Str(text) => feed(text.as_bytes()),
        Value::List(items) => {
            items
                .iter()
                .for_each(|item| feed_upstream(item, feed, form));
        }
        Value::Map(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort();
            for key in keys {
                feed(key.as_bytes());
                feed_upstream(&map[key], feed, form);
            }
        }
        Value::Sensitive(inner) => match form(value) {
            SecretForm::Clear => feed_upstream(inner, feed, form),
            SecretForm::Redacted => feed(REDACTED.as_bytes()),
            SecretForm::Reference => feed_reference("::secret", feed),
        },
        Value::External(external) if external.kind == ExternalKind::Local => match form(value) {
            SecretForm::Reference => feed_reference("::local", feed),
            SecretForm::Clear | SecretForm::Redacted => feed_upstream(&external.value, feed, form),
        },
        Value::Data(inner) => feed_upstream(inner, feed, form),
        Value::External(external) => {
            let stands_for = external.digest.as_ref().unwrap_or(&external.value);
            feed_upstream(stands_for, feed, form);
        }
    }
}

fn feed_reference(to: &str, feed: &mut dyn FnMut(&[u8])) {
    if let Value::Str(text) = unfurl_json("ref", Value::str(to)) {
        feed(text.as_bytes());
    }
}

/// A sink for the bytes of a digest.
pub trait Absorb {
    /// Adds the next bytes to the digest.
    fn absorb(&mut self, bytes: &[u8]);
}

impl Absorb for Sha256 {
    fn absorb(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

/// A writer of the canonical form of values, in which different values have different bytes.
///
/// Each value has a tag, each variable length precedes its bytes, and maps are ordered by key. Sensitive
/// values are left out unless the digest is a keyed one.
#[derive(Debug, Default)]
pub struct CanonicalWriter<Into = Sha256> {
    sink: Into,
    reveals: bool,
}

impl<Into: Absorb> CanonicalWriter<Into> {
    /// Creates a writer for a keyed digest, which includes sensitive values.
    pub fn keyed(into: Into) -> Self {
        Self {
            sink: into,
            reveals: true,
        }
    }

    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Entity(_) => self.sink.absorb(b"n"),
            Value::Bool(truth) => self.sink.absorb(if *truth { b"t" } else { b"f" }),
            Value::Int(number) => self.tagged(b'i', number.to_string().as_bytes()),
            Value::Big(digits) => self.tagged(b'i', digits.as_bytes()),
            Value::Float(number) => self.tagged(b'd', &number.to_bits().to_be_bytes()),
            Value::Str(text) => self.tagged(b's', text.as_bytes()),
            Value::List(items) => {
                self.length(b'l', items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Map(map) => {
                self.length(b'm', map.len());
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(name, _)| *name);
                for (name, item) in entries {
                    self.text(name);
                    self.value(item);
                }
            }
            Value::Sensitive(inner) if self.reveals => {
                self.sink.absorb(b"x");
                self.value(inner);
            }
            Value::Sensitive(_) => self.sink.absorb(b"x"),
            Value::Data(inner) => self.value(inner),
            Value::External(external) if external.kind == ExternalKind::Local => {
                self.value(&external.value);
            }
            Value::External(external) => {
                self.sink.absorb(b"e");
                let stands_for = external.exact.as_ref().or(external.digest.as_ref());
                self.value(stands_for.unwrap_or(&external.value));
            }
        }
    }

    /// Adds pairs of key and value. Their order does not matter.
    pub fn pairs<'a>(&mut self, pairs: impl IntoIterator<Item = (&'a str, &'a Value)>) {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|(key, _)| *key);
        for (key, value) in pairs {
            self.text(key);
            self.value(value);
        }
    }

    /// Adds a text, such as a key.
    pub fn text(&mut self, text: &str) {
        self.tagged(b's', text.as_bytes());
    }

    /// Returns the sink with the bytes written so far.
    pub fn into_inner(self) -> Into {
        self.sink
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.length(tag, bytes.len());
        self.sink.absorb(bytes);
    }

    fn length(&mut self, tag: u8, length: usize) {
        self.sink.absorb(&[tag]);
        self.sink.absorb(&(length as u64).to_be_bytes());
    }
}

impl CanonicalWriter {
    /// Returns the digest as 64 lowercase hexadecimal digits.
    pub fn finish(self) -> String {
        hex(&self.sink.finalize())
    }
}

/// Returns the SHA-256 of the canonical form of a value, as lowercase hexadecimal.
pub fn canonical_sha256(value: &Value) -> String {
    let mut canonical = CanonicalWriter::default();
    canonical.value(value);
    canonical.finish()
}

/// Returns the digest of bytes by the name of its algorithm, such as `sha256`, as lowercase hexadecimal. None if the
/// algorithm is unknown.
pub fn hex_digest(algorithm: &str, bytes: &[u8]) -> Option<String> {
    Some(match algorithm {
        "md5" => hex(&Md5::digest(bytes)),
        "sha1" => hex(&Sha1::digest(bytes)),
        "sha224" => hex(&Sha224::digest(bytes)),
        "sha256" => hex(&Sha256::digest(bytes)),
        "sha384" => hex(&Sha384::digest(bytes)),
        "sha512" => hex(&Sha512::digest(bytes)),
        _ => return None,
    })
}

/// Returns the UUID that depends only on a name and its namespace (RFC 9562, version 5).
pub fn name_uuid(namespace: [u8; 16], name: &[u8]) -> String {
    let mut digest = Sha1::digest([&namespace[..], name].concat());
    digest[6] = digest[6] & 0x0f | 0x50;
    digest[8] = digest[8] & 0x3f | 0x80;
    let digits = hex(&digest);
    let parts = [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..32],
    ];
    parts.join("-")
}

/// Returns bytes as lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)]));
    bytes.iter().flat_map(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_two_digits_each() {
        assert_eq!(hex(b"\x00\xff"), "00ff");
    }

    #[test]
    fn upstreams_digest_is_that_of_the_specification() {
        let values = [Value::from("echo hi world"), Value::from("hi world")];
        assert!(unfurl_digest(&values).starts_with("3db51199"));
        let nested = Value::list([Value::list(["a".into(), 1.into()])]);
        assert_eq!(unfurl_digest([&nested]), unfurl_digest([&"a1".into()]));
    }

    #[test]
    fn each_form_of_a_secret_in_upstreams_digest_is_recognised() {
        let sha = |text: &str| hex(&Sha1::digest(text.as_bytes()));
        let secret = |text: &str| Value::from(text).sensitive();
        let inputs = Value::map([
            ("host", "a".into()),
            ("pw", secret("s1")),
            ("qw", secret("s2")),
        ]);
        let open = Value::from("x");
        let matches = |text: &str| matches_unfurl_digest(&[&open, &inputs], &sha(text));
        let reference = "{\n  \"ref\": \"::secret\"\n}";
        for (one, two) in [
            ("s1", "s2"),
            ("<<REDACTED>>", "<<REDACTED>>"),
            (reference, "s2"),
            ("s1", "<<REDACTED>>"),
        ] {
            assert!(matches(&format!("xhostapw{one}qw{two}")), "{one} {two}");
        }
        assert!(!matches("xhostapws1qwother"));
        assert!(!matches("xhostbpws1qws2"));
        let many = Value::list((0..9).map(|_| secret("s")));
        assert!(matches_unfurl_digest(&[&many], &sha("sssssssss")));
        let local = Value::from("here").local_if(true);
        for text in ["here", "{\n  \"ref\": \"::local\"\n}"] {
            assert!(matches_unfurl_digest(&[&local], &sha(text)));
        }
        assert_eq!(canonical_sha256(&local), canonical_sha256(&"here".into()));
    }

    #[test]
    fn values_that_upstream_confuses_have_different_digests() {
        let values = [
            Value::Null,
            "".into(),
            Value::list([]),
            Value::map::<&str>([]),
            1.into(),
            "1".into(),
            1.0.into(),
            Value::list(["ab".into(), "c".into()]),
            Value::list(["a".into(), "bc".into()]),
        ];
        let digests: std::collections::HashSet<_> = values.iter().map(canonical_sha256).collect();
        assert_eq!(digests.len(), values.len());
    }
}
