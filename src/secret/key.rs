//! The key for digests of secrets, made from stored bytes or derived from a vault password.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::value::{Absorb, CanonicalWriter, Value, hex};

pub(super) const KEY_LENGTH: usize = 32;

/// The text that is hashed together with the key to derive its id.
const ID_LABEL: &[u8] = b"unfurl digest key id\0";

/// The salt for keys derived from a password.
///
/// The salt is constant, so that everyone with the password derives the same key.
const SALT: &[u8] = b"unfurl digest key of a vault password";

/// The number of PBKDF2 iterations, which takes about 10 ms.
const HASH_ROUNDS: u32 = 20_000;

/// A key for digests of secrets. The debug form shows only its id.
#[derive(Clone, PartialEq, Eq)]
pub struct DigestKey {
    id: String,
    bytes: [u8; KEY_LENGTH],
}

impl std::fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DigestKey").field(&self.id).finish()
    }
}

impl DigestKey {
    pub fn of_bytes(bytes: [u8; KEY_LENGTH]) -> Self {
        let hash = Sha256::new().chain_update(ID_LABEL).chain_update(bytes);
        let id = hex(&hash.finalize()[..8]);
        Self { id, bytes }
    }

    /// Derives the key of a vault password.
    pub fn of_password(password: &str) -> Self {
        let mut bytes = [0; KEY_LENGTH];
        pbkdf2::pbkdf2_hmac::<Sha256>(password.as_bytes(), SALT, HASH_ROUNDS, &mut bytes);
        Self::of_bytes(bytes)
    }

    /// Returns the id, which records contain: 16 hexadecimal digits that do not reveal the key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the keyed digest (HMAC-SHA-256) of pairs of key and value, as lowercase hexadecimal.
    ///
    /// The order of the pairs does not matter.
    pub fn digest<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a Value)>) -> String {
        let keyed = MacSink(Hmac::new_from_slice(&self.bytes).expect("any length will do"));
        let mut canonical = CanonicalWriter::keyed(keyed);
        canonical.pairs(pairs);
        hex(&canonical.into_inner().0.finalize().into_bytes())
    }
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

    #[test]
    fn a_key_is_named_without_being_shown() {
        let key = DigestKey::of_bytes([7; KEY_LENGTH]);
        assert_eq!(format!("{key:?}"), format!("DigestKey({:?})", key.id()));
        assert_eq!(key.id().len(), 16);
        assert_ne!(key.id(), DigestKey::of_bytes([8; KEY_LENGTH]).id());
    }

    #[test]
    fn equal_passwords_give_equal_keys_and_others_do_not() {
        let (one, same) = (DigestKey::of_password("a"), DigestKey::of_password("a"));
        assert_eq!(one, same);
        assert_ne!(one.id(), DigestKey::of_password("b").id());
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
