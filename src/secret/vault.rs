//! The format of Ansible Vault 1.1 and 1.2: AES-256 in counter mode with an HMAC of SHA-256.
//!
//! [`VaultText::parse`] reads a text, and [`VaultText::open`] decrypts it. [`seal`] encrypts.

use aes::Aes256;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit as _, StreamCipher as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::derivation::derive_slowly;
use crate::system::random;
use crate::value::hex;

/// The start of each encrypted text.
const MAGIC: &str = "$ANSIBLE_VAULT;";
/// The id of texts that name none.
pub(super) const DEFAULT_ID: &str = "default";
/// The number of PBKDF2 iterations, which the format fixes.
const HASH_ROUNDS: u32 = 10_000;
/// The number of characters of a line.
const LINE_LENGTH: usize = 80;
/// The length to which the text is padded.
const BLOCK_LENGTH: usize = 16;
/// The length of the HMAC.
const MAC_LENGTH: usize = 32;

/// The reason why a text is not one of Ansible Vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VaultTextError {
    /// The first line is not a header.
    #[error("its first line is not `$ANSIBLE_VAULT;1.1;AES256` or `$ANSIBLE_VAULT;1.2;AES256;ID`")]
    Header,
    /// Another version of the format.
    #[error("its first line names a version other than 1.1 and 1.2")]
    Version,
    /// Another cipher.
    #[error("its first line names a cipher other than AES256")]
    Cipher,
    /// A character that the format does not have.
    #[error("it is damaged: its lines must have the digits 0 to 9 and a to f only")]
    Digits,
    /// Digits that are cut off, or other parts than salt, HMAC and content.
    #[error("it is damaged: a part of it is missing")]
    Parts,
}

/// The reason why a password does not open a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VaultOpenError {
    /// The HMAC differs: the password is wrong, or the text was changed.
    #[error("the password does not open it, or it was changed")]
    Mac,
    /// The HMAC is right, but the content does not end with the padding of the format.
    #[error("its padding is invalid")]
    Padding,
}

/// A text of Ansible Vault, parsed and not decrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultText {
    /// The id of the password: that of the header, or `default`.
    id: String,
    salt: Vec<u8>,
    mac: Vec<u8>,
    content: Vec<u8>,
}

/// Returns true if a text starts as those of Ansible Vault.
pub fn is_vault_text(text: &[u8]) -> bool {
    text.starts_with(MAGIC.as_bytes())
}

/// Returns the id in the header of a text. None if the header is damaged.
pub fn vault_id(text: &str) -> Option<String> {
    read_header(text.trim().lines().next().unwrap_or_default()).ok()
}

/// Checks the form of a text. No password is needed.
pub fn check_vault_form(text: &str) -> Result<(), String> {
    VaultText::parse(text)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

impl VaultText {
    /// Parses a text. Blanks around lines are ignored.
    pub fn parse(text: &str) -> Result<Self, VaultTextError> {
        let mut lines = text.trim().lines().map(str::trim);
        let id = read_header(lines.next().unwrap_or_default())?;
        let digits: String = lines.collect();
        let inner = unhex(digits.as_bytes())?;
        let mut parts = inner.split(|byte| *byte == b'\n').map(unhex);
        let mut part = || parts.next().ok_or(VaultTextError::Parts)?;
        let (salt, mac, content) = (part()?, part()?, part()?);
        let is_complete = mac.len() == MAC_LENGTH && parts.next().is_none();
        if !is_complete {
            return Err(VaultTextError::Parts);
        }
        Ok(Self {
            id,
            salt,
            mac,
            content,
        })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Decrypts the text, after its HMAC was compared in constant time.
    pub fn open(&self, password: &str) -> Result<Zeroizing<Vec<u8>>, VaultOpenError> {
        let keys = DerivedKeys::new(password, &self.salt);
        keys.mac(&self.content)
            .verify_slice(&self.mac)
            .map_err(|_| VaultOpenError::Mac)?;
        let mut bytes = Zeroizing::new(self.content.clone());
        keys.apply_cipher(&mut bytes);
        let length = unpadded_length(&bytes).ok_or(VaultOpenError::Padding)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// Returns the id of a header line.
fn read_header(line: &str) -> Result<String, VaultTextError> {
    let fields = line.strip_prefix(MAGIC).ok_or(VaultTextError::Header)?;
    let mut fields = fields.split(';').map(str::trim);
    let (version, cipher, id) = (fields.next(), fields.next(), fields.next());
    match version {
        Some("1.1" | "1.2") => {}
        _ => return Err(VaultTextError::Version),
    }
    if cipher != Some("AES256") {
        return Err(VaultTextError::Cipher);
    }
    if fields.next().is_some() {
        return Err(VaultTextError::Header);
    }
    let id = id.filter(|id| !id.is_empty() && version == Some("1.2"));
    Ok(id.unwrap_or(DEFAULT_ID).to_owned())
}

/// Decodes lowercase hexadecimal digits.
fn unhex(digits: &[u8]) -> Result<Vec<u8>, VaultTextError> {
    let value = |digit: &u8| match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(VaultTextError::Digits),
    };
    let (pairs, rest) = digits.as_chunks::<2>();
    let decode = |[high, low]: &[u8; 2]| Ok(value(high)? << 4 | value(low)?);
    let bytes = pairs.iter().map(decode).collect::<Result<_, _>>()?;
    if rest.is_empty() {
        Ok(bytes)
    } else {
        Err(VaultTextError::Parts)
    }
}

/// Returns the length without the padding (PKCS#7). None if the padding is invalid.
fn unpadded_length(bytes: &[u8]) -> Option<usize> {
    let count = usize::from(*bytes.last()?);
    let is_aligned = bytes.len().is_multiple_of(BLOCK_LENGTH);
    let start = bytes.len().checked_sub(count)?;
    let padding = &bytes[start..];
    let is_padding = padding.iter().all(|byte| usize::from(*byte) == count);
    let is_valid = is_aligned && (1..=BLOCK_LENGTH).contains(&count) && is_padding;
    is_valid.then_some(start)
}

/// The keys that a password and a salt give.
struct DerivedKeys(Zeroizing<[u8; 80]>);

impl DerivedKeys {
    fn new(password: &str, salt: &[u8]) -> Self {
        let mut derived = Zeroizing::new([0; 80]);
        derive_slowly(password.as_bytes(), salt, HASH_ROUNDS, &mut *derived);
        Self(derived)
    }

    fn mac(&self, content: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0[32..64]);
        let mut mac = mac.expect("any length will do");
        mac.update(content);
        mac
    }

    /// Encrypts or decrypts bytes.
    fn apply_cipher(&self, bytes: &mut [u8]) {
        let mut cipher = Ctr128BE::<Aes256>::new_from_slices(&self.0[..32], &self.0[64..])
            .expect("key and counter have the lengths that the cipher needs");
        cipher.apply_keystream(bytes);
    }
}

/// Encrypts bytes with the password of a vault and a new salt.
///
/// The first line names the vault's id; for the id `default`, it has the form of version 1.1, as Ansible
/// writes it.
pub fn seal(bytes: &[u8], id: &str, password: &str) -> std::io::Result<String> {
    let mut salt = [0; 32];
    random::fill(&mut salt)?;
    Ok(seal_with_salt(bytes, id, password, &salt))
}

/// Like [`seal`], with a given salt. The same text and salt give the same result as with Ansible.
pub fn seal_with_salt(bytes: &[u8], id: &str, password: &str, salt: &[u8]) -> String {
    let keys = DerivedKeys::new(password, salt);
    let padding = BLOCK_LENGTH - bytes.len() % BLOCK_LENGTH;
    let mut content = Zeroizing::new(Vec::with_capacity(bytes.len() + padding));
    content.extend_from_slice(bytes);
    // The last byte tells the reader how many bytes were added (PKCS#7).
    let last = u8::try_from(padding).unwrap_or_default();
    content.resize(bytes.len() + padding, last);
    keys.apply_cipher(&mut content);
    let mac = keys.mac(&content).finalize().into_bytes();
    let parts = [hex(salt), hex(&mac), hex(&content)];
    let digits = hex(parts.join("\n").as_bytes());
    let mut out = match id {
        DEFAULT_ID => format!("{MAGIC}1.1;AES256\n"),
        id => format!("{MAGIC}1.2;AES256;{id}\n"),
    };
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
    use proptest::prelude::*;

    use super::*;

    /// The text is that of Ansible for the same salt.
    #[test]
    fn a_text_is_encrypted_as_ansible_does() {
        let text = seal_with_salt(b"kind: Project\n", "web", "pass", &[b's'; 32]);
        insta::assert_snapshot!(text, @"
        $ANSIBLE_VAULT;1.2;AES256;web
        37333733373337333733373337333733373337333733373337333733373337333733373337333733
        3733373337333733373337333733373337333733373337330a343064356362346130626633643662
        39313335383336343632613834613662333539623132666662653433336631663830303634383337
        3161646331613839360a613632323935663932316266316362636262623136333163313332313265
        6636
        ");
        let opened = VaultText::parse(&text).unwrap();
        assert_eq!(opened.id(), "web");
        assert_eq!(*opened.open("pass").unwrap(), b"kind: Project\n");
    }

    #[test]
    fn the_default_id_has_the_older_header() {
        let text = seal(b"x", DEFAULT_ID, "p").unwrap();
        assert!(text.starts_with("$ANSIBLE_VAULT;1.1;AES256\n"));
        let old = text.replacen("1.1;AES256", "1.2;AES256;default", 1);
        for text in [
            &text,
            &old,
            &text.replace('\n', "\r\n"),
            &format!("\n  {text}\n"),
        ] {
            let parsed = VaultText::parse(text).unwrap();
            assert_eq!(
                (parsed.id(), &*parsed.open("p").unwrap()),
                ("default", &b"x".to_vec())
            );
        }
    }

    #[test]
    fn another_format_is_refused_with_the_reason() {
        let good = seal(b"x", "web", "p").unwrap();
        for (text, expected) in [
            ("", VaultTextError::Header),
            ("secret", VaultTextError::Header),
            ("$ANSIBLE_VAULT;", VaultTextError::Version),
            ("$ANSIBLE_VAULT;1.0;AES\n00", VaultTextError::Version),
            ("$ANSIBLE_VAULT;1.1;AES\n00", VaultTextError::Cipher),
            ("$ANSIBLE_VAULT;1.2;AES256;a;b\n00", VaultTextError::Header),
            ("$ANSIBLE_VAULT;1.1;AES256\n", VaultTextError::Parts),
            ("$ANSIBLE_VAULT;1.1;AES256\n0", VaultTextError::Parts),
            ("$ANSIBLE_VAULT;1.1;AES256\nzz", VaultTextError::Digits),
            (&good[..good.len() - 40], VaultTextError::Parts),
        ] {
            assert_eq!(VaultText::parse(text).unwrap_err(), expected, "{text}");
        }
    }

    /// The id in the header only selects the password, so a change of it changes no content.
    #[test]
    fn each_flipped_byte_is_refused() {
        let good = seal(b"secret", "web", "p").unwrap();
        let (start, end) = (good.find("web").unwrap(), good.find('\n').unwrap());
        let places = (0..start).chain(end..good.len() - 1);
        let flipped = |place: usize, bit: u32| {
            let mut bytes = good.clone().into_bytes();
            bytes[place] ^= 1 << bit;
            VaultText::parse(std::str::from_utf8(&bytes).unwrap()).ok()
        };
        // An attempt to open a text that can be parsed takes milliseconds, so each byte gets one.
        let mut tried = 0;
        for place in places {
            let parsed = (0..7).find_map(|bit| flipped(place, bit));
            tried += usize::from(parsed.is_some());
            assert!(parsed.is_none_or(|text| text.open("p").is_err()), "{place}");
        }
        assert!(tried > 100, "{tried}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn all_bytes_survive_and_other_passwords_do_not_open_them(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            id in "[a-zA-Z0-9_.-]{1,12}",
            password in "\\PC{1,20}",
        ) {
            let text = seal(&bytes, &id, &password).unwrap();
            let parsed = VaultText::parse(&text).unwrap();
            prop_assert_eq!(parsed.id(), id);
            prop_assert_eq!(&*parsed.open(&password).unwrap(), &bytes);
            prop_assert_eq!(parsed.open(&(password + "x")), Err(VaultOpenError::Mac));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "(\\$ANSIBLE_VAULT;1\\.[12];AES256[;a]{0,2}\n)?[0-9a-f\n]{0,200}") {
            drop(VaultText::parse(&text));
        }
    }
}
