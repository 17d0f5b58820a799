//! The digest keys of an ensemble: derives them from vault passwords in the environment, or reads them from
//! a key file, which is created on demand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::error::Error;
use super::key::{DigestKey, KEY_LENGTH};
use crate::system::fs::{self, Beneath, EntryKind};
use crate::system::random;
use crate::value::hex;

/// The environment variable whose password takes precedence over the others.
const PASSWORD_VARIABLE: &str = "UNFURL_VAULT_DEFAULT_PASSWORD";

/// The path of the key file, relative to the directory of the ensemble.
const KEY_FILE: &str = "local/digest.key";

/// The maximum size of a key file, in bytes.
const MAX_KEY_FILE_BYTES: u64 = 4096;

/// The keys of an ensemble. Each key is derived or read once, on first use.
pub struct Keyring {
    passwords: Vec<VaultPassword>,
    /// The folder of the ensemble.
    directory: PathBuf,
    stored: OnceLock<Result<Option<Arc<DigestKey>>, Error>>,
    created: OnceLock<Result<Arc<DigestKey>, Error>>,
}

struct VaultPassword {
    text: String,
    key: OnceLock<Arc<DigestKey>>,
}

impl VaultPassword {
    fn key(&self) -> &Arc<DigestKey> {
        let make = || Arc::new(DigestKey::of_password(&self.text));
        self.key.get_or_init(make)
    }
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyring")
            .field("passwords", &self.passwords.len())
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

impl Keyring {
    /// Returns the keys of the ensemble in a folder.
    ///
    /// The keys are those of the vault passwords in `variables`, the default password first and the others
    /// ordered by variable name; then the key of the file.
    pub fn new(variables: &BTreeMap<String, String>, directory: &Path) -> Self {
        let is_password = |name: &str| {
            let id = name.strip_prefix("UNFURL_VAULT_");
            id.is_some_and(|id| id.ends_with("_PASSWORD")) && name != PASSWORD_VARIABLE
        };
        let others = variables.iter().filter(|(name, _)| is_password(name));
        let first = variables.get(PASSWORD_VARIABLE).into_iter();
        let all = first.chain(others.map(|(_, password)| password));
        let passwords = all.filter(|password| !password.is_empty());
        let password = |text: &String| VaultPassword {
            text: text.clone(),
            key: OnceLock::new(),
        };
        Self {
            passwords: passwords.map(password).collect(),
            directory: directory.to_owned(),
            stored: OnceLock::new(),
            created: OnceLock::new(),
        }
    }

    /// Returns the key for new records. None if a key would have to be created first.
    pub fn current(&self) -> Result<Option<Arc<DigestKey>>, Error> {
        if let Some(password) = self.passwords.first() {
            return Ok(Some(Arc::clone(password.key())));
        }
        if let Some(created) = self.created.get() {
            return created.clone().map(Some);
        }
        self.stored()
    }

    /// Returns the key for new records, and creates the key file if no key exists.
    pub fn current_or_new(&self) -> Result<Arc<DigestKey>, Error> {
        if let Some(key) = self.current()? {
            return Ok(key);
        }
        self.created
            .get_or_init(|| create_key(&self.directory))
            .clone()
    }

    /// Returns the key with an id. None if the keyring does not contain it.
    pub fn find(&self, id: &str) -> Result<Option<Arc<DigestKey>>, Error> {
        let mut keys = self.passwords.iter().map(VaultPassword::key);
        if let Some(key) = keys.find(|key| key.id() == id) {
            return Ok(Some(Arc::clone(key)));
        }
        Ok(self.stored()?.filter(|key| key.id() == id))
    }

    fn stored(&self) -> Result<Option<Arc<DigestKey>>, Error> {
        let read = || Ok(read_key(&self.directory)?.map(Arc::new));
        self.stored.get_or_init(read).clone()
    }
}

fn file_error(path: &Path, error: &dyn std::error::Error) -> Error {
    Error::File {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

fn read_key(directory: &Path) -> Result<Option<DigestKey>, Error> {
    let path = &directory.join(KEY_FILE);
    let failed = |error: fs::Error| file_error(path, &error);
    let name = Path::new(KEY_FILE);
    let folder = match Beneath::open(directory) {
        Err(error) if error.is_not_found() => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let Some(info) = folder.info(name).map_err(failed)? else {
        return Ok(None);
    };
    if info.kind == EntryKind::File && info.mode & 0o077 != 0 {
        return Err(Error::Readable {
            path: path.clone(),
            mode: info.mode,
        });
    }
    let bytes = folder.read(name, MAX_KEY_FILE_BYTES).map_err(failed)?;
    let malformed = || Error::Malformed {
        path: path.to_owned(),
    };
    let key = parse_key(&bytes).ok_or_else(malformed)?;
    Ok(Some(DigestKey::of_bytes(key)))
}

fn parse_key(text: &[u8]) -> Option<[u8; KEY_LENGTH]> {
    let text = std::str::from_utf8(text).ok()?.trim_ascii_end();
    let is_key = text.len() == 2 * KEY_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut key = [0; KEY_LENGTH];
    for (place, byte) in key.iter_mut().enumerate().take_while(|_| is_key) {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    is_key.then_some(key)
}

fn create_key(directory: &Path) -> Result<Arc<DigestKey>, Error> {
    let path = &directory.join(KEY_FILE);
    let mut key = [0; KEY_LENGTH];
    random::fill(&mut key).map_err(|error| file_error(path, &error))?;
    let text = hex(&key) + "\n";
    let written = Beneath::open(directory).and_then(|folder| {
        let path = Path::new(KEY_FILE);
        folder.create_dir_all(path.parent().unwrap_or(path))?;
        folder.write_atomic(path, text.as_bytes(), Some(fs::SECRET_MODE))
    });
    written.map_err(|error| file_error(path, &error))?;
    Ok(Arc::new(DigestKey::of_bytes(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring(folder: &Path, variables: &[(&str, &str)]) -> Keyring {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Keyring::new(&variables.collect(), folder)
    }

    #[test]
    fn the_default_password_goes_before_others_and_these_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let both = [
            ("UNFURL_VAULT_B_PASSWORD", "b"),
            ("UNFURL_VAULT_A_PASSWORD", "a"),
            ("UNFURL_VAULT_DEFAULT_PASSWORD", ""),
        ];
        let found = keyring(folder.path(), &both).current().unwrap().unwrap();
        assert_eq!(found.id(), DigestKey::of_password("a").id());
        let all = [both[0], both[1], ("UNFURL_VAULT_DEFAULT_PASSWORD", "d")];
        let all = keyring(folder.path(), &all);
        let found = all.current().unwrap().unwrap();
        assert_eq!(found.id(), DigestKey::of_password("d").id());
        // A record made with one of the other passwords can still be compared.
        let other = DigestKey::of_password("b");
        assert!(all.find(other.id()).unwrap().is_some());
        assert!(!folder.path().join(KEY_FILE).exists());
    }

    #[test]
    fn a_key_is_made_when_it_is_needed_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keyring(folder.path(), &[]);
        assert!(keys.current().unwrap().is_none());
        assert!(!folder.path().join(KEY_FILE).exists());
        let created = keys.current_or_new().unwrap();
        assert_eq!(
            fs::mode_of(&folder.path().join(KEY_FILE)).unwrap() & 0o777,
            0o600
        );
        assert_eq!(keys.current().unwrap().unwrap(), created);
        let again = keyring(folder.path(), &[]);
        assert_eq!(again.current().unwrap().unwrap(), created);
        let with_password = [("UNFURL_VAULT_DEFAULT_PASSWORD", "x")];
        let later = keyring(folder.path(), &with_password);
        assert_eq!(later.find(created.id()).unwrap().unwrap(), created);
        assert_ne!(later.current().unwrap().unwrap(), created);
    }

    #[test]
    fn a_key_that_others_may_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(KEY_FILE);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        for (text, mode, expected) in [
            ("00".repeat(32), 0o640, "other users can read"),
            ("00".repeat(31), 0o600, "does not hold"),
            ("0".repeat(62) + "+1", 0o600, "does not hold"),
            ("zz".repeat(32), 0o600, "does not hold"),
            ("ä".repeat(32), 0o600, "does not hold"),
            (String::new(), 0o600, "does not hold"),
        ] {
            fs::write_atomic(&file, text.as_bytes(), Some(mode)).unwrap();
            let keys = keyring(folder.path(), &[]);
            let error = keys.current_or_new().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(std::fs::metadata(&file).unwrap().len(), text.len() as u64);
        }
    }
}
