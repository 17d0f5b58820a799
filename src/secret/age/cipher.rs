//! Encrypts bytes to recipients, and decrypts them with identities. The text form is the armor of age.

use std::io::{Read as _, Write as _};

use age::armor::{ArmoredReader, ArmoredWriter, Format};
use age::{Decryptor, Encryptor};
use zeroize::Zeroizing;

use super::error::AgeError;
use super::recipient::AgeRecipient;

/// The first line of the armor.
pub(super) const ARMOR_BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
/// The first bytes of the binary form.
const BINARY_BEGIN: &[u8] = b"age-encryption.org/";
/// The maximum size of a decrypted text, in bytes.
const MAX_PLAIN_BYTES: u64 = 64 << 20;

/// Returns true if a file is encrypted with age, as a text or in the binary form.
pub fn is_age_text(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    text.starts_with(ARMOR_BEGIN.as_bytes()) || bytes.starts_with(BINARY_BEGIN)
}

/// Encrypts bytes to recipients. The result is text that ends with a line break.
pub fn encrypt_age(bytes: &[u8], recipients: &[AgeRecipient]) -> Result<String, AgeError> {
    let keys: Vec<Box<dyn age::Recipient>> = recipients
        .iter()
        .map(AgeRecipient::encryptor)
        .collect::<Result<_, _>>()?;
    let encryptor = Encryptor::with_recipients(keys.iter().map(|key| &**key));
    let encryptor = encryptor.map_err(|error| failed(&error))?;
    let mut out = Vec::new();
    let armor = ArmoredWriter::wrap_output(&mut out, Format::AsciiArmor);
    let written = armor.and_then(|armor| {
        let mut writer = encryptor.wrap_output(armor)?;
        writer.write_all(bytes)?;
        writer.finish()?.finish().map(|_| ())
    });
    written.map_err(|error| failed(&error))?;
    String::from_utf8(out).map_err(|error| failed(&error))
}

/// Checks the form of an encrypted text. No key is needed.
pub fn check_age_form(bytes: &[u8]) -> Result<(), AgeError> {
    let binary = without_armor(bytes)?;
    Decryptor::new_buffered(&*binary).map_err(|error| damaged(&error))?;
    Ok(())
}

/// Decrypts the binary form with one identity. None if the identity is not a reader.
pub(super) fn decrypt_with(
    binary: &[u8],
    identity: &dyn age::Identity,
) -> Result<Option<Zeroizing<Vec<u8>>>, AgeError> {
    let decryptor = Decryptor::new_buffered(binary).map_err(|error| damaged(&error))?;
    let reader = match decryptor.decrypt(std::iter::once(identity)) {
        Ok(reader) => reader,
        // A wrong passphrase fails to decrypt the key of the file.
        Err(
            age::DecryptError::NoMatchingKeys
            | age::DecryptError::KeyDecryptionFailed
            | age::DecryptError::DecryptionFailed,
        ) => return Ok(None),
        Err(age::DecryptError::MissingPlugin { binary_name }) => {
            let name = binary_name.strip_prefix("age-plugin-");
            return Err(AgeError::Plugin {
                name: name.unwrap_or(&binary_name).to_owned(),
                reason: "was not found on the search path".to_owned(),
            });
        }
        Err(error) => return Err(damaged(&error)),
    };
    let mut plain = Zeroizing::new(Vec::with_capacity(binary.len()));
    let mut limited = reader.take(MAX_PLAIN_BYTES + 1);
    let read = limited.read_to_end(&mut plain);
    read.map_err(|error| damaged(&error))?;
    if plain.len() as u64 > MAX_PLAIN_BYTES {
        let reason = format!("more than {} MiB", MAX_PLAIN_BYTES >> 20);
        return Err(AgeError::Damaged { reason });
    }
    Ok(Some(plain))
}

/// Returns the binary form.
pub(super) fn without_armor(bytes: &[u8]) -> Result<Vec<u8>, AgeError> {
    let mut binary = Vec::with_capacity(bytes.len());
    let mut reader = ArmoredReader::new(bytes).take(MAX_PLAIN_BYTES * 2);
    let read = reader.read_to_end(&mut binary);
    read.map_err(|error| damaged(&error))?;
    Ok(binary)
}

/// Returns the kinds of the recipients in the header, each with its first argument.
pub(super) fn stanza_kinds(binary: &[u8]) -> Result<Vec<(String, String)>, AgeError> {
    if !binary.starts_with(BINARY_BEGIN) {
        let reason = "the header of age is missing".to_owned();
        return Err(AgeError::Damaged { reason });
    }
    let lines = binary.split(|byte| *byte == b'\n');
    let header = lines.take_while(|line| !line.starts_with(b"---"));
    let stanzas = header.filter_map(|line| std::str::from_utf8(line.strip_prefix(b"-> ")?).ok());
    let kinds = stanzas.map(|stanza| {
        let mut words = stanza.split(' ').map(str::to_owned);
        (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        )
    });
    Ok(kinds.collect())
}

fn damaged(error: &dyn std::fmt::Display) -> AgeError {
    AgeError::Damaged {
        reason: one_line(error),
    }
}

fn failed(error: &dyn std::fmt::Display) -> AgeError {
    AgeError::Encrypt {
        reason: one_line(error),
    }
}

/// Returns the first line of an error of the library. The others are hints for another program.
fn one_line(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let clean = text.replace(['\u{2068}', '\u{2069}'], "");
    clean.lines().next().unwrap_or_default().to_owned()
}
