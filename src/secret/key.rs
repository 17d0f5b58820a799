//! The key for digests of secrets, made from stored bytes or derived from a vault password.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::derivation::{KEY_LENGTH, Salt, derive, derive_before};
use crate::value::{Absorb, CanonicalWriter, Value, hex};

/// The text that is hashed together with the key to derive its id.
const ID_LABEL: &[u8] = b"unfurl digest key id\0";

/// The name by which records refer to a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyName {
    /// 16 hexadecimal digits that do not reveal the key.
    pub id: String,
    /// The salt of a key derived from a password, as hexadecimal digits. Empty for a stored key, and in records of
    /// earlier releases.
    pub salt: String,
}

/// A key for digests of secrets. The debug form shows only its name.
#[derive(Clone, PartialEq, Eq)]
pub struct DigestKey {
    name: KeyName,
    bytes: Zeroizing<[u8; KEY_LENGTH]>,
}

impl std::fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DigestKey").field(&self.name.id).finish()
    }
}

impl DigestKey {
    pub fn of_bytes(bytes: [u8; KEY_LENGTH]) -> Self {
        Self::new(Zeroizing::new(bytes))
    }

    fn new(bytes: Zeroizing<[u8; KEY_LENGTH]>) -> Self {
        let id = id_of(&*bytes);
        let name = KeyName {
            id,
            salt: String::new(),
        };
        Self { name, bytes }
    }

    /// Derives the key of a vault password. None if there is not enough memory.
    pub fn of_password(password: &str, salt: &Salt) -> Option<Self> {
        let derived = derive(password, salt)?;
        // The id comes from other bytes than the key, and both need the whole derivation.
        let (key, for_id) = derived.split_at(KEY_LENGTH);
        let mut bytes = Zeroizing::new([0; KEY_LENGTH]);
        bytes.copy_from_slice(key);
        let name = KeyName {
            id: id_of(for_id),
            salt: salt.to_string(),
        };
        Some(Self { name, bytes })
    }

    /// Derives the key of a vault password as releases before 0.2 did. Only their records need it.
    pub fn of_password_before(password: &str) -> Self {
        Self::new(derive_before(password))
    }

    /// Returns the id, which records contain.
    pub fn id(&self) -> &str {
        &self.name.id
    }

    /// Returns the name, which records contain.
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    /// Returns the keyed digest (HMAC-SHA-256) of pairs of key and value, as lowercase hexadecimal.
    ///
    /// The order of the pairs does not matter.
    pub fn digest<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a Value)>) -> String {
        let keyed = MacSink(Hmac::new_from_slice(&*self.bytes).expect("any length will do"));
        let mut canonical = CanonicalWriter::keyed(keyed);
        canonical.pairs(pairs);
        hex(&canonical.into_inner().0.finalize().into_bytes())
    }
}

fn id_of(bytes: &[u8]) -> String {
    let hash = Sha256::new().chain_update(ID_LABEL).chain_update(bytes);
    hex(&hash.finalize()[..8])
}

struct MacSink(Hmac<Sha256>);

impl Absorb for MacSink {
    fn absorb(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn salt(digit: &str) -> Salt {
        Salt::parse(&digit.repeat(32)).unwrap()
    }

    #[test]
    fn a_key_is_named_without_being_shown() {
        let key = DigestKey::of_bytes([7; KEY_LENGTH]);
        assert_eq!(format!("{key:?}"), format!("DigestKey({:?})", key.id()));
        assert_eq!(key.id().len(), 16);
        assert_ne!(key.id(), DigestKey::of_bytes([8; KEY_LENGTH]).id());
    }

    #[test]
    fn a_key_depends_on_the_password_and_on_the_salt() {
        let key = |password, digit| DigestKey::of_password(password, &salt(digit)).unwrap();
        let one = key("a", "1");
        assert_eq!(one, key("a", "1"));
        assert_eq!(one.name().salt, "1".repeat(32));
        let others = [key("b", "1"), key("a", "2")];
        assert!(others.iter().all(|other| other.id() != one.id()));
        assert!(others.iter().all(|other| *other.bytes != *one.bytes));
    }

    #[test]
    fn the_id_of_a_derived_key_does_not_come_from_the_key() {
        let key = DigestKey::of_password("a", &salt("1")).unwrap();
        assert_ne!(DigestKey::of_bytes(*key.bytes).id(), key.id());
    }

    #[test]
    fn the_key_of_earlier_releases_stays_the_same() {
        let key = DigestKey::of_password_before("a");
        assert_eq!(key.id(), "34a3566707ff26bc");
        assert_eq!(key.name().salt, "");
    }

    #[test]
    fn a_keyed_digest_tells_values_and_keys_apart_but_not_orders() {
        let key = DigestKey::of_bytes([1; KEY_LENGTH]);
        let (a, b) = (Value::from("a").sensitive(), Value::from("b").sensitive());
        let pair = key.digest([("x", &a), ("y", &b)]);
        assert_eq!(pair, key.digest([("y", &b), ("x", &a)]));
        assert_ne!(pair, key.digest([("x", &b), ("y", &a)]));
        let other = DigestKey::of_bytes([2; KEY_LENGTH]);
        assert_ne!(pair, other.digest([("x", &a), ("y", &b)]));
    }
}
