//! Reads ECDSA keys on the curve P-256 whose private number begins with a zero byte.
//!
//! OpenSSH leaves such bytes out, so that one of 256 keys is shorter than the others. The library that reads keys
//! refuses these.

use russh::keys::PrivateKey;
use russh::keys::ssh_key::encoding::{Decode as _, Encode as _};
use russh::keys::ssh_key::{Cipher, Kdf};
use zeroize::Zeroizing;

use crate::text::base64;

const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
/// The first bytes of the format (`PROTOCOL.key` of OpenSSH).
const MAGIC: &[u8] = b"openssh-key-v1\0";
const ALGORITHM: &str = "ecdsa-sha2-nistp256";
/// The length of a private number in bytes.
const NUMBER_BYTES: usize = 32;
/// An unencrypted key has a length that is a multiple of this.
const BLOCK_BYTES: usize = 8;

/// Returns the key if the text of the file is such a key, and if the passphrase fits an encrypted one.
pub(super) fn read(text: &str, passphrase: Option<&str>) -> Option<PrivateKey> {
    let (_, text) = text.split_once(BEGIN)?;
    let (text, _) = text.split_once(END)?;
    let text: Zeroizing<String> = Zeroizing::new(text.split_whitespace().collect());
    let bytes = Zeroizing::new(base64::decode(&text)?);
    let reader = &mut bytes.strip_prefix(MAGIC)?;
    let cipher = Cipher::new(&String::decode(reader).ok()?).ok()?;
    let kdf = Kdf::decode(reader).ok()?;
    let count = u32::decode(reader).ok()?;
    let public = Vec::<u8>::decode(reader).ok()?;
    // The check comes first, because a passphrase is costly to try.
    if String::decode(&mut &*public).ok()? != ALGORITHM {
        return None;
    }
    let mut private = Zeroizing::new(Vec::<u8>::decode(reader).ok()?);
    if cipher.is_some() {
        let (key, iv) = kdf.derive_key_and_iv(cipher, passphrase?).ok()?;
        // Without a tag, no byte follows.
        let tag = (*reader).try_into().ok().filter(|_| cipher.has_tag());
        cipher.decrypt(&key, &iv, &mut private, tag).ok()?;
    }
    let padded = padded(&private)?;
    let mut key = Zeroizing::new(MAGIC.to_vec());
    Cipher::None.encode(&mut *key).ok()?;
    Kdf::None.encode(&mut *key).ok()?;
    count.encode(&mut *key).ok()?;
    public.encode(&mut *key).ok()?;
    padded.encode(&mut *key).ok()?;
    PrivateKey::from_bytes(&key).ok()
}

/// Returns the private part of a key with a number of full length; None for other keys.
fn padded(private: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let reader = &mut &*private;
    let checks = [u32::decode(reader).ok()?, u32::decode(reader).ok()?];
    let algorithm = String::decode(reader).ok()?;
    let curve = String::decode(reader).ok()?;
    let point = Vec::<u8>::decode(reader).ok()?;
    let number = Zeroizing::new(Vec::<u8>::decode(reader).ok()?);
    let comment = Vec::<u8>::decode(reader).ok()?;
    let missing = NUMBER_BYTES.checked_sub(number.len())?;
    if checks[0] != checks[1] || missing == 0 {
        return None;
    }
    let mut full = Zeroizing::new(vec![0; missing]);
    full.extend_from_slice(&number);
    let mut private = Zeroizing::new(Vec::with_capacity(private.len() + NUMBER_BYTES));
    checks[0].encode(&mut *private).ok()?;
    checks[1].encode(&mut *private).ok()?;
    algorithm.encode(&mut *private).ok()?;
    curve.encode(&mut *private).ok()?;
    point.encode(&mut *private).ok()?;
    full.encode(&mut *private).ok()?;
    comment.encode(&mut *private).ok()?;
    let padding = private.len().next_multiple_of(BLOCK_BYTES) - private.len();
    private.extend((1..).take(padding));
    Some(private)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Written by `ssh-keygen -t ecdsa -b 256`, and again with a passphrase. No host accepts them.
    const SHORT: &str = include_str!("../../../tests/data/keys/short_ecdsa");
    const ENCRYPTED: &str = include_str!("../../../tests/data/keys/short_ecdsa_encrypted");
    const PUBLIC: &str = include_str!("../../../tests/data/keys/short_ecdsa.pub");

    #[test]
    fn a_key_whose_number_begins_with_a_zero_byte_is_read() {
        let key = read(SHORT, None).unwrap();
        assert_eq!(key.public_key().to_openssh().unwrap(), PUBLIC.trim());
        // The library still needs this module.
        assert!(PrivateKey::from_openssh(SHORT).is_err());
    }

    #[test]
    fn a_passphrase_opens_an_encrypted_key() {
        let key = read(ENCRYPTED, Some("correct")).unwrap();
        assert_eq!(key.public_key().to_openssh().unwrap(), PUBLIC.trim());
        for passphrase in [None, Some(""), Some("wrong")] {
            assert!(read(ENCRYPTED, passphrase).is_none(), "{passphrase:?}");
        }
    }

    #[test]
    fn other_texts_are_no_such_key() {
        let cut = SHORT.replace("AAAAVzaG9y", "");
        for text in [
            "",
            "nonsense",
            BEGIN,
            &format!("{BEGIN}\n!\n{END}"),
            &cut,
            PUBLIC,
        ] {
            assert!(read(text, None).is_none(), "{text}");
        }
    }
}
