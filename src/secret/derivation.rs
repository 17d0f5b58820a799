//! The derivation of a digest key from a vault password.
//!
//! The salt and an id of the key are in committed records. So that nobody can try passwords against them quickly,
//! each try costs 32 MiB of memory and about 60 ms.

use std::fmt::{Display, Formatter};
use std::num::NonZeroU32;

use argon2::{Algorithm, Argon2, Params, Version};
use zeroize::Zeroizing;

use crate::system::random;
use crate::value::hex;

pub(super) const KEY_LENGTH: usize = 32;

/// The number of derived bytes: the key, and as many for its id.
const DERIVED_LENGTH: usize = 2 * KEY_LENGTH;

/// The memory of the derivation by argon2id in KiB, the number of passes over it, and the number of lanes.
const MEMORY: u32 = 32 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

const SALT_LENGTH: usize = 16;

/// The salt of earlier releases, which was the same for everybody.
const SALT_BEFORE: &[u8] = b"unfurl digest key of a vault password";

/// The number of PBKDF2 iterations of earlier releases.
const HASH_ROUNDS_BEFORE: u32 = 20_000;

/// The salt of an ensemble's keys. The display form is that of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Salt([u8; SALT_LENGTH]);

impl Salt {
    /// Returns the salt that a record states. None if the text is no salt.
    pub fn parse(text: &str) -> Option<Self> {
        let is_salt =
            text.len() == 2 * SALT_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut salt = [0; SALT_LENGTH];
        for (place, byte) in salt.iter_mut().enumerate().take_while(|_| is_salt) {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
        }
        is_salt.then_some(Self(salt))
    }

    /// Makes a new salt.
    pub fn random() -> std::io::Result<Self> {
        let mut salt = [0; SALT_LENGTH];
        random::fill(&mut salt)?;
        Ok(Self(salt))
    }
}

impl Display for Salt {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Derives the bytes of a key and of its id. None if there is not enough memory.
pub(super) fn derive(password: &str, salt: &Salt) -> Option<Zeroizing<[u8; DERIVED_LENGTH]>> {
    let params = Params::new(MEMORY, PASSES, LANES, Some(DERIVED_LENGTH)).ok()?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let mut derived = Zeroizing::new([0; DERIVED_LENGTH]);
    argon
        .hash_password_into(password.as_bytes(), &salt.0, &mut *derived)
        .ok()?;
    Some(derived)
}

/// Derives the bytes of a key as earlier releases did.
pub(super) fn derive_before(password: &str) -> Zeroizing<[u8; KEY_LENGTH]> {
    let mut bytes = Zeroizing::new([0; KEY_LENGTH]);
    let (password, rounds) = (password.as_bytes(), HASH_ROUNDS_BEFORE);
    derive_slowly(password, SALT_BEFORE, rounds, &mut *bytes);
    bytes
}

/// Fills bytes from a password and a salt with PBKDF2 and HMAC-SHA-256.
///
/// The library in use has this hash in machine code, which takes half the time: a vault needs 60,000 hashes a text.
pub(super) fn derive_slowly(password: &[u8], salt: &[u8], rounds: u32, bytes: &mut [u8]) {
    let rounds = NonZeroU32::new(rounds).unwrap_or(NonZeroU32::MIN);
    ring::pbkdf2::derive(
        ring::pbkdf2::PBKDF2_HMAC_SHA256,
        rounds,
        salt,
        password,
        bytes,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salt_is_read_as_it_is_shown() {
        let salt = Salt::random().unwrap();
        assert_eq!(Salt::parse(&salt.to_string()), Some(salt));
        assert_ne!(Salt::random().unwrap(), salt);
        for text in ["", "00", &"0".repeat(33), &"zz".repeat(16), &"ä".repeat(16)] {
            assert_eq!(Salt::parse(text), None, "{text}");
        }
    }

    /// The bytes are those of Python's `cryptography`:
    /// `Argon2id(salt=b'0123456789abcdef', length=64, iterations=2, lanes=1, memory_cost=32768)`.
    #[test]
    fn a_key_is_derived_as_other_programs_do() {
        let derived = derive("password", &Salt(*b"0123456789abcdef")).unwrap();
        assert_eq!(
            hex(&*derived),
            "1b31bb76ffcb6d2666aeafee8691c0be7d51310f0781a4d04625d226828684b6\
             4f6e137e3950fa1a9c5ab654bf8de4b17eeb7f5303bd176f63b4d2b4c0dd1ba1"
        );
    }
}
