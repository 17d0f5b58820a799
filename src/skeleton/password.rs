//! Random texts for new projects: passwords of vaults and unique ids.

use super::Error;
use crate::system::random;

/// The characters of generated passwords. None of them has a meaning in YAML, shells or URLs.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// The length of a generated password: about 142 bits.
const PASSWORD_LENGTH: usize = 24;

/// The id and the password of the vault that encrypts the secrets of a repository.
#[derive(Clone)]
pub struct VaultPassword {
    pub id: String,
    pub password: String,
}

impl std::fmt::Debug for VaultPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("VaultPassword").field(&self.id).finish()
    }
}

impl VaultPassword {
    /// Generates a password. The id consists of the project's name and two random characters, so that the ids of
    /// two projects differ.
    pub fn generate(project: &str) -> Result<Self, Error> {
        Ok(Self {
            id: format!("{project}{}", random_text(2)?.to_ascii_uppercase()),
            password: random_text(PASSWORD_LENGTH)?,
        })
    }
}

/// Returns random letters and digits.
fn random_text(length: usize) -> Result<String, Error> {
    let mut text = String::with_capacity(length);
    // The remainder of a byte is evenly distributed only below the largest multiple of the alphabet's length.
    let limit = 256 - 256 % ALPHABET.len();
    while text.len() < length {
        let mut bytes = [0; 32];
        random::fill(&mut bytes).map_err(Error::Random)?;
        let even = bytes.iter().map(|byte| usize::from(*byte));
        let even = even.filter(|byte| *byte < limit);
        let characters = even.map(|byte| char::from(ALPHABET[byte % ALPHABET.len()]));
        text.extend(characters.take(length - text.len()));
    }
    Ok(text)
}

/// Returns a random UUID (version 4), which makes the first commit of a repository unique.
pub fn random_uuid() -> Result<String, Error> {
    let mut bytes = [0; 16];
    random::fill(&mut bytes).map_err(Error::Random)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = crate::value::hex(&bytes);
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    Ok(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_long_differ_and_have_no_special_characters() {
        let [a, b] = [(); 2].map(|()| VaultPassword::generate("web").unwrap());
        assert_ne!(a.password, b.password);
        assert_eq!(a.password.len(), PASSWORD_LENGTH);
        assert!(a.password.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert!(a.id.starts_with("web") && a.id.len() == 5, "{}", a.id);
        assert!(!format!("{a:?}").contains(&a.password));
    }

    #[test]
    fn a_uuid_has_the_usual_form() {
        let id = random_uuid().unwrap();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert_ne!(id, random_uuid().unwrap());
    }
}
