//! Encrypts texts in the format of Ansible Vault 1.2: AES-256 in counter mode with an HMAC of SHA-256.

use aes::Aes256;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit as _, StreamCipher as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::system::random;
use crate::value::hex;

/// The number of PBKDF2 iterations, which the format fixes.
const HASH_ROUNDS: u32 = 10_000;
/// The number of characters of a line.
const LINE_LENGTH: usize = 80;
/// The length to which the text is padded.
const BLOCK_LENGTH: usize = 16;

/// Encrypts a text with the password of a vault. The first line names the vault's id.
pub fn encrypt_for_vault(text: &str, id: &str, password: &str) -> std::io::Result<String> {
    let mut salt = [0; 32];
    random::fill(&mut salt)?;
    Ok(encrypt_with_salt(text, id, password, &salt))
}

fn encrypt_with_salt(text: &str, id: &str, password: &str, salt: &[u8]) -> String {
    let mut derived = [0; 80];
    pbkdf2::pbkdf2_hmac::<Sha256>(password.as_bytes(), salt, HASH_ROUNDS, &mut derived);
    let (cipher_key, rest) = derived.split_at(32);
    let (mac_key, counter) = rest.split_at(32);
    let mut bytes = text.as_bytes().to_vec();
    let padding = BLOCK_LENGTH - bytes.len() % BLOCK_LENGTH;
    // The last byte tells the reader how many bytes were added (PKCS#7).
    bytes.resize(
        bytes.len() + padding,
        u8::try_from(padding).unwrap_or_default(),
    );
    let mut cipher = Ctr128BE::<Aes256>::new_from_slices(cipher_key, counter)
        .expect("key and counter have the lengths that the cipher needs");
    cipher.apply_keystream(&mut bytes);
    let mut mac = Hmac::<Sha256>::new_from_slice(mac_key).expect("any length will do");
    mac.update(&bytes);
    let parts = [hex(salt), hex(&mac.finalize().into_bytes()), hex(&bytes)];
    let digits = hex(parts.join("\n").as_bytes());
    let mut out = format!("$ANSIBLE_VAULT;1.2;AES256;{id}\n");
    let mut rest = digits.as_str();
    while !rest.is_empty() {
        let (line, next) = rest.split_at(LINE_LENGTH.min(rest.len()));
        out.push_str(line);
        out.push('\n');
        rest = next;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text is that of Ansible for the same salt.
    #[test]
    fn a_text_is_encrypted_as_ansible_does() {
        let text = encrypt_with_salt("kind: Project\n", "web", "pass", &[b's'; 32]);
        insta::assert_snapshot!(text, @"
        $ANSIBLE_VAULT;1.2;AES256;web
        37333733373337333733373337333733373337333733373337333733373337333733373337333733
        3733373337333733373337333733373337333733373337330a343064356362346130626633643662
        39313335383336343632613834613662333539623132666662653433336631663830303634383337
        3161646331613839360a613632323935663932316266316362636262623136333163313332313265
        6636
        ");
    }
}
