//! Comparison of a password with a SHA-crypt hash (`$5$` and `$6$`).
//!
//! Needed to tell whether a plain-text password differs from the stored one; hashing for storage
//! happens on the machine.

use base64ct::{Base64ShaCrypt, Encoding as _};
use sha_crypt::{Params, sha256_crypt, sha512_crypt};

/// The password that a user is to have.
#[derive(Clone)]
pub(super) enum Password {
    /// A hash, written to the shadow file as it is.
    Hash(String),
    /// A plain text, hashed on the machine.
    Plain(String),
    /// An empty password: login without one.
    Empty,
}

/// Whether a password corresponds to a stored hash.
pub(super) fn matches_hash(password: &Password, hash: &str) -> bool {
    match password {
        Password::Hash(expected) => expected == hash,
        Password::Plain(text) => {
            crypt(text.as_bytes(), hash).is_some_and(|computed| computed == hash)
        }
        Password::Empty => hash.is_empty(),
    }
}

/// The maximum number of rounds to compute. A hash with more would block the program for too long.
const MAX_ROUNDS: u32 = 1_000_000;

/// Hashes a password with the kind, rounds and salt of another hash; None if the kind is unknown.
///
/// The caller compares the texts, as `crypt` does. The library's own comparison is not used: it refuses
/// salts with characters outside its base 64, and takes salts longer than 16 characters for equal.
fn crypt(password: &[u8], reference_hash: &str) -> Option<String> {
    let (kind, rest) = reference_hash.strip_prefix('$')?.split_once('$')?;
    let (rounds, rest, shown) = match rest.strip_prefix("rounds=") {
        None => (Params::RECOMMENDED_ROUNDS, rest, String::new()),
        Some(rest) => {
            let (rounds, rest) = rest.split_once('$')?;
            let rounds = rounds.parse::<u32>().ok()?.max(Params::ROUNDS_MIN);
            if rounds > MAX_ROUNDS {
                return None;
            }
            (rounds, rest, format!("rounds={rounds}$"))
        }
    };
    let salt = rest.split('$').next()?;
    let salt = salt.get(..salt.len().min(16))?;
    let rounds = Params::new(rounds).ok()?;
    let computed = match kind {
        "5" => encode(
            SHA256_BYTE_ORDER,
            sha256_crypt(password, salt.as_bytes(), rounds),
        ),
        "6" => encode(
            SHA512_BYTE_ORDER,
            sha512_crypt(password, salt.as_bytes(), rounds),
        ),
        _ => return None,
    };
    Some(format!("${kind}${shown}{salt}${computed}"))
}

/// The order in which SHA-crypt encodes the bytes of a digest.
const SHA256_BYTE_ORDER: [usize; 32] = [
    20, 10, 0, 11, 1, 21, 2, 22, 12, 23, 13, 3, 14, 4, 24, 5, 25, 15, 26, 16, 6, 17, 7, 27, 8, 28,
    18, 29, 19, 9, 30, 31,
];

const SHA512_BYTE_ORDER: [usize; 64] = [
    42, 21, 0, 1, 43, 22, 23, 2, 44, 45, 24, 3, 4, 46, 25, 26, 5, 47, 48, 27, 6, 7, 49, 28, 29, 8,
    50, 51, 30, 9, 10, 52, 31, 32, 11, 53, 54, 33, 12, 13, 55, 34, 35, 14, 56, 57, 36, 15, 16, 58,
    37, 38, 17, 59, 60, 39, 18, 19, 61, 40, 41, 20, 62, 63,
];

fn encode<const N: usize>(order: [usize; N], digest: [u8; N]) -> String {
    Base64ShaCrypt::encode_string(&order.map(|index| digest[index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_other_programs_make() {
        // Expected values from OpenSSL's `passwd` command.
        let cases = [
            (
                "Hello world!",
                "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            ),
            (
                "Hello world!",
                "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            ),
            (
                "Hello world!",
                "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
            ),
            (
                "we have a short salt string but not a short password",
                "$6$rounds=77777$short$WuQyW2YR.hBNpjjRhpYD/ifIw05xdfeEyQoMxIXbkvr0gge1a1x3yRULJ5CCaUeOxFmtlcGZelFl5CxtgfiAc0",
            ),
        ];
        for (password, hash) in cases {
            assert!(
                matches_hash(&Password::Plain(password.into()), hash),
                "{:?} is not {hash}",
                crypt(password.as_bytes(), hash)
            );
            assert!(!matches_hash(&Password::Plain("other".into()), hash));
        }
    }

    #[test]
    fn a_salt_may_be_empty_or_have_any_sign_and_is_short() {
        let fits = |hash: &str| matches_hash(&Password::Plain("Hello world!".into()), hash);
        for salt in ["", "a b_!", "saltstringsaltst"] {
            let hash = crypt(b"Hello world!", &format!("$6${salt}$")).unwrap();
            assert!(
                hash.starts_with(&format!("$6${salt}$")) && fits(&hash),
                "{hash}"
            );
        }
        let hash = "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA";
        assert!(fits(hash));
        assert!(!fits(&hash.replace("saltst$", "saltstring$")));
        assert!(!fits(&hash.replace("=10000", "=010000")));
    }

    #[test]
    fn a_hash_of_another_kind_fits_no_password() {
        for hash in [
            "!",
            "",
            "$y$j9T$x$y",
            "$6$",
            "$6$rounds=4000000000$a$b",
            "$6$\u{e9}",
        ] {
            assert!(!matches_hash(&Password::Plain("a".into()), hash), "{hash}");
        }
    }
}
