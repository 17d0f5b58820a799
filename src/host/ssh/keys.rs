//! Reads private keys, public keys and certificates from files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use russh::keys::{Certificate, Error, PrivateKey, PublicKey, decode_secret_key};
use zeroize::Zeroizing;

use super::short_ecdsa_key;
use crate::host::Question;
use crate::system::fs;

/// The maximum size of a key file in bytes.
const MAX_KEY_FILE_BYTES: u64 = 1 << 20;

/// The result of reading a private key file.
#[derive(Debug, Clone)]
pub(super) enum KeyFile {
    Unlocked(Arc<PrivateKey>),
    /// The key needs a passphrase, or the given passphrase is wrong.
    Locked {
        question: Question,
        refused: bool,
        public: Option<PublicKey>,
    },
    /// The file does not exist or is not a key. The message says what is wrong; a missing file has
    /// none.
    Unusable(Option<String>),
}

/// The public files beside private keys.
#[derive(Debug, Default)]
pub(super) struct PublicFiles {
    /// The public keys of the key files.
    pub(super) keys: Vec<PublicKey>,
    /// The certificates in named files and beside the key files.
    pub(super) certificates: Vec<Certificate>,
}

impl PublicFiles {
    /// Reads the public keys of key files, and their certificates and those in the named files. Files that cannot be
    /// read are left out.
    pub(super) fn read(files: &[PathBuf], named: &[PathBuf]) -> Self {
        Self {
            keys: files.iter().filter_map(|it| public_key(it)).collect(),
            certificates: certificates(files, named),
        }
    }
}

/// Reads a private key. A passphrase opens it if it is encrypted.
pub(super) fn read(file: &Path, passphrase: Option<&str>) -> KeyFile {
    let bytes = match fs::read_within(file, MAX_KEY_FILE_BYTES) {
        Ok(bytes) => Zeroizing::new(bytes),
        Err(error) if error.is_not_found() => return KeyFile::Unusable(None),
        Err(error) => return KeyFile::Unusable(Some(error.to_string())),
    };
    let text = String::from_utf8_lossy(&bytes);
    match decode(&text, None) {
        Ok(key) if !key.is_encrypted() => return KeyFile::Unlocked(Arc::new(key)),
        Err(error) if !is_locked(&text) => {
            let why = format!("`{}` is not a private key: {error}", file.display());
            return KeyFile::Unusable(Some(why));
        }
        Ok(_) | Err(_) => {}
    }
    if let Some(passphrase) = passphrase
        && let Ok(key) = decode(&text, Some(passphrase))
    {
        return KeyFile::Unlocked(Arc::new(key));
    }
    KeyFile::Locked {
        question: Question::Passphrase(file.to_owned()),
        refused: passphrase.is_some(),
        public: public_key_of(file, &text),
    }
}

fn decode(text: &str, passphrase: Option<&str>) -> Result<PrivateKey, Error> {
    decode_secret_key(text, passphrase)
        .or_else(|error| short_ecdsa_key::read(text, passphrase).ok_or(error))
}

/// Returns the key in the format of OpenSSH, encrypted or not.
fn from_openssh(text: &str) -> Option<PrivateKey> {
    let key = PrivateKey::from_openssh(text).ok();
    key.or_else(|| short_ecdsa_key::read(text, None))
}

/// Whether a key that could not be read is encrypted.
///
/// Older formats say so in their header, the OpenSSH format only in its encoded data.
fn is_locked(text: &str) -> bool {
    text.contains("ENCRYPTED") || from_openssh(text).is_some_and(|key| key.is_encrypted())
}

fn public_key_of(file: &Path, text: &str) -> Option<PublicKey> {
    if let Some(key) = from_openssh(text) {
        return Some(key.public_key().clone());
    }
    let text = fs::read_to_string(&public_key_path(file, ".pub")).ok()?;
    PublicKey::from_openssh(text.trim()).ok()
}

/// Returns the public key of a private key file. No passphrase is needed.
fn public_key(file: &Path) -> Option<PublicKey> {
    if let Ok(text) = fs::read_to_string(&public_key_path(file, ".pub"))
        && let Ok(key) = PublicKey::from_openssh(text.trim())
    {
        return Some(key);
    }
    let text = fs::read_to_string(file).ok()?;
    // A file may contain only a public key, which then selects a key of the agent.
    PublicKey::from_openssh(text.trim()).ok().or_else(|| {
        let key = from_openssh(&text)?;
        Some(key.public_key().clone())
    })
}

/// Returns the certificates in the named files and beside the key files.
fn certificates(files: &[PathBuf], named: &[PathBuf]) -> Vec<Certificate> {
    let usual = files.iter().map(|file| public_key_path(file, "-cert.pub"));
    let all = named.iter().cloned().chain(usual);
    all.filter_map(|file| fs::read_to_string(&file).ok())
        .filter_map(|text| Certificate::from_openssh(text.trim()).ok())
        .collect()
}

fn public_key_path(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_key_file_is_reported_and_a_missing_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("id");
        assert!(matches!(read(&file, None), KeyFile::Unusable(None)));
        std::fs::write(&file, "nonsense").unwrap();
        let KeyFile::Unusable(Some(why)) = read(&file, None) else {
            panic!("it was taken for a key");
        };
        assert!(why.contains("is not a private key"), "{why}");
    }
}
